"""How similar two systems' proportions are: the measures of Yao 2009, §6.1, as means over documents."""

import numpy

# The compared topics have this share of a document.
MASS = 0.8


def main_topics(proportions: numpy.ndarray) -> numpy.ndarray:
    """Returns documents × topics: true for the heaviest topics up to a sum of MASS, and always for the heaviest one."""
    order = numpy.argsort(-proportions, axis=1, kind="stable")
    running = numpy.cumsum(numpy.take_along_axis(proportions, order, 1), axis=1)
    kept = running <= MASS
    kept[:, 0] = True
    chosen = numpy.zeros(proportions.shape, dtype=bool)
    numpy.put_along_axis(chosen, order, kept, 1)
    return chosen


def compare(reference: numpy.ndarray, other: numpy.ndarray) -> dict[str, float]:
    """Returns cosine, KL(reference ‖ other) in nats, and F1 of the main topics; rows of documents × topics sum to 1."""
    lengths = numpy.linalg.norm(reference, axis=1) * numpy.linalg.norm(other, axis=1)
    cosine = (reference * other).sum(axis=1) / lengths
    ratio = numpy.log(numpy.maximum(reference, 1e-12) / numpy.maximum(other, 1e-12))
    divergence = (reference * ratio).sum(axis=1)
    right, chosen = main_topics(reference), main_topics(other)
    f1 = 2 * (right & chosen).sum(axis=1) / (right.sum(axis=1) + chosen.sum(axis=1))
    return {"cosine": float(cosine.mean()), "kl": float(divergence.mean()), "f1": float(f1.mean())}
