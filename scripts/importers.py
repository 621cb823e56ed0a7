"""Compares topicmill with other programs' importers, which turn texts into word counts, for docs/measurements/SCALING.md.

    target/bench/venv/bin/python scripts/importers.py TEXTS.jsonl --binary PROGRAM [--volumes FOLDER] [--repeat N]

TEXTS is plain JSON Lines with `text`. Every importer produces the term counts of each document and a vocabulary by one
rule: words of 3 to 40 letters, in lower case, without English stop words, in at least 5 documents and at most half of
them, at most 65,536. Each runs in its own process. The peers are those of scripts/bench-requirements.txt, and, for
volumes of Extracted Features (--volumes), htrc-feature-reader if it is installed. Prints a table.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

JOB = """
[corpus]
input = "{texts}"
format = "{format}"
[tokens]
rule = "letters"
[vocabulary]
stop_words = "{stop_words}"
min_documents = 5
max_share = 0.5
max_terms = 65536
[model]
topics = 2
[output]
path = "{out}"
"""

WORD = r"(?<![a-z])[a-z]{3,40}(?![a-z])"
MIN_DOCUMENTS, MAX_SHARE, MAX_TERMS = 5, 0.5, 65_536


def texts(path: Path) -> Iterator[str]:
    """Yields the texts of JSON Lines."""
    with open(path, "rb") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def stop_words(path: Path) -> frozenset[str]:
    """Reads scikit-learn's English stop words from a file, because importing them would count as an importer's time."""
    return frozenset(path.with_suffix(".stop").read_text(encoding="utf-8").split())


def sklearn(path: Path) -> tuple[int, int, int]:
    """scikit-learn's CountVectorizer: documents, terms, tokens."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        token_pattern=WORD, stop_words="english", min_df=MIN_DOCUMENTS, max_df=MAX_SHARE, max_features=MAX_TERMS
    )
    counts = vectorizer.fit_transform(texts(path))
    return *counts.shape, int(counts.sum())


def words(path: Path) -> Iterator[list[str]]:
    """The words of each text."""
    find, stop = re.compile(WORD).findall, stop_words(path)
    for text in texts(path):
        yield [word for word in find(text.lower()) if word not in stop]


def gensim(path: Path) -> tuple[int, int, int]:
    """gensim's Dictionary and doc2bow, each text read twice, as its streamed corpora are."""
    from gensim.corpora import Dictionary

    dictionary = Dictionary(words(path), prune_at=None)
    dictionary.filter_extremes(no_below=MIN_DOCUMENTS, no_above=MAX_SHARE, keep_n=MAX_TERMS)
    bags = [dictionary.doc2bow(document) for document in words(path)]
    return len(bags), len(dictionary), sum(count for bag in bags for _, count in bag)


def tomotopy(path: Path) -> tuple[int, int, int]:
    """tomotopy's Corpus with its SimpleTokenizer; the model that takes it drops rare and frequent terms."""
    import tomotopy

    stop = stop_words(path)
    tokenizer = tomotopy.utils.SimpleTokenizer(pattern=WORD)
    corpus = tomotopy.utils.Corpus(tokenizer=tokenizer, stopwords=lambda word: word in stop)
    corpus.process(texts(path))
    model = tomotopy.LDAModel(min_df=MIN_DOCUMENTS, corpus=corpus)
    model.train(0)
    return len(model.docs), len(model.used_vocabs), model.num_words


def topica(path: Path) -> tuple[int, int, int]:
    """topica's Corpus.from_text_file, in Rust, over one text per line; writing these lines is not measured."""
    import topica

    corpus = topica.Corpus.from_text_file(
        str(path.with_suffix(".lines")), token_regex="[a-z]{3,40}", stopwords=stop_words(path),
        min_doc_freq=MIN_DOCUMENTS, max_doc_fraction=MAX_SHARE,
    )
    return corpus.num_docs, corpus.num_words, corpus.total_tokens


def feature_reader(folder: Path) -> tuple[int, int, int]:
    """htrc-feature-reader: the counts of each page of each volume, without a vocabulary of them all."""
    from htrc_features import Volume

    tokens, known = 0, set()
    volumes = sorted(folder.rglob("*.json.bz2"))
    for path in volumes:
        counts = Volume(path=str(path)).tokenlist(pages=True, case=False, pos=False)
        tokens += int(counts["count"].sum())
        known.update(counts.index.get_level_values("lowercase"))
    return len(volumes), len(known), tokens


