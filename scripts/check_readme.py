"""Runs the README's commands unchanged, so that they cannot go stale.

    scripts/check_readme.py README.md FOLDER

bash runs each ```sh block below a line `<!-- run -->` in FOLDER, which is emptied first and gets a
copy of jobs/. cargo finds the package above FOLDER, so FOLDER must be within it. The Python package
duckdb, which scripts/test installs, runs the command `duckdb -c QUERY`.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^<!-- run -->\n+```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DUCKDB = """#!{python}
import sys, duckdb
if len(sys.argv) != 3 or sys.argv[1] != "-c":
    sys.exit("usage: duckdb -c QUERY")
for statement in duckdb.extract_statements(sys.argv[2]):
    rows = duckdb.execute(statement).fetchall()
    print(*rows, sep="\\n")
    if not rows:
        sys.exit("no rows")
"""


def main():
    readme, folder = Path(sys.argv[1]), Path(sys.argv[2]).absolute()
    blocks = BLOCK.findall(readme.read_text(encoding="utf-8"))
    if not blocks:
        sys.exit(f"{readme}: no ```sh block stands below <!-- run -->")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree("jobs", folder / "jobs", ignore=shutil.ignore_patterns("out"))
    commands = folder / "bin"
    commands.mkdir()
    duckdb = commands / "duckdb"
    duckdb.write_text(DUCKDB.format(python=Path(sys.executable).absolute()), encoding="utf-8")
    duckdb.chmod(duckdb.stat().st_mode | stat.S_IXUSR)
    environment = os.environ | {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    for block in blocks:
        print(f"$ {block.strip()}", flush=True)
        status = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block], cwd=folder, env=environment, stdin=subprocess.DEVNULL
        ).returncode
        if status:
            sys.exit(f"{readme}: these commands ended with status {status}:\n{block}")
    print(f"{len(blocks)} blocks")


if __name__ == "__main__":
    main()
