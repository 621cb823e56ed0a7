"""The fault matrix: failures injected into a run over several hosts, and the required outcomes.

Every case yields rows, and raises if a promise is broken. At the end of each case that ends the run,
the same command resumes it, and the result must have the bytes of an undisturbed run.
"""

import glob
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from network import SmallDisk
from runs import PORT, Ground, Run

STAGES = ("ingest", "train", "project")
SHORT = ("--peer-timeout", "3")
CHECKPOINTS = "checkpoints/train-*.model"
# Seconds that a launch may take, even on a large collection.
LONG = 3600.0


@dataclass
class Row:
    """A line of the table."""

    case: str
    seconds: str
    codes: str
    said: str
    same: str


class Broken(Exception):
    """A promise that was not kept."""


def check(kept: bool, promise: str, run: Run | None = None) -> None:
    if not kept:
        raise Broken(promise + (f"\n{run.show()}" if run else ""))


def survived(ground: Ground, run: Run, case: str) -> Row:
    """Returns the row of a run that must have succeeded in spite of the failure."""
    run.wait()
    check(not any(e.code for e in run.ended.values()), f"{case}: the run ends well", run)
    check(ground.digest() == ground.expected, f"{case}: the same bytes")
    return Row(case, "–", run.codes(), "", "yes, at once")


def resumed(ground: Ground, run: Run, case: str, since: float, witness: int) -> Row:
    """Resumes a run that ended; returns its row, with the message of one of its processes."""
    seconds = max(ended.at for ended in run.ended.values()) - since
    row = Row(case, f"{seconds:.1f}", run.codes(), run.ended[witness].last_line, "yes")
    check(ground.finish(), f"{case}: the same bytes after going on")
    return row


def only_others(run: Run, victim: int, code: int, named: bool = True) -> None:
    """Checks that all processes but the victim ended with the code and name the victim."""
    for number, ended in run.ended.items():
        if number == victim:
            continue
        check(ended.code == code, f"process {number} ends with {code}", run)
        check(not named or f"process {victim}" in ended.last_line, f"process {number} names {victim}", run)


def kill(ground: Ground) -> Iterator[Row]:
    """kill −9 of each process in each stage, at a random moment; up to three attempts to hit each stage."""
    for victim in range(len(ground.hosts)):
        seen = {stage: [] for stage in STAGES}
        said = {}
        for _ in range(3):
            if all(seen.values()):
                break
            ground.clear()
            for stage in STAGES:
                run = ground.start(*SHORT)
                if not ground.await_stage(run, stage, ground.random.uniform(0, 0.1)):
                    run.wait()
                    continue
                since = time.monotonic()
                run.send(victim, signal.SIGKILL)
                run.wait()
                only_others(run, victim, 69)
                seen[stage].append(max(e.at for e in run.ended.values()) - since)
                said[stage] = (run.codes(), run.ended[(victim + 1) % len(ground.hosts)].last_line)
            check(ground.finish(), "the same bytes after three kills")
        for stage in STAGES:
            check(bool(seen[stage]), f"a kill within {stage}")
            times = f"{min(seen[stage]):.2f}–{max(seen[stage]):.2f}"
            case = f"kill −9 of process {victim} in {stage}, {len(seen[stage])} ×"
            yield Row(case, times, *said[stage], "yes")


def launched(ground: Ground) -> Iterator[Row]:
    """A host lost in each stage of a run that `topicmill launch` started: it finishes by itself."""
    ground.clear()
    started, killed = time.monotonic(), 0.0
    run = ground.launch()
    for victim, stage in enumerate(STAGES, 1):
        while not ground.reached(stage) or not ground.met(killed):
            check(run.poll(), f"the launcher waits for {stage}", run)
            time.sleep(0.002)
        # Training depends on the sample, which is the same for every collection.
        time.sleep(ground.random.uniform(0, 0.1) * (1 if stage == "train" else ground.scale))
        ground.hosts[victim % len(ground.hosts)].kill()
        # The time is taken after the kill, because the victim may write its status once more before it dies.
        killed = time.time()
    run.wait(patience=LONG)
    check(run.codes() == "0", "the launch ends well", run)
    restarts = [line for line in run.ended[0].said.splitlines() if "restarting all" in line]
    check(len(restarts) == len(STAGES), "a restart for each host lost", run)
    check(ground.digest() == ground.expected, "the same bytes after three lost hosts")
    case = "`launch`; everything on a host killed in " + ", ".join(STAGES)
    yield Row(case, f"{run.ended[0].at - started:.1f}", run.codes(), restarts[-1], "yes, by itself")


def frozen(ground: Ground) -> Iterator[Row]:
    """SIGSTOP of a process, permanently."""
    for victim in (0, 2):
        ground.clear()
        run = ground.start(*SHORT)
        check(ground.await_stage(run, "train", 0.05), "training lasts", run)
        since = time.monotonic()
        run.send(victim, signal.SIGSTOP)
        run.wait(but=(victim,), patience=20)
        noticed = time.monotonic() - since
        run.send(victim, signal.SIGCONT)
        run.wait(patience=20)
        only_others(run, victim, 69)
        check(run.ended[victim].code == 69, "the thawed one ends too", run)
        row = resumed(ground, run, f"SIGSTOP of process {victim}, --peer-timeout 3", since, 1)
        row.seconds = f"{noticed:.1f}"
        yield row


