"""Starts, watches, ends and compares runs of a job over several hosts."""

import os
import random
import secrets
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field

from network import FIRST, Host

PORT = 7101
PATIENCE = 240.0
JOB = """
[synth]
path = "{folder}/planted"
topics = 8
documents = {documents}
terms = 3000
mean_length = {length}
[corpus]
block_mib = 0.5
[vocabulary]
stop_words = "none"
[sample]
documents = 6000
held_out = 0.05
[model]
topics = 12
[train]
minibatch = 1024
online_passes = 2
passes = 12
patience = 0
checkpoint_every = 5
[output]
path = "{folder}/out"
"""
# ssh ADDRESS COMMAND, for the hosts of this machine.
SSH = f"""#!/bin/sh
host=host$((${{1##*.}} - {FIRST}))
shift
exec nsenter --net=/run/netns/$host sh -c "$*"
"""


@dataclass
class Ended:
    """How one process ended: its exit code (minus the signal's number if one killed it), the time, and its messages."""

    code: int
    at: float
    said: str

    @property
    def last_line(self) -> str:
        errors = [line.partition("error: ")[2] for line in self.said.splitlines() if "error: " in line]
        return errors[-1] if errors else ""


@dataclass
class Run:
    """The processes of one attempt."""

    processes: dict[int, subprocess.Popen]
    ended: dict[int, Ended] = field(default_factory=dict)
    started: float = field(default_factory=time.time)

    def poll(self) -> bool:
        """Returns whether a process is still running."""
        for number, process in self.processes.items():
            if number not in self.ended and process.poll() is not None:
                said = process.stderr.read().decode(errors="replace")
                self.ended[number] = Ended(process.returncode, time.monotonic(), said)
        return len(self.ended) < len(self.processes)

    def wait(self, but: tuple[int, ...] = (), patience: float = PATIENCE) -> None:
        """Waits until all processes except `but` have ended; kills them when `patience` runs out."""
        ends = time.monotonic() + patience
        while self.poll() and not set(self.processes) - set(self.ended) <= set(but):
            if time.monotonic() > ends:
                self.kill()
                raise TimeoutError(f"processes {set(self.processes) - set(self.ended)} hang")
            time.sleep(0.01)

    def kill(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
        while self.poll():
            time.sleep(0.01)

    def send(self, number: int, sign: signal.Signals) -> None:
        self.processes[number].send_signal(sign)

    def codes(self) -> str:
        return " ".join(str(self.ended[n].code) for n in sorted(self.ended))

    def show(self) -> str:
        """Returns the messages of every process, for a case that failed."""
        return "\n".join(f"[{n}] exit {e.code}\n{e.said}" for n, e in sorted(self.ended.items()))


class Ground:
    """A folder with a job, hosts to run it on, and the expected digest."""

    def __init__(self, binary: str, folder: str, hosts: list[Host], threads: int, seed: int, documents: int, length: int):
        self.binary, self.folder, self.hosts, self.threads = binary, folder, hosts, threads
        self.random = random.Random(seed)
        # The duration of a stage relative to the usual job.
        self.scale = max(1.0, documents * length / (30_000 * 60))
        os.makedirs(folder, exist_ok=True)
        self.job = os.path.join(folder, "job.toml")
        with open(self.job, "w", encoding="utf-8") as file:
            file.write(JOB.format(folder=folder, documents=documents, length=length))
        self.host_file = os.path.join(folder, "hosts.txt")
        with open(self.host_file, "w", encoding="utf-8") as file:
            file.writelines(f"{host.address}:{PORT}\n" for host in hosts)
        self.secret = secrets.token_hex(32)
        self.out = os.path.join(folder, "out")
        self.expected = ""
        shown = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True)
        self.build = shown.stdout.partition("(build ")[2].partition(")")[0]

    def environment(self, **changes: str) -> dict[str, str]:
        return {**os.environ, "TOPICMILL_SECRET": self.secret, "RUST_BACKTRACE": "0", **changes}

    def undisturbed(self) -> None:
        """Runs the job on one thread, for the expected digest."""
        path = os.path.join(self.folder, "undisturbed")
        subprocess.run([self.binary, "run", self.job, "--quiet", "--overwrite", "-w", "1", "--set", f"output.path={path}"], check=True)
        self.expected = self.digest(path)

    def digest(self, path: str = "") -> str:
        words = [self.binary, "verify", path or self.out, "--digest", "--json"]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def clear(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)

    def words(self, number: int, *more: str) -> list[str]:
        place = ["-n", str(len(self.hosts)), "-p", str(number), "--hosts", self.host_file]
        return [self.binary, "run", self.job, "--quiet", "-w", str(self.threads), *place, *more]

    def spawn(self, number: int, *more: str, binary: str = "", **changes: str) -> subprocess.Popen:
        """Starts one process, on its host."""
        words = self.words(number, *more)
        words[0] = binary or words[0]
        return subprocess.Popen(
            self.hosts[number].inside(*words), env=self.environment(**changes), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def second(self, words: list[str]) -> subprocess.CompletedProcess:
        """Runs another command on the first host."""
        words = self.hosts[0].inside(*words)
        return subprocess.run(words, env=self.environment(), capture_output=True, text=True, check=False)

    def launch(self) -> Run:
        """Starts the launcher outside the hosts, which it reaches by a replacement of ssh."""
        ssh = os.path.join(self.folder, "ssh")
        with open(ssh, "w", encoding="utf-8") as file:
            file.write(SSH)
        os.chmod(ssh, 0o755)
        words = [self.binary, "launch", self.job, "--quiet", "-w", str(self.threads), "--hosts", self.host_file, "--ssh", ssh]
        return Run({0: subprocess.Popen(
            words, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)})

    def start(self, *more: str) -> Run:
        """Starts all processes."""
        return Run({number: self.spawn(number, *more) for number in range(len(self.hosts))})

    def reached(self, stage: str) -> bool:
        """Whether the run has begun a stage, from what the output contains."""
        names = {"ingest": "_temporary/drafts", "train": "corpus", "project": "document_topics"}
        marks = {"ingest": 2, "train": 3, "project": 2}
        folder = os.path.join(self.out, names[stage])
        if stage == "train":
            return os.path.exists(os.path.join(folder, "collection.json"))
        return os.path.isdir(folder) and len(os.listdir(folder)) >= marks[stage]

    def met(self, since: float) -> bool:
        """Whether every process has joined since then; it writes its status from that moment on."""
        for number in range(len(self.hosts)):
            path = os.path.join(self.out, f"logs/status-{number:05}.json")
            if not os.path.exists(path) or os.path.getmtime(path) < since:
                return False
        return True

    def await_stage(self, run: Run, stage: str, pause: float) -> bool:
        """Waits until all processes have joined and a stage has begun, then `pause`; false if the run ended before."""
        while not self.reached(stage) or not self.met(run.started):
            if not run.poll() or run.ended:
                return False
            time.sleep(0.002)
        time.sleep(pause)
        run.poll()
        return not run.ended

    def finish(self) -> bool:
        """Runs to the end, undisturbed; returns whether the result has the expected bytes."""
        run = self.start()
        run.wait()
        if any(ended.code for ended in run.ended.values()):
            raise RuntimeError(f"it does not go on:\n{run.show()}")
        return self.digest() == self.expected
