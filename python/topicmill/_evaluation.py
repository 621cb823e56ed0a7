"""Held-out likelihood of new texts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import _job, _program, _texts
from ._job import Settings

EVERY_TERM: Settings = {
    "vocabulary.stop_words": "none",
    "vocabulary.stop_top": 0,
    "vocabulary.min_documents": 1,
    "vocabulary.max_share": 1.0,
    "vocabulary.max_terms": 1 << 24,
}
_CORPUS: Settings = {
    "corpus.exclude": [],
    "corpus.format": "jsonl",
    "corpus.id": "id",
    "corpus.text": "text",
    "corpus.group": "",
    "corpus.metadata": [],
}
# Joins the phrases of the model's collection and detects no others. Without detection, its keys must have their
# defaults.
_FOUND: Settings = {
    "phrases.detect": False,
    "phrases.min_count": 5,
    "phrases.threshold": 0.5,
    "phrases.max_words": 2,
}


def held_out_likelihood(path: Path, texts: Iterable[str | None], threads: int | None) -> float:
    """Return the log-likelihood of texts by document completion, in nats per token.

    The texts are ingested with the result's own job, in which they replace the corpus; ``topicmill
    evaluate`` scores them with the result's model.
    """
    with tempfile.TemporaryDirectory(prefix="topicmill-") as folder:
        file = _texts.spool(_texts.lines(texts), Path(folder))
        settings: dict[str, Any] = {
            **_CORPUS,
            # Terms that the model does not know are not scored.
            **EVERY_TERM,
            "corpus.base": Path(folder),
            "corpus.input": file.name,
            "output.path": Path(folder, "output"),
            "evaluate.metrics": ["completion"],
            "evaluate.split": "all",
        }
        if Path(path, "phrases").exists():
            settings |= {**_FOUND, "phrases.found": Path(path, "corpus", "collection.json")}
        job = [str(path / "job.toml"), *_job.flags(settings), "--processes", "1", *_job.threads(threads)]
        _program.run("ingest", *job, "--quiet")
        printed = _program.run("evaluate", *job, "--model", path, "--json")
    # The last line is the summary.
    figures = json.loads(printed.splitlines()[-1])["figures"]
    return next(float(f["value"]) for f in figures if f["metric"] == "log_likelihood_per_token")
