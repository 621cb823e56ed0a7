//! The language of texts in whole runs: a column of `documents`, and a filter.

use std::collections::{BTreeMap, BTreeSet};

use topicmill::tables::read::head;

use crate::workdir::{Row, Workdir, said};

const JOB: &str = r#"
[corpus]
input = "documents.jsonl"
block_mib = 0.02
[vocabulary]
stop_words = "none"
min_documents = 2
[sample]
fraction = 0.5
[model]
topics = 4
[train]
minibatch = 64
passes = 4
[output]
path = "out"
"#;

/// Sentences of identifiable languages, combined differently for each document.
const SENTENCES: [(&str, [&str; 6]); 3] = [
    (
        "en",
        [
            "the weather was better than they had expected",
            "nobody could remember where the road began",
            "she would have given anything for another answer",
            "which of these houses belongs to your brother",
            "the children were playing behind the church",
            "everything that happened there was soon forgotten",
        ],
    ),
    (
        "de",
        [
            "das Wetter war besser als sie erwartet hatten",
            "niemand wusste noch, wo die Straße begann",
            "sie hätte alles für eine andere Antwort gegeben",
            "welches dieser Häuser gehört deinem Bruder",
            "die Kinder spielten hinter der Kirche",
            "was dort geschah, wurde bald wieder vergessen",
        ],
    ),
    (
        "it",
        [
            "il tempo era migliore di quanto si aspettassero",
            "nessuno ricordava dove cominciasse la strada",
            "avrebbe dato qualsiasi cosa per un'altra risposta",
            "quale di queste case appartiene a tuo fratello",
            "i bambini giocavano dietro la chiesa",
            "tutto quello che accadde fu presto dimenticato",
        ],
    ),
];

const DOCUMENTS: usize = 600;

const PLACEMENTS: [&str; 3] = ["-w 1", "-w 3", "--processes 2 -w 1"];

/// Returns the language of a document; every seventh has none.
fn language(document: usize) -> &'static str {
    match document % 7 {
        0 => "und",
        _ => SENTENCES[document % 3].0,
    }
}

fn text(document: usize) -> String {
    if document.is_multiple_of(7) {
        return format!("{document} = x");
    }
    let sentences = SENTENCES[document % 3].1;
    // Four consecutive sentences.
    let chosen = [0, 1, 2, 3].map(|place| sentences[(document / 3 + place) % 6]);
    chosen.join(". ")
}

fn lines(documents: impl Iterator<Item = usize>) -> String {
    documents
        .map(|document| {
            let text = text(document);
            format!("{{\"id\": \"d{document}\", \"text\": \"{text}\"}}\n")
        })
        .collect()
}

fn ground() -> Workdir {
    let ground = Workdir::new().with_job(JOB);
    ground.write("documents.jsonl", lines(0..DOCUMENTS));
    ground
}

/// Returns language and status of each document, in order.
fn documents(ground: &Workdir, out: &str) -> Vec<[String; 2]> {
    let rows = ground.table(&format!("{out}/documents"));
    let cells = |row: &Row| [row["language"].clone(), row["status"].clone()];
    rows.iter().map(cells).collect()
}

#[test]
fn languages_are_a_column_with_trends() {
    let ground = ground();
    ground.succeed("run job.toml --quiet --set corpus.identify_language=true");
    ground.succeed("verify out");
    let found = documents(&ground, "out");
    for (document, [identified, status]) in found.iter().enumerate() {
        assert_eq!(identified, language(document), "{}", text(document));
        let expected = if document.is_multiple_of(7) { "empty" } else { "ok" };
        assert_eq!(status, expected);
    }
    let listed = ground.table("out/document_topics").into_iter();
    let expected = listed.map(|row| {
        let document = row["doc_id"].parse().expect("a number");
        (language(document).to_owned(), row["topic"].clone())
    });
    let trends = ground.table("out/topic_trends").into_iter();
    let found = trends.map(|row| (row["value"].clone(), row["topic"].clone()));
    assert_eq!(found.collect::<BTreeSet<_>>(), expected.collect());
    // The saved job is the same job.
    assert!(ground.succeed("run out/job.toml --quiet").is_empty());
}

