use std::path::Path;

use super::totals::extrapolated;
use super::*;
use crate::knowledge::tests::gzip;
use crate::plan::survey::LabelCount;
use corpus::columns::START_BYTES;

const ENGLISH: &str = "the ship that was in the harbour and the whales of the sea";

/// Previews a folder with these files.
fn previewed(files: &[(&str, &[u8])]) -> Result<Preview, Failure> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    preview(&settings(folder.path()), &[])
}

fn settings(folder: &Path) -> CorpusSettings {
    let text = "[corpus]\ninput = \".\"\n[model]\ntopics = 2\n[output]\npath = \"o\"\n";
    Job::parse(text, &folder.join("job"), &[]).unwrap().corpus
}

fn names(preview: &Preview) -> Vec<&str> {
    preview.columns.iter().map(|column| column.name.as_str()).collect()
}

#[test]
fn json_that_a_run_reads_is_looked_at() {
    for value in [
        "NaN".to_owned(),
        "\"cut \\ud83d\"".to_owned(),
        "1e400".to_owned(),
        format!("{}{}", "[".repeat(500), "]".repeat(500)),
    ] {
        let line = |i| format!("{{\"key\": {i}, \"x\": {value}, \"body\": \"{ENGLISH}\"}}\n");
        let lines: String = (0..50).map(line).collect();
        let array = format!("[{}]", lines.trim_end().replace('\n', ",\n"));
        for (name, content) in [("a.jsonl", &lines), ("a.txt", &lines), ("a.json", &array)] {
            let preview = previewed(&[(name, content.as_bytes())]).unwrap();
            let is_object =
                preview.text.as_deref() == Some("body") || preview.records.are_json_lines();
            assert!(is_object, "{name}: {line}", line = line(0));
        }
    }
}

#[test]
fn names_of_folders_of_texts_are_columns() {
    let metadata = |folders: [&str; 2]| {
        let names: Vec<String> = (0..10).map(|i| format!("{}/{i}.txt", folders[i % 2])).collect();
        let files: Vec<_> = names.iter().map(|name| (&name[..], ENGLISH.as_bytes())).collect();
        previewed(&files).unwrap().metadata
    };
    assert_eq!(metadata(["letters", "diaries"]), ["folder"]);
    assert_eq!(metadata(["author=Melville/whales", "author=Austen/letters"]), ["author", "folder"]);
    assert_eq!(metadata(["year=1851/author=A%20B", "year=1813/author=C"]), ["year", "author"]);
    assert!(metadata(["letters", "letters"]).is_empty());
}

#[test]
fn many_columns_and_keys_take_no_time() {
    let columns: String = (0..30_000).map(|i| format!(",c{i}")).collect();
    let row = |i| format!("{i},{ENGLISH}{}\n", ",".repeat(30_000));
    let rows: String = (0..30).map(row).collect();
    let table = format!("id,body{columns}\n{rows}");
    let counts = |i| {
        let counts: Vec<String> = (0..600).map(|j| format!("\"w{i}-{j}\": 1")).collect();
        format!("{{\"id\": {i}, \"body\": \"{ENGLISH}\", \"counts\": {{{}}}}}\n", counts.join(", "))
    };
    let objects: String = (0..100).map(counts).collect();
    let begin = std::time::Instant::now();
    for (name, content) in [("a.csv", table), ("a.jsonl", objects)] {
        let preview = previewed(&[(name, content.as_bytes())]).unwrap();
        assert_eq!((preview.text.as_deref(), preview.id.as_deref()), (Some("body"), Some("id")));
    }
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}

#[test]
fn a_binary_file_named_like_the_texts_is_left_out_alone() {
    for name in ["0.txt", "m.txt", "z.txt"] {
        let preview = previewed(&[
            (name, b"\xff\xd8\xff\xe0\0JFIF"),
            ("a.txt", ENGLISH.as_bytes()),
            ("q.txt", ENGLISH.as_bytes()),
        ])
        .unwrap();
        assert_eq!(preview.binary, BTreeMap::from([(name.to_owned(), 1)]));
        assert_eq!((preview.survey.files, preview.records.encoding()), (2, None));
    }
}

