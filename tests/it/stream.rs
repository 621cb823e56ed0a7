//! `topicmill project JOB --stdin`: the numbers of the tables, line by line, in order, with bounded
//! memory, whatever the lines hold.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Output, Stdio};
use std::sync::Arc;
use std::sync::OnceLock;
use std::thread;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use crate::workdir::{program, send};

/// A job with a high limit, because a large document must fit, and few sweeps.
const JOB: &str = r#"
[corpus]
input = "documents.jsonl"
id = "name"
text = ["title", "text"]
group = "volume"
metadata = ["year"]
max_document_mib = 8
[vocabulary]
stop_words = "en"
min_documents = 2
max_share = 1.0
[sample]
fraction = 0.5
held_out = 0.1
[model]
topics = 5
[train]
online_passes = 2
passes = 4
minibatch = 32
[project]
burn_in = 2
sweeps = 3
threshold = 0.05
[output]
path = "out"
"#;

const THEMES: [&str; 3] = [
    "whale ship harpoon captain sailor ocean deck mast voyage",
    "bread oven flour butter sugar cream kitchen recipe taste",
    "star planet orbit comet telescope galaxy moon eclipse light",
];

/// Returns the collection: documents with every status that a line can have, among ordinary ones.
fn documents() -> String {
    let mut lines = String::from("\u{feff}");
    for number in 0..240_usize {
        let theme: Vec<&str> = THEMES[number % 3].split(' ').collect();
        let other: Vec<&str> = THEMES[(number / 7) % 3].split(' ').collect();
        let words = (0..30 + number % 11).map(|place| match place % 5 {
            0 => "the",
            1 => other[(place * number + 1) % other.len()],
            _ => theme[(place * 7 + number * 3) % theme.len()],
        });
        let text = words.collect::<Vec<_>>().join(" ");
        let odd = match number {
            3 => "not json\n".to_owned(),
            8 => "\n  \r\n".to_owned(),
            11 => json!({ "name": "empty", "text": "" }).to_string() + "\r\n",
            12 => json!({ "name": "none" }).to_string() + "\n",
            17 => json!({ "name": "unknown", "text": "zzyzx qwertz" }).to_string() + "\n",
            18 => json!({ "name": "stopped", "text": "the and of with" }).to_string() + "\n",
            21 => json!({ "text": "a whale without a name" }).to_string() + "\n",
            23 => json!({ "name": "object", "text": { "a": 1 } }).to_string() + "\n",
            _ => String::new(),
        };
        lines.push_str(&odd);
        let name = format!("d{number}");
        let document = json!({
            "name": name, "title": "Of it", "text": text, "volume": number / 50, "year": 1900 + number,
        });
        lines.push_str(&format!("{document}\n"));
    }
    lines
}

/// Returns the folder with the job, its collection and its result, which is created once.
fn ground() -> &'static Path {
    static GROUND: OnceLock<PathBuf> = OnceLock::new();
    GROUND.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stream");
        // Files of an earlier build say nothing about this one.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("job.toml"), JOB).unwrap();
        fs::write(folder.join("documents.jsonl"), documents()).unwrap();
        let output = program(&folder, "run job.toml -w 2 --quiet").output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        folder
    })
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A stream that is being answered.
struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    fn start(line: &str) -> Self {
        let mut command = program(ground(), line);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    fn send(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    /// Waits for the next answer and returns it.
    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Returns the peak memory in KiB.
    fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        line.unwrap().split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Ends the input; returns the exit code, the remaining answers and the messages.
    fn end(mut self) -> (Option<i32>, String, String) {
        drop(self.stdin.take());
        let (mut answers, mut said) = (String::new(), String::new());
        self.stdout.read_to_string(&mut answers).unwrap();
        let stderr = self.child.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), answers, said)
    }
}

/// Runs a stream; returns the exit code, the answers and the messages.
fn stream(line: &str, input: &[u8]) -> (Option<i32>, String, String) {
    let mut running = Running::start(line);
    let mut stdin = running.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = thread::spawn(move || {
        // A stream that has ended accepts no more input.
        let _ = stdin.write_all(&input);
    });
    let ended = running.end();
    feeder.join().unwrap();
    ended
}

