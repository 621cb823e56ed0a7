"""Reads the user's input: a UCI bag of words, or JSON Lines, which are tokenised by one plain rule.

The rule: lower-case runs of 3 to 40 letters a–z, without scikit-learn's English stop words; terms in at least
5 documents and at most half of them, at most the 65,536 most frequent. A UCI bag of words is used unchanged.
"""

import argparse
import json
import re
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy
import pyarrow
import pyarrow.csv
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from . import split
from .refused import Refused, guarded

WORD = re.compile(r"(?<![a-z])[a-z]{3,40}(?![a-z])")
MIN_DOCUMENTS = 5
MAX_SHARE = 0.5
MAX_TERMS = 65_536
JSON_LINES = re.compile(r"\.(jsonl|ndjson|json)(\.gz|\.zst)?$")
DOCWORD = re.compile(r"^docword.*\.txt(\.gz|\.zst)?$")
VOCABULARY = re.compile(r"^vocab.*\.txt(\.gz|\.zst)?$")


def read(path: Path, id_key: str, text_key: str) -> tuple[sparse.csr_array, list[str]]:
    """Returns the collection as documents × terms, and the terms."""
    if not path.exists():
        raise Refused(f"{path}: there is no such file or folder; name a UCI bag of words or a JSON Lines file")
    if path.is_file() and JSON_LINES.search(path.name):
        return read_json_lines(path, id_key, text_key)
    if path.is_dir():
        return read_uci(only(path, DOCWORD, "docword*.txt"))
    if DOCWORD.match(path.name):
        return read_uci(path)
    raise Refused(f"{path}: neither a folder with docword*.txt nor a .jsonl file; rename it, or convert it")


def only(folder: Path, pattern: re.Pattern[str], name: str) -> Path:
    """Returns the only file of a folder whose name matches."""
    found = sorted(path for path in folder.iterdir() if pattern.match(path.name))
    if len(found) != 1:
        raise Refused(f"{folder}: {len(found)} files are called {name}, optionally .gz or .zst; one is wanted")
    return found[0]


def opened(path: Path) -> pyarrow.NativeFile:
    """Opens a file's decompressed bytes."""
    compression = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
    return pyarrow.input_stream(str(path), compression=compression)


def lines(path: Path) -> Iterator[bytes]:
    """Yields a file's lines, without their ends."""
    rest = b""
    try:
        with opened(path) as stream:
            while block := stream.read(1 << 20):
                *whole, rest = (rest + block).split(b"\n")
                yield from (line.removesuffix(b"\r") for line in whole)
    except OSError as error:
        raise Refused(f"{path}: cannot be read to its end ({error}); get it again") from error
    if rest:
        yield rest.removesuffix(b"\r")


def read_uci(path: Path) -> tuple[sparse.csr_array, list[str]]:
    """Reads a bag of words: three lines with D, W and the number of lines, then `document term count`, from 1."""
    beside = path.with_name(path.name.replace("docword", "vocab", 1))
    plain = beside.with_name(re.sub(r"\.(gz|zst)$", "", beside.name))
    named = [name for name in [plain, beside] if name.exists()]
    vocabulary_path = named[0] if named else only(path.parent, VOCABULARY, "vocab*.txt")
    vocabulary = [line.decode("utf-8", "replace") for line in lines(vocabulary_path)]
    head = [line for line, _ in zip(lines(path), range(3))]
    if len(head) < 3 or not all(line.strip().isdigit() for line in head):
        raise Refused(f"{path}: its first three lines are not numbers; a UCI bag of words begins with D, W and NNZ")
    documents, terms, entries = (int(line) for line in head)
    if terms != len(vocabulary):
        raise Refused(f"{path}: says {terms} terms, {vocabulary_path.name} has {len(vocabulary)}; they do not belong")
    names = ["document", "term", "count"]
    try:
        table = pyarrow.csv.read_csv(
            opened(path),
            read_options=pyarrow.csv.ReadOptions(skip_rows=3, column_names=names),
            parse_options=pyarrow.csv.ParseOptions(delimiter=" "),
            convert_options=pyarrow.csv.ConvertOptions(column_types={name: pyarrow.int32() for name in names}),
        )
    except (pyarrow.ArrowException, OSError) as error:
        problem = str(error).splitlines()[0]
        raise Refused(f"{path}: a line is not `document term count` ({problem}); get the file again") from error
    document, term, count = (table[name].to_numpy() for name in names)
    if len(count) != entries:
        raise Refused(f"{path}: says {entries} lines and has {len(count)}; it was cut off, get it again")
    sound = (document >= 1) & (document <= documents) & (term >= 1) & (term <= terms) & (count >= 1)
    if not sound.all():
        raise Refused(f"{path}: a number is not between 1 and what the head says; get the file again")
    return sparse.csr_array((count, (document - 1, term - 1)), shape=(documents, terms)), vocabulary


