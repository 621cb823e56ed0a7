//! Output for people: a topic, two results side by side, the end of a run.

use serde_json::Value;

use crate::workdir::{Workdir, said};

const JOB: &str = "\
[synth]
path = \"corpus\"
topics = 6
documents = 400
terms = 200
mean_length = 60

[vocabulary]
stop_words = \"none\"

[sample]
held_out = 0.1

[model]
topics = 6

[output]
path = \"out\"
";

impl Workdir {
    /// Runs a command in a window of this width and with this locale; returns its output.
    fn shown(&self, line: &str, width: usize, locale: &str) -> String {
        let mut command = self.command(line);
        command.env("COLUMNS", width.to_string()).env("LC_ALL", locale);
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "{line}: {}", said(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn fits(text: &str, width: usize) {
    let longest = text.lines().max_by_key(|line| line.chars().count());
    let longest = longest.expect("lines");
    assert!(longest.chars().count() <= width, "{longest}\n{text}");
}

#[test]
fn pages_fit_the_window() {
    let place = Workdir::new().with_job(JOB);
    let run = place.shown("run job.toml -w 2", 80, "en_US.UTF-8");
    assert!(run.contains("\ntraining    ▁") && run.contains("nats per token"), "{run}");
    assert!(
        run.contains("topicmill inspect out --topic ")
            && run.contains("topicmill run job.toml --overwrite"),
        "{run}"
    );
    let again = place.shown("run job.toml -w 2 --set model.topics=6", 80, "en_US.UTF-8");
    assert!(again.contains("topicmill run job.toml --set model.topics=6 --overwrite"), "{again}");
    assert!(again.contains(" topic") && again.contains("(from an earlier run)"), "{again}");
    for width in [80, 200] {
        for page in [
            "inspect out",
            "inspect out --topic 3",
            "compare out out",
            "inspect out/documents",
            "plan job.toml",
        ] {
            fits(&place.shown(page, width, "en_US.UTF-8"), width);
        }
    }
    let wide = place.shown("inspect out", 200, "C").lines().map(str::len).max();
    assert!(wide > Some(100), "a wide window has more terms");
}

#[test]
fn what_programs_read_is_the_same_in_every_locale() {
    let place = Workdir::new();
    let line =
        |year: usize| format!("{{\"id\": \"{year}–{}…\", \"text\": \"one two\"}}\n", year + 1);
    place.write("texts.jsonl", (1900..1950).map(line).collect::<String>());
    place.write(
        "job–1.toml",
        "[corpus]\ninput = \"texts.jsonl\"\n[vocabulary]\nmax_share = 1.0\nstop_words = \"none\"\n\
         [model]\ntopics = 2\n[output]\npath = \"out–1\"\n",
    );
    let run = place.shown("run job–1.toml --json -w 1", 80, "C");
    assert!(run.contains("\"output\":\"out–1\""), "{run}");
    for line in [
        "inspect out–1/documents --json",
        "plan job–1.toml --resolved",
        "export out–1 --format pyldavis --overwrite",
    ] {
        let expected = place.shown(line, 80, "en_US.UTF-8");
        assert!(expected.contains('–'), "{expected}");
        assert_eq!(place.shown(line, 80, "C"), expected, "{line}");
    }
}

#[test]
fn a_folder_of_a_result_stands_for_its_job() {
    let place = Workdir::new().with_job(JOB);
    place.succeed("run job.toml -w 2 --quiet");
    std::fs::rename(place.path("out"), place.path("kept")).expect("a folder can be renamed");
    let again = place.succeed("run kept -w 2");
    assert!(again.contains("(from an earlier run)") && !again.contains("--overwrite"), "{again}");
    assert!(!place.path("out").exists());
    place.succeed("evaluate kept -w 2");
    assert!(place.path("kept-evaluation/evaluation").exists());
    let refused = place.denied(64, "run kept --overwrite");
    assert!(refused.contains("kept/job.toml: --overwrite would remove this job file"), "{refused}");
    let empty = place.denied(64, "plan corpus");
    assert!(
        empty.contains("corpus/job.toml: cannot be read") && empty.contains("the folder of a"),
        "{empty}"
    );
}

#[test]
fn a_topic_has_terms_documents_and_neighbours() {
    let place = Workdir::new().with_job(JOB);
    place.succeed("run job.toml -w 2 --quiet");
    let text = place.shown("inspect out --topic 3", 80, "en_US.UTF-8");
    let topic = json(&place.succeed("inspect out --topic 3 --json"));
    let first = topic["terms"][0]["term"].as_str().expect("a term");
    assert!(text.contains(&format!("\nterms\n  {first} ")) && text.contains('█'), "{text}");
    let id = topic["documents"][0]["source_id"].as_str().expect("an id");
    assert!(text.contains("\ndocuments\n") && text.contains(id), "{text}");
    let weights: Vec<f64> = topic["terms"]
        .as_array()
        .expect("terms")
        .iter()
        .filter_map(|t| t["weight"].as_f64())
        .collect();
    assert!(weights.is_sorted_by(|a, b| a >= b) && weights.iter().sum::<f64>() <= 1.0, "{topic}");
    let near: Vec<f64> = topic["nearest"]
        .as_array()
        .expect("five")
        .iter()
        .filter_map(|t| t["distance"].as_f64())
        .collect();
    assert!(near.len() == 5 && near.is_sorted() && near[0] > 0.1 && near[4] <= 1.0, "{topic}");

    let absent = place.output("inspect out --topic 6");
    assert_eq!(absent.status.code(), Some(64));
    assert!(said(&absent).contains("there are 6 topics, from 0 to 5"), "{}", said(&absent));
    let model = place.output("inspect out/model --topic 1");
    assert_eq!(model.status.code(), Some(64), "{}", said(&model));
}

#[test]
fn results_are_compared_topic_by_topic() {
    let place = Workdir::new().with_job(JOB);
    place.succeed("run job.toml -w 2 --quiet");
    place.succeed("run job.toml -w 2 --quiet --set model.topics=4 --set output.path=four");
    let same = json(&place.succeed("compare out out --json"));
    assert_eq!((&same["same_model"], &same["cosine"]["mean"]), (&true.into(), &1.0.into()));
    let other = json(&place.succeed("compare out four --json"));
    let pairs = other["topics"].as_array().expect("pairs");
    assert_eq!((pairs.len(), &other["documents"]), (6, &400.into()));
    let matched: Vec<f64> = pairs.iter().filter_map(|pair| pair["distance"].as_f64()).collect();
    assert!(matched.len() == 4 && matched.is_sorted(), "{other}");
    assert!(pairs[5]["second"].is_null() && pairs[5]["first"].is_u64(), "{other}");
    let text = place.shown("compare out four --topics 2", 100, "en_US.UTF-8");
    assert!(
        text.contains("… and 4 more: --topics 0") && text.contains("second      four, 4 topics\n"),
        "{text}"
    );
    assert_eq!(place.output("compare out nowhere").status.code(), Some(64));
}
