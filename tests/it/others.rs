//! First jobs that start from another result, and jobs that a person changes to do so: they take what a job file takes.

use std::fs;

use crate::workdir::{Workdir, program, said, succeed};

const WORDS: [[&str; 6]; 2] = [
    ["whale", "ship", "harbour", "sailor", "ocean", "storm"],
    ["planet", "comet", "orbit", "telescope", "galaxy", "star"],
];

/// Returns documents about the sea and the sky, as lines of JSON; those of `year` 2 have a word of their own.
fn lines(count: usize, year: usize) -> String {
    let line = |i: usize| {
        let words = WORDS[i % 2];
        let text: Vec<&str> = (0..12).map(|k| words[(k * 5 + i * 7 + k * i / 3) % 6]).collect();
        let own = if year == 2 { " submarine" } else { "" };
        format!("{{\"id\": \"{year}-{i}\", \"text\": \"{}{own}\"}}\n", text.join(" "))
    };
    (0..count).map(line).collect()
}

/// Prepares a folder with the result `first`, of the first year, and documents of the second.
fn finished() -> Workdir {
    let place = Workdir::in_memory();
    place.write("1.jsonl", lines(60, 1));
    place.write("2.jsonl", lines(40, 2));
    place.succeed(
        "topics 1.jsonl --topics 2 --set vocabulary.max_share=0.6 --output first -w 1 --quiet",
    );
    place
}

fn kept(place: &Workdir, out: &str) -> Vec<String> {
    let rows = place.table(&format!("{out}/vocabulary"));
    let kept = rows.into_iter().filter(|row| row["status"] == "kept");
    kept.map(|row| row["term"].clone()).collect()
}

#[test]
fn a_first_job_uses_the_model_of_another_result() {
    let place = finished();
    let output = place.output("topics 2.jsonl --set model.from=first --output second -w 1");
    let told = said(&output);
    assert!(output.status.success(), "{told}");
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!page.contains("\ntrain ") && page.contains("\nproject "), "{page}");
    assert_eq!(kept(&place, "second"), kept(&place, "first"));
    let job = fs::read_to_string(place.path("second.toml")).expect("written");
    assert!(job.contains("from = \"first\""), "{job}");
    for section in ["[tokens]", "[vocabulary]", "[sample]"] {
        assert!(!job.contains(section), "{job}");
    }
    // The job is the one that it says, and `new` writes the same.
    let digest = place.digest("second");
    place.succeed("run second.toml --quiet --set output.path=again");
    assert_eq!(place.digest("again"), digest);
    place.succeed("new 2.jsonl --set model.from=first --output third.toml");
    place.succeed("run third.toml --quiet");
    assert_eq!(place.digest("third"), digest);
    let refused =
        place.denied(64, "topics 2.jsonl --set model.from=first --topics 5 --output fourth");
    assert!(refused.contains("--topics 5") && refused.contains("(2 there)"), "{refused}");
}

#[test]
fn a_first_job_starts_from_another_result() {
    let place = finished();
    let line = "2.jsonl --set train.warm_start=first";
    place.succeed(&format!("topics {line} --output second -w 1 --quiet"));
    assert_eq!(kept(&place, "second"), kept(&place, "first"));
    assert_eq!(place.table("second/topic_changes").len(), 2);
    let log = place.table("second/training_log");
    assert_eq!(log.last().expect("rounds")["pass"], "19");
    let refused = place.denied(64, &format!("topics {line} --topics 3 --output third"));
    assert!(refused.contains("must be 2, as in train.warm_start"), "{refused}");
    // Its own terms, if it says how to choose them.
    place.succeed(&format!(
        "topics {line} --set vocabulary.max_share=1.0 --output own -w 1 --quiet"
    ));
    assert!(kept(&place, "own").contains(&"submarine".to_owned()));
}

#[test]
fn a_job_written_elsewhere_finds_the_results_that_flags_name() {
    let place = finished();
    fs::create_dir(place.path("out")).expect("made");
    for key in ["model.from", "train.warm_start", "vocabulary.from"] {
        place.succeed(
            &format!("topics 2.jsonl --topics 2 --set {key}=first --output out/{key} -w 1 --quiet")
                .replace("--topics 2 --set model", "--set model"),
        );
        let job = fs::read_to_string(place.path(&format!("out/{key}.toml"))).expect("written");
        let first = place.path("first");
        assert!(job.contains(&format!("= {first:?}")), "{job}");
    }
    // Also from another folder.
    fs::create_dir(place.path("sub")).expect("made");
    succeed(program(
        &place.path("sub"),
        "topics ../2.jsonl --set model.from=../first --output here -w 1 --quiet",
    ));
}

#[test]
fn a_proposed_job_takes_the_terms_of_another_result_as_it_is() {
    let place = finished();
    place.succeed("new 2.jsonl --topics 2 --output second.toml");
    let job = fs::read_to_string(place.path("second.toml")).expect("written");
    assert!(job.contains("min_documents") && job.contains("max_share"), "{job}");
    place.succeed("run second.toml --quiet -w 1 --set vocabulary.from=first");
    let digest = place.digest("second");
    assert_eq!(kept(&place, "second"), kept(&place, "first"));
    place.write("edited.toml", job.replace("[vocabulary]", "[vocabulary]\nfrom = \"first\""));
    place.succeed("run edited.toml --quiet -w 1 --set output.path=edited");
    assert_eq!(place.digest("edited"), digest);
    let both = "run second.toml --set vocabulary.from=first --set vocabulary.max_share=0.9";
    let refused = place.denied(64, both);
    assert!(refused.contains("no effect with vocabulary.from"), "{refused}");
}

#[test]
fn a_warm_start_on_the_same_documents_copies_what_ingest_would_write() {
    let place = finished();
    place.write("renamed.jsonl", lines(60, 1));
    let line = |input: &str, out: &str| {
        format!(
            "run first.toml -w 1 --set train.warm_start=first --set corpus.input={input} --set output.path={out}"
        )
    };
    let copied = place.succeed(&line("1.jsonl", "copied"));
    assert!(!copied.contains("ingest      "), "{copied}");
    let read = place.succeed(&line("renamed.jsonl", "read"));
    assert!(read.contains("ingest      "), "{read}");
    // The model's header has the hash of the input's name.
    for table in ["vocabulary", "documents", "document_topics", "topic_terms"] {
        let [copied, read] = ["copied", "read"].map(|out| place.table(&format!("{out}/{table}")));
        assert_eq!(copied, read, "{table}");
    }
}

#[test]
fn an_evaluation_of_a_used_model_names_a_split_that_has_documents() {
    let place = finished();
    place.succeed("topics 2.jsonl --set model.from=first --output second -w 1 --quiet");
    let refused = place.denied(65, "evaluate second --quiet");
    let remedy = "--set evaluate.split=projected";
    assert!(refused.contains(remedy) && !refused.contains("held_out;"), "{refused}");
    place.succeed(&format!("evaluate second --quiet {remedy}"));
}
