//! Frequencies of terms, and of anything else that is counted by key, maintained by differential
//! dataflow while the collection is read.
//!
//! Every worker counts in its own memory and from time to time sends new counts as differences, such as
//! (term, (tokens, documents)). The hash of a key determines its worker, where an arrangement sums its
//! differences as they arrive: apart from the counters themselves, no worker holds more than its share
//! of the keys, however long the input is.
//!
//! A flush costs about half a microsecond per distinct term. To keep this small compared with
//! reading, at least `FLUSH_TOKENS` are counted between two flushes, and more if there are more terms.

use differential_dataflow::difference::Semigroup;
use differential_dataflow::input::InputSession;
use differential_dataflow::operators::arrange::TraceAgent;
use differential_dataflow::trace::implementations::KeySpine;
use differential_dataflow::trace::{Cursor, TraceReader};
use differential_dataflow::{AsCollection, ExchangeData, Hashable};
use timely::dataflow::ProbeHandle;
use timely::dataflow::operators::vec::Filter;
use timely::dataflow::operators::{Exchange, Probe};
use timely::progress::frontier::AntichainRef;
use timely::worker::Worker;

use super::gather::PARK;
use corpus::terms::TermCounter;

/// A term as a key.
pub(crate) type TermKey = Box<str>;
/// Tokens and documents.
pub(crate) type TermTotals = (isize, isize);

/// Fewest tokens between two flushes.
const FLUSH_TOKENS: u64 = 8 << 20;
/// Fewest tokens between two flushes, for each distinct term that the worker has seen.
const FLUSH_TOKENS_A_TERM: u64 = 8;
/// Differences that are sent before the worker steps.
const KEYS_A_STEP: usize = 32 * 1024;
/// Flushes that a worker may be ahead of the slowest one, which bounds all queues.
const FLUSHES_AHEAD: u64 = 4;

/// Whether a difference is summed.
pub(crate) type Keep<K, R> = Box<dyn FnMut(&K, &R) -> bool>;

/// Sums by key, still growing, on one worker.
pub(crate) struct GrowingSums<K: ExchangeData + Hashable, R: ExchangeData + Semigroup> {
    input: InputSession<u64, K, R>,
    trace: TraceAgent<KeySpine<K, u64, R>>,
    probe: ProbeHandle<u64>,
}

impl<K: ExchangeData + Hashable, R: ExchangeData + Semigroup> GrowingSums<K, R> {
    /// Builds the dataflow, which sums the differences for which `keep`, at the worker of their key, returns true;
    /// every worker must.
    pub(crate) fn new(worker: &mut Worker, name: &str, keep: Option<Keep<K, R>>) -> Self {
        let mut input: InputSession<u64, K, R> = InputSession::new();
        let probe = ProbeHandle::new();
        let mut trace = worker.dataflow_named(name, |scope| {
            let mut differences = input.to_collection(scope);
            if let Some(mut keep) = keep {
                let at_owners = differences.inner.exchange(|(key, ..)| key.hashed().into());
                differences = at_owners
                    .filter(move |(key, _, difference)| keep(key, difference))
                    .as_collection();
            }
            let arranged = differences.arrange_by_self();
            arranged.stream.probe_with(&probe);
            arranged.trace
        });
        // Only the totals at the end are read: differences of any two times may be combined.
        trace.set_logical_compaction(AntichainRef::new(&[u64::MAX]));
        trace.set_physical_compaction(AntichainRef::new(&[u64::MAX]));
        Self { input, trace, probe }
    }

    /// Sends the differences that `give` passes on, key by key, and waits for workers that are far behind.
    pub(crate) fn flush(&mut self, worker: &mut Worker, give: impl FnOnce(&mut dyn FnMut(K, R))) {
        let mut given = 0;
        give(&mut |key, difference| {
            self.input.update(key, difference);
            given += 1;
            if given % KEYS_A_STEP == 0 {
                worker.step();
            }
        });
        let next = *self.input.time() + 1;
        self.input.advance_to(next);
        self.input.flush();
        worker.step();
        while self.probe.less_than(&next.saturating_sub(FLUSHES_AHEAD)) {
            worker.step_or_park(Some(PARK));
        }
    }

    /// Lets the other workers flush: this one has only its last differences to send, and those of [`finish`](Self::finish)
    /// wait for all.
    pub(crate) fn settle(&mut self) {
        self.input.advance_to(u64::MAX - 1);
        self.input.flush();
    }

    /// Waits for the differences of all workers, and returns the totals of this worker's keys. Every
    /// worker must call this.
    pub(crate) fn finish(self, worker: &mut Worker) -> KeyTotals<K, R> {
        self.input.close();
        while !self.probe.done() {
            worker.step_or_park(Some(PARK));
        }
        KeyTotals(self.trace)
    }
}

/// The totals of one worker's share of the keys.
pub(crate) struct KeyTotals<K: ExchangeData + Hashable, R: ExchangeData + Semigroup>(
    TraceAgent<KeySpine<K, u64, R>>,
);