#[test]
fn columns_without_a_name_and_the_line_of_the_delimiter_are_none() {
    let row = |i| format!("{i};{};{ENGLISH}\n", i % 3);
    let rows: String = (0..50).map(row).collect();
    let preview = previewed(&[("a.csv", format!("sep=;\n;year;body\n{rows}").as_bytes())]).unwrap();
    assert_eq!(names(&preview), ["year", "body"]);
    assert_eq!((preview.id, preview.text.as_deref()), (None, Some("body")));
}

#[test]
fn columns_of_json_lines_are_told_apart() {
    let line = |i: usize| {
        format!(
            "{{\"key\": {i}, \"body\": \"{ENGLISH}\", \"year\": {}, \"tags\": [\"a\", \"b\"], \"x\": {{\"y\": {{\"z\": \"{ENGLISH}\"}}}}}}\n",
            i % 3
        )
    };
    let lines: String = (0..50).map(line).collect();
    let preview = previewed(&[("a.jsonl", lines.as_bytes())]).unwrap();
    assert_eq!(names(&preview), ["body", "key", "tags", "x.y.z", "year"]);
    let (id, text) = (preview.id.as_deref(), preview.text.as_deref());
    assert_eq!((id, text), (Some("key"), Some("body")));
    assert_eq!(
        (&preview.metadata[..], &preview.formats[..]),
        (&["tags".to_owned(), "year".to_owned()][..], &["jsonl"][..])
    );
    assert_eq!(preview.languages(&["body".to_owned()]), ["en"]);
    assert_eq!(preview.column("body").unwrap().mean_words(), 13.0);
    assert_eq!(preview.text_columns(&[]).unwrap(), ["body"]);
    let error = preview.text_columns(&["yeer".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("no column `yeer`; did you mean `year`?"), "{error}");
}

#[test]
fn texts_within_arrays_of_objects_are_found() {
    let paper = "{\n \"id\": 1,\n \"title\": \"a short one\",\n \"body\": [{\"text\": \"Call me\"}, {\"text\": \"Ishmael\"}]\n}\n";
    let preview = previewed(&[("1.json", paper.as_bytes())]).unwrap();
    assert_eq!(
        (names(&preview), &preview.formats[..]),
        (vec!["body.text", "id", "title"], &["json"][..])
    );
    assert_eq!(preview.text.as_deref(), Some("body.text"));
    assert_eq!(preview.column("body.text").unwrap().words, 3);
}

#[test]
fn an_array_that_holds_the_documents_is_found() {
    let path = |files: &[(&str, String)]| {
        let files: Vec<_> =
            (files.iter()).map(|(name, content)| (*name, content.as_bytes())).collect();
        previewed(&files).unwrap().records_path
    };
    let item = format!("{{\"url\": \"u\", \"text\": \"{ENGLISH}\"}}");
    let items = format!("{item}, {item}, {item}");
    let page =
        format!("{{\"from\": \"an archive of news, all of it\", \"r\": {{\"docs\": [{items}]}}}}");
    let found = Some("r.docs".to_owned());
    assert_eq!(path(&[("a.json", page.clone())]), found);
    assert_eq!(path(&[("a.json", page.clone()), ("b.json", page.clone())]), found);
    let beyond = format!("{{\"r\": {{\"docs\": [{}]}}}}", vec![item; 1_000_000].join(","));
    let error = previewed(&[("a.json", beyond.as_bytes())]).unwrap_err();
    assert!(error.help.as_deref().unwrap().contains("jq -c '.KEY[]'"), "{error}");
    // Parts of a document, beside its title or without ids.
    let article = page.replace("\"from\"", "\"title\"");
    assert_eq!(path(&[("a.json", article.clone()), ("b.json", article)]), None);
    let parts = page.replace("\"url\"", "\"section\"");
    assert_eq!(path(&[("a.json", parts.clone()), ("b.json", parts)]), None);
    assert_eq!(path(&[("a.json", page.clone()), ("b.txt", ENGLISH.to_owned())]), None);
    assert_eq!(path(&[("a.jsonl", format!("{page}\n{page}\n"))]), None);
}

#[test]
fn a_first_record_may_be_longer_than_what_is_looked_at() {
    let long = format!("{{\"text\": \"{}\"}}\n", ENGLISH.repeat(40_000));
    for (name, content) in [("a.jsonl", long.clone()), ("a.json", format!("[\n{long}]\n"))] {
        let preview = previewed(&[(name, content.as_bytes())]).unwrap();
        assert_eq!(preview.text.as_deref(), Some("text"), "{name}");
    }
    assert!(long.len() as u64 > 2 * START_BYTES);
}

#[test]
fn objects_on_one_line_or_in_an_array_are_found() {
    let item = format!("{{\"id\": 1, \"text\": \"{ENGLISH}\"}}");
    for (name, content) in [
        ("a.jsonl", item.repeat(3)),
        ("a.json", item.repeat(3)),
        ("a.jsonl", format!("[\n{item}]\n")),
        ("a.jsonl", item.replace(", ", ",\n")),
    ] {
        let preview = previewed(&[(name, content.as_bytes())]).unwrap();
        assert!(preview.records.joined.is_some(), "{name}: {content}");
        assert_eq!(preview.text.as_deref(), Some("text"), "{name}: {content}");
        let beside = previewed(&[(name, content.as_bytes()), ("b.csv", b"text\na ship\n")]);
        assert!(beside.unwrap_err().help.unwrap().contains("jq -c ."));
    }
    let torn = format!("{{\"id\": 1, \"text\": \"torn\n{item}\n");
    assert!(previewed(&[("a.jsonl", torn.as_bytes())]).unwrap().records.joined.is_none());
}

#[test]
fn a_column_must_be_in_every_table() {
    let preview = previewed(&[
        ("a.csv", b"id,text,year\n1,\"one, two\",1999\n2,three four,1999\n"),
        ("b.csv", b"text,id\nfive six,3\n"),
        ("c.tsv", b"id\ttext\tmore\n4\tseven eight\tx\n"),
    ])
    .unwrap();
    assert_eq!(names(&preview), ["id", "text"]);
    assert_eq!(preview.column("text").unwrap().words, 8);
    assert_eq!(preview.formats, ["csv", "tsv"]);
}

#[test]
fn texts_have_no_columns_and_other_files_are_left_out() {
    let preview = previewed(&[
        ("a.txt", ENGLISH.as_bytes()),
        ("b.pdf", b"%PDF-1.7 ..."),
        ("c.pdf", b"%PDF-1.7 ..."),
        ("c.docx", b"PK\x03\x04 ..."),
        ("d.md", ENGLISH.as_bytes()),
    ])
    .unwrap();
    assert_eq!((preview.columns.len(), preview.survey.documents), (0, 2));
    assert_eq!(preview.binary, [("*.docx".to_owned(), 1), ("*.pdf".to_owned(), 2)].into());
    assert_eq!((preview.languages(&[]), preview.text.clone()), (vec!["en"], None));
    assert!(preview.text_columns(&["anything".to_owned()]).unwrap().is_empty());
}

#[test]
fn files_that_are_read_are_not_left_out_with_others() {
    let preview = previewed(&[
        ("a.csv", b"\xff\xfet\0e\0x\0t\0"),
        ("b.csv", b"text\nthe ship\n"),
        ("c.tar.gz", &gzip(b"d.txt\0\0")),
        ("e.txt.gz", &gzip(ENGLISH.as_bytes())),
        ("f.gz", &gzip(b"\0")),
    ])
    .unwrap();
    let left_out = ["*.tar.gz", "a.csv", "f.gz"].map(|glob| (glob.to_owned(), 1));
    assert_eq!((preview.binary, preview.survey.files), (left_out.into(), 2));
}

#[test]
fn what_cannot_be_modelled_is_refused_with_a_remedy() {
    let refused = |name: &str, content: &[u8]| {
        let preview = previewed(&[(name, content)]);
        let error = preview.and_then(|preview| preview.text_columns(&[])).unwrap_err();
        format!("{error}\n{}", error.help.as_deref().unwrap_or_default())
    };
    let binary = refused("a.dat", b"\x7fELF\0\0");
    assert!(binary.contains("not a text file\n") && binary.contains("pdftotext"), "{binary}");
    let none = refused("a.jsonl", b"no\nobject\n");
    assert!(none.contains("no line is a JSON object") && none.contains("jq -c '.[]'"), "{none}");
    let numbers = refused("a.json", b"[{\"text\", 1}]\n");
    assert!(numbers.contains("nothing is a JSON object") && numbers.contains("[{"), "{numbers}");
    let numbers = refused("a.csv", b"id,year\n1,1999\n2,2000\n");
    assert!(numbers.contains("no column contains text; the columns are: id, year"), "{numbers}");
    assert!(numbers.contains("--text COLUMN"), "{numbers}");
    assert!(numbers.ends_with("must be Parquet or Arrow"), "{numbers}");
    let counts = refused("a.jsonl", b"{\"id\": 1, \"words\": {\"a\": 2}}\n");
    assert!(counts.ends_with("--set corpus.counts=KEY"), "{counts}");
}

#[test]
fn labels_are_counted_in_the_first_records() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[corpus]\ninput = \"*\"\nlabels = \"tags\"\nlabel_separator = \";\"\n[output]\npath = \"/no/such\"\n";
    let count = |file: &str, content: &str| {
        let path = folder.path().join(file);
        std::fs::write(&path, content).unwrap();
        let job = Job::parse(text, &folder.path().join("job"), &[format!("corpus.input={file}")]);
        let (job, mut survey) = (job.unwrap(), Survey::default());
        count_tokens(&job, &mut survey).unwrap();
        survey.labels
    };
    let lines = "{\"text\": \"x\", \"tags\": [\"a\", \"b c\"]}\n{\"text\": \"x\", \"tags\": \"a; d;e\"}\n{\"text\": \"x\"}\n";
    // One label is in two records, three are in one.
    let wanted = LabelCount { seen: 4, records: 3, expected: 4 + 3 * 2 / (2 * 2) };
    assert_eq!(count("a.jsonl", lines), Some(wanted));
    let all = "text,tags\nx,a;b\nx,b;a\n";
    let counted = count("a.csv", all).map(|found| (found.seen, found.expected));
    assert_eq!(counted, Some((2, 2)));
    assert_eq!(count("b.csv", "text,tags\nx,\n"), None);
}

