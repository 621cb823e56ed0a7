//! The forms of the progress display: lines for people, lines for programs, a bar on a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::figures;
use super::pace::Pace;
use crate::job::ProgressSnapshot;

/// Time between two plain lines of one phase.
const PLAIN_EVERY: Duration = Duration::from_secs(5);
/// Time between two JSON objects of one phase.
const JSON_EVERY: Duration = Duration::from_secs(1);

/// How a person or a program watches a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Display {
    /// Nothing but errors and warnings.
    Quiet,
    /// At the end, a JSON object on stdout.
    QuietJson,
    /// Plain lines on stderr.
    Plain,
    /// A bar on stderr, a terminal.
    Bar,
    /// JSON objects, one per line, on stdout.
    Json,
}

impl Display {
    /// Returns the display that the flags request, considering where stderr goes.
    pub(crate) fn choose(quiet: bool, json: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match (quiet, json) {
            (true, true) => Self::QuietJson,
            (true, false) => Self::Quiet,
            (false, true) => Self::Json,
            _ if io::stderr().is_terminal() && !dumb => Self::Bar,
            _ => Self::Plain,
        }
    }
}

/// Returns the screen of a display; none if it shows nothing.
pub(super) fn of(display: Display) -> Option<Box<dyn Screen + Send>> {
    match display {
        Display::Quiet | Display::QuietJson => None,
        Display::Plain => Some(Box::new(Lines::new(io::stderr(), PLAIN_EVERY, own_line))),
        Display::Json => Some(Box::new(Lines::new(io::stdout(), JSON_EVERY, json_line))),
        Display::Bar => Some(Box::new(ProgressBar::no_length())),
    }
}

/// Something that shows phases.
pub(super) trait Screen {
    /// A phase begins.
    fn open(&mut self, pace: &Pace);
    /// A phase continues.
    fn show(&mut self, pace: &Pace);
    /// A phase has ended.
    fn close(&mut self, pace: &Pace);
    /// Nothing more will come.
    fn end(&mut self) {}
}

/// The point in a phase at which a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Open,
    Within,
    Close,
}

/// Lines for a log: at the start and the end of each phase, and every so often.
struct Lines<W> {
    out: W,
    every: Duration,
    last: Duration,
    line: fn(&Pace, Moment) -> String,
}

impl<W: Write> Lines<W> {
    fn new(out: W, every: Duration, line: fn(&Pace, Moment) -> String) -> Self {
        Self { out, every, last: Duration::ZERO, line }
    }

    fn write(&mut self, pace: &Pace, moment: Moment) {
        self.last = pace.now;
        let line = (self.line)(pace, moment);
        if !line.is_empty() {
            // A log that can no longer be written must not end the run.
            let _ = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
        }
    }
}

impl<W: Write> Screen for Lines<W> {
    fn open(&mut self, pace: &Pace) {
        self.write(pace, Moment::Open);
    }

    fn show(&mut self, pace: &Pace) {
        if pace.now.saturating_sub(self.last) >= self.every {
            self.write(pace, Moment::Within);
        }
    }

    fn close(&mut self, pace: &Pace) {
        self.write(pace, Moment::Close);
    }
}

/// Formats a plain line, with the number of its process if there are several.
fn own_line(pace: &Pace, moment: Moment) -> String {
    format!("{}{}", super::prefix(), plain_line(pace, moment))
}

fn plain_line(pace: &Pace, moment: Moment) -> String {
    let ProgressSnapshot { phase, done, total, unit, .. } = &pace.latest;
    let amount = match (moment, *total) {
        (Moment::Close, _) => return pace.closing(),
        (Moment::Open, Some(total)) => format!("{} {unit}", figures::grouped(total)),
        (Moment::Open, None) => "begins".to_owned(),
        (_, total) => {
            let percent = total.map_or_else(String::new, |total| figures::percent(*done, total));
            figures::amount(*done, total, unit) + &percent
        }
    };
    let remarks = pace.remarks();
    let comma = if remarks.is_empty() { "" } else { ", " };
    format!("{phase}: {amount}{comma}{remarks}")
}

/// The JSON form of progress. The beginning of the next phase implies the end of this one.
#[derive(Serialize)]
struct JsonProgress<'a> {
    #[serde(flatten)]
    latest: &'a ProgressSnapshot,
    phase_seconds: f64,
}