PEERS: dict[str, Callable[[Path], tuple[int, int, int]]] = {
    "scikit-learn": sklearn, "gensim": gensim, "tomotopy": tomotopy, "topica": topica, "htrc-feature-reader": feature_reader,
}


def topicmill(asked: argparse.Namespace, path: Path, input_format: str, threads: int) -> tuple[list[float], tuple[int, int, int]]:
    """Runs topicmill's ingest; returns seconds, CPU seconds and MB, and the counts."""
    with tempfile.TemporaryDirectory(dir=asked.scratch) as folder:
        job, stop = Path(folder) / "job.toml", Path(folder) / "stop.txt"
        stop.write_text("\n".join(stop_words(path)) if input_format == "jsonl" else "", encoding="utf-8")
        job.write_text(
            JOB.format(texts=path.absolute(), format=input_format, stop_words=stop, out=f"{folder}/out"), encoding="utf-8"
        )
        printed, used = timed([asked.binary, "ingest", job, "--threads", str(threads), "--quiet"])
        summary = json.loads((Path(folder) / "out/corpus/collection.json").read_text(encoding="utf-8"))
    return used, (summary["documents"], summary["terms_kept"], summary["tokens_in_vocabulary"])


def timed(command: list[object]) -> tuple[str, list[float]]:
    """Runs a command; returns its output, and its seconds, CPU seconds and peak memory in MB."""
    started = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE)
    assert process.stdout
    printed = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return printed, [time.monotonic() - started, cpu, usage.ru_maxrss / 1024]


def row(name: str, megabytes: float, files: int, runs: list[list[float]], found: tuple[int, int, int]) -> None:
    """Prints the row of an importer; for several files, the rate counts files."""
    seconds, cpu, memory = (statistics.median(values) for values in zip(*runs, strict=True))
    documents, terms, tokens = found
    read = files if files > 1 else documents
    rates = f"{seconds:.2f} | {cpu:.2f} | {megabytes / seconds:.1f} | {read / seconds:,.1f}"
    print(f"| {name} | {rates} | {memory:.0f} | {documents:,} | {terms:,} | {tokens:,} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--volumes", type=Path, metavar="FOLDER", help="Extracted Features; read by htrc-feature-reader as well")
    parser.add_argument("--volumes-python", default=sys.executable, metavar="PYTHON", help="the Python that has htrc-feature-reader")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each, of which the median is printed")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.peer:
        print(json.dumps(PEERS[asked.peer](asked.texts)))
        return
    if not asked.binary:
        parser.error("--binary is missing")
    print("| importer | seconds | CPU s | MB/s | documents/s (volumes/s) | peak memory, MB | documents | terms | tokens |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    lines = asked.texts.with_suffix(".lines")
    with open(lines, "w", encoding="utf-8") as file:
        file.writelines(" ".join(text.lower().split()) + "\n" for text in texts(asked.texts))
    # In another process, because this one's memory would count as that of the processes that it starts.
    words_of = "import sys, sklearn.feature_extraction.text as t; sys.stdout.write('\\n'.join(sorted(t.ENGLISH_STOP_WORDS)))"
    stop = asked.texts.with_suffix(".stop")
    stop.write_text(subprocess.run([sys.executable, "-c", words_of], capture_output=True, text=True, check=True).stdout, encoding="utf-8")
    compare(asked, asked.texts, "jsonl", ["scikit-learn", "gensim", "tomotopy", "topica"], sys.executable)
    lines.unlink()
    stop.unlink()
    if asked.volumes:
        compare(asked, asked.volumes, "htrc", ["htrc-feature-reader"], asked.volumes_python)


def compare(asked: argparse.Namespace, path: Path, input_format: str, peers: list[str], python: str) -> None:
    """Prints the rows of one input."""
    files = [path] if path.is_file() else list(path.rglob("*.json.bz2"))
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    for threads in [1, 2]:
        runs, found = zip(*(topicmill(asked, path, input_format, threads) for _ in range(asked.repeat)), strict=True)
        row(f"topicmill, {threads} thread{'s' * (threads > 1)}", megabytes, len(files), list(runs), found[0])
    for name in peers:
        command = [python, Path(__file__), path, "--peer", name]
        outputs = [timed(command) for _ in range(asked.repeat)]
        version = subprocess.run(
            [python, "-c", f"import importlib.metadata as m; print(m.version('{name}'))"], capture_output=True, text=True
        ).stdout.strip()
        row(f"{name} {version}", megabytes, len(files), [used for _, used in outputs], tuple(json.loads(outputs[0][0])))


if __name__ == "__main__":
    main()