impl<K: ExchangeData + Hashable, R: ExchangeData + Semigroup> KeyTotals<K, R> {
    /// Visits each key and its total, once.
    pub(crate) fn visit(mut self, visit: &mut impl FnMut(&K, R)) {
        let (mut cursor, batches) = self.0.cursor();
        while cursor.key_valid(&batches) {
            let mut total: Option<R> = None;
            cursor.map_times(&batches, |_, difference| match &mut total {
                Some(total) => total.plus_equals(difference),
                None => total = Some(difference.clone()),
            });
            if let Some(total) = total {
                visit(cursor.key(&batches), total);
            }
            cursor.step_key(&batches);
        }
    }
}

/// The frequencies of terms, still growing, on one worker.
pub(crate) struct Frequencies {
    sums: GrowingSums<TermKey, TermTotals>,
    /// Tokens since the last flush.
    waiting: u64,
}

impl Frequencies {
    /// Builds the dataflow; every worker must.
    pub(crate) fn new(worker: &mut Worker) -> Self {
        Self { sums: GrowingSums::new(worker, "frequencies", None), waiting: 0 }
    }

    /// Records that `counter` has counted another `tokens` tokens; from time to time takes its new
    /// counts.
    pub(crate) fn counted(&mut self, worker: &mut Worker, counter: &mut TermCounter, tokens: u64) {
        self.waiting += tokens;
        if self.waiting >= FLUSH_TOKENS.max(FLUSH_TOKENS_A_TERM * counter.len() as u64) {
            self.flush(worker, counter, 1);
        }
    }

    fn flush(&mut self, worker: &mut Worker, counter: &mut TermCounter, sign: isize) {
        self.waiting = 0;
        self.sums.flush(worker, |give| {
            counter.drain_new_counts(&mut |term, tokens, documents| {
                give(term.into(), (sign * signed(tokens), sign * signed(documents)));
            });
        });
    }

    /// Takes the last counts of `counter`: nothing but a retraction may follow. Waits for no other worker.
    pub(crate) fn settle(&mut self, worker: &mut Worker, counter: &mut TermCounter) {
        self.flush(worker, counter, 1);
        self.sums.settle();
    }

    /// Takes back what `counter` has counted since all workers have [settled](Self::settle).
    pub(crate) fn retract(&mut self, worker: &mut Worker, counter: &mut TermCounter) {
        self.flush(worker, counter, -1);
    }

    /// Waits for the counts of all workers, and returns the totals of this worker's terms. Every worker must call this.
    pub(crate) fn finish(self, worker: &mut Worker) -> KeyTotals<TermKey, TermTotals> {
        self.sums.finish(worker)
    }
}

/// Returns the worker of `peers` to which a term belongs.
pub(crate) fn owner_of(term: &str, peers: usize) -> usize {
    (Hashable::hashed(&term) % peers as u64) as usize
}

/// Converts a count to a difference.
pub(crate) fn signed(count: u64) -> isize {
    isize::try_from(count).expect("a collection has fewer than 2^63 tokens")
}

/// Converts a total to a count.
pub(crate) fn unsigned(count: isize) -> u64 {
    u64::try_from(count).expect("no count is ever taken back")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use mesh::{ClusterSettings, Failure, Placement, execute};

    /// Counts documents of a worker: "t0", "t0 t1", "t0 t1 t2", … each word twice.
    fn count(counter: &mut TermCounter, documents: usize) -> u64 {
        let (mut terms, mut counts) = (Vec::new(), Vec::new());
        let mut tokens = 0;
        for document in 0..documents {
            counter.begin_document();
            for term in 0..=document {
                counter.add(&format!("t{term}"));
                counter.add(&format!("t{term}"));
            }
            tokens += counter.end_document(&mut terms, &mut counts);
        }
        tokens
    }

    #[test]
    fn each_term_is_added_up_at_one_worker() {
        for threads in 1..=3 {
            let partitions =
                execute(&Placement::single(threads), &ClusterSettings::default(), move |worker| {
                    let mut counter = TermCounter::new();
                    let mut frequencies = Frequencies::new(worker);
                    for _ in 0..3 {
                        count(&mut counter, 40 * (1 + worker.index()));
                        // As if there had been many: each call flushes.
                        frequencies.counted(worker, &mut counter, FLUSH_TOKENS);
                    }
                    count(&mut counter, 1);
                    frequencies.counted(worker, &mut counter, 2);
                    let mut found = Vec::new();
                    frequencies.settle(worker, &mut counter);
                    let totals = frequencies.finish(worker);
                    totals.visit(&mut |term, (tokens, documents)| {
                        assert_eq!(owner_of(term, threads), worker.index());
                        found.push((term.to_string(), (unsigned(tokens), unsigned(documents))));
                    });
                    Ok::<_, Failure>(found)
                })
                .unwrap();
            let mut expected = BTreeMap::new();
            for worker in 0..threads {
                let documents = 40 * (1 + worker) as u64;
                for term in 0..documents {
                    let entry = expected.entry(format!("t{term}")).or_insert((0, 0));
                    entry.1 += 3 * (documents - term) + u64::from(term == 0);
                    entry.0 = 2 * entry.1;
                }
            }
            let all: Vec<_> = partitions.into_iter().flatten().collect();
            assert_eq!(all.len(), expected.len(), "a term at two workers");
            assert_eq!(all.into_iter().collect::<BTreeMap<_, _>>(), expected);
        }
    }
}
