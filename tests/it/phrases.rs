//! Phrases in whole runs: found as defined, joined wherever texts are tokenized for the model, and the
//! same on any number of workers.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::Stdio;

use lda::math::random::{Stage, Stream};
use lda::math::special::ln;

use crate::workdir::{Workdir, said, succeed};

const JOB: &str = r#"
[corpus]
input = "documents.jsonl"
block_mib = 0.02
[tokens]
min_length = 1
[phrases]
detect = true
min_count = 4
threshold = 0.2
max_words = 4
[vocabulary]
stop_words = "stop.txt"
min_documents = 1
max_share = 1.0
[sample]
fraction = 1.0
held_out = 0
[model]
topics = 3
[train]
online_passes = 1
passes = 6
[output]
path = "out"
"#;

const DOCUMENTS: u64 = 600;
const STOP_WORDS: [&str; 3] = ["the", "of", "and"];
const PLANTED: [&str; 6] = [
    "san francisco",
    "new york city",
    "york city council",
    "los angeles county supreme court",
    "court of appeal",
    "echo echo echo",
];

/// Returns the words of a document: planted phrases among words of a Zipf law, and stop words.
fn words(document: u64) -> Vec<String> {
    let mut stream = Stream::keyed(5, Stage::Synth, 0, document);
    let mut words = Vec::new();
    for _ in 0..10 + stream.below(30) {
        match stream.below(6) {
            0 => {
                let phrase = PLANTED[stream.below(6) as usize];
                words.extend(phrase.split(' ').map(str::to_owned));
            }
            1 => words.push(STOP_WORDS[stream.below(3) as usize].to_owned()),
            _ => {
                let most = 1 + stream.below(200);
                words.push(format!("w{}", stream.below(most)));
            }
        }
    }
    words
}

fn texts(words: impl Fn(u64) -> Vec<String>) -> String {
    let line = |document| {
        let text = words(document).join(" ");
        format!("{{\"id\": \"d{document}\", \"text\": \"{text}\"}}\n")
    };
    (0..DOCUMENTS).map(line).collect()
}

fn ground() -> Workdir {
    let ground = Workdir::new().with_job(JOB);
    ground.write("documents.jsonl", texts(words));
    ground.write("stop.txt", STOP_WORDS.join("\n"));
    ground
}

type Found = BTreeMap<(String, String), (u32, u64, f64)>;

/// Makes one pass of gensim's `Phrases` with `scoring = "npmi"`, in the simplest form; returns its
/// phrases, and the sentences with the phrases joined.
fn pass(sentences: &[Vec<String>], number: u32, most: usize) -> (Found, Vec<Vec<String>>) {
    let (mut alone, mut pairs) = (BTreeMap::new(), BTreeMap::new());
    for sentence in sentences {
        for word in sentence {
            *alone.entry(word).or_insert(0_u64) += 1;
        }
        for pair in sentence.windows(2) {
            *pairs.entry((&pair[0], &pair[1])).or_insert(0_u64) += 1;
        }
    }
    let tokens = alone.values().sum::<u64>() as f64;
    let length = |word: &str| word.split('_').count();
    let mut found = Found::new();
    for (&(a, b), &count) in &pairs {
        let [pa, pb, pab] = [alone[a], alone[b], count].map(|count| count as f64 / tokens);
        let score = ln(pab / (pa * pb)) / -ln(pab);
        if count >= 4 && score > 0.2 && length(a) + length(b) <= most {
            found.insert((a.clone(), b.clone()), (number, count, score));
        }
    }
    let joined = |sentence: &Vec<String>| {
        let mut out: Vec<String> = Vec::new();
        let mut rest = &sentence[..];
        while let [first, others @ ..] = rest {
            let second = others.first();
            match second.filter(|&b| found.contains_key(&(first.clone(), b.clone()))) {
                Some(second) => {
                    out.push(format!("{first}_{second}"));
                    rest = &others[1..];
                }
                None => {
                    out.push(first.clone());
                    rest = others;
                }
            }
        }
        out
    };
    let text = sentences.iter().map(joined).collect();
    (found, text)
}

