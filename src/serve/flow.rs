//! The threads of a stream: one cuts lines, several answer them, one writes the answers in order.
//!
//! The reader sends each batch to the next free worker, and to the writer the receiving end of a
//! channel for its answers: the writer visits these ends in order, so that nothing has to be
//! sorted. Channels are bounded, and with them the batches in flight.
//!
//! A batch in flight defers a signal until its answers are flushed; the reader then reads no more.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use parking_lot::Mutex;

use super::answer::Answerer;
use super::{DocumentLine, StreamModel};
use crate::failure::{Exit, Failure};
use corpus::formats::cutter::{Piece, RecordCutter, line_scans};
use corpus::formats::json::LineReader;
use mesh::interrupt::{self, Deferral};

/// The most documents in a batch, which one thread answers.
const BATCH_DOCUMENTS: usize = 8;
/// Bytes from which a batch is full.
const BATCH_BYTES: u64 = 64 * 1024;
/// Batches in flight per worker.
const BATCHES_PER_WORKER: usize = 4;
/// Bytes of answers held back while more are ready.
const OUTPUT_BYTES: usize = 64 * 1024;

/// The options of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamOptions {
    /// Threads that infer, ≥ 1; answers do not depend on it.
    pub(crate) threads: usize,
    /// Whether an invalid line ends the stream, instead of being answered.
    pub(crate) strict: bool,
}

/// The result of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamSummary {
    /// Documents that were answered.
    pub(crate) documents: u64,
    /// Of those, lines that were not valid documents.
    pub(crate) bad: u64,
    /// Tokens in the vocabulary.
    pub(crate) tokens: u64,
    /// Whether the reader of the answers closed the output before the end.
    pub(crate) is_cut_short: bool,
}

/// A few documents, in order.
struct LineBatch {
    documents: Vec<DocumentLine>,
    deferral: Deferral,
    answers: SyncSender<Answers>,
}

/// The answers of a batch, up to the first error.
struct Answers {
    lines: Vec<u8>,
    summary: StreamSummary,
    error: Option<Failure>,
    /// Defers signals until they are flushed.
    deferral: Deferral,
}

/// Where the writer receives the answers of a batch.
type Promise = Receiver<Answers>;

/// Answers every document of `input`, in order, on `output`.
///
/// A line is answered as soon as it arrives; if lines arrive faster than they are answered, `input`
/// waits. If the reader of `output` closes it, the stream ends without an error. Threads that wait
/// for `input` may outlive this call by a line.
///
/// # Errors
/// The stream cannot be read or written; a signal, once the lines already read are answered; with
/// `strict`, an invalid line. Earlier answers have been written.
pub(crate) fn run(
    model: Arc<StreamModel>,
    input: impl Read + Send + 'static,
    output: impl Write,
    options: StreamOptions,
) -> Result<StreamSummary, Failure> {
    let batches = options.threads * BATCHES_PER_WORKER;
    let (work, worker_end) = sync_channel(batches);
    let (order, writer_end) = sync_channel(batches);
    let worker_end = Arc::new(Mutex::new(worker_end));
    for number in 0..options.threads {
        let (model, worker_end) = (Arc::clone(&model), Arc::clone(&worker_end));
        start(&format!("stream-{number}"), move || {
            answer(&model, &worker_end, options.strict);
        })?;
    }
    // Otherwise the reader would continue to send after all workers have ended.
    drop(worker_end);
    let cutter = RecordCutter::new(input, 0, line_scans(), model.corpus.max_document_bytes);
    let lines = DocumentLines { cutter, lines: 0, documents: 0 };
    start("stream-reader", move || read(lines, &work, &order))?;
    let summary = write(&writer_end, output)?;
    if interrupt::is_wanted() {
        Err(Failure::message(
            Exit::Interrupted,
            format!(
                "interrupted by a signal; the lines already read were answered, {} documents in all",
                summary.documents
            ),
        ))
    } else {
        Ok(summary)
    }
}

fn start(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(body);
    thread.map(drop).map_err(|source| {
        let message = format!("cannot start a thread for the stream: {source}");
        Failure::new(Exit::Temporary, source).context(message)
    })
}

/// Cuts batches until the stream ends, a signal comes, or all workers have ended.
fn read(
    mut lines: DocumentLines<impl Read>,
    work: &SyncSender<LineBatch>,
    order: &SyncSender<Promise>,
) {
    lines.cutter.skip_byte_order_mark();
    while let Some(first) = lines.cutter.next_record() {
        let deferral = Deferral::begin();
        let documents = lines.at_hand(first);
        if documents.is_empty() {
            continue;
        }
        let (answers, promise) = sync_channel(1);
        let batch = LineBatch { documents, deferral, answers };
        let is_taken = order.send(promise).is_ok() && work.send(batch).is_ok();
        if !is_taken || interrupt::is_wanted() {
            return;
        }
    }
}