fn json_line(pace: &Pace, moment: Moment) -> String {
    if moment == Moment::Close {
        return String::new();
    }
    let phase_seconds = (pace.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
    let object = JsonProgress { latest: &pace.latest, phase_seconds };
    serde_json::to_string(&object).unwrap_or_default()
}

/// A bar on a terminal.
impl Screen for ProgressBar {
    fn open(&mut self, pace: &Pace) {
        draw(self, pace);
    }

    fn show(&mut self, pace: &Pace) {
        draw(self, pace);
    }

    fn close(&mut self, pace: &Pace) {
        self.println(pace.closing());
    }

    fn end(&mut self) {
        self.finish_and_clear();
    }
}

/// Draws the bar once: phase, count and unit are never those of two phases. So the texts are part of the style, which
/// draws nothing when it is set; a prefix and a message would each draw the bar.
fn draw(bar: &ProgressBar, pace: &Pace) {
    let ProgressSnapshot { phase, done, total, unit, .. } = &pace.latest;
    let amount = match total {
        Some(total) => {
            format!("[{{bar:28}}] {}/{}", figures::grouped(*done), figures::grouped(*total))
        }
        None => format!("{{spinner}} {}", figures::grouped(*done)),
    };
    let remarks = pace.remarks().replace('{', "{{").replace('}', "}}");
    let template = format!("{phase:>9} {amount} {unit} {remarks}");
    let style =
        ProgressStyle::with_template(&template).expect("braces are those of the keys above");
    bar.set_style(style.progress_chars("=> "));
    bar.update(|state| {
        state.set_pos(*done);
        // Without a total there is no bar that has a length.
        state.set_len(total.unwrap_or_default());
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use indicatif::{ProgressDrawTarget, TermLike};
    use parking_lot::Mutex;

    use super::super::progress::step;
    use super::*;

    fn snapshot(phase: &'static str, done: u64, note: &str) -> ProgressSnapshot {
        ProgressSnapshot {
            phase,
            done,
            total: (phase == "ingest").then_some(50_000),
            unit: if phase == "ingest" { "documents" } else { "rounds" },
            note: note.to_owned(),
        }
    }

    /// Returns the lines printed for a run polled at these moments (in milliseconds).
    fn lines(
        every: Duration,
        line: fn(&Pace, Moment) -> String,
        seen: &[(u64, ProgressSnapshot)],
    ) -> String {
        let mut screen = Lines::new(Vec::new(), every, line);
        let mut pace = None;
        for (milliseconds, snapshot) in seen {
            step(&mut screen, &mut pace, snapshot.clone(), Duration::from_millis(*milliseconds));
        }
        screen.close(&pace.expect("a phase was seen"));
        String::from_utf8(screen.out).expect("lines are text")
    }

    #[test]
    fn plain_lines_come_at_phase_changes_and_every_few_seconds() {
        let seen = [
            (0, ProgressSnapshot::default()),
            (1_000, snapshot("ingest", 0, "")),
            (3_000, snapshot("ingest", 9_000, "")),
            (6_000, snapshot("ingest", 20_000, "")),
            (11_000, snapshot("ingest", 50_000, "")),
            (12_000, snapshot("train", 0, "")),
            (17_000, snapshot("train", 10, "held-out -7.61")),
        ];
        let expected = "\
ingest: 50,000 documents
ingest: 20,000 of 50,000 documents (40 %), 4,000 documents/s, 8 s left
ingest: 50,000 of 50,000 documents (100 %), 5,000 documents/s, 0 s left
ingest: done in 11.0 s (4,550 documents/s)
train: begins
train: 10 rounds, 2.0 rounds/s, held-out -7.61
train: done in 5.0 s (2.0 rounds/s)
";
        assert_eq!(lines(PLAIN_EVERY, plain_line, &seen), expected);
    }

    #[test]
    fn json_is_one_object_a_line() {
        let seen = [
            (0, snapshot("ingest", 0, "")),
            (500, snapshot("ingest", 1, "")),
            (1_500, snapshot("train", 7, "a \"note\"")),
        ];
        let text = lines(JSON_EVERY, json_line, &seen);
        let objects: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(objects.len(), 2, "{text}");
        assert_eq!(objects[0]["total"], 50_000);
        assert_eq!(objects[1]["phase"], "train");
        assert_eq!(objects[1]["total"], serde_json::Value::Null);
        assert_eq!(objects[1]["note"], "a \"note\"");
    }

    /// A terminal that keeps what is written.
    #[derive(Clone, Debug, Default)]
    struct Written(Arc<Mutex<String>>);

    impl TermLike for Written {
        fn width(&self) -> u16 {
            120
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(&format!("{text}\n"))
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.write_str("\n")
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_shows_each_count_with_its_phase_and_unit() {
        let written = Written::default();
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(written.clone()), 255);
        let mut bar = ProgressBar::with_draw_target(None, target);
        let mut pace = None;
        let in_bytes = ProgressSnapshot { unit: "bytes", ..snapshot("ingest", 50_000, "") };
        let seen = [
            snapshot("ingest", 0, ""),
            snapshot("ingest", 30_000, ""),
            in_bytes,
            snapshot("train", 4, "held-out {-7.61}"),
        ];
        for (seconds, snapshot) in (0..).step_by(2).zip(seen) {
            std::thread::sleep(Duration::from_millis(10));
            step(&mut bar, &mut pace, snapshot, Duration::from_secs(seconds));
        }
        bar.end();
        let written = written.0.lock();
        let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut rest = &spaced(&written)[..];
        for expected in [
            "ingest [                            ] 0/50,000 documents",
            "ingest [================>           ] 30,000/50,000 documents 15,000 documents/s, 1 s left",
            "ingest: done in 4.0 s (7,500 documents/s)",
            "ingest [============================] 50,000/50,000 bytes",
            "ingest: done in 2.0 s",
            "4 rounds held-out {-7.61}",
        ] {
            let found = rest.split_once(&spaced(expected));
            (_, rest) = found.unwrap_or_else(|| panic!("no `{expected}` in `{rest}`"));
        }
    }
}