#[test]
fn tokens_are_counted_in_the_first_records_and_without_stop_words() {
    let folder = tempfile::tempdir().unwrap();
    let line = |i: usize| format!("{{\"key\": {i}, \"body\": \"{ENGLISH}\"}}\n");
    let lines: String = (0..5_000).map(line).collect();
    std::fs::write(folder.path().join("a.jsonl"), lines).unwrap();
    let job = |set: &str| {
        let text = "[corpus]\ninput = \".\"\ntext = [\"body\"]\n[model]\ntopics = 2\n[output]\npath = \"o\"\n";
        Job::parse(text, &folder.path().join("job"), &[set.to_owned()]).unwrap()
    };
    let counted = |set: &str| {
        let job = job(set);
        let mut survey = crate::plan::survey::survey(&job.corpus).unwrap();
        count_tokens(&job, &mut survey).unwrap();
        [survey.tokens, survey.kept_tokens]
    };
    // Eleven tokens of three letters and more: `of` and `in` are shorter.
    let whole = 5_000.0 * 11.0;
    let near = |count: u64, whole: f64| (count as f64 / whole - 1.0).abs() < 0.1;
    let [tokens, kept] = counted("vocabulary.stop_words=[]");
    assert_eq!(tokens, kept);
    assert!(near(tokens, whole), "{tokens}");
    let [tokens, kept] = counted("vocabulary.stop_words=[\"en\"]");
    // Ship, harbour, whales and sea.
    assert!(near(tokens, whole) && near(kept, 5_000.0 * 4.0), "{tokens} {kept}");
}

