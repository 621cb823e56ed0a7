"""Checks everything but the systems, on cases small enough to compute by hand: `scripts/bench --self-test`."""

import gzip
import json
import math
import tempfile
import tomllib
import unittest
from pathlib import Path

import numpy
from scipy import sparse

from . import corpus, evaluate, peers, report, snapshots, split
from .refused import Refused
from .systems import PEERS
from .task import Task
from .topicmill import ALL_PASSES, Topicmill, toml


def matrix(rows: list[list[int]]) -> sparse.csr_array:
    return sparse.csr_array(numpy.array(rows, dtype=numpy.int32))


class Score(unittest.TestCase):
    def test_one_topic_explains_all(self):
        topics = numpy.array([[0.5, 0.25, 0.25]])
        value = evaluate.log_likelihood(topics, numpy.array([0.1]), matrix([[1, 0, 0]]), matrix([[2, 1, 0]]))
        self.assertAlmostEqual(value, (2 * math.log(0.5) + math.log(0.25)) / 3, places=12)

    def test_topics_without_a_term_in_common(self):
        # Three tokens certainly belong to the first topic, so its proportion is (3 + 0.5) / (3 + 1).
        topics = numpy.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.75, 0.25]])
        alpha = numpy.array([0.5, 0.5])
        value = evaluate.log_likelihood(topics, alpha, matrix([[2, 1, 0, 0]]), matrix([[0, 1, 0, 1]]))
        expected = (math.log(0.875 * 0.5) + math.log(0.125 * 0.25)) / 2
        self.assertAlmostEqual(value, expected, places=12)

    def test_documents_count_by_their_held_out_tokens(self):
        topics = numpy.array([[0.5, 0.5]])
        one = evaluate.log_likelihood(topics, numpy.array([1.0]), matrix([[1, 0], [0, 1]]), matrix([[3, 0], [0, 1]]))
        self.assertAlmostEqual(one, math.log(0.5), places=12)

    def test_fold_in_is_token_by_token_cvb0(self):
        random = numpy.random.default_rng(3)
        weights = random.dirichlet(numpy.full(6, 0.3), size=4).T
        counts, alpha = numpy.array([1.0, 2.0, 3.0, 1.0, 1.0, 2.0]), numpy.array([0.1, 0.3, 0.2, 0.4])
        tokens = numpy.repeat(numpy.arange(6), counts.astype(int))
        shares = [weights[token] * alpha / (weights[token] @ alpha) for token in tokens]
        for _ in range(1000):
            total = sum(shares)
            moved = [weights[token] * (total - share + alpha) for token, share in zip(tokens, shares)]
            shares = [share / share.sum() for share in moved]
        expected = (sum(shares) + alpha) / (len(tokens) + alpha.sum())
        found = evaluate.infer(weights, counts, alpha)
        self.assertLess(abs(found - expected).sum(), 10 * evaluate.TOLERANCE)

    def test_coherence(self):
        # The documents have of terms 0 and 1: both, both, the first, none. Term 2 occurs with neither.
        train = sparse.csc_array(matrix([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]]))
        both = evaluate.together(numpy.array([0, 1]), train)
        self.assertAlmostEqual(evaluate.npmi(both, 4), math.log(0.5 / (0.75 * 0.5)) / -math.log(0.5), places=12)
        self.assertAlmostEqual(evaluate.umass(both), math.log((2 + 1) / 3), places=12)
        self.assertEqual(evaluate.npmi(evaluate.together(numpy.array([0, 2]), train), 4), -1.0)

    def test_pairs_of_terms_that_do_not_occur_are_left_out(self):
        documents = sparse.csc_array(matrix([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]]))
        both = [evaluate.together(numpy.array(terms), documents) for terms in [[0, 1], [0, 1, 2], [0, 2]]]
        self.assertEqual(evaluate.npmi(both[0], 4), evaluate.npmi(both[1], 4))
        self.assertEqual(evaluate.npmi(both[2], 4), -1.0)

    def test_c_v(self):
        # With a term that occurs in half of the documents, and never with the other one, NPMI is 1 and about −1: the two
        # vectors cancel out. Two terms of the same documents have the same vector.
        apart, same = (sparse.csc_array(matrix(rows)) for rows in [[[1, 0], [0, 1]], [[1, 1], [0, 0]]])
        terms = numpy.array([0, 1])
        self.assertLess(abs(evaluate.c_v(evaluate.together(terms, apart), 2)), 0.1)
        self.assertAlmostEqual(evaluate.c_v(evaluate.together(terms, same), 2), 1.0, places=6)

    def test_heaviest_terms(self):
        self.assertEqual(evaluate.heaviest(numpy.array([0.1, 0.4, 0.1, 0.4])).tolist(), [1, 3, 0, 2])
        topic = numpy.arange(30, dtype=numpy.float32)
        self.assertEqual(evaluate.heaviest(topic).tolist(), list(range(29, 9, -1)))


