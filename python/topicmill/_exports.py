"""A result in the formats of gensim, NumPy and MALLET's diagnostics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np
import pyarrow
import pyarrow.parquet

from ._tables import IS_KEPT, parts

if TYPE_CHECKING:
    from .result import Result

GENSIM = ["corpus.mm", "dictionary.txt", "documents.txt"]
NPY = [
    "alpha.npy",
    "documents.txt",
    "labels.txt",
    "phi.npy",
    "terms.txt",
    "theta_data.npy",
    "theta_indices.npy",
    "theta_indptr.npy",
]
# MALLET's attributes, in its order, and the columns with their figures.
_TOPIC = {
    "tokens": "tokens",
    "document_entropy": "document_entropy",
    "word-length": "word_length",
    "coherence": "coherence_umass",
    "uniform_dist": "uniform_distance",
    "corpus_dist": "corpus_distance",
    "eff_num_words": "effective_terms",
    "token-doc-diff": "token_document_difference",
    "rank_1_docs": "rank1_share",
    "allocation_ratio": "allocation_ratio",
    "allocation_count": "allocation_count",
    "exclusivity": "exclusivity",
}
_WORD = {
    "word-length": "word_length",
    "coherence": "coherence",
    "uniform_dist": "uniform_distance",
    "corpus_dist": "corpus_distance",
    "token-doc-diff": "token_document_difference",
    "exclusivity": "exclusivity",
}
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def gensim(result: Result, folder: Path) -> None:
    """Write the bags of words: ``corpus.mm``, ``dictionary.txt`` and ``documents.txt``."""
    documents, counts = result._document_count, result._column("vocabulary", "document_count", IS_KEPT)
    terms = (f"{number}\t{_line(term)}\t{count}" for number, (term, count) in enumerate(zip(result.terms, counts)))
    _write_lines(folder / "dictionary.txt", [str(documents), *terms])
    names = (name for bags in _bags(result) for name in bags["source_id"].to_pylist())
    _write_lines(folder / "documents.txt", map(_line, names))
    entries = sum(len(bags["terms"].flatten()) for bags in _bags(result))
    with Path(folder, "corpus.mm").open("w", encoding="ascii") as corpus:
        corpus.write("%%MatrixMarket matrix coordinate real general\n")
        corpus.write(f"{documents} {len(result.terms)} {entries}\n")
        first = 1
        for bags in _bags(result):
            lengths = bags["terms"].value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
            numbers = np.repeat(np.arange(first, first + len(lengths)), lengths)
            columns = numbers, bags["terms"].flatten().to_numpy() + 1, bags["counts"].flatten().to_numpy()
            np.savetxt(corpus, np.column_stack(columns), fmt="%d")
            first += len(lengths)


def _bags(result: Result) -> Iterator[pyarrow.RecordBatch]:
    """Yield the documents of the collection, in order."""
    for shard in parts(result.path / "corpus" / "shards", "*.parquet"):
        yield from pyarrow.parquet.ParquetFile(shard).iter_batches(columns=["source_id", "terms", "counts"])


def npy(result: Result, folder: Path) -> None:
    """Write φ, α, the terms and, if there are any, labels, θ and the documents' ids."""
    np.save(folder / "phi.npy", result.phi)
    np.save(folder / "alpha.npy", result.alpha)
    _write_lines(folder / "terms.txt", map(_line, result.terms))
    if "labels" in result.tables:
        _write_lines(folder / "labels.txt", map(_line, result._column("labels", "label")))
    if "document_topics" in result.tables:
        for name in ("data", "indices", "indptr"):
            np.save(folder / f"theta_{name}.npy", getattr(result.theta, name))
        _write_lines(folder / "documents.txt", map(_line, result._column("documents", "source_id")))


def mallet_diagnostics(result: Result, path: Path) -> None:
    """Write MALLET's XML, without words whose documents were not counted: MALLET lists as many as it counts."""
    words: dict[int, list[str]] = {}
    for row in result._arrow("topic_term_diagnostics").to_pylist():
        if row["documents"] is not None:
            words.setdefault(row["topic"], []).append(_word(row))
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<model>"]
    for number, row in enumerate(result._arrow("topics").to_pylist()):
        lines += [f"<topic id='{number}'{_attributes(_TOPIC, row)}>", *words.get(number, []), "</topic>"]
    _write_lines(path, [*lines, "</model>"])


def _word(row: dict[str, Any]) -> str:
    counts = f"rank='{row['rank']}' count='{row['count']:.0f}' prob='{row['weight']:.5f}'"
    counts += f" cumulative='{row['cumulative']:.5f}' docs='{row['documents']}'"
    # XML 1.0 cannot represent control characters.
    term = escape(_CONTROL.sub("\ufffd", row["term"]))
    return f"<word {counts}{_attributes(_WORD, row)}>{term}</word>"


def _attributes(columns: dict[str, str], row: dict[str, Any]) -> str:
    return "".join(f" {name}='{_figure(row[column])}'" for name, column in columns.items())


def _figure(value: float | None) -> str:
    return "NaN" if value is None else f"{value:.4f}"


def _line(text: str) -> str:
    """Put a text on one line, without tabs."""
    return _CONTROL.sub(" ", text)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