fn answers(text: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    text.lines().map(parse).collect()
}

/// Returns all rows of a table as JSON, by the names of the columns.
fn rows(out: &str, table: &str) -> Vec<Value> {
    let folder = ground().join(out).join(table);
    let mut parts: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    parts.sort();
    let mut rows = Vec::new();
    for part in parts {
        let file = File::open(part).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        for batch in reader.build().unwrap() {
            let batch = batch.unwrap();
            let values: Vec<_> = batch.columns().iter().map(|column| texts(column)).collect();
            let schema = batch.schema();
            for row in 0..batch.num_rows() {
                let named = schema.fields().iter().zip(&values);
                rows.push(named.map(|(f, v)| (f.name().clone(), v[row].clone())).collect());
            }
        }
    }
    rows
}

/// Returns the exact values of a column.
fn texts(column: &dyn arrow_array::Array) -> Vec<Value> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
    use arrow_schema::DataType;
    let column: arrow_array::ArrayRef = match column.data_type() {
        DataType::Dictionary(..) => Arc::new(topicmill::corpus::cells::texts(column).unwrap()),
        _ => arrow_array::make_array(column.to_data()),
    };
    let value = |row: usize| match column.data_type() {
        _ if column.is_null(row) => Value::Null,
        DataType::Utf8 => column.as_string::<i32>().value(row).into(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into(),
        DataType::Float32 => printed(column.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => printed(column.as_primitive::<Float64Type>().value(row)),
        other => panic!("{other} is not expected"),
    };
    (0..column.len()).map(value).collect()
}

/// Returns a number parsed from its shortest unique digits.
fn printed(number: impl serde::Serialize) -> Value {
    serde_json::from_str(&serde_json::to_string(&number).unwrap()).unwrap()
}

/// Compares answers to the collection's own lines with the tables of `out`; returns the number of
/// documents of each status.
fn compare(text: &str, out: &str) -> BTreeMap<String, u64> {
    let mut listed: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
    for row in rows(out, "document_topics") {
        let topic = json!({ "topic": row["topic"], "weight": row["weight"] });
        let document = row["doc_id"].as_i64().unwrap();
        listed.entry(document).or_default().push(topic);
    }
    let (answers, documents) = (answers(text), rows(out, "documents"));
    assert_eq!((answers.len(), documents.len()), (247, 247));
    let mut statuses = BTreeMap::new();
    for (answer, row) in answers.iter().zip(&documents) {
        for name in [
            "doc_id",
            "status",
            "tokens_total",
            "tokens_in_vocabulary",
            "tokens_stopped",
            "tokens_unknown",
            "top_topic",
            "top_weight",
            "entropy",
            "loglik_per_token",
            "dropped_mass",
        ] {
            assert_eq!(answer[name], row[name], "{name} of {answer}");
        }
        // A metadata key that an invalid line does not have is null.
        let year = row["year"].as_i64().map(|year| year.to_string());
        assert_eq!(answer["metadata"]["year"], Value::from(year), "{answer}");
        assert_eq!(answer.get("group_id").unwrap_or(&Value::Null), &row["group_id"]);
        let topics = listed.remove(&row["doc_id"].as_i64().unwrap());
        assert_eq!(answer["topics"], Value::Array(topics.unwrap_or_default()));
        let id = answer["id"].as_str().unwrap();
        match id.strip_prefix("stdin@") {
            Some(offset) => assert_eq!(row["source_id"], format!("documents.jsonl@{offset}")),
            None => assert_eq!(row["source_id"], id),
        }
        let status = answer["status"].as_str().unwrap();
        *statuses.entry(status.to_owned()).or_insert(0) += 1;
    }
    assert!(listed.is_empty());
    statuses
}

#[test]
fn a_collections_own_lines_get_the_rows_of_its_tables() {
    let (code, text, said) = stream("project job.toml --stdin -w 2", documents().as_bytes());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("247 documents (2 of them invalid), "), "{said}");
    let expected = [("empty", 2), ("no_vocabulary", 2), ("ok", 241), ("parse_error", 2)];
    let expected = expected.map(|(status, documents)| (status.to_owned(), documents));
    assert_eq!(compare(&text, "out"), BTreeMap::from(expected));
}