#[test]
fn phrases_are_those_of_the_definition() {
    let ground = ground();
    let is_stop = |word: &String| STOP_WORDS.contains(&&**word);
    // Sentences end at stop words.
    let sentences: Vec<Vec<String>> = (0..DOCUMENTS)
        .flat_map(|document| {
            let words = words(document);
            let runs = words.split(is_stop).map(<[String]>::to_vec);
            runs.collect::<Vec<_>>()
        })
        .collect();
    for most in 2..=4 {
        let set = format!("phrases.max_words={most}");
        let screen = ground.succeed(&["run", "job.toml", "-w", "2", "--overwrite", "--set", &set]);
        let (mut expected, mut text) = pass(&sentences, 1, most);
        if most > 2 {
            let (second, again) = pass(&text, 2, most);
            expected.extend(second);
            text = again;
        }
        assert!(screen.contains(&format!(", {} phrases found", expected.len())), "{screen}");
        let rows = ground.table("out/phrases");
        let names: Vec<&String> = rows.iter().map(|row| &row["phrase"]).collect();
        assert!(names.is_sorted());
        assert_eq!(rows.len(), expected.len());
        for row in &rows {
            assert_eq!(row["phrase"], format!("{}_{}", row["first"], row["second"]));
            let (number, count, score) = expected[&(row["first"].clone(), row["second"].clone())];
            assert_eq!(row["pass"], number.to_string());
            assert_eq!(row["count"], count.to_string());
            assert!((row["score"].parse::<f64>().unwrap() - score).abs() < 1e-6);
        }
        let mut counts = BTreeMap::new();
        for word in text.iter().flatten() {
            *counts.entry(word.clone()).or_insert(0_u64) += 1;
        }
        let kept = ground.table("out/vocabulary").into_iter();
        let kept = kept.filter(|row| row["status"] != "stop");
        let kept: BTreeMap<String, u64> =
            kept.map(|row| (row["term"].clone(), row["count"].parse().unwrap())).collect();
        assert_eq!(kept, counts);
        assert!(kept.contains_key("san_francisco"), "planted");
        assert_eq!(kept.contains_key("new_york_city"), most > 2);
        let four = kept.keys().any(|term| term.split('_').count() == 4);
        assert_eq!(four, most == 4, "{kept:?}");
    }
    let tokens = |column: &str| -> u64 {
        let documents = ground.table("out/documents").into_iter();
        documents.map(|row| row[column].parse::<u64>().unwrap()).sum()
    };
    let parts = tokens("tokens_in_vocabulary") + tokens("tokens_stopped");
    assert_eq!(tokens("tokens_total"), parts);
}

#[test]
fn workers_and_crashes_do_not_show() {
    let ground = ground();
    ground.write("list.txt", "w1 w2\nw3\tw1\n");
    ground.write("gone.txt", "w0\nw4 w5\n");
    let lists = "--set phrases.replacements=list.txt --set phrases.deletions=gone.txt";
    let run = |out: &str, placement: &str| {
        format!("run job.toml --quiet --set output.path={out} {placement} {lists}")
    };
    ground.succeed(&run("alone", "-w 1"));
    ground.succeed(&run("three", "-w 3"));
    ground.succeed(&run("two", "--processes 2 -w 1"));
    let alone = ground.digest("alone");
    for other in ["three", "two"] {
        assert_eq!(ground.digest(other), alone);
    }
    if cfg!(debug_assertions) {
        // Crashes after the drafts, and before the last shard.
        let trace = ground.path("trace");
        let mut counted = ground.command(&run("counted", "-w 1"));
        counted.env("TOPICMILL_FAULT", format!("count:{}", trace.display()));
        succeed(counted);
        let steps = std::fs::read_to_string(&trace).unwrap();
        let shard = steps.lines().position(|line| line.contains("shard-00001"));
        let fault = format!("crash:{}", shard.unwrap() + 1);
        let mut crashed = ground.command(&run("crashed", "-w 1"));
        crashed.env("TOPICMILL_FAULT", fault);
        assert!(!crashed.output().unwrap().status.success());
        ground.succeed(&run("crashed", "-w 2"));
        assert_eq!(ground.digest("crashed"), alone);
    }
}

