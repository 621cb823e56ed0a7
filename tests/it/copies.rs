//! Copies of volumes in whole runs: of those that agree in the job's keys, the one with the smallest id is read.

use std::collections::BTreeSet;

use topicmill::tables::read::head;

use crate::workdir::{Workdir, said};

const JOB: &str = r#"
[corpus]
input = "volumes"
format = "htrc"
metadata = ["title"]
block_mib = 0.002
[htrc]
section_pages = 1
[vocabulary]
stop_words = "none"
min_documents = 1
max_share = 1
[model]
topics = 2
[sample]
held_out = 0
[train]
passes = 2
[output]
path = "out"
"#;

const EDITION: &str = r#"["record","enumerationChronology"]"#;
const WORK: &str = r#"["title","author","enumerationChronology"]"#;

/// Id, number of the record, title, volume of the set, language.
type Volume = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// Copies of two volumes of a set, another edition, a volume without a record, and one in another language.
const VOLUMES: [Volume; 8] = [
    ("uc.5", "7", "Whales /", "v.1", "eng"),
    ("mdp.3", "7", "Whales /", "v.1", "eng"),
    ("hvd.4", "7", "Whales /", "V. 1", "eng"),
    ("uc.6", "7", "Whales /", "v.2", "eng"),
    ("coo.9", "8", "WHALES", "v.1", "eng"),
    ("nyp.1", "", "Whales", "v.3", "eng"),
    ("nyp.2", "", "Sharks", "v.3", "eng"),
    ("aaa.1", "7", "Whales", "v.1", "ger"),
];

/// Returns a volume of two pages, in schema 2.0 or, for every third, in 1.5.
fn json(number: usize, (htid, record, title, part, language): Volume) -> String {
    let (id, record) = match number % 3 {
        2 => ("id", format!("\"hathitrustRecordNumber\": \"{record}\"")),
        _ => {
            let address = format!("https://catalog.hathitrust.org/Record/{record:0>9}");
            ("htid", format!("\"mainEntityOfPage\": [\"{address}\"]"))
        }
    };
    let record = if htid.starts_with("nyp") { "\"isbn\": []".to_owned() } else { record };
    let page = |page: usize| {
        let counts = format!("{{\"word{number}\": {{\"NN\": 3}}, \"all\": {{\"DT\": {page}}}}}");
        format!(
            "{{\"seq\": \"{page:08}\", \"body\": {{\"tokenPosCount\": {counts}}}, \"calculatedLanguage\": \"en\"}}"
        )
    };
    format!(
        "{{\"{id}\": \"{htid}\", \"metadata\": {{\"title\": \"{title}\", \"contributor\": {{\"name\": \"A, B.\"}}, {record}, \
         \"enumerationChronology\": \"{part}\", \"language\": \"{language}\"}}, \"features\": {{\"pages\": [{}, {}]}}}}",
        page(1),
        page(2)
    )
}

fn ground(name: impl Fn(usize) -> String) -> Workdir {
    let ground = Workdir::new().with_job(JOB);
    for (number, volume) in VOLUMES.into_iter().enumerate() {
        let path = format!("volumes/{}.json", name(number));
        std::fs::create_dir_all(ground.path(&path).parent().unwrap()).unwrap();
        ground.write(&path, json(number, volume));
    }
    ground
}

/// Returns the volumes that were read, and those that were filtered.
fn read(ground: &Workdir, out: &str) -> [BTreeSet<String>; 2] {
    let mut sets = [BTreeSet::new(), BTreeSet::new()];
    for row in ground.table(&format!("{out}/documents")) {
        assert!(!row["title"].is_empty());
        match row["status"].as_str() {
            "ok" => sets[0].insert(row["group_id"].clone()),
            "filtered" => sets[1].insert(row["group_id"].clone()),
            other => panic!("{other}"),
        };
    }
    sets
}

fn set(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|&id| id.to_owned()).collect()
}

