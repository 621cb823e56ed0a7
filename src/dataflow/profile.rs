//! Where the workers' time goes: timely's own events, summed by operator.
//!
//! A [`Recorder`] listens to the stream "timely" of one worker. Operators of the same name in
//! dataflows of the same name share a line, because a run builds the small ones (barriers, sums)
//! repeatedly. An operator's seconds are those in which it ran and none of its children did, so that
//! lines can be summed. In the rest of its time a worker was parked, waited for the other workers
//! of its process, or was in our own code between two steps.
//!
//! Nothing is registered or recorded unless a profile is requested.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use timely::logging::{
    ChannelsEvent, MessagesEvent, ParkEvent, ScheduleEvent, StartStop, TimelyEvent,
    TimelyEventBuilder,
};
use timely::worker::Worker;

/// timely's name for the stream of events.
const STREAM: &str = "timely";

thread_local! {
    /// When this thread waited for the others of its process, and how long, if the recorder has not seen it yet.
    static MET: RefCell<VecDeque<(Instant, Duration)>> = const { RefCell::new(VecDeque::new()) };
}

/// The profile of a process: what its workers have recorded.
#[derive(Debug, Default)]
pub(crate) struct Profile(Mutex<Vec<WorkerProfile>>);

impl Profile {
    /// Adds what a worker has recorded.
    pub(crate) fn add(&self, worker: WorkerProfile) {
        self.0.lock().push(worker);
    }

    /// Counts the time since an instant, in which the calling worker waited for the others of its process.
    pub(crate) fn met(&self, since: Instant) {
        MET.with_borrow_mut(|met| met.push_back((since, since.elapsed())));
    }

    /// Returns all workers that have ended, in order.
    pub(crate) fn workers(&self) -> Vec<WorkerProfile> {
        let mut workers = self.0.lock().clone();
        workers.sort_by_key(|worker| worker.worker);
        workers
    }
}

/// Where one worker's time went.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub(crate) struct WorkerProfile {
    /// The worker's number, from 0, over all processes.
    pub(crate) worker: usize,
    /// From its first dataflow to its end.
    pub(crate) seconds: f64,
    /// Running operators, and timely's bookkeeping around them.
    pub(crate) operators_seconds: f64,
    /// Parked, waiting for messages from other workers.
    pub(crate) parked_seconds: f64,
    /// Waiting for the other workers of its process.
    pub(crate) meeting_seconds: f64,
    /// The rest: our own code between two steps, where ingest reads, writes and counts.
    pub(crate) own_seconds: f64,
    /// Operators by dataflow and name, those with the most seconds first.
    pub(crate) operators: Vec<OperatorProfile>,
}

/// The work of the operators of one name on one worker.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub(crate) struct OperatorProfile {
    /// The dataflow's name.
    pub(crate) dataflow: String,
    /// The operator's name; the name of the dataflow for its bookkeeping.
    pub(crate) operator: String,
    /// How many there were.
    pub(crate) count: u64,
    /// How many times they ran.
    pub(crate) activations: u64,
    /// Seconds in which one ran, its children excluded.
    pub(crate) seconds: f64,
    /// Messages sent to another operator, on this or another worker; broadcasts are not counted.
    pub(crate) messages_sent: u64,
    /// Records in them; a block counts as one.
    pub(crate) records_sent: i64,
    /// Messages received.
    pub(crate) messages_received: u64,
    /// Records in them.
    pub(crate) records_received: i64,
}

/// Listens to one worker.
pub(crate) struct Recorder {
    seen: Rc<RefCell<Seen>>,
    begun: Instant,
}

impl Recorder {
    /// Begins to listen. Dataflows that already exist are not recorded.
    pub(crate) fn attach(worker: &mut Worker) -> Self {
        let seen = Rc::new(RefCell::new(Seen { origin: worker.timer(), ..Seen::default() }));
        let heard = Rc::clone(&seen);
        if let Some(mut register) = worker.log_register() {
            register.insert::<TimelyEventBuilder, _>(STREAM, move |_, events| {
                let mut seen = heard.borrow_mut();
                for (time, event) in events.iter_mut().flat_map(|events| events.drain(..)) {
                    seen.take(time, event);
                }
            });
        }
        MET.with_borrow_mut(VecDeque::clear);
        let begun = Instant::now();
        Self { seen, begun }
    }

    /// Ends recording, and returns the profile.
    pub(crate) fn finish(self, worker: &mut Worker) -> WorkerProfile {
        let seconds = self.begun.elapsed().as_secs_f64();
        if let Some(mut register) = worker.log_register() {
            register.flush();
            register.remove(STREAM);
        }
        let mut seen = self.seen.take();
        seen.meet_before(None);
        let parked_seconds = seen.parked.as_secs_f64();
        let meeting_seconds = seen.met.as_secs_f64();
        let operators = seen.by_name();
        let operators_seconds = operators.iter().map(|operator| operator.seconds).sum();
        let waited = parked_seconds + meeting_seconds;
        WorkerProfile {
            worker: worker.index(),
            seconds,
            operators_seconds,
            parked_seconds,
            meeting_seconds,
            own_seconds: (seconds - waited - operators_seconds).max(0.0),
            operators,
        }
    }
}