/// One worker has more tokens than it should count pairs, two have not: in debug builds, where that is few.
#[cfg(debug_assertions)]
#[test]
fn phrases_are_found_in_few_passes_however_long_the_text_is() {
    let ground = ground();
    const DOCUMENTS: u64 = 1_600;
    let read = |path: &str| std::fs::read_to_string(ground.path(path)).unwrap();
    let longer = |document| {
        let mut stream = Stream::keyed(6, Stage::Synth, 0, document);
        let rare = (0..30).map(|_| format!("x{}", stream.below(20_000)));
        words(document).into_iter().chain(rare).collect::<Vec<_>>()
    };
    let line = |document| format!("{{\"text\": \"{}\"}}\n", longer(document).join(" "));
    ground.write("documents.jsonl", (0..DOCUMENTS).map(line).collect::<String>());
    let mut found = Vec::new();
    for (threads, passes) in [(1, 5), (2, 3)] {
        let out = format!("out{threads}");
        let set = format!("--set output.path={out} --set phrases.min_count=6");
        ground.succeed(&format!("ingest job.toml --quiet -w {threads} {set}"));
        let log = read(&format!("{out}/logs/process-00000.jsonl"));
        let ended =
            log.lines().find(|line| line.contains("phase ends") && line.contains("\"phrases\""));
        let done = format!("\"done\":{}", DOCUMENTS * passes);
        assert!(ended.is_some_and(|line| line.contains(&done)), "{threads}: {ended:?}");
        found.push(read(&format!("{out}/corpus/collection.json")));
    }
    assert!(found[0].contains("\"san\"") && found[0] == found[1]);
}

#[test]
fn the_models_phrases_are_joined_in_other_texts() {
    let ground = ground();
    ground.write("list.txt", "w1 w2\nw3 w4\tW34\n");
    let set = "--set phrases.replacements=list.txt --set project.threshold=0";
    ground.succeed(&format!("run job.toml --quiet -w 2 {set}"));
    // A stream of the same documents returns the table's proportions.
    let mut stream = ground.command(&format!("project job.toml --stdin --quiet {set}"));
    stream.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = stream.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines = texts(words);
    let sender = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    sender.join().unwrap().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let documents = ground.table("out/documents");
    let answers: Vec<serde_json::Value> = output
        .stdout
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(answers.len(), documents.len());
    for (answer, row) in answers.iter().zip(&documents) {
        for column in ["tokens_total", "tokens_in_vocabulary", "top_topic"] {
            assert_eq!(answer[column].to_string(), row[column], "{answer}");
        }
    }
    // Coherence counted on the same texts, read again, equals that on the training documents.
    let metrics = "--set=evaluate.metrics=[\"umass\",\"npmi\"]";
    let evaluate = |output: &str, more: &str| {
        ground.succeed(&format!(
            "evaluate job.toml --quiet {set} {metrics} --output {output} {more}"
        ));
        let rows = ground.table(&format!("{output}/topic_scores")).into_iter();
        rows.map(|row| row["value"].clone()).collect::<Vec<_>>()
    };
    let trained = evaluate("trained", "");
    // So does the likelihood, with a separate job that detects no phrases.
    let likelihood = |summary: &str| {
        let summary: serde_json::Value =
            serde_json::from_str(summary.trim().lines().last().unwrap()).unwrap();
        summary["figures"][0]["value"].as_f64().unwrap()
    };
    let own = ground
        .succeed(&format!("evaluate job.toml {set} --set evaluate.split=all --output own --json"));
    ground.write(
        "plain.toml",
        JOB.replace(
            "detect = true\nmin_count = 4\nthreshold = 0.2\nmax_words = 4",
            "found = \"out/corpus/collection.json\"",
        ),
    );
    let plain = "plain.toml --set phrases.replacements=list.txt --set output.path=plain";
    ground.succeed(&format!("ingest {plain} --quiet"));
    let other =
        ground.succeed(&format!("evaluate {plain} --model out --set evaluate.split=all --json"));
    // Tables have φ in f32.
    let [own, other] = [own, other].map(|summary| likelihood(&summary));
    assert!((own - other).abs() < 1e-6, "{own} {other}");
    assert_eq!(trained.len(), 6);
    assert_eq!(evaluate("read", "--reference documents.jsonl"), trained);
    let terms: BTreeSet<String> =
        ground.table("out/topic_terms").into_iter().map(|row| row["term"].clone()).collect();
    for term in ["san_francisco", "w1_w2", "W34"] {
        assert!(terms.contains(term), "{term}");
    }
}

