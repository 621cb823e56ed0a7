"""Scores the snapshots of all systems by the same rule: `python -m bench_peers.evaluate SPLIT OUT`.

Document completion: each test document's topic proportions are inferred from one half of its tokens, by a
fold-in that draws nothing at random, and the other half is scored under them. Coherence is measured on the
training documents, as topicmill does it: NPMI, the mean over pairs of a topic's 10 heaviest terms, and UMass, the
sum over pairs of its 20 heaviest; both as a mean over topics.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy
from scipy import sparse

from . import snapshots, split

# With more topics, fewer test documents are scored, so that a snapshot takes only some seconds.
MOST_PROPORTIONS = 500_000
MIN_DOCUMENTS = 100
ITERATIONS = 100
# The fold-in ends when an iteration moves less than this share of a document's tokens to other topics.
TOLERANCE = 1e-3
NPMI_TERMS = 10
UMASS_TERMS = 20


def infer(weights: numpy.ndarray, counts: numpy.ndarray, alpha: numpy.ndarray) -> numpy.ndarray:
    """Infers a document's topic proportions from its terms' weights (terms × topics) and counts.

    CVB0 (Asuncion 2009) with fixed topics: a token's share of topic k is proportional to its term's weight there,
    times alpha_k plus the shares of all other tokens. Iterates from the prior until the shares are stable.
    """
    shares = weights * alpha
    shares /= shares.sum(axis=1, keepdims=True)
    totals = counts @ shares
    moving = numpy.empty_like(shares)
    for _ in range(ITERATIONS):
        numpy.subtract(totals + alpha, shares, out=moving)
        moving *= weights
        moving /= moving.sum(axis=1, keepdims=True)
        before, totals = totals, counts @ moving
        shares, moving = moving, shares
        if abs(totals - before).sum() < TOLERANCE * counts.sum():
            break
    proportions = totals + alpha
    return proportions / proportions.sum()


def log_likelihood(
    topics: numpy.ndarray, alpha: numpy.ndarray, observed: sparse.csr_array, held_out: sparse.csr_array
) -> float:
    """Returns the mean log-probability of the held-out tokens; `topics` are topics × terms."""
    by_term = numpy.ascontiguousarray(topics.T)
    alpha = alpha.astype(by_term.dtype)
    total = 0.0
    for (terms, counts), (held_terms, held_counts) in zip(documents(observed), documents(held_out)):
        # A term's weights matter only up to a factor; scaling the largest to 1 keeps small ones from becoming 0.
        weights = by_term[terms]
        weights /= numpy.maximum(weights.max(axis=1, keepdims=True), numpy.finfo(weights.dtype).tiny)
        proportions = infer(weights, counts.astype(by_term.dtype), alpha)
        probability = (by_term[held_terms] @ proportions).astype(float)
        total += held_counts @ numpy.log(numpy.maximum(probability, numpy.finfo(float).tiny))
    return total / held_out.sum()


def documents(matrix: sparse.csr_array) -> Iterator[tuple[numpy.ndarray, numpy.ndarray]]:
    """Yields each document's terms and their counts."""
    for start, end in zip(matrix.indptr, matrix.indptr[1:]):
        yield matrix.indices[start:end], matrix.data[start:end]


def coherence(topics: numpy.ndarray, train: sparse.csc_array) -> tuple[float, float]:
    """Returns NPMI and UMass of the topics; `train` has 1 where a document has a term."""
    both = [topic_coherence(heaviest(topic), train) for topic in topics]
    npmi, umass = numpy.mean(both, axis=0)
    return float(npmi), float(umass)


def heaviest(topic: numpy.ndarray) -> numpy.ndarray:
    """Returns a topic's heaviest terms, heaviest first, with the lower number first among equals."""
    most = min(UMASS_TERMS, len(topic))
    least = numpy.partition(topic, -most)[-most]
    candidates = numpy.flatnonzero(topic >= least)
    return candidates[numpy.argsort(-topic[candidates], kind="stable")][:most]


def topic_coherence(terms: numpy.ndarray, train: sparse.csc_array) -> tuple[float, float]:
    """Returns NPMI and UMass of one topic's heaviest terms, all of which occur in `train`."""
    columns = train[:, terms]
    together = (columns.T @ columns).toarray().astype(float)
    alone = together.diagonal()
    high, low = numpy.tril_indices(len(terms), k=-1)
    umass = numpy.log((together[high, low] + 1) / alone[low]).sum()
    high, low = numpy.tril_indices(min(len(terms), NPMI_TERMS), k=-1)
    share = together[high, low] / train.shape[0]
    npmi = numpy.full(len(share), -1.0)
    npmi[share == 1] = 1.0
    between = (share > 0) & (share < 1)
    expected = (alone[high] * alone[low] / train.shape[0] ** 2)[between]
    npmi[between] = numpy.log(share[between] / expected) / -numpy.log(share[between])
    return float(npmi.mean()), float(umass)


def score(folder: Path, train: sparse.csc_array, observed: sparse.csr_array, held_out: sparse.csr_array) -> list[dict]:
    """Returns the scores of a folder's complete snapshots, in order."""
    scores = []
    for path in sorted(folder.glob("*.json")):
        topics, facts = snapshots.read(path)
        alpha = numpy.array(facts.pop("alpha"))
        limit = max(MIN_DOCUMENTS, MOST_PROPORTIONS // len(alpha))
        facts["log_likelihood"] = log_likelihood(topics, alpha, observed[:limit], held_out[:limit])
        facts["npmi"], facts["umass"] = coherence(topics, train)
        facts["test_documents"] = min(limit, observed.shape[0])
        scores.append(facts)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("split", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    train, observed, held_out = (split.read_matrix(arguments.split, name) for name in ["train", "observed", "held_out"])
    train.data[:] = 1
    scores = score(arguments.out, sparse.csc_array(train), observed, held_out)
    (arguments.out / "scores").write_text(json.dumps(scores), encoding="utf-8")


if __name__ == "__main__":
    main()