def cut(ground: Ground) -> Iterator[Row]:
    """A link that goes down, permanently or for a while."""
    for case, pause, timeout in (("link down for ever", None, "3"), ("link down for 10 s", 10, "3"),
                                 ("link down for 10 s", 10, "30")):
        ground.clear()
        run = ground.start("--peer-timeout", timeout)
        check(ground.await_stage(run, "train", 0.05), "training lasts", run)
        since = time.monotonic()
        ground.hosts[1].down()
        case = f"{case}, --peer-timeout {timeout}"
        try:
            if timeout == "3":
                run.wait(patience=20)
        finally:
            if pause:
                time.sleep(max(0, since + pause - time.monotonic()))
            ground.hosts[1].up()
        if timeout == "30":
            yield survived(ground, run, case)
        else:
            only_others(run, 1, 69)
            check(run.ended[1].code == 69, "the isolated process ends too", run)
            yield resumed(ground, run, case, since, 0)


def late(ground: Ground) -> Iterator[Row]:
    """A host that starts late, or never."""
    last = len(ground.hosts) - 1
    ground.clear()
    run = Run({n: ground.spawn(n) for n in range(last)})
    time.sleep(20)
    run.processes[last] = ground.spawn(last)
    yield survived(ground, run, "a host starts 20 s late")
    ground.clear()
    since = time.monotonic()
    run = Run({n: ground.spawn(n, "--join-timeout", "5") for n in range(last)})
    run.wait()
    only_others(run, last, 69, named=False)
    witnesses = [n for n, ended in run.ended.items() if f"process {last} (" in ended.last_line]
    check(bool(witnesses), "the missing one is named", run)
    yield resumed(ground, run, "a host never starts, --join-timeout 5", since, witnesses[0])


def strange(ground: Ground) -> Iterator[Row]:
    """A process with another secret, of another build, with another job."""
    last = len(ground.hosts) - 1
    other = ground.binary + ".other"
    for case, words, binary, changes, codes in (
        ("another secret", (), "", {"TOPICMILL_SECRET": "f" * 64}, (64, 69)),
        ("another build", (), other, {}, (64,)),
        ("another job", ("--set", "model.seed=2"), "", {}, (64,)),
    ):
        ground.clear()
        since = time.monotonic()
        honest = Run({n: ground.spawn(n, "--join-timeout", "10") for n in range(last)})
        stranger = Run({last: ground.spawn(last, "--join-timeout", "10", *words, binary=binary, **changes)})
        stranger.wait()
        check(stranger.ended[last].code in codes, f"{case}: {codes}", stranger)
        case = f"process {last} has {case}"
        if case.endswith("secret"):
            honest.poll()
            check(not honest.ended, "a process without the secret is not trusted", honest)
            said, code = stranger.ended[last].last_line, stranger.codes()
            honest.processes[last] = ground.spawn(last)
            row = survived(ground, honest, case)
            yield Row(row.case, f"{stranger.ended[last].at - since:.1f}", f"{row.codes} (its own {code})", said, row.same)
        else:
            honest.wait()
            # Processes that meet the stranger exit with 64, and those that wait for one of them with 69.
            witnesses = [n for n, ended in honest.ended.items() if ended.code == 64]
            check(bool(witnesses) and all(e.code in (64, 69) for e in honest.ended.values()), "64 or 69", honest)
            check(f"process {last} (" in honest.ended[witnesses[0]].last_line, "the stranger is named", honest)
            honest.ended.update(stranger.ended)
            yield resumed(ground, honest, case, since, witnesses[0])


def another_build(ground: Ground) -> None:
    """Makes a copy of the program that claims to be another build."""
    with open(ground.binary, "rb") as file:
        program = file.read()
    build = ground.build.encode()
    check(build in program, "the program knows its build")
    with open(ground.binary + ".other", "wb") as file:
        file.write(program.replace(build, build[::-1]))
    os.chmod(ground.binary + ".other", 0o755)


def greeting_of(ground: Ground) -> bytes:
    """Returns the greeting that process 1 sends to a listener in place of process 0."""
    with ground.hosts[0].socket() as listener:
        listener.bind((ground.hosts[0].address, PORT))
        listener.listen()
        run = Run({1: ground.spawn(1, "--join-timeout", "20")})
        caller, _ = listener.accept()
        with caller:
            caller.settimeout(5)
            greeting = caller.recv(4096)
        run.kill()
    check(len(greeting) > 40, "a greeting")
    return greeting


