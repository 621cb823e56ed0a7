"""Trains with every setting of a figure: `python -m figures.training_runs FOLDER`.

Reads FOLDER/plan.json, writes FOLDER/results.csv.
"""

import csv
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy
import pyarrow.dataset
import pyarrow.parquet

sys.path.append(str(Path(__file__).parents[2] / "python"))
from topicmill import evaluate, read

FACTS = ("line", "seed", "part", "topics", "passes", "offset", "decay", "minibatch")
FIGURES = ("visits", "tokens", "seconds", "cpu_seconds", "cpu_ms_per_100", "cpu_ms_per_10000", "nonzero_share", "heldout", "left_to_right",
           "umass", "umass_worst", "npmi", "npmi_worst", "accuracy", "baseline", "micro_f1", "macro_f1", "document_f1",
           "one_error", "ranking_loss", "average_precision", "documents_per_second")
# Sweeps over the documents with which other systems learn labels.
SWEEPS = 200


def topicmill(plan: dict, stage: str, settings: dict, arguments: tuple = ()) -> dict:
    """Runs a stage; returns its summary, with `cpu_seconds`, and `cpu`, the same per second of the process."""
    command = [plan["binary"], stage, plan["job"], "-w", plan["threads"], "--json", *arguments]
    pairs = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
    for pair in [*plan["set"], *pairs]:
        command += ["--set", pair]
    started, used = time.perf_counter(), cpu_seconds()
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    used, seconds = cpu_seconds() - used, time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"topicmill {stage} ended with {done.returncode}:\n{done.stderr}")
    return {**json.loads(done.stdout.splitlines()[-1]), "cpu_seconds": used, "cpu": used / seconds}


def cpu_seconds() -> float:
    """Returns the CPU time of all processes run so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def rows(folder: Path, name: str) -> list[dict]:
    """Returns the rows of a result's table."""
    return pyarrow.dataset.dataset(folder / name).to_table().to_pylist()


def curve(log: list[dict], documents: int, cpu: float) -> list[dict]:
    """Returns the rounds after which the model was evaluated. A pass is as many visits as there are documents. CPU time is
    that of training alone, if the process had the CPU for the same share of time throughout."""
    return [
        {
            "visits": row["documents_seen"] / documents,
            "tokens": row["tokens_seen"],
            "seconds": row["seconds"],
            "cpu_seconds": row["seconds"] * cpu,
            "heldout": row["heldout_loglik_per_token"],
        }
        for row in log
        if row["heldout_loglik_per_token"] is not None
    ]


def speed(plan: dict, collection: Path, settings: dict) -> dict:
    """Measures the CPU time of one more pass, when sampled models have become sparse: that of a run minus that of a
    shorter one, and therefore without loading and the random start."""
    passes = settings["train.passes"]
    runs = [trained(plan, collection, settings | {"train.passes": count}) for count in (passes, passes + 1)]
    used = runs[1]["cpu_seconds"] - runs[0]["cpu_seconds"]
    log = runs[1]["log"]
    return {
        "visits": passes,
        "tokens": log[-1]["tokens_seen"],
        "seconds": log[-1]["seconds"],
        "cpu_seconds": used,
        "cpu_ms_per_100": 1e5 * used / runs[1]["train"]["sample_documents"],
        "cpu_ms_per_10000": 1e7 * used / runs[1]["train"]["sample_documents"],
        "nonzero_share": log[-1]["nonzero_share"],
    }


def trained(plan: dict, collection: Path, settings: dict) -> dict:
    """Trains on a copy of the collection, which is kept; returns the summary, with the `log`."""
    output = Path(settings["output.path"])
    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(collection, output)
    summary = topicmill(plan, "train", settings)
    return {**summary, "log": rows(output, "training_log")}