#[test]
fn volumes_and_metadata_are_counted_in_the_first_records() {
    let folder = tempfile::tempdir().unwrap();
    let line = |i: usize| {
        let (volume, year) = (i / 100, 1990 + i % 7);
        format!("{{\"text\": \"{ENGLISH}\", \"volume\": \"v{volume:02}\", \"year\": {year}}}\n")
    };
    let lines: String = (0..3_000).map(line).collect();
    std::fs::write(folder.path().join("a.jsonl"), lines).unwrap();
    let text = "[corpus]\ninput = \".\"\nmetadata = [\"year\"]\ngroup = \"volume\"\n[model]\ntopics = 2\n\
                [project]\ntrends = [\"year\"]\n[output]\npath = \"o\"\n";
    let job = Job::parse(text, &folder.path().join("job"), &[]).unwrap();
    let mut survey = crate::plan::survey::survey(&job.corpus).unwrap();
    assert_eq!((survey.volumes, survey.trend_values), (3_000, None));
    count_tokens(&job, &mut survey).unwrap();
    assert!(survey.volumes.abs_diff(30) < 5, "{survey:?}");
    assert_eq!(survey.trend_values, Some(7));
    assert!(survey.metadata_bytes.abs_diff(3_000 * 7) < 3_000, "{survey:?}");
}

