"""topicmill itself: separate runs of the program, because it has no snapshots.

Uses only the standard library: on Linux child processes inherit a process's peak memory, so this one must stay small.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from .task import Task

# Each row is one run, with its effort (sweeps over the documents) and its settings. By default the first three passes
# are online, with five sweeps each; later ones are Gibbs passes, with one. Runs end when the next would not fit into
# the time.
RUNGS: list[tuple[float, list[str]]] = [
    (5, ["train.passes=1"]),
    (10, ["train.passes=2"]),
    (15, ["train.passes=3"]),
    *((15 + gibbs, [f"train.passes={3 + gibbs}"]) for gibbs in (6, 12, 25, 50, 100, 200, 400, 800, 1600)),
]

# For the papers' dense local steps, which topicmill has for comparison; all passes are alike.
PASSES: list[tuple[float, list[str]]] = [(2**n, [f"train.passes={2**n}"]) for n in range(11)]

# Everything that a job sets besides input, output, topics and seed: jobs are written from these two dictionaries, which
# the report lists. The first is for every job: all documents and terms of the split, and no projection.
SPLIT_AS_IT_IS: dict[str, object] = {
    "vocabulary.stop_words": "none",
    "vocabulary.min_documents": 1,
    "vocabulary.max_share": 1.0,
    "sample.fraction": 1.0,
    "project.method": "none",
}
# The second is for training: each run makes all its passes and does not evaluate between them.
ALL_PASSES: dict[str, object] = {"train.patience": 0, "train.evaluate_every": 1_000_000}


def toml(settings: dict[str, object]) -> str:
    """Returns settings as lines of a job file."""
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())


class Topicmill:
    """Runs with increasing effort; the time of each is that of its training_log."""

    def __init__(self, task: Task, binary: Path, method: str = "sampled"):
        self.task = task
        self.rungs = RUNGS if method == "sampled" else PASSES
        self.of_runs = ALL_PASSES if method == "sampled" else ALL_PASSES | {"train.method": method}
        self.binary = binary
        self.peak = 0.0
        self.of_all_runs = SPLIT_AS_IT_IS | {"vocabulary.max_terms": task.terms}
        self.settings = self.of_all_runs | self.of_runs

    def version(self) -> str:
        return self.printed("--version").split()[1]

    def train(self) -> None:
        task = self.task
        job = self.write_job(toml(self.of_runs))
        for effort, settings in self.rungs:
            folder = task.out / "run"
            self.run(job, folder, settings)
            self.snapshot(" ".join(settings))
            shutil.rmtree(folder)
            last = max(task.out.glob("*.json"))
            seconds = json.loads(last.read_text(encoding="utf-8"))["seconds"]
            following = next((more for more, _ in self.rungs if more > effort), effort)
            if seconds * following / effort > task.seconds:
                break

    def write_job(self, more: str) -> Path:
        """Writes the job of all runs, with further lines."""
        asked = {
            "corpus.input": "docword.train.txt",
            "corpus.format": "uci",
            "model.topics": self.task.topics,
            "model.seed": self.task.seed,
            "output.path": "overridden by each run",
        }
        job = self.task.split / "job.toml"
        job.write_text(toml(asked | self.of_all_runs) + more, encoding="utf-8")
        return job

    def snapshot(self, note: str) -> None:
        """Turns the tables in OUT/run into a snapshot, in another process because this one must stay small."""
        reader = [sys.executable, "-m", "bench_peers.tables", str(self.task.split), str(self.task.out), note]
        subprocess.run(reader, check=True)

    def run(self, job: Path, folder: Path, settings: list[str]) -> None:
        """Runs the job once, and updates the peak memory."""
        path = json.dumps(str(folder), ensure_ascii=False)
        command: list[str | Path] = [self.binary, "run", job, "--threads", str(self.task.threads), "--quiet"]
        for setting in [f"output.path={path}", *settings]:
            command += ["--set", setting]
        process = subprocess.Popen(command)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"topicmill with {' '.join(settings)}: exit code {process.returncode}")
        self.peak = max(self.peak, usage.ru_maxrss / 1024)

    def peak_mb(self) -> float:
        return self.peak

    def printed(self, *command: str | Path) -> str:
        """Returns the output of one of the program's commands."""
        done = subprocess.run([self.binary, *command], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"topicmill {command[0]}: exit code {done.returncode}")
        return done.stdout
