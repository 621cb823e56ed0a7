//! Documents that leave a result, or are corrected: as if it had never had what is gone.

use std::collections::BTreeMap;

#[cfg(debug_assertions)]
use crate::add::check_killed;
use crate::add::{PROJECTED, documents, finished, left};
use crate::workdir::{Workdir, said};

/// Returns the rows of a table with the ids of documents in place of their numbers. Leaves out `section`, which restarts
/// at 0 in added documents, and intervals, whose random draws depend on the numbers.
fn rows_by_id(ground: &Workdir, out: &str, table: &str) -> Vec<BTreeMap<String, String>> {
    let ids: BTreeMap<String, String> = ground
        .table(&format!("{out}/documents"))
        .into_iter()
        .map(|row| (row["doc_id"].clone(), row["source_id"].clone()))
        .collect();
    let row = |row: crate::workdir::Row| {
        let mut row: BTreeMap<String, String> = row.into_iter().collect();
        for column in ["section", "low", "high"] {
            row.remove(column);
        }
        if let Some(number) = row.get_mut("doc_id") {
            *number = ids[&*number].clone();
        }
        row
    };
    ground.table(&format!("{out}/{table}")).into_iter().map(row).collect()
}

/// Checks that every table of `first` is that of a run over these documents, which are in the order of their numbers.
fn check_as_if_of(ground: &Workdir, lines: &[String], what: &str) {
    ground.write("those.jsonl", lines.concat());
    let job = PROJECTED.replace("a-old.jsonl", "those.jsonl").replace("first", "those");
    ground.write("those.toml", job);
    ground.succeed("run those.toml --quiet -w 2 --overwrite");
    let mut tables = 0;
    for table in std::fs::read_dir(ground.path("those")).unwrap() {
        let name = table.unwrap().file_name().to_string_lossy().into_owned();
        if ground.path(&format!("those/{name}")).is_dir()
            && std::fs::read_dir(ground.path(&format!("those/{name}")))
                .unwrap()
                .any(|part| part.unwrap().path().extension().is_some_and(|it| it == "parquet"))
        {
            let [expected, found] = ["those", "first"].map(|out| rows_by_id(ground, out, &name));
            let difference = expected.iter().zip(&found).find(|(a, b)| a != b);
            assert!(expected == found, "{what}: {name}: {difference:?}");
            tables += 1;
        }
    }
    assert!(tables > 8);
    ground.digest("first");
    assert!(left(ground).is_empty());
}

fn id_of(line: &str) -> String {
    line.split('"').nth(3).unwrap().to_owned()
}

#[test]
fn whatever_comes_and_leaves_the_tables_are_those_of_the_documents_that_are_left() {
    for sequence in 1..=3_u64 {
        let ground = finished();
        let mut state = sequence;
        let mut below = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % bound
        };
        let lines =
            |text: String| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
        let mut have = lines(documents(400, 1));
        for step in 0..5_u64 {
            let threads = 1 + below(4);
            match below(4) {
                0 | 1 => {
                    let new = documents(10 + below(60) as u64, 10 * sequence + step);
                    ground.write(&format!("n{step}.jsonl"), &new);
                    ground.succeed(&*format!("add first n{step}.jsonl --quiet -w {threads}"));
                    have.extend(lines(new));
                }
                2 => {
                    // Corrections of every tenth document, and some that are new.
                    let mut new = lines(documents(20, 100 * sequence + step));
                    for (line, other) in new.iter_mut().zip(have.iter().step_by(10)).skip(5) {
                        *line = line.replace(&id_of(line), &id_of(other));
                    }
                    ground.write(&format!("n{step}.jsonl"), new.concat());
                    let skips = below(2) == 0;
                    let what = if skips { "skip" } else { "replace" };
                    let line = format!("add first n{step}.jsonl --quiet -w {threads}");
                    ground.succeed(&*format!("{line} --on-duplicate {what}"));
                    if skips {
                        new.retain(|line| have.iter().all(|other| id_of(other) != id_of(line)));
                    }
                    have.retain(|line| new.iter().all(|other| id_of(other) != id_of(line)));
                    have.extend(new);
                }
                _ => {
                    let gone = below(have.len());
                    let gone: Vec<String> =
                        have.iter().skip(gone).step_by(7).map(|line| id_of(line)).collect();
                    ground.write("gone", gone.join("\n"));
                    ground.succeed(&*format!("remove first --ids gone --quiet -w {threads}"));
                    have.retain(|line| !gone.contains(&id_of(line)));
                }
            }
        }
        check_as_if_of(&ground, &have, &format!("sequence {sequence}"));
    }
}

