"""A collection with planted topics, and its result."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pandas
import pytest

import topicmill

WORDS = [
    "cat dog kitten puppy whisker paw fur tail bark meow".split(),
    "bank loan money credit rate debt bond market share price".split(),
    "goal match team player league coach score referee pitch ball".split(),
    "planet star orbit moon comet galaxy telescope eclipse rocket probe".split(),
    "bread flour oven yeast dough crust butter sugar cake icing".split(),
]
TOPICS = len(WORDS)


def planted(count: int, seed: int = 1) -> list[str]:
    """Returns texts of 30 words: 24 of one topic, 6 of another."""
    draw = random.Random(seed)
    texts = []
    for _ in range(count):
        first, second = draw.sample(range(TOPICS), 2)
        words = draw.choices(WORDS[first], k=24) + draw.choices(WORDS[second], k=6)
        draw.shuffle(words)
        texts.append(" ".join(words))
    return texts


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return planted(400)


@pytest.fixture(scope="session")
def result(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> topicmill.Result:
    frame = pandas.DataFrame({"text": texts, "year": [1990 + position % 10 for position in range(len(texts))]})
    output = tmp_path_factory.mktemp("result") / "out"
    return topicmill.fit(frame, TOPICS, output=output, date="year", train__passes=30)


@pytest.fixture
def no_leftovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Creates temporary folders in an empty folder, and checks that they are gone at the end."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.glob("topicmill-*")) == []