/// The state of recording a worker's events.
#[derive(Default)]
struct Seen {
    /// Operators by their number, and their place: numbers of dataflow, …, operator.
    operators: BTreeMap<usize, (Vec<usize>, OperatorProfile)>,
    /// The places of the two ends of a channel.
    channels: HashMap<usize, [Vec<usize>; 2]>,
    /// The numbers of the operators at the places.
    places: HashMap<Vec<usize>, usize>,
    /// The operators that are running, the innermost last: number, since when, and how long its children ran.
    running: Vec<(usize, Duration, Duration)>,
    parked_since: Option<Duration>,
    parked: Duration,
    /// The origin of the events' times.
    origin: Option<Instant>,
    met: Duration,
}

impl Seen {
    /// Takes the meetings that began before a time, or all. One within an operator is not its own time.
    fn meet_before(&mut self, time: Option<Duration>) {
        let before = time.zip(self.origin).map(|(time, origin)| origin + time);
        MET.with_borrow_mut(|met| {
            let is_due = |since: Instant| before.is_none_or(|before| since < before);
            while let Some((_, took)) = met.front().copied().filter(|&(since, _)| is_due(since)) {
                met.pop_front();
                self.met += took;
                if let Some((_, _, children)) = self.running.last_mut() {
                    *children += took;
                }
            }
        });
    }

    fn take(&mut self, time: Duration, event: TimelyEvent) {
        self.meet_before(Some(time));
        match event {
            TimelyEvent::Operates(event) => {
                let operator = OperatorProfile {
                    operator: event.name,
                    count: 1,
                    ..OperatorProfile::default()
                };
                self.places.insert(event.addr.clone(), event.id);
                self.operators.insert(event.id, (event.addr, operator));
            }
            TimelyEvent::Channels(event) => self.open(event),
            TimelyEvent::Schedule(event) => self.run(time, event),
            TimelyEvent::Messages(event) => self.message(&event),
            TimelyEvent::Park(ParkEvent::Park(_)) => self.parked_since = Some(time),
            TimelyEvent::Park(ParkEvent::Unpark) => {
                let since = self.parked_since.take().unwrap_or(time);
                self.parked += time.saturating_sub(since);
            }
            _ => {}
        }
    }

    fn open(&mut self, event: ChannelsEvent) {
        let place = |index: usize| [&event.scope_addr[..], &[index]].concat();
        let ends = [place(event.source.0), place(event.target.0)];
        self.channels.insert(event.id, ends);
    }

    fn run(&mut self, time: Duration, event: ScheduleEvent) {
        if event.start_stop == StartStop::Start {
            self.running.push((event.id, time, Duration::ZERO));
            return;
        }
        let Some((id, since, children)) = self.running.pop() else {
            return;
        };
        let took = time.saturating_sub(since);
        if let Some((_, operator)) = self.operators.get_mut(&id) {
            operator.activations += 1;
            operator.seconds += took.saturating_sub(children).as_secs_f64();
        }
        if let Some((_, _, children)) = self.running.last_mut() {
            *children += took;
        }
    }

    fn message(&mut self, event: &MessagesEvent) {
        let Some(ends) = self.channels.get(&event.channel) else {
            return;
        };
        let end = &ends[usize::from(!event.is_send)];
        let operator = self.places.get(end).and_then(|id| self.operators.get_mut(id));
        let Some((_, operator)) = operator else {
            return;
        };
        if event.is_send {
            operator.messages_sent += 1;
            operator.records_sent += event.record_count;
        } else {
            operator.messages_received += 1;
            operator.records_received += event.record_count;
        }
    }

    /// Returns one line per name, those with the most seconds first.
    fn by_name(self) -> Vec<OperatorProfile> {
        let name = |place: &[usize]| -> Option<String> {
            let (_, dataflow) = self.operators.get(self.places.get(place)?)?;
            Some(dataflow.operator.clone())
        };
        let mut lines: BTreeMap<(String, String), OperatorProfile> = BTreeMap::new();
        for (place, operator) in self.operators.values() {
            let dataflow = name(&place[..1]).unwrap_or_default();
            let key = (dataflow.clone(), operator.operator.clone());
            let line = lines.entry(key).or_insert_with(|| OperatorProfile {
                dataflow,
                operator: operator.operator.clone(),
                ..OperatorProfile::default()
            });
            line.add(operator);
        }
        let mut lines: Vec<OperatorProfile> = lines.into_values().collect();
        lines.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        lines
    }
}

impl OperatorProfile {
    /// Adds what another operator did.
    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.activations += other.activations;
        self.seconds += other.seconds;
        self.messages_sent += other.messages_sent;
        self.records_sent += other.records_sent;
        self.messages_received += other.messages_received;
        self.records_received += other.records_received;
    }
}
