//! The screen: a bar on a terminal, plain lines elsewhere, JSON lines for programs. Control characters are written
//! only to a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::status::{PhaseProgress, ProcessStatus};
use super::{Moment, StatusSink, figures};

/// Time between two drawings of the bar.
const BAR_EVERY: Duration = Duration::from_millis(100);
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

/// Returns the screen of a display; none if it shows nothing. `prefix` begins each line on stderr.
pub(crate) fn of(display: Display, prefix: &'static str) -> Vec<Box<dyn StatusSink>> {
    match display {
        Display::Quiet | Display::QuietJson => Vec::new(),
        Display::Plain => {
            let line =
                move |moment, now: &PhaseProgress| format!("{prefix}{}", plain_line(moment, now));
            vec![Box::new(PhaseLines { out: io::stderr(), every: PLAIN_EVERY, line })]
        }
        Display::Json => {
            vec![Box::new(PhaseLines { out: io::stdout(), every: JSON_EVERY, line: json_line })]
        }
        Display::Bar => vec![Box::new(ProgressBar::no_length())],
    }
}

/// PhaseLines for a log: at the start and the end of each phase, and every so often.
struct PhaseLines<W, F> {
    out: W,
    every: Duration,
    line: F,
}

impl<W: Write + Send, F: Fn(Moment, &PhaseProgress) -> String + Send> StatusSink
    for PhaseLines<W, F>
{
    fn every(&self) -> Duration {
        self.every
    }

    fn take(&mut self, moment: Moment, status: &ProcessStatus) {
        if matches!(moment, Moment::Before | Moment::Exit) {
            return;
        }
        let line = (self.line)(moment, &status.now);
        if !line.is_empty() {
            // A log that can no longer be written must not end the run.
            let _ = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
        }
    }
}

fn plain_line(moment: Moment, now: &PhaseProgress) -> String {
    match (moment, now.total) {
        (Moment::End, _) => closing(now),
        (Moment::Begin, Some(total)) => {
            let amount = format!("{}: {} {}", now.phase, figures::grouped(total), now.unit);
            now.with_remarks(&amount, ", ")
        }
        (Moment::Begin, None) => now.with_remarks(&format!("{}: begins", now.phase), ", "),
        _ => now.line(),
    }
}

/// Formats the end of a phase: "ingest: done in 15.6 s (3,210 documents/s)".
fn closing(now: &PhaseProgress) -> String {
    let time = figures::seconds(now.phase_seconds);
    let rate = match now.pace() {
        0.0 => String::new(),
        pace => format!(" ({} {}/s)", figures::rate(pace), now.unit),
    };
    format!("{}: done in {time}{rate}", now.phase)
}

/// The beginning of the next phase implies the end of this one.
fn json_line(moment: Moment, now: &PhaseProgress) -> String {
    match moment {
        Moment::End => String::new(),
        _ => serde_json::to_string(now).unwrap_or_default(),
    }
}

/// A bar on a terminal.
impl StatusSink for ProgressBar {
    fn every(&self) -> Duration {
        BAR_EVERY
    }

    fn take(&mut self, moment: Moment, status: &ProcessStatus) {
        match moment {
            Moment::Before => {}
            Moment::Begin | Moment::Within => draw(self, &status.now),
            Moment::End => self.println(closing(&status.now)),
            Moment::Exit => self.finish_and_clear(),
        }
    }
}

