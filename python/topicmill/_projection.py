"""Inference for new texts, through the program's standard input."""

from __future__ import annotations

import json
import os
import tomllib
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, get_index_dtype

from . import _job, _program, _texts
from ._job import Settings
from ._weights import LabelScore


def project(
    path: os.PathLike[str],
    topic_count: int,
    texts: Iterable[str | None],
    threads: int | None,
    settings: Settings,
) -> tuple[csr_array[np.float32, tuple[int, int]], list[str]]:
    """Return the proportions of each text, and its status."""
    weights, topics, lengths = array("f"), array("i"), array("q")
    statuses: list[str] = []

    def take(answer: dict[str, Any]) -> None:
        statuses.append(answer["status"])
        lengths.append(len(answer["topics"]))
        for entry in answer["topics"]:
            topics.append(entry["topic"])
            weights.append(entry["weight"])

    _ask(path, texts, threads, settings, take)
    matrix = csr(np.asarray(weights), np.asarray(topics), np.asarray(lengths), topic_count)
    return matrix, statuses


def predict(
    path: os.PathLike[str], texts: Iterable[str | None], threads: int | None, settings: Settings
) -> list[list[LabelScore]]:
    """Return the labels that each text is predicted to have."""
    predicted: list[list[LabelScore]] = []

    def take(answer: dict[str, Any]) -> None:
        predicted.append([LabelScore(**label) for label in answer["labels"]])

    _ask(path, texts, threads, settings, take)
    return predicted


def _ask(
    path: os.PathLike[str],
    texts: Iterable[str | None],
    threads: int | None,
    settings: Settings,
    take: Callable[[dict[str, Any]], None],
) -> None:
    """Call `take` with the answer to each text."""

    def parse(line: str) -> None:
        # An incomplete line comes from a program that was killed.
        if line.endswith("\n"):
            take(json.loads(line))

    arguments = ["project", os.fspath(path), "--stdin", "--quiet", *_job.threads(threads), *_job.flags(settings)]
    _program.stream(arguments, parse, _texts.lines(texts, text_key=keys(path)[0]))


def keys(path: os.PathLike[str]) -> tuple[str, str]:
    """Return the keys under which the result's job looks for texts and their ids."""
    corpus = tomllib.loads(Path(path, "job.toml").read_text(encoding="utf-8"))["corpus"]
    return corpus["text"][0], corpus["id"] or "id"


def csr(
    weights: npt.NDArray[Any], topics: npt.NDArray[Any], lengths: npt.NDArray[Any], topic_count: int
) -> csr_array[np.float32, tuple[int, int]]:
    """Return a sparse matrix from its entries, row after row; `lengths` has the number of entries of each row."""
    starts = np.concatenate([[0], np.cumsum(lengths)])
    # Much of scikit-learn refuses 64-bit indices.
    index = get_index_dtype(maxval=starts[-1])
    # Copies, because Arrow's arrays are read-only and the entries of each row are sorted below.
    entries = (np.array(weights), np.array(topics, index), starts.astype(index))
    matrix = csr_array(entries, shape=(len(lengths), topic_count), dtype=np.float32)
    matrix.sort_indices()
    return matrix