#[test]
fn distinct_terms_are_extrapolated_by_their_growth() {
    let growth = |power: f64| -> Vec<(u64, u64)> {
        let after =
            |tokens: u64| (tokens, (10.0 * lda::math::special::pow(tokens as f64, power)) as u64);
        (1..=100).map(|part| after(part * 1000)).collect()
    };
    let is_near = |found: u64, real: f64| (found as f64 - real).abs() < real / 50.0;
    assert!(is_near(extrapolated(&growth(0.5), 10_000_000), 10.0 * 1e7_f64.sqrt()));
    assert!(is_near(extrapolated(&growth(1.0), 10_000_000), 1e8));
    // What was read is all there is, or too little to tell.
    assert_eq!(extrapolated(&growth(1.0), 100_000), 1_000_000);
    assert_eq!(extrapolated(&growth(1.0)[..9], 10_000_000), 0);
    assert_eq!(extrapolated(&[], 10), 0);
}

#[test]
fn languages_of_single_texts_do_not_count() {
    let english = "It is a truth universally acknowledged, that a single man in possession of a good fortune, must \
                   be in want of a wife. However little known the feelings or views of such a man may be on his \
                   first entering a neighbourhood.";
    let german = "Als Gregor Samsa eines Morgens aus unruhigen Träumen erwachte, fand er sich in seinem Bett zu \
                  einem ungeheueren Ungeziefer verwandelt. Er lag auf seinem panzerartig harten Rücken und sah, \
                  wenn er den Kopf ein wenig hob, seinen gewölbten, braunen Bauch.";
    let titles =
        ["The Trial of the King", "A Room with a View", "The Way of All Flesh", "Sons and Lovers"];
    assert_eq!(languages_of(&[english, german, english]), ["en", "de"]);
    assert_eq!(languages_of(&[&[german][..], &[english; 7]].concat()), ["en"]);
    assert_eq!(languages_of(&[german]), ["de"]);
    assert_eq!(languages_of(&titles.repeat(9)), ["en"]);
    assert!(languages_of(&["f017 f044 f9921 f112 f77", ""]).is_empty());
    assert!(languages_of(&[]).is_empty());
    let chinese = "今天天气很好我们去海边散步看见了很多船";
    assert_eq!(languages_of(&[[english; 7].as_slice(), &[chinese; 9]].concat()), ["en", "zh"]);
    assert_eq!(languages_of(&["ພາສາລາວເປັນພາສາທາງການຂອງລາວ"]), ["lo"]);
    assert_eq!(languages_of(&["ភាសាខ្មែរជាភាសាផ្លូវការ"]), ["km"]);
}
