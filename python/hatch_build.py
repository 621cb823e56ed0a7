"""Puts the ``topicmill`` program into the wheel.

It is the program that ``$TOPICMILL`` names; else the ``topicmill`` on ``$PATH``, if it was built from these sources;
else cargo builds it, as ``cargo build --release`` does. ``$TOPICMILL_PLATFORM`` is the platform in the wheel's name.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ["src", "crates", "build.rs", "Cargo.toml", "Cargo.lock"]


class Program(BuildHookInterface[Any]):
    """Called by hatchling before it packs the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the program, and name the platform that it is for."""
        program = os.environ.get("TOPICMILL") or installed(self.metadata.version) or built()
        platform = os.environ.get("TOPICMILL_PLATFORM", sysconfig.get_platform())
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform.replace('-', '_').replace('.', '_')}"
        build_data["shared_scripts"] = {os.path.realpath(program): "topicmill"}
        build_data["extra_metadata"] = {str(ROOT / name): name for name in ("LICENSE-APACHE", "LICENSE-MIT")}


def installed(version: str) -> str | None:
    """Return the program on the path, if it is of this version and, in a git checkout, of these sources."""
    program = shutil.which("topicmill")
    if program is None:
        return None
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.split()
    if said[:2] != ["topicmill", version]:
        return None
    if (ROOT / ".git").exists():
        commit = said[said.index("commit:") + 1]
        same = subprocess.run(["git", "diff", "--quiet", commit, "--", *SOURCES], cwd=ROOT, capture_output=True)
        if same.returncode != 0:  # The sources differ, or the commit is not known here.
            return None
    return program


def built() -> str:
    """Build the program and return its path."""
    if shutil.which("cargo") is None:
        sys.exit("neither topicmill nor cargo is on the path: install Rust from https://rustup.rs")
    with ExitStack() as files:
        progress: IO[str] = sys.stderr
        with suppress(OSError):
            # pip hides what is printed: cargo's progress goes to the terminal itself.
            progress = files.enter_context(open("/dev/tty", "w"))
        print("\ncompiling topicmill, which takes minutes", file=progress, flush=True)
        command = "cargo build --release --locked --bin topicmill --message-format json-render-diagnostics".split()
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=progress, check=True, text=True)
    made = [json.loads(line).get("executable") for line in done.stdout.splitlines()]
    return str(next(filter(None, reversed(made))))
