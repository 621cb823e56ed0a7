"""Checks everything but the systems, on cases that are easy to compute: `scripts/inference_bench --self-test`."""

import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy
from scipy import sparse

from bench_peers import corpus, evaluate, snapshots, split
from bench_peers.task import Task

from . import __main__ as command
from . import documents, report, systems, task
from .topicmill import Topicmill
from .vowpal_wabbit import MOST, RHO, VowpalWabbit, full_minibatch

# Answers each line with two topics, one of which its text names.
ECHO = """
import json, sys
for line in sys.stdin:
    topic = int(json.loads(line)["text"].split()[0][1:])
    print(json.dumps({"topics": [{"topic": topic, "weight": 0.6}, {"topic": 3, "weight": 0.2}]}), flush=True)
"""


class WithTask(unittest.TestCase):
    """A split of random documents, and a task on it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        random = numpy.random.default_rng(7)
        self.counts = sparse.csr_array(random.poisson(0.6, size=(200, 30)).astype(numpy.int32))
        self.made = split.split(self.counts, [f"term{number}" for number in range(30)], 12)
        split.write(self.made, self.folder)
        documents.write(self.made, self.folder)
        self.task = Task(self.folder, self.folder, 4, 1.0, 2)


class Documents(WithTask):
    def test_the_halves_make_up_the_whole_and_no_more_are_drawn_than_asked(self):
        test, observed, held_out = (split.read_matrix(self.folder, name) for name in ["test", "observed", "held_out"])
        self.assertEqual(test.shape[0], 12)
        self.assertEqual((test != observed + held_out).nnz, 0)

    def test_bags_are_the_matrices(self):
        for name in ["test", "observed", "held_out"]:
            read, _ = corpus.read_uci(self.folder / f"docword.{name}.txt")
            self.assertEqual((read != split.read_matrix(self.folder, name)).nnz, 0, name)


class Slept(task.System):
    """A slow system, faster on one thread."""

    def threads(self):
        return [1, 2]

    def new_documents(self, name):
        return name

    def infer(self, documents, threads):
        time.sleep(0.1 * threads)

    def idle(self):
        return 0.05


class Times(unittest.TestCase):
    def test_the_faster_number_of_threads_counts_without_what_is_not_inference(self):
        seconds, threads = task.fastest(Slept())
        self.assertEqual(threads, 1)
        self.assertGreaterEqual(seconds, 0.05)


class Systems(WithTask):
    def test_a_model_of_vowpal_wabbit(self):
        system = VowpalWabbit.__new__(VowpalWabbit)
        system.task, system.bits, system.model = self.task, 5, self.folder / "model"
        records = numpy.zeros(32, dtype=[("term", "<u8"), ("weights", "<f4", (4,))])
        records["term"] = numpy.arange(32)
        records["weights"][2, 1] = 9.0
        system.model.write_bytes(b"some header" + records.tobytes())
        rows = numpy.array(list(system.rows()))
        self.assertEqual(rows.shape, (4, self.task.terms))
        whole = 9 + self.task.terms * RHO
        self.assertAlmostEqual(rows[1, 2], (9 + RHO) / whole, places=6)
        self.assertAlmostEqual(rows[1, 0], RHO / whole, places=6)
        system.model.write_bytes(b"some header" + records.tobytes() + b"more")
        with self.assertRaises(SystemExit):
            list(system.rows())

    def test_answers_of_a_stream_are_rows_in_order(self):
        system = Topicmill(self.task, Path("unused"))
        lines = system.new_documents("test")
        with subprocess.Popen([sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            system.task.topics = 40
            found = system.answers(process, lines)
        first = [int(terms.min()) for terms, _ in evaluate.documents(split.read_matrix(self.folder, "test"))]
        for row, topic in zip(found, first, strict=True):
            expected = numpy.zeros(40)
            expected[topic] = 0.75
            expected[3] = 0.25 if topic != 3 else 1.0
            self.assertLess(abs(row - expected).max(), 1e-6)

    def test_lines_hold_each_token(self):
        lines = Topicmill(self.task, Path("unused")).new_documents("test")
        tokens = sum(line.count(b"w") for line in lines)
        self.assertEqual(tokens, split.read_matrix(self.folder, "test").sum())

    def test_a_snapshot_is_read_as_it_was_written(self):
        rows = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
        out = self.folder / "out"
        out.mkdir()
        snapshots.write(out, rows, {"alpha": [0.1, 0.2]})
        read, facts = snapshots.read(max(out.glob("*.json")))
        self.assertEqual(read.tolist(), rows.tolist())
        self.assertEqual(facts, {"alpha": [0.1, 0.2]})

    def test_what_is_no_number_is_not_saved(self):
        with self.assertRaises(SystemExit):
            systems.save(self.folder, "theta", [[0.5, float("nan")]])


class Minibatches(unittest.TestCase):
    def test_they_are_full_or_nearly_so(self):
        self.assertEqual([full_minibatch(count) for count in [1, 200, 256, 500, 1884]], [1, 200, 256, 250, 157])
        for count in range(257, 3000, 17):
            size = full_minibatch(count)
            self.assertTrue(MOST // 2 <= size <= MOST and -count % size < 10, f"{count} in {size}")


class Report(unittest.TestCase):
    PRINTED = (
        "method,documents/s,on 2 threads,cosine,KL,F1,held out\n"
        "its own,,,0.9000,0.1000,0.8000,-7.5000\n"
        "chain against chain,,,0.9900,0.0100,0.9500,\n"
        "cvb0 2,1000,1900,0.9500,0.0500,0.8500,-7.4000\n"
    )

    def test_rows(self):
        lines = command.scores(self.PRINTED)
        self.assertEqual([line["rate_on_threads"] for line in lines], [None, None, 1900.0])
        system = {"name": "vw", "version": "9", "scores": lines, "inferring_threads": 1}
        system |= {"documents_per_second": 2000.4, "trained_seconds": 3.0}
        own, chains, ours = report.rows(system).splitlines()
        self.assertEqual(own, "| **vw** | 9 | 3.0 | 2,000 | – | 0.900 | 0.100 | 0.800 | −7.500 |")
        self.assertTrue(chains.endswith("| – | – | 0.990 | 0.010 | 0.950 | – |"))
        self.assertEqual(ours, "| our cvb0 2 on vw's |  |  | 1,000 | 1,900 | 0.950 | 0.050 | 0.850 | −7.400 |")

    def test_a_system_that_failed_is_a_row_and_a_note(self):
        failed = {"name": "gensim", "version": None, "scores": [], "problem": "no gensim", "busy_cores": 0.0}
        self.assertIn("failed", report.rows(failed))
        self.assertIn("gensim: no gensim", report.notes({"systems": [failed]}))


if __name__ == "__main__":
    unittest.main(verbosity=1)
