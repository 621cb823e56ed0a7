"""Writes states of other samplers in MALLET's format: `python -m figures.states FOLDER OUT SEED TOPICS`.

topica's samplers `sparse` (SparseLDA, as in MALLET) and `warp` (WarpLDA) write such states themselves; this module
writes tomotopy's. Priors and sweeps are those of Papanikolaou 2017, §5.7.
"""

import gzip
import sys
from itertools import islice
from pathlib import Path

import tomotopy
import topica

# α of each topic, β, sweeps.
ALPHA, BETA, SWEEPS = 0.1, 0.01, 200
SYSTEMS = ("topica-sparse", "topica-warp", "tomotopy")


def documents(folder: Path) -> list[list[str]]:
    """Returns the words of each document of a UCI bag of words."""
    vocabulary = next(iter(sorted(folder.glob("vocab*.txt")))).read_text(encoding="utf-8").split("\n")
    found: dict[int, list[str]] = {}
    with open(next(iter(sorted(folder.glob("docword*.txt")))), encoding="utf-8") as lines:
        for line in islice(lines, 3, None):
            document, term, count = map(int, line.split())
            found.setdefault(document, []).extend([vocabulary[term - 1]] * count)
    return [found[number] for number in sorted(found)]


def by_topica(texts: list[list[str]], sampler: str, topics: int, seed: int, path: Path) -> None:
    model = topica.LDA(topics, alpha_sum=ALPHA * topics, beta=BETA, optimize_interval=0, seed=seed, sampler=sampler)
    model.fit(texts, iters=SWEEPS, num_samples=1, keep_theta_draws=False, progress=False)
    model.save_state(str(path))


def by_tomotopy(texts: list[list[str]], topics: int, seed: int, path: Path) -> None:
    model = tomotopy.LDAModel(k=topics, alpha=ALPHA, eta=BETA, seed=seed)
    for text in texts:
        model.add_doc(text)
    model.optim_interval = 0
    model.train(SWEEPS, workers=1, show_progress=False)
    names = list(model.used_vocabs)
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.write("#doc source pos typeindex type topic\n")
        out.write(f"#alpha : {' '.join([str(ALPHA)] * topics)}\n#beta : {BETA}\n")
        for number, document in enumerate(model.docs):
            for place, (term, topic) in enumerate(zip(document.words, document.topics)):
                out.write(f"{number} NA {place} {term} {names[term]} {topic}\n")


def main() -> None:
    folder, out, seed, topics = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    texts = documents(folder)
    for system in SYSTEMS:
        path = out / f"{system}-{seed}.gz"
        if system == "tomotopy":
            by_tomotopy(texts, topics, seed, path)
        else:
            by_topica(texts, system.removeprefix("topica-"), topics, seed, path)
        print(path)


if __name__ == "__main__":
    main()
