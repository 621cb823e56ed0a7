//! Frequencies of terms, and of anything else that is counted by key, maintained by differential dataflow.
//!
//! Every worker counts in its own memory and sends its counts as differences, such as (term, (tokens, documents)). The
//! hash of a key determines its worker, where an arrangement sums its differences as they arrive: apart from the
//! counters themselves, no worker holds more than its share of the keys, however long the input is. Counts of documents
//! that turn out not to count are taken back.

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

/// Differences that are sent before the worker steps.
const KEYS_A_STEP: usize = 32 * 1024;
/// Differences that are sent before they are summed.
const KEYS_A_FLUSH: usize = 16 * KEYS_A_STEP;
/// The time at which all workers have [settled](GrowingSums::settle).
const SETTLED: u64 = u64::MAX / 2;
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
            if given % KEYS_A_FLUSH == 0 {
                self.advance(worker);
            } else if given % KEYS_A_STEP == 0 {
                worker.step();
            }
        });
        self.advance(worker);
    }

    fn advance(&mut self, worker: &mut Worker) {
        let next = *self.input.time() + 1;
        self.input.advance_to(next);
        self.input.flush();
        worker.step();
        while self.probe.less_than(&next.saturating_sub(FLUSHES_AHEAD)) {
            worker.step_or_park(Some(PARK));
        }
    }

    /// Lets the other workers flush: what this one sends from now on waits for all to have called this.
    pub(crate) fn settle(&mut self) {
        self.input.advance_to(SETTLED);
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

/// Sends the counts of a worker's terms, or takes them back.
pub(crate) fn send_counts(
    worker: &mut Worker,
    sums: &mut GrowingSums<TermKey, TermTotals>,
    terms: &TermCounter,
    sign: isize,
) {
    sums.flush(worker, |give| {
        terms.visit_counts(&mut |term, tokens, documents| {
            give(term.into(), (sign * signed(tokens), sign * signed(documents)));
        });
    });
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
    fn count(counter: &mut TermCounter, documents: usize) {
        let (mut terms, mut counts) = (Vec::new(), Vec::new());
        for document in 0..documents {
            counter.begin_document();
            for term in 0..=document {
                counter.add(&format!("t{term}"));
                counter.add(&format!("t{term}"));
            }
            counter.end_document(&mut terms, &mut counts);
        }
    }

    #[test]
    fn each_term_is_added_up_at_one_worker() {
        for threads in 1..=3 {
            let partitions =
                execute(&Placement::single(threads), &ClusterSettings::default(), move |worker| {
                    let mut counter = TermCounter::new();
                    let mut frequencies = GrowingSums::new(worker, "frequencies", None);
                    for sign in [1, 1, 1, -1, 1] {
                        count(&mut counter, 40 * (1 + worker.index()));
                        send_counts(worker, &mut frequencies, &counter, sign);
                        counter.forget_counts();
                    }
                    frequencies.settle();
                    count(&mut counter, 1);
                    for sign in [1, -1, 1] {
                        send_counts(worker, &mut frequencies, &counter, sign);
                    }
                    let mut found = Vec::new();
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
