"""The peers as their users run them: with their own defaults, except for the number of topics, threads and the seed.

Any other setting is in the system's `settings`, which the report lists. Packages are imported where they are used,
so that a missing one fails only its own system.
"""

import itertools
import time
import typing
from collections.abc import Iterable, Iterator
from importlib import metadata

from . import memory, snapshots
from .task import Task

if typing.TYPE_CHECKING:
    import numpy

# scikit-learn's default minibatch, in documents.
BATCH = 128
# Sweeps of topica's first fit.
FEWEST_SWEEPS = 5


def words(task: Task) -> "Iterator[list[str]]":
    """Yields the tokens of each training document; term i of the split is called wi."""
    import numpy

    counts = task.train_matrix()
    names = numpy.array([f"w{term}" for term in range(task.terms)], dtype=object)
    for start, end in itertools.pairwise(counts.indptr):
        yield names[numpy.repeat(counts.indices[start:end], counts.data[start:end])].tolist()


def in_order(task: Task, names: Iterable[str], rows: Iterable) -> "Iterator[numpy.ndarray]":
    """Yields each topic's distribution in the split's order of terms, from rows over the terms of these names."""
    import numpy

    places = numpy.array([int(name[1:]) for name in names])
    for weights in rows:
        row = numpy.zeros(task.terms, dtype=numpy.float32)
        row[places] = weights
        yield row


class Tomotopy:
    """Collapsed Gibbs sampling; a step has as many iterations as fit before the next snapshot, at least one."""

    def __init__(self, task: Task):
        import tomotopy

        self.task = task
        self.settings: dict[str, object] = {}
        self.model = tomotopy.LDAModel(k=task.topics, seed=task.seed)
        for document in words(task):
            self.model.add_doc(document)

    def version(self) -> str:
        return metadata.version("tomotopy")

    def train(self) -> None:
        clock = self.task.clock
        iterations, goes_on = 1, True
        clock.start()
        while goes_on:
            self.model.train(iterations, workers=self.task.threads, show_progress=False)
            goes_on = clock.step_done(self)
            an_iteration = clock.seconds / self.model.global_step
            iterations = max(1, int((clock.due - clock.seconds) / an_iteration))

    def peak_mb(self) -> float:
        return memory.own_peak_mb()

    def passes(self) -> float:
        return self.model.global_step

    def alpha(self) -> list[float]:
        return [float(value) for value in self.model.alpha]

    def rows(self) -> "Iterator[numpy.ndarray]":
        rows = map(self.model.get_topic_word_dist, range(self.model.k))
        return in_order(self.task, self.model.used_vocabs, rows)


class Fits:
    """A system without snapshots: each point is a separate fit, with twice as many sweeps, until the next would not fit
    into the time."""

    FIRST = FEWEST_SWEEPS

    def __init__(self, task: Task):
        self.task = task

    def train(self) -> None:
        sweeps, seconds = self.FIRST, 0.0
        while 2 * seconds <= self.task.seconds:
            seconds = self.fit(sweeps)
            sweeps *= 2

    def fit(self, sweeps: int) -> float:
        """Fits once and writes the snapshot; returns the fit's seconds."""
        raise NotImplementedError

    def write(self, seconds: float, sweeps: int, alpha: Iterable, rows: Iterable, settings: dict) -> None:
        """Writes the snapshot of a fit with settings of its own."""
        note = " ".join(f"{name}={value}" for name, value in settings.items())
        facts = {"seconds": seconds, "passes": sweeps, "alpha": [float(value) for value in alpha], "note": note}
        snapshots.write(self.task.out, (row.astype("float32") for row in rows), facts)

    def peak_mb(self) -> float:
        return memory.own_peak_mb()