def worst_tenth(values: list[float]) -> float:
    """Returns the mean of the lowest tenth."""
    return statistics.mean(sorted(values)[: max(1, len(values) // 10)])


def quality(plan: dict, settings: dict, output: Path) -> dict:
    """Measures the quality of a trained model on documents that it was not trained on."""
    folder = output.with_name("evaluation")
    wanted: dict[str, object] = {"evaluate.documents": plan["documents"]}
    if plan["figure"] == "accuracy":
        wanted |= {"evaluate.metrics": ["completion"], "evaluate.split": "all"}
    else:
        wanted["evaluate.metrics"] = ["completion", "left-to-right", "umass", "npmi"]
    topicmill(plan, "evaluate", settings | wanted, ("--output", folder))
    named = {(row["metric"], row["method"].split(",")[0]): row["value"] for row in rows(folder, "evaluation")}
    found = {
        "heldout": named.get(("log_likelihood_per_token", "document_completion")),
        "left_to_right": named.get(("log_likelihood_per_token", "left_to_right")),
    }
    if plan["figure"] == "accuracy":
        found |= of_column(plan, settings, output)
    else:
        for short, metric in (("umass", "coherence_umass"), ("npmi", "coherence_npmi")):
            values = [row["value"] for row in rows(folder, "topic_scores")
                      if row["metric"] == metric and row["value"] is not None]
            found |= {short: statistics.mean(values), f"{short}_worst": worst_tenth(values)}
    shutil.rmtree(folder)
    return found


def of_column(plan: dict, settings: dict, output: Path) -> dict:
    """Predicts a column of the documents from their topics."""
    topicmill(plan, "project", settings | {"project.threshold": 0.0})
    result = read(output, backend="pyarrow")
    documents = numpy.random.default_rng(1).permutation(len(result.documents))[: plan["documents"]]
    labels = result.documents[plan["labels"]].take(documents)
    predicted = evaluate.classification(result.theta[documents], labels)
    return {"accuracy": predicted.accuracy, "baseline": predicted.baseline}


@dataclass
class Split:
    """Documents to train on, as rows of shards, their labels, 0 or 1 each, and documents whose labels are predicted."""

    trained: list[dict]
    own: numpy.ndarray
    others: list[dict]


def of_labels(plan: dict, collection: Path, run: dict) -> dict:
    """Measures the prediction of labels for documents that were not trained on."""
    output = collection.with_name("result")
    shutil.copytree(collection, output)
    settings = {**run["settings"], "output.path": str(output)}
    summary = topicmill(plan, "run", settings)
    if run["measured"] != "labels":
        found = by_others(run["measured"], output, plan["threads"])
    else:
        named = {(row["metric"], row["method"]): row["value"] for row in rows(output, "evaluation")}
        found = {"micro_f1": named["label_f1", "micro-averaged"], "macro_f1": named["label_f1", "macro-averaged"],
                 "document_f1": named["label_f1", "mean over documents"],
                 "seconds": summary["train"]["seconds"] + summary["project"]["seconds"],
                 "documents_per_second": summary["project"]["documents_per_second"]}
        for name in ("one_error", "ranking_loss", "average_precision"):
            found[name] = named[f"label_{name}", "mean over documents"]
    shutil.rmtree(output)
    return found


def by_others(measured: str, output: Path, threads: int) -> dict:
    """Measures the same for another system, on the same documents."""
    from sklearn.metrics import f1_score

    documents = rows(output, "documents")
    shards = [row for path in sorted((output / "corpus" / "shards").iterdir())
              for row in pyarrow.parquet.read_table(path, columns=["terms", "counts"]).to_pylist()]
    number = {row["label"]: row["topic"] for row in rows(output, "labels")}
    # Every label of a document has a row in `predictions`.
    own = numpy.zeros((len(documents), len(number)), dtype=int)
    counts = numpy.zeros(len(documents), dtype=int)
    for row in rows(output, "predictions"):
        own[row["doc_id"], row["topic"]] = bool(row["actual"])
        counts[row["doc_id"]] += row["predicted"]
    trained = numpy.array([row["split"] == "sample" for row in documents])
    others = ~trained & own.any(axis=1)
    split = Split([shards[i] for i in numpy.flatnonzero(trained)], own[trained], [shards[i] for i in numpy.flatnonzero(others)])
    found = {}
    if measured == "svm":
        predicted = svm(split)
    else:
        started = time.perf_counter()
        scores = {"tomotopy": tomotopy, "topica": topica}[measured](split, threads)
        found["seconds"] = time.perf_counter() - started
        # As many labels as topicmill's regression estimates for the document.
        order = numpy.argsort(numpy.argsort(-scores, axis=1, kind="stable"), axis=1)
        predicted = (order < counts[others][:, None]).astype(int)
    averages = {"micro_f1": "micro", "macro_f1": "macro", "document_f1": "samples"}
    seen = own[others].any(axis=0) | predicted.any(axis=0)
    return found | {name: f1_score(own[others][:, seen], predicted[:, seen], average=average, zero_division=0)
                    for name, average in averages.items()}


def svm(split: Split) -> numpy.ndarray:
    """Predicts by linear support vector machines, one per label."""
    from scipy.sparse import csr_matrix
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import normalize
    from sklearn.svm import LinearSVC

    shards = [*split.trained, *split.others]
    ends = numpy.cumsum([0, *(len(row["terms"]) for row in shards)])
    terms = numpy.concatenate([row["terms"] for row in shards]).astype(int)
    counts = numpy.concatenate([row["counts"] for row in shards]).astype(float)
    features = normalize(csr_matrix((counts, terms, ends)))
    first = len(split.trained)
    # There is no machine for labels of no training document, or of all.
    machines = OneVsRestClassifier(LinearSVC(), n_jobs=1).fit(features[:first], split.own)
    return machines.predict(features[first:])


def tomotopy(split: Split, threads: int) -> numpy.ndarray:
    """Labeled LDA by tomotopy: partially labeled LDA with one topic per label, and no others."""
    import tomotopy

    model = tomotopy.PLDAModel(latent_topics=0, topics_per_label=1, seed=1)
    for row, own in zip(split.trained, split.own):
        model.add_doc(words(row), [str(label) for label in numpy.flatnonzero(own)])
    model.train(SWEEPS, workers=threads)
    known = set(model.used_vocabs)
    # tomotopy cannot make a document without a known word.
    made = {i: model.make_doc(found) for i, row in enumerate(split.others) if (found := [w for w in words(row) if w in known])}
    inferred, _ = model.infer(list(made.values()), workers=threads)
    scores = numpy.zeros((len(split.others), split.own.shape[1]))
    labels = [int(label) for label in model.topic_label_dict]
    for place, theta in zip(made, inferred):
        scores[place, labels] = theta
    return scores


def topica(split: Split, threads: int) -> numpy.ndarray:
    """Labeled LDA by topica."""
    import topica

    model = topica.LabeledLDA(seed=1, num_threads=threads)
    labels = [[str(label) for label in numpy.flatnonzero(own)] for own in split.own]
    model.fit([words(row) for row in split.trained], labels, iters=SWEEPS, keep_theta_draws=False)
    scores = numpy.zeros((len(split.others), split.own.shape[1]))
    scores[:, [int(label) for label in model.labels]] = model.transform([words(row) for row in split.others])
    return scores


def words(row: dict) -> list[str]:
    """Returns the words of a shard's document: each term as often as it is counted."""
    return [str(term) for term, count in zip(row["terms"], row["counts"]) for _ in range(count)]


def measure(plan: dict, collection: Path, run: dict) -> list[dict]:
    """Trains on a copy of the collection; returns the measurements."""
    if plan["figure"] == "labels":
        return [of_labels(plan, collection, run)]
    output = collection.with_name("result")
    settings = {**run["settings"], "output.path": str(output)}
    if run["measured"] == "speed":
        found = [speed(plan, collection, settings)]
    else:
        run_of = trained(plan, collection, settings)
        documents, log = run_of["train"]["sample_documents"], run_of["log"]
        if run["measured"] == "rounds":
            found = curve(log, documents, run_of["cpu"])
        else:
            last = log[-1]
            found = [{"visits": last["documents_seen"] / documents, "tokens": last["tokens_seen"], "seconds": last["seconds"],
                      "cpu_seconds": last["seconds"] * run_of["cpu"], "nonzero_share": last["nonzero_share"],
                      **quality(plan, settings, output)}]
    shutil.rmtree(output)
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    collection = folder / "collection"
    topicmill(plan, "ingest", {"output.path": str(collection)})
    with open(folder / "results.csv", "w", encoding="utf-8", newline="") as lines:
        table = csv.DictWriter(lines, FACTS + FIGURES, restval="")
        table.writeheader()
        for run in plan["runs"]:
            facts = {name: run[name] for name in FACTS if name in run}
            found = measure(plan, collection, run)
            table.writerows(facts | row for row in found)
            lines.flush()
            print(f"  {facts}: {found[-1]}", flush=True)
    shutil.rmtree(collection)


if __name__ == "__main__":
    main()
