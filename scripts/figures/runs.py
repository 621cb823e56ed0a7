"""Trains, and infers by every method: `python -m figures.runs FOLDER`, with FOLDER/plan.json; writes results.json."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pyarrow.dataset

from .measures import compare

JOB = """
[corpus]
input = {input}

[sample]
fraction = {trained}
held_out = 0.02

[model]
topics = {topics}

[output]
path = {path}
"""


def methods(passes: int) -> dict[str, dict[str, object]]:
    """Returns the lines of the figures by name, with their keys of `[project]`. The first two are the references."""
    half = passes // 2
    long = {"burn_in": half, "sweeps": passes - half}
    return {
        "Gibbs1": {"method": "retrain", **long},
        "Gibbs2": {"method": "gibbs-joint", **long},
        "Gibbs3": {"method": "gibbs", **long},
        "Gibbs2.S": {"method": "gibbs-joint", "burn_in": 0, "sweeps": 1, "estimator": "counts"},
        "Gibbs3.S": {"method": "gibbs", "burn_in": 0, "sweeps": 1, "estimator": "counts"},
        "Gibbs3, 2 + 4, soft": {"method": "gibbs", "burn_in": 2, "sweeps": 4, "estimator": "soft"},
        "Variational": {"method": "variational"},
        "CVB0": {"method": "cvb0"},
        "MaxEnt": {"method": "maxent"},
        "Hybrid MaxEnt": {"method": "hybrid", "burn_in": 2, "sweeps": 4, "estimator": "soft"},
        "Naive Bayes": {"method": "naive-bayes"},
    }


FAST = ("Gibbs2", "Gibbs2.S", "Gibbs3.S", "Gibbs3, 2 + 4, soft", "Variational", "CVB0", "MaxEnt", "Hybrid MaxEnt", "Naive Bayes")


class Trained:
    """A trained model and its inference, in a folder of its own."""

    def __init__(self, plan: dict, folder: Path, topics: int, trained: float):
        self.plan = plan
        self.folder = folder
        self.topics = topics
        folder.mkdir()
        self.job = folder / "job.toml"
        texts = {"input": json.dumps(plan["input"]), "path": json.dumps(str(folder / "base"))}
        self.job.write_text(JOB.format(**texts, trained=trained, topics=topics), encoding="utf-8")
        for stage in ("ingest", "train"):
            self.topicmill(stage, [])

    def topicmill(self, stage: str, settings: list[str]) -> dict:
        """Runs a stage; returns its summary."""
        command = [self.plan["binary"], stage, self.job, "-w", self.plan["threads"], "--json"]
        command += [part for setting in settings for part in ("--set", setting)]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"topicmill {stage} ended with {done.returncode}:\n{done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])

    def infer(self, method: dict) -> tuple[dict, numpy.ndarray, numpy.ndarray]:
        """Returns the summary, the documents that were not trained on, and their proportions (documents × topics)."""
        path = self.folder / "result"
        shutil.copytree(self.folder / "base", path)
        settings = [f"project.{key}={json.dumps(value)}" for key, value in method.items()]
        where = f"output.path={json.dumps(str(path))}"
        summary = self.topicmill("project", [*settings, where, "project.threshold=0.0"])
        numbers, proportions = read(path, self.topics)
        self.top_terms = pyarrow.dataset.dataset(path / "topics").to_table(columns=["top_terms"])["top_terms"].to_pylist()
        shutil.rmtree(path)
        return summary["project"] | {"drift": summary["drift"]}, numbers, proportions


def read(path: Path, topics: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the documents of a result that were not trained on and have terms, with all their proportions."""
    documents = pyarrow.dataset.dataset(path / "documents").to_table(columns=["doc_id", "split", "status"])
    kept = documents.to_pydict()
    numbers = numpy.array(
        [n for n, split, status in zip(kept["doc_id"], kept["split"], kept["status"])
         if split == "projected" and status == "ok"],
        dtype=numpy.int64,
    )
    rows = pyarrow.dataset.dataset(path / "document_topics").to_table(columns=["doc_id", "topic", "weight"])
    place = numpy.searchsorted(numbers, rows["doc_id"].to_numpy())
    place = numpy.minimum(place, len(numbers) - 1)
    known = numbers[place] == rows["doc_id"].to_numpy()
    proportions = numpy.zeros((len(numbers), topics))
    proportions[place[known], rows["topic"].to_numpy()[known]] = rows["weight"].to_numpy()[known]
    return numbers, proportions / proportions.sum(axis=1, keepdims=True)


def against(trained: Trained, wanted: dict[str, dict], references: list[str]) -> list[dict]:
    """Returns every method's time and its similarity to the references."""
    inferred = {}
    lines = []
    for name, method in wanted.items():
        summary, _, proportions = trained.infer(method)
        inferred[name] = proportions
        line = {"method": name, "seconds": summary["seconds"], "documents": len(proportions)}
        line["maxent_seconds"] = summary.get("maxent_seconds")
        for reference in references:
            if reference in inferred and reference != name:
                line[reference] = compare(inferred[reference], proportions)
        print(f"  {name}: {line}", flush=True)
        lines.append(line)
    return lines


def proportions_of_training(plan: dict, folder: Path) -> list[dict]:
    """Figure 8: MaxEnt against Gibbs2 of the same model, on the same test documents, by the share trained on."""
    lines = []
    tests = None
    for share in sorted(plan["proportions"], reverse=True):
        trained = Trained(plan, folder / f"share-{share}", plan["topics"], share)
        all_methods = methods(plan["share_passes"])
        results = {name: trained.infer(all_methods[name])[1:] for name in ("Gibbs2", "MaxEnt", "CVB0")}
        if tests is None:
            tests = results["Gibbs2"][0]
        rows = {name: found[numpy.isin(numbers, tests)] for name, (numbers, found) in results.items()}
        lines += [{"share": share, "method": name, **compare(rows["Gibbs2"], rows[name])} for name in ("MaxEnt", "CVB0")]
        print(f"  trained on {share}: {lines[-2:]}", flush=True)
        shutil.rmtree(trained.folder)
    return lines


def main() -> None:
    folder = Path(sys.argv[1])
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    wanted = methods(plan["passes"])
    print(f"{plan['topics']} topics", flush=True)
    trained = Trained(plan, folder / "main", plan["topics"], plan["trained"])
    lines = against(trained, wanted, ["Gibbs1", "Gibbs2"])
    shutil.rmtree(trained.folder)
    by_topics = [{"topics": plan["topics"], **line} for line in lines]
    for topics in plan["other_topics"]:
        print(f"{topics} topics", flush=True)
        trained = Trained(plan, folder / f"topics-{topics}", topics, plan["trained"])
        found = against(trained, {name: wanted[name] for name in FAST}, ["Gibbs2"])
        by_topics += [{"topics": topics, **line} for line in found]
        shutil.rmtree(trained.folder)
    by_share = proportions_of_training(plan, folder)
    results = {"plan": plan, "methods": lines, "by_topics": by_topics, "by_share": by_share}
    (folder / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