def read_json_lines(path: Path, id_key: str, text_key: str) -> tuple[sparse.csr_array, list[str]]:
    """Reads texts by the rule above. Leaves out a document whose id occurred before, so no text is in both parts."""
    known: dict[str, int] = {}
    ids: set[str] = set()
    tokens, starts = array("i"), array("q", [0])
    for number, line in enumerate(lines(path), start=1):
        if not line.strip():
            continue
        name, text = fields(path, number, line, id_key, text_key)
        if name in ids:
            continue
        ids.add(name)
        found = (word for word in WORD.findall(text.lower()) if word not in ENGLISH_STOP_WORDS)
        tokens.extend(known.setdefault(word, len(known)) for word in found)
        starts.append(len(tokens))
    ones = numpy.ones(len(tokens), dtype=numpy.int32)
    shape = (len(starts) - 1, len(known))
    counts = sparse.csr_array((ones, numpy.asarray(tokens), numpy.asarray(starts)), shape=shape)
    counts.sum_duplicates()
    words = list(known)
    chosen = kept_terms(counts, words)
    if not len(chosen):
        raise Refused(f"{path}: no term is in {MIN_DOCUMENTS} documents and at most half of them; name a larger file")
    return counts[:, chosen], [words[term] for term in chosen]


def fields(path: Path, number: int, line: bytes, id_key: str, text_key: str) -> tuple[str, str]:
    """Returns a line's id (its number if it has none) and text."""
    try:
        record = json.loads(line)
    except ValueError as error:
        raise Refused(f"{path}, line {number}: not JSON ({error}); each line must be one JSON object") from error
    if not isinstance(record, dict) or not isinstance(record.get(text_key), str):
        keys = ", ".join(record) if isinstance(record, dict) else "none"
        raise Refused(f"{path}, line {number}: no text under {text_key!r}; choose by --text one of its keys: {keys}")
    return str(record.get(id_key, f"line {number}")), record[text_key]


def kept_terms(counts: sparse.csr_array, words: list[str]) -> numpy.ndarray:
    """Returns the terms that the rule keeps, in alphabetical order."""
    documents = numpy.bincount(counts.indices, minlength=counts.shape[1])
    usable = (documents >= MIN_DOCUMENTS) & (documents <= MAX_SHARE * counts.shape[0])
    ranked = sorted(numpy.flatnonzero(usable), key=lambda term: (-documents[term], words[term]))
    return numpy.array(sorted(ranked[:MAX_TERMS], key=lambda term: words[term]), dtype=numpy.int64)


def write_split(path: Path, folder: Path, id_key: str, text_key: str, most: int) -> split.Split:
    """Reads a collection, splits it with at most `most` test documents, and writes the split to a folder."""
    counts, vocabulary = read(path, id_key, text_key)
    try:
        made = split.split(counts, vocabulary, most)
    except ValueError as error:
        raise Refused(f"{path}: {error}; name a larger collection") from error
    split.write(made, folder)
    return made


def parser(description: str) -> argparse.ArgumentParser:
    """Returns the argument parser of a process that reads a collection."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("input", type=Path)
    made.add_argument("folder", type=Path)
    made.add_argument("--id", default="id")
    made.add_argument("--text", default="text")
    return made


def main() -> None:
    asked = parser(__doc__.split("\n\n")[0]).parse_args()
    write_split(asked.input, asked.folder, asked.id, asked.text, split.MAX_TEST_DOCUMENTS)


if __name__ == "__main__":
    sys.exit(guarded(main))
