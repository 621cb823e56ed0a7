"""Installs the requirements of a measurement: the Python packages, and topicmill itself."""

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

from .refused import Failed, Refused

PROJECT = Path(__file__).resolve().parents[2]
WANTED = PROJECT / "scripts" / "bench-requirements.txt"
TARGET = PROJECT / os.environ.get("CARGO_TARGET_DIR", "target")


def python() -> Path:
    """Returns the Python of target/bench/venv, which is created first if it is missing or outdated."""
    folder = TARGET / "bench" / "venv"
    interpreter, installed = folder / "bin" / "python", folder / "installed.txt"
    if installed.exists() and filecmp.cmp(WANTED, installed, shallow=False):
        return interpreter
    print(f"installing the packages of scripts/{WANTED.name} (once)", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    make = [sys.executable, "-m", "venv", str(folder)]
    if subprocess.run(make, stdin=subprocess.DEVNULL).returncode:
        raise Failed("Python's venv is not there: install it (on Debian, apt install python3-venv)")
    install = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(WANTED)]
    if subprocess.run(install, stdin=subprocess.DEVNULL).returncode:
        raise Failed(f"pip could not install what {WANTED.name} names: it needs PyPI, and Python 3.11 to 3.13")
    shutil.copyfile(WANTED, installed)
    return interpreter


def topicmill() -> Path:
    """Returns the release binary of this project, built if it is not up to date."""
    return built("topicmill", []) / "topicmill"


def example(name: str) -> Path:
    """Returns a program of examples/, likewise."""
    return built(f"the example {name}", ["--example", name]) / "examples" / name


def built(what: str, wanted: list[str]) -> Path:
    """Builds a part of the project; returns the folder of release binaries."""
    if not shutil.which("cargo"):
        raise Refused("cargo is not there: install Rust from https://rustup.rs, or name what is built already (--help)")
    print(f"building {what}", flush=True)
    command = ["cargo", "build", "--release", "--locked", "--quiet", *wanted]
    if subprocess.run(command, cwd=PROJECT, stdin=subprocess.DEVNULL).returncode:
        raise Failed(f"{what} could not be built: see above")
    return TARGET / "release"


def commit() -> str:
    """Returns the commit that `topicmill` builds, with `-dirty` if files differ from it; "" outside git."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return ""