class Split(unittest.TestCase):
    def setUp(self):
        random = numpy.random.default_rng(5)
        self.counts = sparse.csr_array(random.poisson(0.3, size=(200, 80)).astype(numpy.int32))
        self.vocabulary = [f"term{number}" for number in range(80)]
        self.made = split.split(self.counts, self.vocabulary)

    def documents(self, rows: sparse.csr_array) -> list[tuple]:
        """Returns documents as words and counts, sorted by their content."""
        words = numpy.array(self.made.vocabulary)
        return sorted(tuple(zip(words[terms], counts.tolist())) for terms, counts in evaluate.documents(rows))

    def test_each_document_is_on_one_side(self):
        test = self.made.observed + self.made.held_out
        test.sort_indices()
        known = [self.vocabulary.index(word) for word in self.made.vocabulary]
        whole = self.counts[:, known]
        self.assertEqual(sorted(self.documents(self.made.train) + self.documents(test)), self.documents(whole))
        self.assertEqual(test.shape[0], 20)

    def test_halves_have_half_of_the_tokens(self):
        more = self.made.observed.sum(axis=1) - self.made.held_out.sum(axis=1)
        self.assertTrue(set(more.tolist()) <= {0, 1})

    def test_every_term_is_trained_on(self):
        self.assertTrue((self.made.train.sum(axis=0) > 0).all())
        self.assertEqual(len(self.made.vocabulary), self.made.train.shape[1])

    def test_twice_the_same(self):
        again = split.split(self.counts, self.vocabulary)
        for name in ["train", "observed", "held_out"]:
            self.assertEqual((getattr(again, name) != getattr(self.made, name)).nnz, 0)

    def test_terms_without_a_training_document_are_dropped(self):
        counts = sparse.hstack([self.counts, sparse.csr_array((200, 1), dtype=numpy.int32)], format="csr")
        self.assertNotIn("never", split.split(counts, [*self.vocabulary, "never"]).vocabulary)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_what_topicmill_gets_is_the_training_matrix(self):
        counts = matrix([[1, 0, 2]] * 15 + [[0, 3, 1]] * 15)
        made = split.split(counts, ["a", "b", "c"])
        split.write(made, self.folder)
        read, names = corpus.read(self.folder, "id", "text")
        self.assertEqual((read != made.train).nnz, 0)
        self.assertEqual(names, ["w0", "w1", "w2"])

    def test_the_tokenising_rule(self):
        texts = ["Apple APPLE the of ox zebra", "apple zebra zebra", "apple-zebra", "x" * 41 + " apple zebra"]
        texts += ["apple zebra"] + ["orange"] * 5 + [""] * 2
        path = self.folder / "texts.jsonl.gz"
        lines = "".join(json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(texts))
        again = json.dumps({"id": "0", "text": "apple"}) + "\n"
        path.write_bytes(gzip.compress((lines + again).encode()))
        counts, vocabulary = corpus.read(path, "id", "text")
        self.assertEqual(vocabulary, ["apple", "orange", "zebra"])
        self.assertEqual(counts.toarray()[:2].tolist(), [[2, 0, 1], [1, 0, 2]])
        self.assertEqual(counts.shape[0], 12)

    def test_bad_input_is_one_line_with_the_file(self):
        cases = {
            "docword.short.txt": b"3\n2\n5\n1 1 1\n",
            "docword.words.txt": b"3\n2\n1\n1 x 1\n",
            "docword.far.txt": b"3\n2\n1\n4 1 1\n",
            "texts.jsonl": b'{"text": "one"}\nnot json\n',
            "keys.jsonl": b'{"body": "one"}\n',
            "cut.jsonl.gz": gzip.compress(b'{"text": "one"}\n' * 100)[:-9],
            "notes.doc": b"",
        }
        (self.folder / "vocab.txt").write_bytes(b"one\ntwo\n")
        for name, content in cases.items():
            path = self.folder / name
            path.write_bytes(content)
            with self.subTest(name), self.assertRaises(Refused) as raised:
                corpus.read(path, "id", "text")
            self.assertIn(name, str(raised.exception))
            self.assertNotIn("\n", str(raised.exception))