#[test]
fn nothing_of_a_document_that_was_removed_is_left() {
    let ground = finished();
    let before = rows_by_id(&ground, "first", "topic_documents");
    let mut marked = documents(30, 5);
    let secret = r#"{"id": "xyzzyid", "section": "xyzzyvolume", "year": "xyzzyyear", "text": "xyzzyword the worda1 worda2"}"#;
    marked += &format!("{secret}\n");
    ground.write("marked.jsonl", &marked);
    ground.succeed("add first marked.jsonl --quiet -w 2");
    let holds = |out: &str| {
        let files = walkdir::WalkDir::new(ground.path(out)).into_iter().map(Result::unwrap);
        let files = files.filter(|file| file.file_type().is_file());
        files
            .filter(|file| {
                let path = file.path();
                if path.extension().is_some_and(|it| it == "parquet") {
                    let rows = topicmill::tables::read::head(path, usize::MAX).unwrap().rows;
                    return rows.iter().flatten().any(|cell| cell.contains("xyzzy"));
                }
                let bytes = std::fs::read(path).unwrap();
                bytes.windows(5).any(|window| window == b"xyzzy")
            })
            .map(|file| file.path().display().to_string())
            .collect::<Vec<_>>()
    };
    assert!(holds("first").len() > 4, "{:?}", holds("first"));
    let said_of = said(&ground.output("remove first --where group_id=xyzzyvolume -w 2"));
    assert!(said_of.contains("removed 1 document"), "{said_of}");
    assert!(holds("first").is_empty(), "{:?}", holds("first"));
    let lines = documents(400, 1) + &documents(30, 5);
    let lines: Vec<String> = lines.split_inclusive('\n').map(str::to_owned).collect();
    check_as_if_of(&ground, &lines, "marked");
    ground.write("gone", lines[400..].iter().map(|line| id_of(line) + "\r\n").collect::<String>());
    ground.succeed("remove first --ids gone --quiet -w 1");
    assert!(before == rows_by_id(&ground, "first", "topic_documents"));
    // The number of a document is not used again.
    ground.succeed("add first c-more.jsonl --quiet -w 2");
    let numbers = ground.table("first/documents");
    assert_eq!(numbers[400]["doc_id"], "431");
    assert_eq!(numbers.len(), 460);
}

#[test]
fn a_trained_result_keeps_its_sample_when_documents_leave() {
    let ground = finished();
    let by_id = || {
        let rows = rows_by_id(&ground, "old", "documents").into_iter();
        rows.map(|row| (row["source_id"].clone(), row)).collect::<BTreeMap<_, _>>()
    };
    let before = by_id();
    let sampled = before.values().find(|row| row["split"] == "sample").unwrap();
    ground.write("gone", format!("{}\n1-7\n", sampled["source_id"]));
    let said_of = said(&ground.output("remove old --ids gone -w 2"));
    assert!(said_of.contains("the model was trained on"), "{said_of}");
    let after = by_id();
    assert_eq!(after.len(), 398);
    assert!(after.iter().all(|(id, row)| before[id] == *row));
    let alone = ground.digest("old");
    ground.succeed("project job.toml --quiet -w 3 --overwrite");
    assert_eq!(ground.digest("old"), alone, "projected again as a whole");
    let again = said(&ground.output("run job.toml --quiet -w 2 --overwrite"));
    assert!(again.contains("2 documents were removed"), "{again}");
    assert_eq!(by_id(), before);
}

#[cfg(debug_assertions)]
#[test]
fn a_removal_that_is_killed_removes_all_or_nothing() {
    let ground = finished();
    ground.succeed("add first c-more.jsonl --quiet -w 2");
    ground.write("gone", "1-3\n3-5\n");
    let line = "remove first --ids gone --missing skip --quiet -w 1";
    check_killed(&ground, "first", line, [23, 2]);
}