#[test]
fn other_languages_are_filtered_on_any_workers() {
    let ground = ground();
    ground.digest_on(&PLACEMENTS, "run job.toml --set corpus.languages=[\"de\",\"it\"]");
    let mut filtered = 0;
    for (document, [identified, status]) in documents(&ground, "out0").iter().enumerate() {
        assert_eq!(identified, language(document));
        let expected = match language(document) {
            "de" | "it" => "ok",
            _ => "filtered",
        };
        assert_eq!(status, expected, "{document}");
        filtered += usize::from(expected == "filtered");
    }
    assert!(filtered > DOCUMENTS / 3);
    // The vocabulary is that of the remaining documents.
    let left = (0..DOCUMENTS).filter(|&document| ["de", "it"].contains(&language(document)));
    ground.write("left.jsonl", lines(left));
    ground.succeed("run job.toml --quiet --set corpus.input=left.jsonl --set output.path=left");
    let vocabulary =
        |out: &str| head(&ground.path(out).join("vocabulary"), usize::MAX).unwrap().rows;
    assert!(vocabulary("left") == vocabulary("out0"));
}

/// Returns the tokens of each term of the vocabulary that is a stop word.
fn stopped(ground: &Workdir, out: &str) -> BTreeMap<String, String> {
    let rows = ground.table(&format!("{out}/vocabulary")).into_iter();
    let stopped = rows.filter(|row| row["status"] == "stop");
    stopped.map(|row| (row["term"].clone(), row["count"].clone())).collect()
}

#[test]
fn each_document_loses_the_stop_words_of_its_language() {
    let ground = ground();
    // The German article, a content word in English.
    let english =
        "they would rather die than have to live in the house where they had been so unhappy";
    ground.write("english.jsonl", format!("{{\"text\": \"{english}\"}}\n").repeat(9));
    let job = "run job.toml --set corpus.input=[\"documents.jsonl\",\"english.jsonl\"] \
               --set vocabulary.stop_words=\"by-language\"";
    ground.digest_on(&PLACEMENTS, job);
    let stopped = stopped(&ground, "out0");
    for word in ["the (en)", "than (en)", "das (de)", "dem (de)", "die (de)", "della (it)"] {
        let is_there = (0..DOCUMENTS).any(|document| {
            let (word, code) = word.trim_end_matches(')').split_once(" (").expect("marked");
            let has = |text: &str| text.split([' ', '.', ',']).any(|other| other == word);
            has(english) && code == "en" || language(document) == code && has(&text(document))
        });
        assert_eq!(stopped.contains_key(word), is_there, "{word}");
    }
    let term = |word: &str| {
        let mut rows = ground.table("out0/vocabulary").into_iter();
        rows.find(|row| row["term"] == word)
            .map(|row| (row["status"].clone(), row["count"].clone()))
    };
    assert_eq!(term("die"), Some(("kept".to_owned(), "9".to_owned())));
    assert_eq!(term("the"), None);
    // A stream of documents is read in the same way.
    let line = format!("{{\"text\": \"{english}\"}}\n");
    let answer = ground.fed("project out0 --stdin", line.as_bytes());
    let answer: serde_json::Value = serde_json::from_slice(&answer.stdout).expect("a line of JSON");
    let of_run = ground.table("out0/documents").pop().expect("documents");
    assert_eq!(answer["tokens_stopped"].to_string(), of_run["tokens_stopped"]);
    assert!(of_run["tokens_stopped"].parse::<u64>().expect("a number") > 5);
}

#[test]
fn names_are_left_out_wherever_they_are() {
    let ground = Workdir::new().with_job(JOB);
    let line = |number: usize| {
        let place = ["garden", "kitchen", "harbour"][number % 3];
        // The first name begins a sentence only, in every fifth document.
        let seen = if number.is_multiple_of(5) { "" } else { "and then Elizabeth" };
        format!(
            "{{\"text\": \"Elizabeth saw the {place} {seen} and Mr. Darcy went. The rose was in the {place}.\"}}\n"
        )
    };
    ground.write("documents.jsonl", (0..200).map(line).collect::<String>());
    let sets = "--set vocabulary.names=drop --set vocabulary.max_share=1.0";
    ground.digest_on(&PLACEMENTS, &format!("run job.toml {sets}"));
    let expected = [("darcy (name)", "200"), ("elizabeth", "40"), ("elizabeth (name)", "320")];
    let expected = expected.map(|(term, tokens)| (term.to_owned(), tokens.to_owned()));
    assert_eq!(stopped(&ground, "out0"), BTreeMap::from(expected));
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    let ground = ground();
    for (sets, words) in [
        ("--set corpus.languages=[\"english\"]", "corpus.languages"),
        ("--set corpus.languages=[\"de\"] --set corpus.metadata=[\"language\"]", "corpus.metadata"),
        ("--set corpus.identify_language=true --set corpus.format=vw", "corpus.identify_language"),
        ("--set project.trends=[\"language\"]", "corpus.metadata"),
    ] {
        let output = ground.output(&format!("run job.toml --quiet {sets}"));
        let text = said(&output);
        assert!(matches!(output.status.code(), Some(64 | 65)), "{text}");
        assert!(text.contains(words), "{text}");
    }
}