/// Settings for a run and a stream; no two of them produce the same numbers.
const METHODS: [&str; 8] = [
    "--set project.method=gibbs",
    "--set project.method=gibbs --set project.estimator=counts --set project.chains=2",
    "--set project.method=variational",
    "--set project.method=cvb0 --set project.top=2 --set project.threshold=0",
    "--set project.method=maxent",
    "--set project.method=hybrid --set project.temperature=2",
    "--set project.method=naive-bayes",
    "--set project.method=cvb0 --set project.iterations=2",
];

#[test]
fn every_method_gives_a_stream_the_rows_of_its_tables() {
    // One output, whose tables are rewritten for each method; the model is trained once.
    let job = "job.toml --set output.path=methods";
    let mut seen = BTreeMap::new();
    for method in METHODS {
        let line = format!("run {job} --overwrite --quiet -w 2 {method}");
        let output = program(ground(), &line).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let line = format!("project {job} --stdin -w 2 {method}");
        let (code, text, said) = stream(&line, documents().as_bytes());
        assert_eq!(code, Some(0), "{said}");
        compare(&text, "methods");
        let same = seen.insert(text, method);
        assert_eq!(same, None, "as with {method}");
        if method.contains("maxent") {
            let other = "project methods - --set maxent.iterations=3";
            let (code, text, said) = stream(other, b"");
            assert_eq!((code, text.as_str()), (Some(64), ""), "{said}");
            assert!(said.contains("other [maxent] settings"), "{said}");
        }
    }
    let (code, _, said) = stream("project methods - --set project.method=hybrid", b"");
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("model/maxent is missing"), "{said}");
}

#[test]
fn any_number_of_threads_gives_the_same_bytes_in_the_same_order() {
    let input = documents().repeat(3);
    let (_, one, _) = stream("project job.toml --stdin -w 1", input.as_bytes());
    assert_eq!(one.lines().count(), 3 * 247);
    for threads in 2..=4 {
        let line = format!("project job.toml - --quiet -w {threads}");
        let (code, text, said) = stream(&line, input.as_bytes());
        assert_eq!((code, said.as_str()), (Some(0), ""));
        assert!(text == one, "{threads} threads");
    }
}

#[test]
fn a_result_that_was_moved_is_enough() {
    let input = documents();
    let (_, expected, _) = stream("project job.toml --stdin", input.as_bytes());
    let moved = tempfile::tempdir().unwrap();
    for file in ["job.toml", "model/topics.model", "corpus/vocabulary.tsv"] {
        let to = moved.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(ground().join("out").join(file), to).unwrap();
    }
    let line = format!("project {} -", moved.path().display());
    let (code, text, said) = stream(&line, input.as_bytes());
    assert_eq!(code, Some(0), "{said}");
    assert!(text == expected);
}

