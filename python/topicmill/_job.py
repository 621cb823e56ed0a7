"""Settings of a job as keyword arguments, and the job file that they make."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Settings = Mapping[str, Any]

# Keys that name files; the program resolves these relative to the job file.
_FILES = {
    "cluster.secret_file",
    "corpus.base",
    "model.from",
    "phrases.deletions",
    "phrases.found",
    "phrases.replacements",
    "train.warm_start",
    "tree.file",
    "vocabulary.from",
}


def merged(settings: Settings | None, keywords: Settings) -> dict[str, Any]:
    """Return ``{"section.key": value}`` from such a dict and keywords ``section__key=value``."""
    merged = dict(settings or {})
    for name, value in keywords.items():
        section, separator, key = name.partition("__")
        if not separator:
            raise TypeError(
                f"unknown argument {name!r}: keys of the job are passed as section__key=value, "
                "as in train__passes=50"
            )
        merged[f"{section}.{key}"] = value
    return merged


def flags(settings: Settings) -> list[str]:
    """Return ``--set section.key=value`` for each setting; files become absolute."""
    return [part for key, value in settings.items() for part in ("--set", f"{key}={_toml(_located(key, value))}")]


def _located(key: str, value: Any) -> Any:
    """Return a value with its files as paths."""
    if key == "vocabulary.stop_words" and not isinstance(value, str) and isinstance(value, Iterable):
        return [_located(key, item) for item in value]
    if not isinstance(value, str) or not value or "://" in value:
        return value
    is_list = key == "vocabulary.stop_words" and ("/" in value or value.endswith(".txt"))
    return Path(value) if is_list or key in _FILES else value


def threads(count: int | None) -> list[str]:
    """Return ``--threads`` if a number of threads is given."""
    return [] if count is None else [f"--threads={count}"]


def write(path: Path, sections: Mapping[str, Settings]) -> None:
    """Write a job file."""
    lines: list[str] = []
    for section, keys in sections.items():
        lines.append(f"[{section}]")
        lines.extend(f"{key} = {_toml(value)}" for key, value in keys.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    """Return a value as TOML, written as JSON, whose strings, numbers and lists are also valid TOML."""
    if isinstance(value, Path):
        value = str(value.absolute())
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, str) and isinstance(value, Iterable):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")