class Topica(Fits):
    """One of topica's samplers.

    By default topica keeps alpha at 1 for each topic until sweep 200. These fits are shorter: alpha sums to 5 at first,
    MALLET's default, and is learnt from sweep 20 at latest.
    """

    def __init__(self, task: Task, sampler: str):
        super().__init__(task)
        self.fixed: dict[str, object] = {"sampler": sampler, "alpha_sum": 5.0, "optimize_interval": 10}
        self.fitting: dict[str, object] = {"keep_theta_draws": False, "progress": False}
        self.settings = self.fixed | self.fitting
        self.documents = topica_corpus(task)

    def version(self) -> str:
        return metadata.version("topica")

    def fit(self, sweeps: int) -> float:
        import topica

        burn_in = {"burn_in": min(20, sweeps // 4)}
        effort = effort_of(sweeps, averaged=self.fixed["sampler"] != "cvb0")
        model = topica.LDA(self.task.topics, seed=self.task.seed, num_threads=self.task.threads, **self.fixed, **burn_in)
        started = time.monotonic()
        model.fit(self.documents, **effort, **self.fitting)
        seconds = time.monotonic() - started
        self.write(seconds, sweeps, model.alpha, model.topic_word, effort | burn_in)
        return seconds


def topica_corpus(task: Task) -> object:
    """Returns the training documents as topica's corpus, with the split's terms in their order."""
    import topica

    vocabulary = [f"w{term}" for term in range(task.terms)]
    return topica.Corpus.from_documents(list(words(task)), vocabulary=vocabulary)


class TopicaOnline(Fits):
    """topica's online variational Bayes, which uses one thread only; a sweep is a pass."""

    FIRST = 1

    def __init__(self, task: Task):
        super().__init__(task)
        self.settings: dict[str, object] = {}
        self.documents = topica_corpus(task)

    def version(self) -> str:
        return metadata.version("topica")

    def fit(self, sweeps: int) -> float:
        import topica

        model = topica.OnlineLDA(self.task.topics, seed=self.task.seed)
        started = time.monotonic()
        model.fit(self.documents, iters=sweeps)
        seconds = time.monotonic() - started
        self.write(seconds, sweeps, model.alpha, model.topic_word, {})
        return seconds


class Mallet(Fits):
    """MALLET's sampler as pyrmallet has it, which uses one thread only. Alpha as with topica."""

    def __init__(self, task: Task):
        from pyrmallet import _rust_mallet

        super().__init__(task)
        self.settings: dict[str, object] = {"alpha_sum": 5.0, "optimize_interval": 10}
        documents = [" ".join(document) for document in words(task)]
        self.documents = _rust_mallet.Corpus.from_strings(documents, token_regex=r"\w+")

    def version(self) -> str:
        return metadata.version("pyrmallet")

    def fit(self, sweeps: int) -> float:
        from pyrmallet import _rust_mallet

        effort = effort_of(sweeps, averaged=True)
        effort["iterations"] = effort.pop("iters")
        effort["burn_in"] = min(20, sweeps // 4)
        started = time.monotonic()
        model = _rust_mallet.train(
            self.documents, num_topics=self.task.topics, seed=self.task.seed, **self.settings, **effort
        )
        seconds = time.monotonic() - started
        self.write(seconds, sweeps, model.alpha, in_order(self.task, model.vocabulary, model.topic_word_matrix()), effort)
        return seconds


def effort_of(sweeps: int, averaged: bool) -> dict[str, int]:
    """Returns the arguments of a fit with this many sweeps (5 or more), the last fifth averaged over up to five samples.

    topica and pyrmallet make `iters` sweeps and then take a sample every `sample_interval`. CVB0 takes no samples.
    """
    last = sweeps // 5 if averaged else 0
    samples = min(5, last)
    interval = last // samples if samples else 0
    return {"iters": sweeps - samples * interval, "num_samples": max(1, samples), "sample_interval": max(1, interval)}


class TimeIsUp(Exception):
    """Ends gensim's training from within."""


class Gensim:
    """LdaMulticore, online variational Bayes; a step is an update of the model."""

    def __init__(self, task: Task):
        from gensim.models import ldamulticore

        outer = self
        pool = ldamulticore.Pool

        class Model(ldamulticore.LdaMulticore):
            """Checks the clock after each update."""

            def do_mstep(self, rho, other, extra_pass=False):
                outer.seen += other.numdocs
                super().do_mstep(rho, other, extra_pass)
                if not task.clock.step_done(outer):
                    raise TimeIsUp

        def remembered_pool(*arguments):
            self.pool = pool(*arguments)
            return self.pool

        # LdaMulticore.update cannot be stopped early, so an exception ends it, and we end its workers.
        ldamulticore.Pool = remembered_pool
        self.task = task
        self.settings = {"chunksize": 2000, "passes": 1_000_000, "eval_every": 0}
        self.seen = 0
        self.peak = 0.0
        counts = task.train_matrix()
        self.documents = [
            list(zip(counts.indices[start:end].tolist(), counts.data[start:end].tolist()))
            for start, end in itertools.pairwise(counts.indptr)
        ]
        self.model = Model(
            num_topics=task.topics,
            id2word={term: f"w{term}" for term in range(task.terms)},
            workers=task.threads,
            random_state=self.task.seed,
            **self.settings,
        )

    def version(self) -> str:
        return metadata.version("gensim")

    def train(self) -> None:
        self.task.clock.start()
        try:
            self.model.update(self.documents)
        except TimeIsUp:
            self.peak = memory.own_peak_mb()
            self.pool.terminate()
            self.pool.join()

    def peak_mb(self) -> float:
        return self.peak

    def passes(self) -> float:
        return self.seen / self.task.documents

    def alpha(self) -> list[float]:
        return [float(value) for value in self.model.alpha]

    def rows(self) -> "Iterator[numpy.ndarray]":
        import numpy

        for counts in self.model.state.sstats:
            row = counts + self.model.state.eta
            yield (row / row.sum()).astype(numpy.float32)


class ScikitLearn:
    """Online variational Bayes; a step is a minibatch of 128 documents, scikit-learn's default.

    Passing such small steps to worker processes can cost more than it saves, so the thread count is the requested one
    or 1, whichever is faster in a trial that is not counted.
    """

    def __init__(self, task: Task):
        from joblib.externals.loky import get_reusable_executor

        self.task = task
        self.settings = {"learning_method": "online", "batch_size": BATCH, "total_samples": task.documents}
        self.documents = task.train_matrix().astype(float)
        self.starts = range(0, task.documents, BATCH)
        self.seen = 0
        jobs = min({1, task.threads}, key=self.trial)
        print(f"scikit-learn: n_jobs={jobs} was faster")
        if jobs == 1:
            get_reusable_executor().shutdown(wait=True)
        self.model = self.new_model(jobs)
        self.settings["n_jobs"] = jobs

    def new_model(self, jobs: int):
        """Returns an untrained model."""
        from sklearn.decomposition import LatentDirichletAllocation

        return LatentDirichletAllocation(
            n_components=self.task.topics,
            n_jobs=jobs,
            random_state=self.task.seed,
            **self.settings,
        )

    def trial(self, jobs: int) -> float:
        """Returns the seconds of three minibatches after a first one, which starts the workers."""
        model = self.new_model(jobs)
        model.partial_fit(self.documents[:BATCH])
        started = time.monotonic()
        for start in self.starts[:3]:
            model.partial_fit(self.documents[start : start + BATCH])
        return time.monotonic() - started

    def version(self) -> str:
        return metadata.version("scikit-learn")

    def train(self) -> None:
        self.task.clock.start()
        for start in itertools.cycle(self.starts):
            batch = self.documents[start : start + BATCH]
            self.model.partial_fit(batch)
            self.seen += batch.shape[0]
            if not self.task.clock.step_done(self):
                break

    def peak_mb(self) -> float:
        return memory.own_peak_mb()

    def passes(self) -> float:
        return self.seen / self.task.documents

    def alpha(self) -> list[float]:
        return [float(self.model.doc_topic_prior_)] * self.task.topics

    def rows(self) -> "Iterator[numpy.ndarray]":
        import numpy

        for counts in self.model.components_:
            yield (counts / counts.sum()).astype(numpy.float32)
