"""Trains by every schedule: `python -m figures.schedules_runs FOLDER`, with FOLDER/plan.json; writes rounds.csv."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset

FACTS = ("schedule", "seed", "offset", "decay", "minibatch")
FIGURES = ("passes", "tokens", "seconds", "heldout")


def topicmill(plan: dict, stage: str, output: Path, settings: dict) -> dict:
    """Runs a stage; gives its summary."""
    command = [plan["binary"], stage, plan["job"], "-w", plan["threads"], "--json"]
    pairs = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
    for pair in [f"output.path={json.dumps(str(output))}", *plan["set"], *pairs]:
        command += ["--set", pair]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"topicmill {stage} ended with {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def curve(plan: dict, collection: Path, settings: dict) -> list[dict]:
    """Trains on a collection; gives the rounds after which the model was evaluated. A pass is as many visits as there
    are documents."""
    output = collection.with_name("result")
    shutil.copytree(collection, output)
    documents = topicmill(plan, "train", output, settings)["train"]["sample_documents"]
    log = pyarrow.dataset.dataset(output / "training_log").to_table().to_pylist()
    shutil.rmtree(output)
    return [
        {
            "passes": row["documents_seen"] / documents,
            "tokens": row["tokens_seen"],
            "seconds": row["seconds"],
            "heldout": row["heldout_loglik_per_token"],
        }
        for row in log
        if row["heldout_loglik_per_token"] is not None
    ]


def main() -> None:
    folder = Path(sys.argv[1])
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    collection = folder / "collection"
    topicmill(plan, "ingest", collection, {})
    with open(folder / "rounds.csv", "w", encoding="utf-8", newline="") as lines:
        table = csv.DictWriter(lines, FACTS + FIGURES, restval="")
        table.writeheader()
        for run in plan["runs"]:
            facts = {name: run[name] for name in FACTS if name in run}
            found = curve(plan, collection, run["settings"])
            table.writerows(facts | row for row in found)
            print(f"  {facts}: {found[-1]['heldout']:.4f} after {found[-1]['seconds']:.1f} s", flush=True)
    shutil.rmtree(collection)


if __name__ == "__main__":
    main()