#[test]
fn documents_that_cannot_be_removed_are_named() {
    let ground = finished();
    let before = ground.digest("first");
    ground.write("gone", "1-3\nnobody\n");
    let missing = ground.denied(65, "remove first --ids gone");
    assert!(missing.contains("1 of the 2 ids, such as nobody"), "{missing}");
    assert!(missing.contains("--missing skip"), "{missing}");
    ground.write("none", "\n");
    assert!(ground.denied(65, "remove first --ids none").contains("contains no id"));
    ground.denied(74, "remove first --ids nowhere");
    ground.denied(64, "remove first");
    ground.denied(64, "remove first --ids gone --where year=1991");
    let column = ground.denied(64, "remove first --where weather=rain");
    assert!(column.contains("\"weather\"") && column.contains("group_id, status, split, year"));
    let none = said(&ground.output("remove first --where year=1066"));
    assert!(none.contains("has none of these documents"), "{none}");
    let all: String = (0..400).map(|number| format!("1-{number}\n")).collect();
    ground.write("all", all);
    assert!(ground.denied(65, "remove first --ids all").contains("no document would be left"));
    assert_eq!(ground.digest("first"), before);
    assert!(left(&ground).is_empty());
    ground.succeed("remove first --ids gone --missing skip --quiet -w 1");
    assert_eq!(ground.table("first/documents").len(), 399);
}

#[test]
fn generations_that_are_kept_are_whole_results() {
    let ground = finished();
    let kept = || -> Vec<String> {
        let folder = std::fs::read_dir(ground.path("first.generations")).into_iter().flatten();
        let mut names: Vec<_> =
            folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let mut digests = vec![ground.digest("first")];
    let job = ground.path("first/job.toml");
    let text = std::fs::read_to_string(&job).unwrap();
    assert!(text.contains("keep_generations = 0"), "{text}");
    std::fs::write(&job, text.replace("keep_generations = 0", "keep_generations = 2")).unwrap();
    for (file, expected) in [("b-new", ["00000", "00001"]), ("c-more", ["00001", "00002"])] {
        ground.succeed(&*format!("add first {file}.jsonl --quiet -w 2"));
        digests.push(ground.digest("first"));
        assert_eq!(kept(), expected);
        for number in expected {
            let place: usize = number.parse().unwrap();
            assert_eq!(ground.digest(&format!("first.generations/{number}")), digests[place]);
        }
    }
    ground.succeed("remove first --where group_id=2of3 --quiet -w 2");
    assert_eq!(kept(), ["00003"]);
    assert_eq!(ground.digest("first.generations/00003"), ground.digest("first"));
}

#[test]
fn a_part_whose_documents_have_all_left_has_no_rows() {
    let ground = finished();
    let count = |out: &str| std::fs::read_dir(ground.path(out)).unwrap().count();
    let parts = count("first/documents");
    assert!(parts > 3);
    let ids = |range: std::ops::Range<u64>| {
        range.map(|number| format!("1-{number}\n")).collect::<String>()
    };
    ground.write("gone", ids(30..150));
    ground.succeed("remove first --ids gone --quiet -w 2");
    assert_eq!(count("first/documents"), parts);
    ground.write("gone", ids(3..4));
    ground.succeed("remove first --ids gone --quiet -w 1");
    ground.succeed("add first c-more.jsonl --quiet -w 2");
    let lines = documents(400, 1) + &documents(60, 3);
    let mut lines: Vec<String> = lines.split_inclusive('\n').map(str::to_owned).collect();
    lines.drain(30..150);
    lines.remove(3);
    check_as_if_of(&ground, &lines, "parts without documents");
    ground.write("first/corpus/vocabulary.tsv", "");
    let damaged = ground.denied(65, "remove first --ids gone --missing skip");
    assert!(damaged.contains("vocabulary.tsv: has changed"), "{damaged}");
    let kept = ground.path("first.generations/00001");
    std::fs::create_dir_all(kept.parent().unwrap()).unwrap();
    std::fs::rename(ground.path("old"), &kept).unwrap();
    let refused = ground.denied(64, "add first.generations/00001 b-new.jsonl");
    assert!(refused.contains("is kept as it is"), "{refused}");
}
