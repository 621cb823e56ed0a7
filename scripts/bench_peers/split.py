"""Training documents, and test documents in two halves: one to infer proportions from, one to score."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy
import pyarrow
import pyarrow.csv
from scipy import sparse

SEED = 1
TEST_SHARE = 0.1
MAX_TEST_DOCUMENTS = 2000
MIN_DOCUMENTS = 20


@dataclass
class Split:
    """Documents × terms each; `observed` and `held_out` are the halves of the same test documents."""

    train: sparse.csr_array
    observed: sparse.csr_array
    held_out: sparse.csr_array
    vocabulary: list[str]


def split(counts: sparse.csr_array, vocabulary: list[str], most: int = MAX_TEST_DOCUMENTS) -> Split:
    """Draws at most `most` test documents, and their halves; puts all documents in random order.

    Drops terms that no training document has, then training documents without a token and test documents with
    fewer than two.
    """
    random = numpy.random.default_rng(SEED)
    documents = counts.shape[0]
    if documents < MIN_DOCUMENTS:
        raise ValueError(f"{documents} documents are too few to hold some out")
    order = random.permutation(documents)
    tests = min(round(TEST_SHARE * documents), most)
    train, test = counts[order[tests:]], counts[order[:tests]]
    terms = numpy.flatnonzero(numpy.bincount(train.indices, minlength=counts.shape[1]))
    train, test = train[:, terms], test[:, terms]
    train, test = train[train.sum(axis=1) > 0], test[test.sum(axis=1) > 1]
    if not train.shape[0] or not test.shape[0]:
        raise ValueError("no documents with terms in common are left to train or to test on")
    observed, held_out = halves(test, random)
    return Split(train, observed, held_out, [vocabulary[term] for term in terms])


def halves(test: sparse.csr_array, random: numpy.random.Generator) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Deals each document's tokens at random into two halves; if their number is odd, the first gets one more."""
    dealt: tuple[list[numpy.ndarray], list[numpy.ndarray]] = ([], [])
    for start, end in zip(test.indptr, test.indptr[1:]):
        tokens = random.permutation(numpy.repeat(test.indices[start:end], test.data[start:end]))
        middle = (len(tokens) + 1) // 2
        dealt[0].append(tokens[:middle])
        dealt[1].append(tokens[middle:])
    return counted(dealt[0], test.shape[1]), counted(dealt[1], test.shape[1])


def counted(documents: list[numpy.ndarray], terms: int) -> sparse.csr_array:
    """Returns documents × terms from lists of tokens."""
    tokens = numpy.concatenate(documents)
    starts = numpy.concatenate([[0], numpy.cumsum([len(document) for document in documents])])
    ones = numpy.ones(len(tokens), dtype=numpy.int32)
    counts = sparse.csr_array((ones, tokens, starts), shape=(len(documents), terms))
    counts.sum_duplicates()
    return counts


def write(made: Split, folder: Path) -> None:
    """Writes the split to a folder: matrices for Python, a UCI bag of words for topicmill, and its size."""
    for name in ["train", "observed", "held_out"]:
        sparse.save_npz(folder / f"{name}.npz", getattr(made, name), compressed=False)
    (folder / "vocabulary.json").write_text(json.dumps(made.vocabulary), encoding="utf-8")
    write_bag(made.train, folder, "train")
    facts = {
        "train_documents": made.train.shape[0],
        "train_tokens": int(made.train.sum()),
        "test_documents": made.observed.shape[0],
        "terms": made.train.shape[1],
    }
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")


def write_bag(matrix: sparse.csr_array, folder: Path, name: str) -> None:
    """Writes documents as a UCI bag of words. Term i is called wi, so that no system can use the words themselves."""
    entries = matrix.tocoo()
    columns = [entries.row + 1, entries.col + 1, entries.data]
    table = pyarrow.table([pyarrow.array(column) for column in columns], names=["document", "term", "count"])
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ")
    with open(folder / f"docword.{name}.txt", "wb") as file:
        file.write("{}\n{}\n{}\n".format(*matrix.shape, matrix.nnz).encode())
        pyarrow.csv.write_csv(table, file, options)
    names = "".join(f"w{term}\n" for term in range(matrix.shape[1]))
    (folder / f"vocab.{name}.txt").write_text(names, encoding="utf-8")


def read_matrix(folder: Path, name: str) -> sparse.csr_array:
    """Reads one of the matrices that `write` wrote."""
    return sparse.csr_array(sparse.load_npz(folder / f"{name}.npz"))
