"""``python -m topicmill``: the program itself."""

import subprocess
import sys

from . import _program

if __name__ == "__main__":
    sys.exit(subprocess.call([_program.path(), *sys.argv[1:]]))