#[test]
fn one_copy_is_read_whatever_the_files_and_workers() {
    let forward = ground(|number| format!("{number}"));
    let backward = ground(|number| format!("{}/{number}", VOLUMES.len() - number));
    for (number, (unique_by, copies)) in
        [(EDITION, &["mdp.3", "hvd.4", "uc.5"][..]), (WORK, &["mdp.3", "hvd.4", "uc.5", "coo.9"])]
            .into_iter()
            .enumerate()
    {
        // The smallest id of an English volume; the German one is filtered and does not exclude its copies.
        let kept = copies.iter().min().unwrap();
        let filtered: Vec<_> = copies.iter().filter(|id| *id != kept).copied().collect();
        let filtered = set(&[&filtered[..], &["aaa.1"]].concat());
        let sets = format!("--set htrc.languages=eng --set htrc.unique_by={unique_by}");
        let mut digests = BTreeSet::new();
        for (place, placement) in ["-w 1", "-w 3", "--processes 2 -w 2"].iter().enumerate() {
            let out = format!("out{number}{place}");
            forward.succeed(&format!(
                "run job.toml --quiet {placement} {sets} --set output.path={out}"
            ));
            digests.insert(forward.digest(&out));
            let [read, left] = read(&forward, &out);
            assert_eq!(left, filtered);
            assert_eq!(read.len() + left.len(), VOLUMES.len());
        }
        assert_eq!(digests.len(), 1);
        forward.succeed(&format!("verify out{number}0"));
        backward.succeed(&format!("run job.toml --quiet {sets} --set output.path=out{number}"));
        assert_eq!(read(&backward, &format!("out{number}"))[1], filtered);
    }
}

#[test]
fn without_the_key_all_are_read_and_words_of_copies_are_not_counted_with_it() {
    let ground = ground(|number| format!("{number}"));
    ground.succeed("run job.toml --quiet --set output.path=all");
    assert_eq!(read(&ground, "all")[0].len(), VOLUMES.len());
    ground.succeed(&format!("run job.toml --quiet --set htrc.unique_by={EDITION}"));
    let terms = |out: &str| {
        let found = head(&ground.path(out).join("vocabulary"), usize::MAX).unwrap();
        let term = found.columns.iter().position(|column| column == "term").unwrap();
        found.rows.into_iter().map(|row| row[term].clone()).collect::<BTreeSet<_>>()
    };
    // Of the copies 0, 1, 2 and 7, the last has the smallest id.
    let missing: Vec<String> = terms("all").difference(&terms("out")).cloned().collect();
    assert_eq!(missing, ["word0", "word1", "word2"]);
    // A different selection is a different collection.
    let output = ground.output("run job.toml --quiet");
    assert!(!output.status.success(), "{}", said(&output));
}

#[test]
fn a_key_that_no_volume_has_is_an_error_or_a_warning() {
    let ground = ground(|number| format!("{number}"));
    for placement in ["-w 2", "--processes 2 -w 1"] {
        let output = ground.output(&format!(
            "run job.toml {placement} --set htrc.unique_by=[\"titel\",\"author\"]"
        ));
        assert_eq!(output.status.code(), Some(65), "{}", said(&output));
        let error = "htrc.unique_by: no volume has `titel`; did you mean `title`?";
        assert!(said(&output).contains(error), "{}", said(&output));
        let keys = "0.json has: author, contributor, enumerationChronology, language";
        assert!(said(&output).contains(keys), "{}", said(&output));
    }
    let output = ground.output("run job.toml --set htrc.unique_by=[\"title\",\"autor\"]");
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("no volume has `autor`"), "{}", said(&output));
    // If filters leave no volume, the error does not blame a key.
    let none = "--set htrc.languages=fre --set htrc.unique_by=[\"titel\"] --set output.path=none";
    let output = ground.output(&format!("ingest job.toml {none}"));
    assert!(!said(&output).contains("titel"), "{}", said(&output));
}