#[test]
fn a_line_is_answered_before_the_next_is_sent() {
    let mut running = Running::start("project job.toml --stdin -w 3");
    for number in 0..20 {
        let theme = THEMES[number % 3];
        running.send(format!("{{\"name\":\"n{number}\",\"text\":\"{theme}\"}}\n").as_bytes());
        let answer = running.answer();
        assert_eq!(answer["id"], format!("n{number}"));
        assert_eq!(answer["doc_id"], number);
        assert_eq!(answer["tokens_in_vocabulary"], 9);
    }
    // An incomplete line does not delay the complete one before it.
    running.send(b"{\"name\":\"whole\",\"text\":\"whale\"}\n{\"name\":");
    assert_eq!(running.answer()["id"], "whole");
    running.send(b"\"late\",\"text\":\"star\"}");
    let (code, rest, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(answers(&rest)[0]["id"], "late");
    assert!(said.starts_with("22 documents, "), "{said}");
}

#[test]
fn what_is_no_document_is_answered_with_its_line() {
    let large = format!("{{\"text\":\"{}\"}}\n", "x ".repeat(5 << 20));
    let lines: [&[u8]; 7] = [
        b"\xef\xbb\xbf\n",
        b"[1, 2]\r\n",
        large.as_bytes(),
        b"{\"name\":\"torn\",\"text\":\"whale \xff ship\"}\n",
        b"{\"name\":\"n\",\"text\":7}\n",
        b"{\"text\":[1]}\n",
        b"{\"name\":\"last\",\"text\":\"moon\"}",
    ];
    let (code, text, said) = stream("project job.toml --stdin", &lines.concat());
    assert_eq!(code, Some(0), "{said}");
    let answers = answers(&text);
    let told = |name: &str| answers.iter().map(|a| a[name].clone()).collect::<Vec<_>>();
    let statuses = ["parse_error", "too_large", "repaired", "empty", "parse_error", "ok"];
    assert_eq!(told("status"), statuses);
    assert_eq!(told("doc_id"), [0, 1, 2, 3, 4, 5]);
    let null = Value::Null;
    assert_eq!(
        told("line"),
        [&json!(2), &json!(3), &null, &null, &json!(6), &null].map(Clone::clone)
    );
    let error = |place: usize| answers[place]["error"].as_str().unwrap();
    assert!(error(0).starts_with("not a JSON object on one line: "), "{}", error(0));
    assert!(error(1).starts_with("10.001 MiB, and "), "{}", error(1));
    assert!(error(4).contains("name a key with text in corpus.text"), "{}", error(4));
    assert_eq!(answers[0]["id"], "stdin@4");
    assert_eq!(answers[0]["topics"], json!([]));
    assert_eq!(answers[0]["entropy"], Value::Null);
}

#[test]
fn strictly_the_first_bad_line_is_the_end() {
    let input =
        b"{\"name\":\"a\",\"text\":\"whale\"}\n\nnonsense\n{\"name\":\"b\",\"text\":\"star\"}\n";
    for threads in 1..=2 {
        let line = format!("project job.toml --stdin --strict -w {threads}");
        let (code, text, said) = stream(&line, input);
        assert_eq!(code, Some(65), "{said}");
        assert!(said.contains("standard input, line 3: not a JSON object"), "{said}");
        assert_eq!(answers(&text).len(), 1);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_stream_that_breaks_is_told_with_its_line() {
    // Reading from an open folder fails.
    let folder = File::open(ground()).unwrap();
    let mut command = program(ground(), "project job.toml --stdin");
    let output = command.stdin(folder).output().unwrap();
    let said = said(&output);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(65), 0));
    assert!(said.contains("standard input failed at line 1: "), "{said}");
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_that_of_the_largest_document() {
    let quick = "--set project.burn_in=0 --set project.sweeps=1";
    let mut running = Running::start(&format!("project job.toml --stdin -w 1 {quick}"));
    // A million tokens, near the job's limit.
    let words = "star moon oven mast ".repeat(250_000);
    let large = format!("{{\"name\":\"large\",\"text\":\"{words}\"}}\n");
    for _ in 0..5 {
        running.send(large.as_bytes());
        assert_eq!(running.answer()["tokens_in_vocabulary"], 1_000_000);
    }
    // 22 to 56 MiB when this was written: documents are 5 MB each, and a few may be under way.
    let first = running.peak();
    assert!(first < 128 * 1024, "{first} KiB");
    // Remembering the unknown words would take 80 MB.
    for number in 0..10_000 {
        let words: String = (0..60).map(|word| format!(" w{number}x{word}unheardof")).collect();
        running.send(format!("{{\"text\":\"{words}\"}}\n").as_bytes());
        assert_eq!(running.answer()["tokens_unknown"], 60);
    }
    let last = running.peak();
    assert!(last < first + 32 * 1024, "{first} KiB, then {last}");
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut running = Running::start("project job.toml --stdin");
    running.send(documents().as_bytes());
    running.answer();
    let Running { mut child, stdin, stdout } = running;
    drop(stdout);
    let mut stdin = stdin.unwrap();
    // More than all pipes and buffers hold; writing fails once the reader is gone.
    let input = documents().repeat(20);
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[test]
fn what_a_stream_cannot_be_projected_with_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("job.toml"), JOB).unwrap();
    let refused = |folder: &Path, line: &str| {
        let output = program(folder, line).stdin(Stdio::null()).output().unwrap();
        assert!(output.stdout.is_empty());
        (output.status.code().unwrap(), said(&output))
    };
    let (code, said) = refused(folder.path(), "project job.toml --stdin");
    assert_eq!(code, 65);
    assert!(said.contains("out has no model yet: run `topicmill train`"), "{said}");
    let (code, said) = refused(folder.path(), "project . --stdin --set output.path=x");
    assert_eq!(code, 65, "{said}");
    fs::remove_file(folder.path().join("job.toml")).unwrap();
    let (code, said) = refused(folder.path(), "project . -");
    assert_eq!(code, 64);
    assert!(said.contains("job.toml: cannot be read"), "{said}");
    for (flags, word) in [
        ("--stdin --set model.topics=6", "different settings"),
        ("--stdin --set project.method=none", "set another one"),
        ("--stdin --set project.method=gibbs-joint", "one by one"),
        ("--stdin --set project.method=retrain", "one by one"),
        ("--stdin --set project.method=maxent", "model/maxent is missing"),
        ("--stdin --processes 2", "--processes cannot be used"),
        ("--stdin --json", "--json cannot be used"),
        ("--stdin -w 0", "--threads is 0"),
        ("--strict", "add --stdin"),
    ] {
        let (code, said) = refused(ground(), &format!("project job.toml {flags}"));
        assert_eq!(code, 64, "{flags}: {said}");
        assert!(said.contains(word), "{flags}: {said}");
    }
}

#[cfg(target_os = "linux")]
fn terminate(child: &Child) {
    send("TERM", child.id());
}

/// Checks that the error is printed once, without text that applies only to a run.
#[cfg(target_os = "linux")]
fn assert_tells_its_end(said: &str) {
    let is_error = |line: &&str| line.starts_with("error: ");
    assert_eq!(said.lines().filter(is_error).count(), 1, "{said}");
    assert!(said.contains("the lines already read were answered"), "{said}");
    assert!(!said.contains("to resume"), "{said}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_ends_a_stream_after_the_lines_in_hand() {
    // After one line: the second never arrives, and the input stays open.
    let mut running = Running::start("project job.toml --stdin");
    running.send(b"{\"name\":\"a\",\"text\":\"whale\"}\n");
    running.answer();
    let stdin = running.stdin.take();
    terminate(&running.child);
    let (code, rest, said) = running.end();
    drop(stdin);
    assert_eq!((code, rest.as_str()), (Some(143), ""), "{said}");
    assert_tells_its_end(&said);
    // In the middle of many lines.
    let mut running = Running::start("project job.toml --stdin -w 2");
    let mut stdin = running.stdin.take().unwrap();
    let feeder = thread::spawn(move || {
        let input = documents();
        // Until the stream stops reading.
        while stdin.write_all(input.as_bytes()).is_ok() {}
    });
    let mut seen = 0;
    while seen < 100 {
        assert_eq!(running.answer()["doc_id"], seen);
        seen += 1;
    }
    terminate(&running.child);
    let (code, rest, said) = running.end();
    feeder.join().unwrap();
    assert_eq!(code, Some(143), "{said}");
    assert_tells_its_end(&said);
    assert!(rest.ends_with('\n') || rest.is_empty());
    for answer in answers(&rest) {
        assert_eq!(answer["doc_id"], seen);
        seen += 1;
    }
}