#[test]
fn lists_do_what_their_lines_say() {
    let ground = ground();
    ground.write("list.txt", "New York City\nsan francisco\tSF\nthe w0  # with a stop word\n");
    ground.write("gone.txt", "echo echo\nW1\n");
    let job = JOB.replace(
        "detect = true\nmin_count = 4\nthreshold = 0.2\nmax_words = 4",
        "replacements = \"list.txt\"\ndeletions = \"gone.txt\"",
    );
    ground.write("job.toml", job);
    ground.succeed("run job.toml --quiet -w 2");
    let mut counts = BTreeMap::new();
    for document in 0..DOCUMENTS {
        let text = format!(" {} ", words(document).join("  "));
        let text = text
            .replace(" new  york  city ", " new_york_city ")
            .replace(" san  francisco ", " SF ")
            .replace(" the  w0 ", " the_w0 ")
            .replace(" echo  echo ", " ")
            .replace(" w1 ", " ");
        for word in text.split_whitespace() {
            *counts.entry(word.to_owned()).or_insert(0_u64) += 1;
        }
    }
    let found: BTreeMap<String, u64> = ground
        .table("out/vocabulary")
        .into_iter()
        .map(|row| (row["term"].clone(), row["count"].parse().unwrap()))
        .collect();
    assert_eq!(found, counts);
    assert!(!ground.path("out/phrases").exists(), "none were looked for");
    // A list with other words makes another job.
    ground.write("gone.txt", "echo echo\n");
    let other = ground.output("run job.toml --quiet");
    assert!(said(&other).contains("different settings"), "{}", said(&other));
}

#[test]
fn what_cannot_be_is_told_with_a_remedy() {
    let ground = ground();
    ground.write("list.txt", "w1 w2\nw3\n");
    ground.write("bag.vw", "| w1:2 w3:1\n");
    for (set, told) in [
        ("phrases.replacements=list.txt", "list.txt, line 2: \"w3\" is a single token"),
        ("phrases.deletions=none.txt", "none.txt: cannot be read"),
        ("corpus.input=bag.vw", "take [phrases] out of the job"),
        ("corpus.counts=words", "without the order that [phrases] needs"),
        ("phrases.max_words=5", "a whole number from 2 to 4"),
        ("phrases.detect=false", "absent: it has no effect with phrases.detect = false"),
    ] {
        for command in ["plan", "run"] {
            let output = ground.output(&[command, "job.toml", "--set", set]);
            assert!(!output.status.success(), "{command} {set}");
            assert!(said(&output).contains(told), "{}", said(&output));
        }
    }
    assert!(!ground.path("out").join("corpus").exists());
    let plan = ground.succeed("plan job.toml");
    assert!(plan.contains("max_words = 4"), "{plan}");
    assert!(plan.contains("pairs of tokens"), "{plan}");
}
