//! The report of a run: its numbers against the tables, its bounds, its bytes, and hostile text in
//! documents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use lda::math::special::ln;
use serde_json::{Value, json};
use topicmill::tables::topics::topic_lines;
use topicmill::tables::vocabulary::kept_terms;
use topicmill::tables::{phi, projected};

use crate::workdir::{Workdir, said};

const JOB: &str = r#"
[corpus]
input = "texts.jsonl"
id = "id"
metadata = ["day", "place", "key", "tags"]
[vocabulary]
stop_words = "none"
min_documents = 2
[sample]
held_out = 0.2
[model]
topics = 4
[train]
minibatch = 32
online_passes = 1
passes = 12
[project]
trends = ["day", "place", "tags"]
[output]
path = "out"
"#;

/// Text that would attack a page that trusts it.
const ATTACK: &str = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>";

const TOPICS: [&str; 4] = [
    "whale ship sea harbour sail anchor captain crew",
    "bread oven flour butter sugar yeast salt dough",
    "star orbit planet moon comet telescope galaxy dust",
    "goal match team player league season coach ball",
];

/// Returns 240 documents of four planted topics; over the years the sea shrinks and stars grow.
fn texts() -> String {
    let document = |i: usize| {
        let year = 2000 + i / 24;
        let topic = match (i * 7) % 10 {
            0..4 => usize::from(i / 24 > i % 10) * 2,
            4..7 => 1,
            _ => 3,
        };
        let words: Vec<&str> = TOPICS[topic].split(' ').collect();
        let own = (0..30).map(|place| words[(i * 5 + place * place) % words.len()]);
        let text: Vec<&str> = own.chain(["the", "common", "word", ATTACK]).collect();
        let place = if i.is_multiple_of(3) { ATTACK } else { "north" };
        let line = json!({
            "id": format!("{ATTACK}{i}"),
            "text": if i == 5 { String::new() } else { text.join(" ") },
            "day": format!("{year}-{:02}-11T10:00:00Z", 1 + i % 12),
            "place": (!i.is_multiple_of(40)).then_some(place),
            "key": format!("key {i}"),
            "tags": if i.is_multiple_of(2) { json!(["even", "all"]) } else { json!(["all"]) },
        });
        format!("{line}\n")
    };
    (0..240).map(document).collect()
}

fn ran(arguments: &str) -> Workdir {
    let place = Workdir::new().with_job(JOB);
    place.write("texts.jsonl", texts());
    place.succeed(&format!("run job.toml {arguments}"));
    place
}

fn page(place: &Workdir) -> String {
    fs::read_to_string(place.path("out/report.html")).expect("written")
}