/// The lines of a stream, and how many lines and documents it has had so far.
struct DocumentLines<R> {
    cutter: RecordCutter<R>,
    lines: u64,
    documents: u64,
}

impl<R: Read> DocumentLines<R> {
    /// Returns the documents of a batch that begins with this line: only those that have already arrived.
    fn at_hand(&mut self, first: Piece) -> Vec<DocumentLine> {
        let (mut documents, mut bytes) = (Vec::new(), 0);
        let mut next = Some(first);
        while let Some(line) = next {
            self.lines += 1;
            if LineReader::holds_document(&line) {
                bytes += line.content_bytes();
                documents.push(DocumentLine { doc_id: self.documents, number: self.lines, line });
                self.documents += 1;
            }
            let is_full = documents.len() >= BATCH_DOCUMENTS || bytes >= BATCH_BYTES;
            let goes_on = !is_full && self.cutter.is_at_hand();
            next = goes_on.then(|| self.cutter.next_record()).flatten();
        }
        documents
    }
}

/// Answers batches until there are no more.
fn answer(model: &StreamModel, batches: &Mutex<Receiver<LineBatch>>, strict: bool) {
    let mut answerer = Answerer::new(model, strict);
    loop {
        let next = batches.lock().recv();
        let Ok(batch) = next else {
            return;
        };
        let mut answers = Answers {
            lines: Vec::new(),
            summary: StreamSummary::default(),
            error: None,
            deferral: batch.deferral,
        };
        for document in &batch.documents {
            match answerer.answer(document, &mut answers.lines) {
                Ok(answered) => {
                    answers.summary.documents += 1;
                    answers.summary.bad += u64::from(answered.is_bad);
                    answers.summary.tokens += answered.tokens;
                }
                Err(error) => {
                    answers.error = Some(error);
                    break;
                }
            }
        }
        // A writer that has ended needs no answers.
        let _ = batch.answers.send(answers);
    }
}

/// Writes all answers in order; returns their counts.
fn write(promises: &Receiver<Promise>, output: impl Write) -> Result<StreamSummary, Failure> {
    let mut writer = AnswerWriter {
        output,
        lines: Vec::new(),
        deferrals: Vec::new(),
        summary: StreamSummary::default(),
    };
    match writer.write(promises) {
        Err(error) if error.exit == Exit::Io && error.io_kind() == Some(ErrorKind::BrokenPipe) => {
            Ok(StreamSummary { is_cut_short: true, ..writer.summary })
        }
        Err(error) => Err(error),
        Ok(()) => Ok(writer.summary),
    }
}

struct AnswerWriter<W> {
    output: W,
    /// Answers that are not written yet.
    lines: Vec<u8>,
    /// The deferrals of their batches.
    deferrals: Vec<Deferral>,
    /// The summary of all answers received.
    summary: StreamSummary,
}

impl<W: Write> AnswerWriter<W> {
    fn write(&mut self, promises: &Receiver<Promise>) -> Result<(), Failure> {
        while let Some(promise) = self.receive(promises)? {
            let answers = self.receive(&promise)?;
            let answers = answers.expect("a worker answers every batch that it takes");
            self.lines.extend_from_slice(&answers.lines);
            self.deferrals.push(answers.deferral);
            self.summary.documents += answers.summary.documents;
            self.summary.bad += answers.summary.bad;
            self.summary.tokens += answers.summary.tokens;
            if let Some(error) = answers.error {
                self.flush()?;
                return Err(error);
            }
            if self.lines.len() >= OUTPUT_BYTES {
                self.flush()?;
            }
        }
        self.flush()
    }

    /// Returns the next item; flushes the pending answers before waiting for it.
    fn receive<T>(&mut self, channel: &Receiver<T>) -> Result<Option<T>, Failure> {
        match channel.try_recv() {
            Ok(next) => Ok(Some(next)),
            Err(TryRecvError::Disconnected) => Ok(None),
            Err(TryRecvError::Empty) => {
                self.flush()?;
                Ok(channel.recv().ok())
            }
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let write = self.output.write_all(&self.lines);
        let written = write.and_then(|()| self.output.flush());
        written.map_err(Failure::io("standard output"))?;
        self.lines.clear();
        self.deferrals.clear();
        Ok(())
    }
}