class Snapshots(unittest.TestCase):
    def test_a_clock_asks_for_snapshots_as_time_doubles(self):
        with tempfile.TemporaryDirectory() as folder:
            clock = snapshots.Clock(128.0, Path(folder))
            model = type("Model", (), {"passes": lambda _: 1, "alpha": lambda _: [1.0], "rows": lambda _: []})()
            goes_on = []
            for seconds in [0.5, 1.0, 1.5, 5.0, 7.0, 200.0]:
                clock.start()
                clock.seconds = seconds
                goes_on.append(clock.step_done(model))
            self.assertEqual(goes_on, [True] * 5 + [False])
            written = [json.loads(path.read_text())["seconds"] for path in sorted(Path(folder).glob("*.json"))]
            self.assertEqual([round(seconds) for seconds in written], [1, 5, 200])


class Systems(unittest.TestCase):
    """A task of two topics, each with its own half of 20 terms."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        folder = Path(folder.name)
        random = numpy.random.default_rng(11)
        counts = random.poisson(2, size=(100, 20)).astype(numpy.int32)
        counts[:50, :10] = counts[50:, 10:] = 0
        split.write(split.split(sparse.csr_array(counts), [f"term{number}" for number in range(20)]), folder)
        self.task = Task(folder, folder, 2, 1.0, 1)

    def test_topica_finds_the_topics_in_the_order_of_the_splits_terms(self):
        for name in ["topica", "topica-warp", "topica-lightlda", "topica-cvb0", "topica-online"]:
            with self.subTest(name):
                PEERS[name](self.task).fit(40)
                rows, facts = snapshots.read(max(self.task.out.glob("0*.json")))
                self.assertTrue(numpy.allclose(rows.sum(axis=1), 1, atol=1e-5))
                shares = sorted(rows[:, :10].sum(axis=1).tolist())
                self.assertLess(shares[0], 0.05)
                self.assertGreater(shares[1], 0.95)
                self.assertEqual((facts["passes"], len(facts["alpha"])), (40, 2))

    def test_topica_makes_as_many_sweeps_as_asked(self):
        for sweeps in [5, 10, 20, 40, 640]:
            effort = peers.effort_of(sweeps, averaged=True)
            self.assertEqual(effort["iters"] + effort["num_samples"] * effort["sample_interval"], sweeps)
            self.assertEqual(peers.effort_of(sweeps, averaged=False)["iters"], sweeps)

    def test_the_job_has_the_settings_that_are_reported(self):
        system = Topicmill(self.task, Path("unused"))
        job = tomllib.loads(system.write_job(toml(ALL_PASSES)).read_text(encoding="utf-8"))
        found = {f"{section}.{key}": value for section, keys in job.items() for key, value in keys.items()}
        asked = {"corpus.input", "corpus.format", "model.topics", "model.seed", "output.path"}
        self.assertEqual({key: value for key, value in found.items() if key not in asked}, system.settings)


class Report(unittest.TestCase):
    POINTS = [
        {"seconds": 1.0, "log_likelihood": -9.0, "npmi": 0.1},
        {"seconds": 100.0, "log_likelihood": -7.0, "npmi": 0.2},
    ]

    def test_seconds_are_interpolated_in_log_time(self):
        at = report.reaches(-8.0, self.POINTS)
        self.assertAlmostEqual(at.seconds, 10.0)
        self.assertAlmostEqual(at.npmi, 0.15)
        self.assertEqual(report.reaches(-9.5, self.POINTS), report.Reached(1.0, True, 0.1))
        self.assertIsNone(report.reaches(-6.0, self.POINTS))

    def test_the_ratio_is_a_bound_where_a_time_is(self):
        def at(seconds: float, is_bound: bool) -> report.Reached:
            return report.Reached(seconds, is_bound, 0.1)

        times = {"topicmill": at(2.0, False), "gensim": at(8.0, False), "sklearn": None}
        self.assertEqual(report.ratio(times), "4.00")
        self.assertEqual(report.ratio(times | {"sklearn": at(6.0, True)}), "≤ 3.00")
        self.assertEqual(report.ratio(times | {"topicmill": at(2.0, True)}), "≥ 4.00")
        self.assertEqual(report.ratio(times | {"topicmill": None}), "–")

    def test_settings_are_listed(self):
        systems = [
            {"name": "topicmill", "settings": {"a.b": "c", "a.d": 0}, "snapshots": [{"note": "a.e=1"}]},
            {"name": "tomotopy", "settings": {}, "snapshots": []},
            {"name": "gensim", "snapshots": []},
        ]
        ours, tomotopy = report.told(systems).splitlines()
        self.assertTrue(ours.startswith('- topicmill: `a.b = "c"`, `a.d = 0`; for each snapshot also'))
        self.assertEqual(tomotopy, "- tomotopy: nothing")


if __name__ == "__main__":
    unittest.main(verbosity=1)