/// Returns the data in a page.
fn data(page: &str) -> Value {
    let (_, behind) =
        page.split_once(r#"<script type="application/json" id="data">"#).expect("an island");
    let (json, _) = behind.split_once("</script>").expect("it ends");
    serde_json::from_str(json).expect("JSON")
}

fn numbers(list: &Value) -> Vec<f64> {
    let all = list.as_array().expect("a list").iter();
    all.map(|number| number.as_f64().expect("a number")).collect()
}

fn pairs(list: &Value) -> Vec<(usize, f64)> {
    let flat = numbers(list);
    let pairs = flat.chunks_exact(2);
    pairs.map(|pair| (pair[0] as usize, pair[1])).collect()
}

#[test]
fn the_terms_of_every_position_of_the_slider_are_there() {
    let place = ran("-w 2 -q");
    let data = data(&page(&place));
    let out = place.path("out");
    let model = phi::read(&out).unwrap();
    let counts = kept_terms(&out).unwrap();
    let total: i64 = counts.iter().map(|term| term.count).sum();
    let texts: Vec<&str> = data["terms"]["texts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap())
        .collect();
    for topic in 0..4 {
        let mut log = 0.0;
        let shown: BTreeMap<&str, f64> = pairs(&data["topics"][topic]["terms"])
            .into_iter()
            .map(|(term, more)| {
                log += more;
                (texts[term], -log / 1000.0)
            })
            .collect();
        let mut all: Vec<(f64, f64, &str)> = Vec::new();
        for (term, row) in model.rows.iter().enumerate() {
            for (_, beyond) in row.iter().filter(|entry| entry.0 == topic as u16) {
                let log = ln(f64::from(*beyond) + model.smoothing[topic]);
                let share = counts[term].count as f64 / total as f64;
                all.push((log, log - ln(share), &counts[term].term));
            }
        }
        for step in 0..=20 {
            let lambda = f64::from(step) / 20.0;
            let relevance = |e: &(f64, f64, &str)| lambda * e.0 + (1.0 - lambda) * e.1;
            all.sort_by(|a, b| relevance(b).total_cmp(&relevance(a)));
            for (log, _, text) in all.iter().take(25) {
                assert!((shown[text] - log).abs() < 0.0006, "{topic} {lambda} {text}");
            }
        }
    }
    let first = &data["topics"][0];
    let lines = topic_lines(&out).unwrap();
    assert!((first["share"].as_f64().unwrap() - lines[0].row.share).abs() < 1e-4);
    assert_eq!(first["tokens"], lines[0].row.tokens);
}

#[test]
fn shares_by_value_are_those_of_the_tables() {
    let place = ran("-w 1 -q --set project.date_unit=year");
    let data = data(&page(&place));
    let trends = data["trends"].as_array().unwrap();
    let kinds: Vec<_> = trends.iter().map(|t| (t["name"].clone(), t["kind"].clone())).collect();
    assert_eq!(
        kinds,
        [
            (json!("day"), json!("time")),
            (json!("place"), json!("name")),
            (json!("tags"), json!("name"))
        ]
    );
    let warnings = data["warnings"].to_string();
    assert!(warnings.contains("1 document is empty"), "{warnings}");

    // 120 days in ten years, grouped by year.
    let years = &trends[0];
    assert_eq!(years["values"].as_array().unwrap().len(), 10);
    let names = ["day", "place", "tags"].map(str::to_owned);
    let mut reader = projected::ProjectedReader::open(&place.path("out"), &names).unwrap();
    let mut document = projected::ProjectedDocument::default();
    let (mut sums, mut tokens) = ([[0.0; 10]; 4], [0_i64; 10]);
    while reader.read_into(&mut document).unwrap() {
        let year: usize = document.values[0].as_ref().unwrap()[..4].parse().unwrap();
        tokens[year - 2000] += document.document.tokens_in_vocabulary;
        for &(topic, weight) in &document.topics {
            let expected = f64::from(weight) * document.document.tokens_in_vocabulary as f64;
            sums[topic as usize][year - 2000] += expected;
        }
    }
    for topic in 0..4 {
        // A negative number is one of zeros.
        let runs = numbers(&years["shares"][topic]).into_iter();
        let shown: Vec<f64> =
            runs.flat_map(|n| if n < 0.0 { vec![0.0; -n as usize] } else { vec![n] }).collect();
        for year in 0..10 {
            let share = sums[topic][year] / tokens[year] as f64;
            assert!((shown[year] / 1e5 - share).abs() < 1e-5, "{topic} {year}");
        }
        let with_share = shown.iter().filter(|&&share| share > 0.0).count();
        assert_eq!(numbers(&years["intervals"][topic]).len(), 2 * with_share);
    }
    // One document of the first year is empty.
    let mut documents = [24.0; 10];
    documents[0] = 23.0;
    assert_eq!(numbers(&years["documents"]), documents);
    assert_eq!((trends[1]["without"].clone(), trends[2]["without"].clone()), (json!(6), json!(0)));
    assert_eq!(trends[2]["values"], json!(["all", "even"]));
    assert_eq!(trends[2]["documents"], json!([239, 120]));
}

#[test]
fn documents_and_their_topics_are_those_of_the_tables() {
    let place = ran("-w 1 -q");
    let data = data(&page(&place));
    let shown = &data["documents"];
    let ids: Vec<&str> =
        shown["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let mut listed = BTreeSet::new();
    for topic in 0..4 {
        let documents = pairs(&data["topics"][topic]["documents"]);
        assert_eq!(documents.len(), 20);
        assert!(documents.is_sorted_by(|a, b| a.1 >= b.1));
        for (document, thousandths) in documents {
            listed.insert(document);
            let own = pairs(&shown["topics"][document]);
            assert!(own.contains(&(topic, thousandths)), "{topic} {own:?}");
        }
    }
    // Two documents of each month: those with tokens are all there.
    assert_eq!((listed.len() < 81, ids.len()), (true, 239));
    assert_eq!(shown["columns"], json!(["day", "place", "tags", "key"]));
    let number: usize = ids[3].rsplit('>').next().unwrap().parse().unwrap();
    let value = |column: usize| {
        let place = shown["values"][column][3].as_u64().unwrap();
        shown["texts"][column][place as usize].as_str().unwrap()
    };
    assert_eq!(value(3), format!("key {number}"));
    let tags = if number.is_multiple_of(2) { "even, all" } else { "all" };
    assert_eq!(value(2), tags);
    for line in place.table("out/topic_documents") {
        let numbers = shown["numbers"].as_array().unwrap();
        let doc_id: i64 = line["doc_id"].parse().unwrap();
        let at = numbers.iter().position(|number| *number == doc_id).unwrap();
        let front = shown["front"].as_str().unwrap();
        assert_eq!(format!("{front}{}", ids[at]), line["source_id"]);
    }
}

#[test]
fn nothing_that_a_document_says_becomes_markup() {
    let place = ran("-w 1 -q");
    let page = page(&place);
    assert!(!page.contains("<script>alert") && !page.contains("<img"));
    let scripts = page.matches("<script").count();
    assert_eq!((scripts, page.matches("</script>").count()), (3, 3));
    assert_eq!(page.matches("<script nonce=").count(), 2);
    assert!(page.contains("default-src 'none'"));
    let data = data(&page);
    let text = |of: &Value| of.as_str().unwrap().to_owned();
    let shown = &data["documents"];
    assert!((text(&shown["front"]) + &text(&shown["ids"][0])).starts_with(ATTACK));
    let places = data["trends"][1]["values"].as_array().unwrap();
    let clipped: String = ATTACK.chars().take(59).chain(['…']).collect();
    assert!(places.contains(&clipped.into()), "{places:?}");
}

#[test]
fn a_result_has_one_page_however_it_is_made() {
    let [one, three] = ["-w 1 -q", "-w 3 -q"].map(ran);
    let page_of_run = page(&one);
    assert!(page_of_run == page(&three), "the same bytes on three workers");
    let printed = one.succeed("report out --json");
    let answer: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(answer, json!({ "report": "out/report.html", "bytes": page_of_run.len() }));
    assert!(page(&one) == page_of_run, "and when it is made later");
    assert!(!one.path("out/_temporary").exists());
    one.succeed("report out --to elsewhere.html");
    assert!(fs::read_to_string(one.path("elsewhere.html")).unwrap() == page_of_run);
    assert!(one.succeed("verify out").contains("is sound"));
    assert_eq!(one.digest("out"), three.digest("out"));
    names_are_part_of_the_result(&one, &page_of_run);
}

/// Gives a result's topics names, and takes them away.
fn names_are_part_of_the_result(place: &Workdir, unnamed: &str) {
    let header = "topic,name,hidden,merged_into\n";
    place.write("names.csv", format!("{header}1,The Sea,,\n3,,true,0\n"));
    place.succeed("report out --names names.csv");
    let topics = &data(&page(place))["topics"];
    assert_eq!([&topics[1]["name"], &topics[3]["merged_into"]], [&json!("The Sea"), &json!(0)]);
    assert_eq!([&topics[0]["hidden"], &topics[3]["hidden"]], [&Value::Null, &json!(true)]);
    assert!(place.succeed("verify out").contains("is sound"));
    let listed = place.succeed("inspect out");
    assert!(listed.contains("The Sea: ") && listed.contains("(hidden) (in 0): "), "{listed}");
    assert!(place.succeed("inspect out --topic 1").contains("The Sea"));
    assert!(fs::read_to_string(place.path("out/views.sql")).unwrap().contains("topic_names"));
    place.write("wrong.csv", format!("{header}4,Land,,\n"));
    let refused = place.denied(65, "report out --names wrong.csv");
    assert!(refused.contains("wrong.csv, line 2: there is no topic \"4\""), "{refused}");
    place.write("none.csv", header);
    place.succeed("report out --names none.csv");
    assert!(!place.path("out/topic_names").exists() && page(place) == unnamed);
    assert!(place.succeed("verify out").contains("is sound"));
}

#[test]
fn a_job_can_do_without_and_a_run_says_where_its_page_is() {
    let place = ran("-w 1");
    place.write("names.csv", "topic,name,hidden,merged_into\n1,The Sea,,\n");
    place.succeed("report out --names names.csv");
    let printed = place.succeed("run job.toml -w 1 --overwrite --json");
    assert!(!place.path("out/topic_names").exists(), "the topics are others");
    place.succeed("report out --names names.csv");
    let summary: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    assert_eq!(summary["report"], "out/report.html");
    let rounds = &summary["train"]["rounds"];
    let inspected = place.succeed("inspect out");
    assert!(inspected.contains(&format!(" in {rounds} rounds")), "{inspected}");
    let without = "--set output.report=false --overwrite";
    let printed = place.succeed(&format!("project job.toml -w 1 {without}"));
    assert!(!printed.contains("report.html") && !place.path("out/report.html").exists());
    assert!(place.path("out/topic_names").exists(), "the topics are the same");
    place.succeed("report out");
    assert!(place.path("out/report.html").exists());
}

#[test]
fn a_result_without_documents_or_columns_has_a_page() {
    let place =
        ran("-w 1 -q --set project.method=none --set sample.held_out=0 --set project.trends=[]");
    let bare = data(&page(&place));
    assert_eq!(bare["topics"].as_array().unwrap().len(), 4);
    assert_eq!(
        (&bare["trends"], &bare["documents"]["ids"], &bare["drift"]),
        (&json!([]), &json!([]), &Value::Null)
    );
    assert!(bare["curve"].as_array().unwrap().is_empty());
    let place = ran("-w 1 -q --set corpus.metadata=[] --set project.trends=[]");
    let plain = data(&page(&place));
    assert_eq!(plain["trends"], json!([]));
    assert!(!plain["documents"]["ids"].as_array().unwrap().is_empty());
    let place = ran("-w 1 -q --set project.topic_documents=0");
    let unlisted = data(&page(&place));
    assert_eq!(unlisted["documents"]["ids"], json!([]));
    assert_eq!(unlisted["trends"].as_array().unwrap().len(), 3);
}

#[test]
fn what_is_no_finished_result_is_refused_with_the_remedy() {
    let place = Workdir::new().with_job(JOB);
    place.write("texts.jsonl", texts());
    let refused = |line: &str, code: i32, words: &[&str]| {
        let output = place.output(line);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    };
    refused("report absent", 64, &["absent: does not exist", "output.path"]);
    refused("report job.toml", 65, &["not a result", "output.path"]);
    fs::create_dir(place.path("other")).unwrap();
    refused("report other", 65, &["not a result"]);
    assert_eq!(fs::read_dir(place.path("other")).unwrap().count(), 0, "nothing is written there");
    place.succeed("ingest job.toml -w 1 -q");
    place.succeed("train job.toml -w 1 -q");
    refused("report out", 65, &["has not ended", "rerun the job"]);
    place.succeed("run job.toml -w 1 -q");
    refused("report out --to job.toml", 64, &["job.toml exists", "--overwrite"]);
    refused("report out --to out/topics/page.html", 64, &["is in a result"]);
    place.succeed("report out --to a/new/page.html");
    place.succeed("report out --to a/new/page.html --overwrite");
    assert!(Path::new(&place.path("out/report.html")).exists());
    refused("report out --to other --overwrite", 64, &["name a file"]);
    fs::remove_dir_all(place.path("out/topics")).unwrap();
    refused("report out", 65, &["topics/part-00000.parquet: is missing", "rerun the job"]);
}