def knocks(greeting: bytes) -> dict[str, bytes | None]:
    """Returns the bytes that strangers send; None: nothing, and they keep the connection open."""
    return {
        "garbage": bytes(range(256)) * 64,
        "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "silence": None,
        "half a greeting": greeting[: len(greeting) // 2],
        "a greeting of an earlier run": greeting,
        "an impostor's proof": greeting + b"\x5a" * 512,
    }


def knock(ground: Ground, target: int, words: bytes | None, held: list) -> None:
    """Connects a stranger to a port, from another host; `held` keeps the connection."""
    caller = ground.hosts[(target + 1) % len(ground.hosts)].socket()
    caller.settimeout(2)
    try:
        caller.connect((ground.hosts[target].address, PORT))
        if words:
            caller.sendall(words)
    except OSError:
        pass  # No process listens, which is just as good.
    held.append(caller)


def strangers(ground: Ground) -> Iterator[Row]:
    """Strangers at the ports, before and during the run."""
    greeting = greeting_of(ground)
    last = len(ground.hosts) - 1
    for name, words in knocks(greeting).items():
        ground.clear()
        held: list = []
        run = Run({n: ground.spawn(n) for n in range(last)})
        time.sleep(0.5)
        for _ in range(10):
            knock(ground, 0, words, held)
            knock(ground, 1, words, held)
        run.processes[last] = ground.spawn(last)
        check(ground.await_stage(run, "train", 0), "training begins", run)
        for target in range(len(ground.hosts)):
            knock(ground, target, words, held)
        yield survived(ground, run, f"{name} at the ports, before and during the run")
        for caller in held:
            caller.close()


def disk(ground: Ground) -> Iterator[Row]:
    """An output folder that is full, or cannot be created."""
    ground.clear()
    small = SmallDisk(ground.out, 24 << 20, 22 << 20)
    try:
        since = time.monotonic()
        run = ground.start(*SHORT)
        run.wait()
        codes = [e.code for e in run.ended.values()]
        check(set(codes) <= {74, 69} and 74 in codes, "a full disk is code 74", run)
        witness = codes.index(74)
        small.make_room()
        yield resumed(ground, run, "disk full", since, sorted(run.ended)[witness])
    finally:
        small.close()
    ground.clear()
    with open(ground.out, "w", encoding="ascii") as file:
        file.write("in the way")
    since = time.monotonic()
    run = ground.start("--join-timeout", "5")
    run.wait()
    check(run.ended[0].code == 64, "an output that is a file is code 64", run)
    os.remove(ground.out)
    yield resumed(ground, run, "output cannot be written", since, 0)


def damage(ground: Ground) -> Iterator[Row]:
    """A checkpoint that was damaged between runs."""
    for case in ("a flipped byte", "the end cut off"):
        ground.clear()
        checkpoints = os.path.join(ground.out, CHECKPOINTS)
        run = ground.start(*SHORT)
        while len(glob.glob(checkpoints)) < 2:
            check(run.poll() and not run.ended, "training lasts until the second checkpoint", run)
            time.sleep(0.002)
        run.kill()
        newest = max(glob.glob(checkpoints))
        with open(newest, "r+b") as file:
            content = bytearray(file.read())
            content[len(content) // 2] ^= 0x20
            file.seek(0)
            file.write(content if case == "a flipped byte" else content[: len(content) // 2])
            file.truncate()
        run = ground.start()
        run.wait()
        with open(os.path.join(ground.out, "logs/process-00000.jsonl"), encoding="utf-8") as log:
            said = [json.loads(line).get("warning", "") for line in log]
        said = [line for line in said if os.path.basename(newest) in line]
        check(bool(said), "the damage is told", run)
        check(ground.digest() == ground.expected, f"{case}: the same bytes", run)
        yield Row(f"newest checkpoint with {case}", "–", run.codes(), said[0], "yes, at once")


def twice(ground: Ground) -> Iterator[Row]:
    """Two runs at once on the same output."""
    ground.clear()
    run = ground.start()
    check(ground.await_stage(run, "ingest", 0), "ingest lasts", run)
    since = time.monotonic()
    words = [ground.binary, "run", ground.job, "--quiet", "-w", "1"]
    second = ground.second(words)
    check(second.returncode == 75, f"the second is refused: {second.returncode} {second.stderr}")
    seconds = time.monotonic() - since
    row = survived(ground, run, "a second run on the same output")
    said = second.stderr.strip().removeprefix("error: ")
    yield Row(row.case, f"{seconds:.1f}", f"{row.codes} (the second 75)", said, row.same)
    again = ground.second(words)
    check(again.returncode == 0, f"a third finds it complete: {again.stderr}")


def asked(ground: Ground) -> Iterator[Row]:
    """SIGTERM to one process."""
    for stage in STAGES:
        ground.clear()
        run = ground.start()
        check(ground.await_stage(run, stage, 0.02), f"{stage} lasts", run)
        since = time.monotonic()
        run.send(2, signal.SIGTERM)
        run.wait()
        check(all(e.code == 143 for e in run.ended.values()), "all exit with 143", run)
        yield resumed(ground, run, f"SIGTERM to process 2 in {stage}", since, 2)


CASES: dict[str, Callable[[Ground], Iterator[Row]]] = {
    case.__name__: case
    for case in (kill, launched, frozen, cut, late, strange, strangers, disk, damage, twice, asked)
}
