"""Which program a wheel gets."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))
import hatch_build  # noqa: E402


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of one commit, and a `topicmill` of it on the path."""
    monkeypatch.setattr(hatch_build, "ROOT", tmp_path)
    for name in hatch_build.SOURCES:
        (tmp_path / name).write_text("1")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *arguments], cwd=tmp_path, check=True)
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=tmp_path, text=True).strip()
    program = tmp_path / "bin" / "topicmill"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'topicmill 0.1.0 (build 1)'\necho 'commit: {commit}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return tmp_path


def test_program_on_the_path_of_these_sources_is_packed(checkout: Path) -> None:
    assert hatch_build.installed("0.1.0") == str(checkout / "bin" / "topicmill")


def test_program_of_other_sources_is_not(checkout: Path) -> None:
    (checkout / "src").write_text("2")
    assert hatch_build.installed("0.1.0") is None


def test_program_of_another_version_is_not(checkout: Path) -> None:
    assert hatch_build.installed("0.2.0") is None
