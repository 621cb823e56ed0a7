"""Scores the snapshots of all systems by the same rule: `python -m bench_peers.evaluate SPLIT OUT`.

Document completion: each test document's topic proportions are inferred from one half of its tokens, by a
fold-in that draws nothing at random, and the other half is scored under them. Coherence is a mean over topics: NPMI,
the mean over pairs of a topic's 10 heaviest terms, on the training documents and on the test documents; C_V of the same
terms on whole training documents; UMass, the sum over pairs of its 20 heaviest, on the training documents.
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
# Added to the share of documents with both terms, as in gensim.
C_V_EPSILON = 1e-12


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


def coherence(topics: numpy.ndarray, train: sparse.csc_array, test: sparse.csc_array) -> dict[str, float]:
    """Returns the topics' coherence; `train` and `test` have 1 where a document has a term."""
    found = []
    for terms in map(heaviest, topics):
        few = terms[:NPMI_TERMS]
        trained, tested = together(few, train), together(few, test)
        documents = train.shape[0]
        scores = [npmi(trained, documents), npmi(tested, test.shape[0]), c_v(trained, documents)]
        found.append([*scores, umass(together(terms, train))])
    return dict(zip(["npmi", "test_npmi", "c_v", "umass"], numpy.mean(found, axis=0).tolist()))


def heaviest(topic: numpy.ndarray) -> numpy.ndarray:
    """Returns a topic's heaviest terms, heaviest first, with the lower number first among equals."""
    most = min(UMASS_TERMS, len(topic))
    least = numpy.partition(topic, -most)[-most]
    candidates = numpy.flatnonzero(topic >= least)
    return candidates[numpy.argsort(-topic[candidates], kind="stable")][:most]


def together(terms: numpy.ndarray, documents: sparse.csc_array) -> numpy.ndarray:
    """Returns how many documents have both terms of each pair; on the diagonal, how many have the term."""
    columns = documents[:, terms]
    return (columns.T @ columns).toarray().astype(float)


def npmi(both: numpy.ndarray, documents: int) -> float:
    """Returns the mean NPMI of pairs of terms that occur at all; −1 for two that never occur together, or if there are
    no such pairs."""
    high, low = numpy.tril_indices(len(both), k=-1)
    alone = both.diagonal()
    occur = (alone[high] > 0) & (alone[low] > 0)
    return float(pairs(both, documents)[high, low][occur].mean()) if occur.any() else -1.0


def pairs(both: numpy.ndarray, documents: int) -> numpy.ndarray:
    """Returns the NPMI of each pair of terms."""
    share, expected = both / documents, numpy.outer(both.diagonal(), both.diagonal()) / documents**2
    found = numpy.full(both.shape, -1.0)
    found[share == 1] = 1.0
    between = (share > 0) & (share < 1)
    found[between] = numpy.log(share[between] / expected[between]) / -numpy.log(share[between])
    return found


def c_v(both: numpy.ndarray, documents: int) -> float:
    """Returns C_V (Röder, Both & Hinneburg 2015), with whole documents in place of windows: the mean cosine between a
    term's vector of NPMI with all terms and the sum of these vectors."""
    share = both / documents + C_V_EPSILON
    alone = both.diagonal() / documents
    vectors = numpy.log(share / numpy.outer(alone, alone)) / -numpy.log(share)
    whole = vectors.sum(axis=0)
    lengths = numpy.linalg.norm(vectors, axis=1) * numpy.linalg.norm(whole)
    return float((vectors @ whole / numpy.maximum(lengths, numpy.finfo(float).tiny)).mean())


def umass(both: numpy.ndarray) -> float:
    """Returns the UMass of terms, heaviest first."""
    high, low = numpy.tril_indices(len(both), k=-1)
    return float(numpy.log((both[high, low] + 1) / both[low, low]).sum())


def score(folder: Path, train: sparse.csc_array, observed: sparse.csr_array, held_out: sparse.csr_array) -> list[dict]:
    """Returns the scores of a folder's complete snapshots, in order."""
    test = sparse.csc_array(observed + held_out > 0).astype(numpy.int32)
    scores = []
    for path in sorted(folder.glob("*.json")):
        topics, facts = snapshots.read(path)
        alpha = numpy.array(facts.pop("alpha"))
        limit = max(MIN_DOCUMENTS, MOST_PROPORTIONS // len(alpha))
        facts["log_likelihood"] = log_likelihood(topics, alpha, observed[:limit], held_out[:limit])
        facts |= coherence(topics, train, test)
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