/// Draws the bar once: phase, count and unit are never those of two phases. So the texts are part of the style, which
/// draws nothing when it is set; a prefix and a message would each draw the bar.
fn draw(bar: &ProgressBar, now: &PhaseProgress) {
    let PhaseProgress { phase, done, total, unit, .. } = now;
    let amount = match total {
        Some(total) => {
            format!("[{{bar:28}}] {}/{}", figures::grouped(*done), figures::grouped(*total))
        }
        None => format!("{{spinner}} {}", figures::grouped(*done)),
    };
    let remarks = now.with_remarks("", "").replace('{', "{{").replace('}', "}}");
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

    use super::super::Poller;
    use super::*;

    fn status(phase: &str, done: u64, note: &str) -> ProcessStatus {
        let now = PhaseProgress {
            phase: phase.to_owned(),
            done,
            total: (phase == "ingest").then_some(50_000),
            unit: if phase == "ingest" { "documents" } else { "rounds" }.to_owned(),
            note: note.to_owned(),
            ..PhaseProgress::default()
        };
        ProcessStatus { now, ..ProcessStatus::default() }
    }

    /// Shows a run that was seen at these moments (in milliseconds), and its end.
    fn show(sink: Box<dyn StatusSink>, seen: impl IntoIterator<Item = (u64, ProcessStatus)>) {
        let mut poller = Poller::new(Box::new(ProcessStatus::default), None, vec![sink]);
        let (mut begun, mut last) = (0, ProcessStatus::default());
        for (at, mut status) in seen {
            if !status.now.is_of(&last.now) {
                begun = at;
            }
            status.now.phase_seconds = (at - begun) as f64 / 1000.0;
            status.now.left_seconds = status.now.left();
            last = status.clone();
            poller.step(status, Duration::from_millis(at));
        }
        poller.look = Box::new(move || last.clone());
        poller.end(None);
    }

    /// Returns the lines printed for such a run.
    fn lines(
        every: Duration,
        line: fn(Moment, &PhaseProgress) -> String,
        seen: impl IntoIterator<Item = (u64, ProcessStatus)>,
    ) -> String {
        let written = Written::default();
        show(Box::new(PhaseLines { out: written.clone(), every, line }), seen);
        written.0.lock().clone()
    }

    #[test]
    fn plain_lines_come_at_phase_changes_and_every_few_seconds() {
        let seen = [
            (0, ProcessStatus::default()),
            (1_000, status("ingest", 0, "")),
            (3_000, status("ingest", 9_000, "")),
            (6_000, status("ingest", 20_000, "")),
            (11_000, status("ingest", 50_000, "")),
            (12_000, status("train", 0, "")),
            (17_000, status("train", 10, "held-out -7.61")),
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
        assert_eq!(lines(PLAIN_EVERY, plain_line, seen), expected);
    }

    #[test]
    fn json_is_one_object_a_line() {
        let seen = [
            (0, status("ingest", 0, "")),
            (500, status("ingest", 1, "")),
            (1_500, status("train", 7, "a \"note\"")),
        ];
        let text = lines(JSON_EVERY, json_line, seen);
        let objects: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(objects.len(), 2, "{text}");
        assert_eq!(objects[0]["total"], 50_000);
        assert_eq!(objects[1]["phase"], "train");
        assert_eq!(objects[1]["total"], serde_json::Value::Null);
        assert_eq!(objects[1]["note"], "a \"note\"");
    }

    impl Write for Written {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.lock().push_str(std::str::from_utf8(text).expect("whole lines are written"));
            Ok(text.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
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
        let bar = ProgressBar::with_draw_target(None, target);
        let mut in_bytes = status("ingest", 50_000, "");
        in_bytes.now.unit = "bytes".to_owned();
        let seen = [
            status("ingest", 0, ""),
            status("ingest", 30_000, ""),
            in_bytes,
            status("train", 4, "held-out {-7.61}"),
        ];
        // The bar is drawn at most 255 times a second.
        let seen = (0..).step_by(2000).zip(seen).inspect(|_| {
            std::thread::sleep(Duration::from_millis(10));
        });
        show(Box::new(bar), seen);
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
            "train: done in 0.0 s",
        ] {
            let found = rest.split_once(&spaced(expected));
            (_, rest) = found.unwrap_or_else(|| panic!("no `{expected}` in `{rest}`"));
        }
    }
}
