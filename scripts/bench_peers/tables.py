"""Turns topicmill's tables into a snapshot: `python -m bench_peers.tables SPLIT OUT NOTE` reads OUT/run."""

import argparse
import json
from pathlib import Path

import numpy
import pyarrow.parquet

from . import snapshots


def read(run: Path, documents: int, terms: int, note: str) -> tuple[numpy.ndarray, dict]:
    """Reads topics × terms from topic_terms and topics, and seconds and passes from training_log."""
    names = ["topics", "topic_terms", "training_log"]
    topics, weights, log = (pyarrow.parquet.read_table(run / name) for name in names)
    absent = topics["absent_weight"].to_numpy()
    rows = numpy.repeat(absent.astype(numpy.float32)[:, None], terms, axis=1)
    # Term i of the split is called wi; topicmill numbers terms in its own order.
    terms_named = weights["term"].combine_chunks().dictionary_encode()
    places = numpy.array([int(name[1:]) for name in terms_named.dictionary.to_pylist()], dtype=numpy.int64)
    rows[weights["topic"].to_numpy(), places[terms_named.indices.to_numpy()]] = weights["weight"].to_numpy()
    last = log.slice(log.num_rows - 1).to_pylist()[0]
    facts = {
        "seconds": last["seconds"],
        "passes": last["documents_seen"] / documents,
        "alpha": topics["alpha"].to_pylist(),
        "note": note,
    }
    return rows, facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("split", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("note")
    arguments = parser.parse_args()
    size = json.loads((arguments.split / "facts.json").read_text(encoding="utf-8"))
    rows, facts = read(arguments.out / "run", size["train_documents"], size["terms"], arguments.note)
    snapshots.write(arguments.out, rows, facts)


if __name__ == "__main__":
    main()
