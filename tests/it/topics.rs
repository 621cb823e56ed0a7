//! `topicmill topics` and `topicmill new`: a first result without a job file.

use std::collections::BTreeSet;
use std::fs;

use crate::workdir::{Workdir, program, said, succeed};

const SEA: &str = "the whale and the ship in the harbour with the sailors of the ocean storm";
const SKY: &str = "the planet and the comet in the orbit of the telescope with the galaxy star";

/// Returns what a command says that must succeed.
fn told(place: &Workdir, line: &str) -> String {
    let output = place.output(line);
    assert!(output.status.success(), "{line}: {}", said(&output));
    said(&output)
}

/// Returns documents about the sea and the sky, as lines of JSON.
fn lines(count: usize) -> String {
    let line = |i: usize| {
        let (text, year) = ([SEA, SKY][i % 2], 1990 + i % 3);
        format!("{{\"key\": \"d{i}\", \"body\": \"{text}\", \"year\": {year}}}\n")
    };
    (0..count).map(line).collect()
}

#[test]
fn each_table_is_judged_by_itself() {
    let table = |separator: &str, names: [&str; 2], has_text: bool| {
        let row = |i: usize| {
            if has_text {
                format!("{i}{separator}{}\n", [SEA, SKY][i % 2])
            } else {
                format!("{i}{separator}{}\n", i % 2)
            }
        };
        let rows: String = (0..30).map(row).collect();
        format!("{}\n{rows}", names.join(separator))
    };
    let objects = |name: &str, has_text: bool| {
        let row = |i: usize| {
            if has_text {
                format!("{{\"id\": {i}, \"{name}\": \"{}\"}}\n", [SEA, SKY][i % 2])
            } else {
                format!("{{\"id\": {i}, \"{name}\": {}}}\n", i % 2)
            }
        };
        (0..30).map(row).collect::<String>()
    };
    let [text, target] = [["id", "text"], ["id", "target"]];
    let tables = [
        ("csv", table(",", text, true), table(",", target, false)),
        ("tsv", table("\t", text, true), table("\t", target, false)),
        ("jsonl", objects("text", true), objects("target", false)),
        ("csv", table(",", text, true), String::new()),
    ];
    for (ending, data, others) in tables {
        for (notes, documents) in [(0, 30), (4, 34)] {
            let place = Workdir::new();
            fs::create_dir_all(place.path("in/more")).expect("made");
            place.write(&format!("in/data.{ending}"), &data);
            place.write(&format!("in/s.{ending}"), &others);
            // Only the whole path tells it from a file with text.
            place.write(&format!("in/more/data.{ending}"), &others);
            (0..notes).for_each(|i| place.write(&format!("in/{i}.txt"), SEA));
            let new = told(&place, "new in --output job.toml");
            assert!(new.contains("which have no column with text"), "{ending}: {new}");
            assert!(new.contains("`text`, 15.0 words"), "{ending}: {new}");
            let found = format!("about {documents} documents");
            assert!(new.contains(&found), "{ending}: {new}");
            place.succeed("plan job.toml -w 1");
        }
    }
    // Two columns with text are not one.
    let place = Workdir::new();
    fs::create_dir(place.path("in")).expect("made");
    place.write("in/a.csv", table(",", text, true));
    place.write("in/b.csv", table(",", ["id", "body"], true));
    place.write("in/n.txt", SEA);
    let denied = place.denied(65, "new in --output job.toml");
    assert!(denied.contains("only some files have: body, text"), "{denied}");
}

#[test]
fn the_id_that_is_used_is_named_even_if_some_records_share_it() {
    let place = Workdir::new();
    let table = |name: &str, id: fn(usize) -> usize| {
        let row = |i: usize| format!("{},{}\n", id(i), [SEA, SKY][i % 2]);
        format!("{name},text\n{}", (0..60).map(row).collect::<String>())
    };
    for (name, id, row, key) in [
        (
            "id",
            (|i| i.max(2)) as fn(usize) -> usize,
            "`id`, which 2 of the first 60 records share",
            "\"id\"",
        ),
        ("doi", |i| i.max(2), "`doi`, which 2 of the first 60 records share", "\"doi\""),
        ("id", |i| i % 20, "`id`, which 40 of the first 60 records share", "\"id\""),
        (
            "doi",
            |i| i % 20,
            "file and position: the first 60 records have only 20 values of `doi`",
            "\"id\"",
        ),
    ] {
        place.write("a.csv", table(name, id));
        let new = told(&place, "new a.csv --output job.toml --overwrite");
        assert!(new.contains(&format!("id          {row}")), "{new}");
        let job = place.succeed("plan job.toml --resolved");
        assert!(job.contains(&format!("\nid = {key}\n")), "{job}");
    }
}

#[test]
fn a_first_line_that_is_a_document_is_no_header() {
    let place = Workdir::new();
    let text = |i: usize| format!("{} {i}", ["the whale and the ship", "a planet in orbit"][i % 2]);
    type Ids = (&'static str, fn(usize) -> String);
    let ids: [Ids; 3] = [
        (",", |i| i.to_string()),
        (",", |i| format!("2020-01-{:02}", i % 28 + 1)),
        ("\t", |i| format!("doc{i}")),
    ];
    for (separator, id) in ids {
        let row = |i: usize| format!("{}{separator}{}\n", id(i), text(i));
        let name = if separator == "," { "a.csv" } else { "a.tsv" };
        place.write(name, (0..40).map(row).collect::<String>());
        let new = told(&place, &format!("new {name} --output job.toml --overwrite"));
        assert!(new.contains("header      none") && new.contains("40 documents"), "{new}");
    }
    // Questions of a survey are names, and years above numbers are too; a doubt is told.
    let row = |i: usize| format!("{i},{},{}\n", text(i), i % 5);
    let rows: String = (0..40).map(row).collect();
    place.write("a.csv", format!("id,What did you see there,1999\n{rows}"));
    let new = told(&place, "new a.csv --output job.toml --overwrite");
    let doubt = "header      the first line, which names the text `What did you see there`; if it is a document: --set \
                 corpus.header=false";
    assert!(new.contains(doubt) && new.contains("40 documents"), "{new}");
}

#[test]
fn records_without_text_beside_texts_are_left_out() {
    let place = Workdir::new();
    for number in 0..60 {
        place.write(&format!("{number:02}.txt"), [SEA, SKY][number % 2]);
    }
    place.write("package.json", "{\"name\": \"x\", \"version\": \"1.0\"}");
    place.write("numbers.csv", "a,b\n1,2\n");
    let line = "topics . --topics 2 --set vocabulary.max_share=0.6 --output out";
    let output = place.output(line);
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    let row = "left out    1 *.csv, 1 *.json, which have no column with text\n";
    assert!(said.contains(row) && said.contains("60 documents"), "{said}");
    let asked = place.denied(65, &format!("{line} --text body --overwrite"));
    assert!(asked.contains("no column `body`"), "{asked}");
}

#[test]
fn words_of_print_and_of_french_have_one_form() {
    let place = Workdir::new();
    let sea = "L'équipage du navire s'est réveillé quand la tem-\npête venait d'atteindre l’océan, et le capi-\ntaine \
               n'a rien vu dans la nuit. Voir https://example.org/navire";
    let sky = "L'astro-\nnome a observé qu'une comète s'approchait de l'orbite d'une planète dans la ga-\nlaxie, et que \
               le télescope l'avait suivie.";
    fs::create_dir(place.path("pages")).expect("a folder");
    for number in 0..60 {
        place.write(&format!("pages/{number:02}.txt"), [sea, sky][number % 2]);
    }
    let line = "topics pages --topics 2 --set vocabulary.max_share=0.6 --output out";
    let output = place.output(line);
    let told = said(&output);
    assert!(told.contains("language    fr"), "{told}");
    assert!(told.contains("they are joined"), "{told}");
    let terms = fs::read_to_string(place.path("out/corpus/vocabulary.tsv")).expect("written");
    for term in ["océan", "tempête", "capitaine", "galaxie", "orbite", "astronome"] {
        assert!(terms.contains(&format!("\tkept\t{term}\n")), "{term}: {terms}");
    }
    assert!(!terms.contains(['\'', ':']) && !terms.contains("https"), "{terms}");
}

#[test]
fn dates_are_carried_along_and_grouped_whatever_their_form() {
    let place = Workdir::new();
    let row = |i: usize| {
        let (text, month) = ([SEA, SKY][i % 2], ["January", "June", "Dec"][i % 3]);
        format!("\"{month} {}, {}\",{text}\n", i % 28 + 1, 2001 + i / 40)
    };
    let rows: String = (0..80).map(row).collect();
    place.write("news.csv", format!("Published,text\n{rows}"));
    let flags = "--topics 2 --set vocabulary.max_share=0.6 --output out";
    let told = said(&place.output(&format!("topics news.csv {flags}")));
    assert!(told.contains("metadata    Published"), "{told}");
    let column = |table: &str, name: &str| {
        let values = place.table(table).into_iter().map(|row| row[name].clone());
        values.collect::<BTreeSet<String>>()
    };
    let days = column("out/topic_trends", "value");
    assert!(days.contains("2001-01-01") && days.contains("2002-12-04"), "{days:?}");
    assert!(column("out/documents", "Published").contains("2001-01-01"));
    // A setting may name a column before the columns are detected.
    let months = "--set project.trends=[\"Published\"] --set project.date_unit=month";
    place.succeed(&format!("topics news.csv {flags} {months} --overwrite"));
    let months = [2001, 2002].map(|year| [1, 6, 12].map(|month| format!("{year}-{month:02}")));
    let found = column("out/topic_trends", "value");
    assert_eq!(found, months.concat().into_iter().collect());
    let page = fs::read_to_string(place.path("out/report.html")).expect("written");
    assert!(page.contains("\"kind\":\"time\""));
    place.succeed(&format!("topics news.csv {flags} --set project.trends=[] --overwrite"));
    assert!(!place.path("out/topic_trends").exists());
}

#[test]
fn mail_is_recognised_by_its_headers() {
    let place = Workdir::new();
    let message = |i: usize| {
        let (text, day) = ([SEA, SKY][i % 2], i % 28 + 1);
        format!(
            "From: a{}@example.org\nDate: {day} May 2001 10:00:00 +0000\nSubject: Re: voyage\n\n{text}\n",
            i % 3
        )
    };
    fs::create_dir_all(place.path("Maildir/cur")).expect("folders");
    let mut mbox = String::new();
    for i in 0..60 {
        place.write(&format!("Maildir/cur/{i:02}:2,S"), message(i));
        mbox.push_str(&format!("From a Mon May  7 10:00:00 2001\n{}\n", message(i)));
    }
    place.write("list.mbox", mbox);
    let topics = |input: &str| {
        let flags = "--topics 2 --set vocabulary.max_share=0.6 --set vocabulary.stop_words=none";
        let output = place.output(&format!("topics {input} {flags} --output {input}-out"));
        let told = said(&output);
        assert!(
            told.contains("text        `subject`")
                && told.contains("metadata    date, subject, from"),
            "{told}"
        );
        let page = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(page.contains(": 60 ok"), "{page}");
        page[..page.find("documents").expect("a summary")].to_owned()
    };
    assert_eq!(topics("Maildir"), topics("list.mbox"));
}

#[test]
fn the_folder_of_a_mail_client_is_mail_and_lists_each_column_once() {
    let place = Workdir::new();
    fs::create_dir(place.path("profile")).expect("a folder");
    // Most messages have nothing but a subject.
    let message = |i: usize| {
        let text = if i.is_multiple_of(8) { SEA } else { "" };
        let subject = [SEA, SKY][i % 2];
        format!(
            "From - Mon May  7 10:00:{i:02} 2001\nFrom: a@x.org\nSubject: {i} {subject}\n\n{text}\n"
        )
    };
    for (name, from) in [("Inbox", 0), ("Sent", 30)] {
        let messages: String = (from..from + 30).map(message).collect();
        place.write(&format!("profile/{name}"), messages);
        place.write(&format!("profile/{name}.msf"), "// <!-- <mdb:mork:z v=\"1.4\"/> -->\n");
    }
    let flags = "--topics 2 --set vocabulary.max_share=0.6 --output out";
    let output = place.output(&format!("topics profile {flags}"));
    let told = format!("{}{}", said(&output), String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{told}");
    for row in [
        "60 ok",
        "left out    2 *.msf",
        "text        `subject`, 16.0 words on average; `text`, 15.0 words on average\n",
    ] {
        assert!(told.contains(row), "{row}: {told}");
    }
}

#[test]
fn titles_are_read_and_other_columns_of_prose_named() {
    let place = Workdir::new();
    let row = |i: usize| {
        let (text, other) = ([SEA, SKY][i % 2], [SKY, SEA][i % 2]);
        let text = if i.is_multiple_of(5) { "" } else { text };
        format!("{i},voyage number {i} of whales,{text},{other}\n")
    };
    let rows: String = (0..60).map(row).collect();
    place.write("papers.csv", format!("id,Title,abstract,notes\n{rows}"));
    let flags = "--topics 2 --set vocabulary.max_share=1 --output out";
    let output = place.output(&format!("topics papers.csv {flags}"));
    let told = said(&output);
    assert!(told.contains("text        `Title`") && told.contains("; `abstract`"), "{told}");
    assert!(told.contains("not read    `notes` (--text may be repeated)"), "{told}");
    assert!(told.contains("metadata    Title\n"), "{told}");
    let page = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(page.contains(": 60 ok"), "{page}");
}

#[test]
fn documents_that_lose_all_terms_are_warned_of() {
    let place = Workdir::new();
    let line = |i: usize| format!("{}\n", if i.is_multiple_of(3) { SKY } else { SEA });
    let text: String = (0..60).map(line).collect();
    let told = said(&place.fed("topics - --topics 2 --output out", text.as_bytes()));
    assert!(told.contains("warning: 40 of 60 documents have no term of the vocabulary"), "{told}");
    let told = said(&place.fed("topics - --topics 90 --output other", text.as_bytes()));
    assert!(told.contains("topics      90, more than there are documents"), "{told}");
}

#[test]
fn stop_words_of_each_language_are_dropped() {
    let place = Workdir::new();
    let wal = "Der Wal und das Schiff sind im Hafen mit den Seeleuten des Ozeans, die der Sturm nicht schreckt.";
    let line = |i: usize| format!("{}\n", [SEA, wal][i % 2].repeat(8));
    let text: String = (0..60).map(line).collect();
    let output = place
        .fed("topics - --topics 2 --set vocabulary.max_share=0.6 --output out", text.as_bytes());
    let told = said(&output);
    assert!(told.contains("each document loses the stop words of its own"), "{told}");
    let job = fs::read_to_string(place.path("out.toml")).expect("written");
    assert!(job.contains("stop_words = \"by-language\""), "{job}");
    assert!(job.contains("identify_language = true"), "{job}");
}

#[test]
fn languages_without_spaces_are_cut_by_a_dictionary() {
    let place = Workdir::new();
    let sea = "今天天气很好我们去海边散步看见了很多船";
    let sky = "经济发展需要科技创新和人才培养";
    let line =
        |i: usize| format!("{{\"text\": \"{}，{}\"}}\n", [sea, sky][i % 2], [sea, sky][i % 2]);
    place.write("news.jsonl", (0..60).map(line).collect::<String>());
    let output =
        place.output("topics news.jsonl --topics 2 --set vocabulary.max_share=0.6 --output out");
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains(
            "language    zh, the language of most texts; words are those of a dictionary"
        ),
        "{said}"
    );
    let page = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(page.contains("散步") && page.contains("经济"), "{page}");
    let job = fs::read_to_string(place.path("out.toml")).expect("written");
    assert!(job.contains("rule = \"dictionary\"") && job.contains("min_length = 2\n"), "{job}");
}

#[test]
fn texts_without_spaces_are_not_lost_among_others() {
    let place = Workdir::new();
    let english = [
        "the ship sailed along the coast before the storm came",
        "markets and banks fell while prices rose",
    ];
    let chinese = ["今天天气很好我们去海边散步看见了很多船", "经济发展需要科技创新和人才培养"];
    let line = |i: usize| {
        let text = if i % 10 < 7 { english[i % 2] } else { chinese[i % 2] };
        format!("{{\"text\": \"{text}\"}}\n")
    };
    place.write("mixed.jsonl", (0..200).map(line).collect::<String>());
    let topics =
        "topics mixed.jsonl --topics 3 --set vocabulary.max_share=0.9 --set train.passes=5";
    let output = place.output(&format!("{topics} --output out"));
    let page = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    assert!(page.contains("200 ok") && page.contains("散步"), "{page}");
    assert!(page.contains("stop words  ") && page.contains(" % of the tokens"), "{page}");
    assert!(
        said(&output).contains("en, zh: each document loses the stop words of its own"),
        "{}",
        said(&output)
    );
    // A rule without a dictionary makes them sentences of one word, and those that are too long are dropped.
    let rule = "--set tokens.rule=letters --set tokens.max_length=14 --output other";
    let said = said(&place.output(&format!("{topics} {rule}")));
    assert!(said.contains("60 of 200 documents are empty"), "{said}");
}

#[test]
fn languages_without_a_stop_list_are_known_by_their_script() {
    for (code, text) in [
        ("km", "ភាសាខ្មែរជាភាសាផ្លូវការរបស់ប្រទេសកម្ពុជា"),
        ("lo", "ພາສາລາວເປັນພາສາທາງການຂອງປະເທດລາວ"),
        ("my", "မြန်မာဘာသာစကားသည်မြန်မာနိုင်ငံ၏ရုံးသုံးဘာသာစကားဖြစ်သည်"),
    ] {
        let place = Workdir::new();
        place.write("texts.jsonl", format!("{{\"text\": \"{text}\"}}\n").repeat(20));
        let said = place.output("new texts.jsonl --output new.toml");
        let said = self::said(&said);
        assert!(said.contains(&format!("{code}, the language of most texts")), "{said}");
        assert!(said.contains(&format!("no list of stop words for {code}")), "{said}");
        place.succeed(&format!("new texts.jsonl --language {code} --output named.toml"));
        let job = fs::read_to_string(place.path("named.toml")).expect("written");
        assert!(job.contains("stop_words = \"none\"") || job.contains("stop_words = []"), "{job}");
    }
}

#[test]
fn objects_in_files_of_their_own_are_as_those_in_an_array() {
    let place = Workdir::new();
    let lines = lines(60);
    fs::create_dir(place.path("apart")).expect("made");
    let indented: Vec<String> = lines.lines().map(|line| line.replace(", ", ",\n  ")).collect();
    for (number, object) in indented.iter().enumerate() {
        let object = object.replace('{', "{\n  ");
        place.write(&format!("apart/{number:02}.json"), object);
    }
    place.write("array.json", format!("[{}]", indented.join(",\n")));
    for input in ["apart", "array.json"] {
        let output = place.output(&format!(
            "topics {input} --topics 2 --set vocabulary.max_share=0.6 --output out/{input}"
        ));
        let said = said(&output);
        assert!(output.status.success() && said.contains("format      json, plain: "), "{said}");
        let shards = fs::read_dir(place.path(&format!("out/{input}/corpus/shards")));
        assert_eq!(shards.expect("written").count(), 1, "{input}");
    }
    let compared = place.output("compare out/apart out/array.json").stdout;
    let compared = String::from_utf8_lossy(&compared);
    assert!(compared.contains("1.000"), "{compared}");
}

#[test]
fn topics_says_what_it_took_and_leaves_the_job() {
    let place = Workdir::new();
    place.write("news.jsonl", lines(60));
    let line = "topics news.jsonl --topics 2 --set vocabulary.max_share=0.6 -w 1 --output out/news";
    let output = place.output(line);
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    for row in [
        "format      jsonl, plain: 1 file, ",
        "id          `key`\n",
        "text        `body`, 15.0 words on average\n",
        "metadata    year\n",
        "language    en, the language of most texts\n",
        "job         out/news.toml\n",
    ] {
        assert!(said.contains(row), "{row}: {said}");
    }
    let page = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(page.contains("whale") && page.contains("comet"), "{page}");

    let job = fs::read_to_string(place.path("out/news.toml")).expect("written");
    assert!(job.contains("# Number of topics. More topics are narrower.\ntopics = 2\n"), "{job}");
    assert!(job.contains("max_share = 0.6\n") && job.contains("metadata = [\"year\"]"), "{job}");
    place.succeed("run out/news.toml --set output.path=again -w 2");
    assert_eq!(place.digest("out/news"), place.digest("again"), "the job it stands for");
    assert_eq!(said_of(&place, line), 0, "nothing is left to do");

    let other = place.denied(64, &line.replace("--topics 2", "--topics 3"));
    assert!(other.contains("contains the result of another job, whose model differs"), "{other}");
    assert_eq!(fs::read_to_string(place.path("out/news.toml")).expect("there"), job);
    place.write("out/news.toml", job.replace("seed = 1", "seed = 2"));
    let edited = place.denied(64, line);
    assert!(edited.contains("topicmill run out/news.toml"), "{edited}");
    place.succeed(&format!("{line} --overwrite"));
    assert_eq!(place.digest("out/news"), place.digest("again"));
}

#[test]
fn topics_are_found_in_this_process_whatever_a_scheduler_says() {
    let place = Workdir::new();
    place.write("news.jsonl", lines(60));
    let line = "topics news.jsonl --topics 2 --set vocabulary.max_share=0.6 -w 1 -q";
    let mut command = place.command(line);
    command.env("RANK", "1").env("WORLD_SIZE", "2");
    succeed(command);
    assert!(place.path("topics-out/_SUCCESS").exists());
}

fn said_of(place: &Workdir, line: &str) -> i32 {
    place.output(line).status.code().expect("an exit")
}

#[test]
fn standard_input_is_stored_beside_the_job() {
    let place = Workdir::new();
    let text: String = (0..60).map(|i| format!("{}\n", [SEA, SKY][i % 2])).collect();
    let line = "topics - --topics 2 --set vocabulary.max_share=0.6 -w 1 --quiet";
    for _ in 0..2 {
        let output = place.fed(line, text.as_bytes());
        assert!(output.status.success(), "{}", said(&output));
    }
    let stored = fs::read_to_string(place.path("topics-out.input.jsonl")).expect("stored");
    assert!(stored.starts_with("{\"id\":\"1\",\"text\":\"the whale"), "{stored}");
    assert_eq!(stored.lines().count(), 60);
    place.succeed("run topics-out.toml --set output.path=again -w 1");
    assert_eq!(place.digest("topics-out"), place.digest("again"));

    let other = place.fed(line, lines(60).as_bytes());
    assert_eq!(other.status.code(), Some(64), "{}", said(&other));
    let mut names: Vec<_> =
        fs::read_dir(place.root()).expect("readable").flatten().map(|e| e.file_name()).collect();
    names.sort();
    assert_eq!(names, ["again", "topics-out", "topics-out.input.jsonl", "topics-out.toml"]);
    let empty = place.fed("topics - -o e", b"\n");
    assert_eq!(empty.status.code(), Some(65));
    assert!(said(&empty).contains("error: standard input is empty\nhelp: "), "{}", said(&empty));
}

#[test]
fn new_writes_a_job_that_plans_and_replaces_none() {
    let place = Workdir::new();
    fs::create_dir(place.path("texts")).expect("made");
    for i in 0..12 {
        place.write(&format!("texts/{i}.txt"), [SEA, SKY][i % 2]);
    }
    place.write("texts/scan.pdf", "%PDF-1.7 and more");
    let output = place.output("new texts --output jobs/first.toml --stop-words ./words.txt");
    assert_eq!(output.status.code(), Some(64), "{}", said(&output));
    place.write("words.txt", "whale\n");
    let output = place.output("new texts --output jobs/first.toml --stop-words ./words.txt");
    assert!(output.status.success(), "{}", said(&output));
    let text = said(&output);
    assert!(
        text.contains("text, plain: 12 files, ") && text.contains("topics      5, for want of"),
        "{text}"
    );
    assert!(text.contains("left out    1 *.pdf, whose format is not supported\n"), "{text}");
    let job = fs::read_to_string(place.path("jobs/first.toml")).expect("written");
    assert!(
        job.contains("exclude = [\"*.pdf\"]") && job.contains("path = \"jobs/first\""),
        "{job}"
    );
    let plan = place.succeed("plan jobs/first.toml -w 1");
    assert!(plan.contains("12 text, plain"), "{plan}");
    place.succeed("new texts --output jobs/first.toml --stop-words ./words.txt");
    let other = place.denied(64, "new texts --output jobs/first.toml --topics 7");
    assert!(other.contains("jobs/first.toml: exists, and is another file"), "{other}");
    place.succeed("new texts --output jobs/first.toml --topics 7 --overwrite");
    for name in ["first", "first.yaml"] {
        let denied = place.denied(64, &format!("new texts --output {name}"));
        assert!(denied.contains("first.toml"), "{denied}");
    }
}

#[test]
fn what_cannot_be_modelled_is_refused_at_the_door() {
    let place = Workdir::new();
    fs::create_dir(place.path("empty")).expect("made");
    place.write("one.txt", SEA);
    place.write("binary.dat", b"\x7fELF\0\0\0");
    place.write("array.jsonl", "[{\"text\": \"x\"}]");
    place.write("within.json", "{\"data\": [{\"text\": \"x\"}]}");
    place.write("news.jsonl", lines(60));
    for (code, line, message) in [
        (65, "topics empty", "the folder contains no file"),
        (65, "topics one.txt", "if each line is a document, pass the file on standard input"),
        (65, "topics binary.dat", "not a text file"),
        (65, "topics array.jsonl", "only one document"),
        (65, "topics within.json", "jq -c '.KEY[]' within.json"),
        (65, "topics news.jsonl --text bodi", "no column `bodi`; did you mean `body`?"),
        (65, "topics news.jsonl --id yeer", "no column `yeer`; did you mean `year`?"),
        (65, "topics no/*.txt", "no file matches `no/*.txt`"),
        (64, "topics news.jsonl --language englsh", "did you mean `english`?"),
        (64, "topics news.jsonl --stop-words english", "--stop-words"),
        (64, "topics news.jsonl --set model.topix=5", "did you mean `topics`?"),
        (64, "topics news.jsonl --topics 0", "--topics"),
        (64, "topics", "INPUT"),
    ] {
        let said = place.denied(code, line);
        assert!(said.contains(message), "{line}: {said}");
    }
    let names = fs::read_dir(place.root()).expect("readable").count();
    assert_eq!(names, 6, "nothing is written");
    let many = "topics news.jsonl --topics 500 --set vocabulary.max_share=0.6";
    let said = place.denied(65, many);
    assert!(
        said.contains("500 topics are more than the ") && said.contains("lower model.topics"),
        "{said}"
    );
    for (set, cause) in [
        ("train.memory_mib=0", "which are more than train.memory_mib"),
        ("train.online_passes=400", "passes are online: raise train.passes"),
    ] {
        let soft = "topics news.jsonl --topics 2 --overwrite --set train.estimator=soft --set";
        let said = place.denied(65, &format!("{soft} {set}"));
        assert!(said.contains("train.estimator = \"soft\"") && said.contains(cause), "{said}");
    }
    let shares = "--set train.method=cvb0 --set train.memory_mib=0";
    let said = place.denied(65, &format!("topics news.jsonl --topics 2 --overwrite {shares}"));
    assert!(said.contains("more than train.memory_mib = 0: raise it"), "{said}");
}

#[test]
fn tags_are_removed_where_most_texts_are_markup() {
    let place = Workdir::new();
    for folder in ["html", "plain"] {
        fs::create_dir(place.path(folder)).expect("a folder");
    }
    for i in 0..40 {
        let text = [SEA, SKY][i % 2];
        let page = format!(
            "<!DOCTYPE html>\n<html><body class=\"story\"><p>{text} caf&eacute;</p></body></html>"
        );
        place.write(&format!("html/{i}.html"), page);
        place.write(&format!("plain/{i}.txt"), format!("{text} café"));
    }
    place.write("html/40.html", "<3");
    let run = |name: &str| {
        let line = format!(
            "topics {name} --topics 2 --set vocabulary.max_share=1 -w 1 --output {name}-out"
        );
        let said = said(&place.output(&line));
        let terms = fs::read_to_string(place.path(&format!("{name}-out/corpus/vocabulary.tsv")));
        (said, terms.expect("written"))
    };
    let ((told, terms), (plain, expected)) = (run("html"), run("plain"));
    assert!(told.contains("markup      HTML or XML"), "{told}");
    assert!(!plain.contains("markup"), "{plain}");
    let words = |table: &str| -> Vec<String> {
        let mut words: Vec<_> =
            table.split_whitespace().filter(|word| word.len() > 2).map(str::to_owned).collect();
        words.sort();
        words
    };
    assert_eq!(words(&terms), words(&expected));
    assert!(terms.contains("café"), "{terms}");
}

#[test]
fn tabs_between_quoted_fields_are_read_as_csv() {
    let place = Workdir::new();
    let line = |i: usize| format!("{i}\t\"{}\n\"\"so\"\" it is\"\n", [SEA, SKY][i % 2]);
    let rows: String = (0..40).map(line).collect();
    place.write("news.tsv", format!("id\ttext\n{rows}"));
    let line = "topics news.tsv --topics 2 --set vocabulary.max_share=0.6 -w 1";
    let output = place.output(line);
    let said = said(&output);
    assert!(said.contains("csv, plain: 1 file"), "{said}");
    let page = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(page.contains(": 40 ok"), "{page}");
    let job = fs::read_to_string(place.path("topics-out.toml")).expect("written");
    assert!(job.contains("format = \"csv\""), "{job}");
}

#[test]
fn files_of_json_lines_are_recognised_whatever_their_names() {
    let place = Workdir::new();
    fs::create_dir(place.path("wiki")).expect("a folder");
    for part in 0..3 {
        place.write(&format!("wiki/wiki_{part:02}"), lines(20));
    }
    let run = |line: &str| said(&place.output(line));
    let flags = "--topics 2 --set vocabulary.max_share=0.6 -w 1";
    let told = run(&format!("topics wiki {flags}"));
    assert!(told.contains("jsonl, plain: 3 files"), "{told}");
    assert!(told.contains("text        `body`"), "{told}");
    place.write("wiki/notes", SEA);
    let told = run(&format!("topics wiki {flags} --output mixed"));
    assert!(told.contains("text, plain: 4 files"), "{told}");
}

#[test]
fn documents_in_an_array_under_a_key_are_refused_with_the_command_that_extracts_them() {
    let place = Workdir::new();
    fs::create_dir(place.path("pages")).expect("a folder");
    let lines = lines(60).replace("\"key\"", "\"id\"");
    let objects: Vec<&str> = lines.lines().collect();
    let page = |objects: &[&str]| {
        let docs = objects.join(",\n");
        format!("{{\"status\": \"ok\", \"response\": {{\"docs\": [{docs}], \"total\": 60}}}}")
    };
    for (number, objects) in objects.chunks(20).enumerate() {
        place.write(&format!("pages/{number}.json"), page(objects));
    }
    place.write("one.json", page(&objects));
    for input in ["pages", "one.json"] {
        let output = place.output(&format!("topics {input} -w 1"));
        assert_eq!(output.status.code(), Some(65));
        let told = said(&output);
        assert!(told.contains(&format!("{input}: the documents seem to be in")), "{told}");
        assert!(told.contains(r#"jq -c '."response"."docs"[]' FILES"#), "{told}");
    }
    // What that command writes.
    place.write("documents.jsonl", &lines);
    let flags = "--topics 2 --set vocabulary.max_share=0.6 -w 1";
    let output = place.output(&format!("topics documents.jsonl {flags}"));
    let page = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(page.contains(": 60 ok"), "{page}");
}

#[test]
fn a_first_line_of_sentences_is_no_header() {
    let place = Workdir::new();
    let row = |i: usize| format!("{},\"{}\"\n", i % 3, [SEA, SKY][i % 2]);
    let rows: String = (0..40).map(row).collect();
    place.write("rows.csv", &rows);
    place.write("named.csv", format!("class,text\n{rows}"));
    let run = |name: &str| {
        let line = format!("topics {name}.csv --topics 2 --set vocabulary.max_share=0.6 -w 1");
        let output = place.output(&format!("{line} --output {name}"));
        let page = String::from_utf8(output.stdout.clone()).expect("UTF-8");
        assert!(page.contains(": 40 ok"), "{page}");
        said(&output)
    };
    let told = run("rows");
    assert!(told.contains("header      none"), "{told}");
    assert!(told.contains("text        `2`") && told.contains("metadata    1"), "{told}");
    assert!(!run("named").contains("header"));
    let question = "In your own words, what did you like best about the tour, and why?";
    place.write("survey.csv", format!("class,\"{question}\"\n{rows}"));
    let told = run("survey");
    assert!(told.contains(&format!("text        `{question}`")), "{told}");
}

#[test]
fn the_encoding_of_texts_that_are_not_utf_8_is_guessed() {
    let place = Workdir::new();
    let text = lines(60).replace("sailors", "r\u{f6}le");
    let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
    place.write("utf-8.jsonl", text);
    place.write("latin-1.jsonl", latin);
    let line = |name: &str, more: &str| {
        let flags = "--topics 2 --set vocabulary.max_share=0.6 -w 1 --overwrite";
        format!("topics {name}.jsonl {flags} --output out {more}")
    };
    for (name, more, row, is_damaged) in [
        ("utf-8", "", None, false),
        ("latin-1", "", Some("encoding    windows-1252\n"), false),
        ("latin-1", "--set corpus.encoding=utf-8", Some("encoding    utf-8\n"), true),
        ("latin-1", "--set corpus.encoding=iso-8859-5", Some("encoding    iso-8859-5\n"), false),
    ] {
        let output = place.output(&line(name, more));
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        match row {
            Some(row) => assert!(said.contains(row), "{said}"),
            None => assert!(!said.contains("encoding"), "{said}"),
        }
        let warning = "warning: 30 of 60 documents have bytes";
        assert_eq!(said.contains(warning), is_damaged, "{said}");
        let terms = fs::read_to_string(place.path("out/corpus/vocabulary.tsv")).expect("written");
        let is_whole = more.is_empty();
        assert_eq!(terms.contains("r\u{f6}le"), is_whole, "{name} {more}: {terms}");
    }
    let refused = said(&place.output(&line("latin-1", "--set corpus.encoding=utf-16")));
    assert!(refused.contains("an encoding that contains ASCII"), "{refused}");
}

#[test]
fn halves_of_surrogate_pairs_and_one_kind_of_symbol_are_no_other_encoding() {
    let place = Workdir::new();
    place.write("torn.jsonl", lines(60).replace("sailors", "sailors \\ud83d"));
    let latin: Vec<u8> =
        lines(60).replace("sailors", "sailors \u{a3}5.00").chars().map(|c| c as u8).collect();
    place.write("symbol.jsonl", latin);
    let flags = "--topics 2 --set vocabulary.max_share=0.6 -w 1 --overwrite --output out";
    let output = place.output(&format!("topics torn.jsonl {flags}"));
    let told = said(&output);
    assert!(output.status.success() && !told.contains("encoding    "), "{told}");
    let warning = "warning: 30 of 60 documents have bytes, or in JSON escaped halves of surrogate pairs, that are no \
                   characters; they were replaced by U+FFFD: if they are not UTF-8, set corpus.encoding";
    assert!(told.contains(warning), "{told}");
    let told = said(&place.output(&format!("topics symbol.jsonl {flags}")));
    assert!(told.contains("encoding    windows-1252\n"), "{told}");
}

#[test]
fn a_result_within_its_input_is_no_document() {
    let place = Workdir::new();
    for i in 0..40 {
        place.write(&format!("{i}.txt"), [SEA, SKY][i % 2]);
    }
    let line = "topics . --topics 2 --set vocabulary.max_share=0.6 -w 1";
    let mut digests = Vec::new();
    for more in ["", "", "--overwrite"] {
        let output = place.output(&format!("{line} {more}"));
        let told = said(&output);
        assert!(output.status.success(), "{told}");
        assert!(told.contains("text, plain: 40 files"), "{told}");
        digests.push(place.digest("topics-out"));
    }
    place.succeed("run topics-out.toml --set output.path=other -w 2");
    digests.push(place.digest("other"));
    let second = said(&place.output(&format!("{line} --output second")));
    assert!(second.contains("text, plain: 40 files"), "{second}");
    let warning = "corpus.input: topics-out.toml, which topicmill has written, is left out";
    assert!(second.contains(warning), "{second}");
    assert!(digests.iter().all(|digest| *digest == digests[0]));
    // Exports, a list of constraints, a report and piped documents are no documents either.
    for (format, name) in
        [("pyldavis", "topics-out.pyldavis.json"), ("mallet-state", "topics-out.state.gz")]
    {
        place.succeed(&format!("export topics-out --format {format}"));
        assert!(place.path(name).exists());
    }
    place.succeed("report topics-out --to page.html");
    let corrected = said(&place.output("constrain topics-out --merge whale,ship --passes 1 -w 1"));
    assert!(place.path("topics-out-constrained/_SUCCESS").exists(), "{corrected}");
    let new = told(&place, "new . --output again.toml");
    let left_out = "left out    page.html, second.toml, topics-out-constrained.toml, topics-out-constrained.txt, ";
    assert!(new.contains("text, plain: 40 files") && new.contains(left_out), "{new}");
    assert_eq!(place.digest("topics-out"), digests[0]);
    let piped = place.output(&format!("{line} --overwrite"));
    assert!(piped.status.success(), "{}", said(&piped));
    assert_eq!(place.digest("topics-out"), digests[0]);
}

#[test]
fn a_result_in_the_current_folder_has_its_job_beside_it() {
    let place = Workdir::new();
    place.write("news.jsonl", lines(60));
    fs::create_dir(place.path("here")).expect("made");
    let line = "topics ../news.jsonl --topics 2 --set vocabulary.max_share=0.6 --output .";
    succeed(program(&place.path("here"), line));
    assert!(place.path("here.toml").is_file() && place.path("here/topics").is_dir());
}

#[test]
fn a_table_of_counts_is_told_from_texts() {
    let place = Workdir::new();
    let row = |i: usize| format!("d{},{},2\n", i / 6, SEA.split(' ').nth(i % 6).unwrap());
    let rows: String = (0..60).map(row).collect();
    place.write("counts.csv", format!("document,term,count\n{rows}"));
    let said = said(&place.output("topics counts.csv --text term"));
    let note = "each text is one word; name the column to use: --text COLUMN; a table in which each row counts";
    assert!(said.contains(note), "{said}");
    let chinese = "大海上的船在风中航行".repeat(3);
    let row = |i: usize| format!("d{i},{chinese}{i}\n");
    let rows: String = (0..60).map(row).collect();
    place.write("chinese.csv", format!("id,body\n{rows}"));
    let said = place.output("topics chinese.csv --text body --output chinese");
    assert!(!self::said(&said).contains("one word"));
}

#[test]
fn labels_take_the_place_of_topics() {
    let place = Workdir::new();
    place.write("in.jsonl", lines(60));
    let new = told(&place, "new in.jsonl --output job.toml --set corpus.labels=year");
    assert!(new.contains("one for each label"), "{new}");
    let job = fs::read_to_string(place.path("job.toml")).expect("written");
    assert!(job.contains("labels = \"year\"") && !job.contains("\ntopics ="), "{job}");
    place.succeed("run job.toml --quiet -w 1");
}

#[test]
fn what_the_flags_exclude_is_left_out_beside_what_is_found() {
    let place = Workdir::new();
    fs::create_dir(place.path("in")).expect("made");
    (0..30).for_each(|i| place.write(&format!("in/{i}.txt"), [SEA, SKY][i % 2]));
    (0..3).for_each(|i| place.write(&format!("in/{i}.html"), "<p>a page</p>"));
    fs::write(place.path("in/a.pdf"), b"%PDF-1.4\n\0\xff").expect("ours");
    place.write("in/notes.md", "notes");
    let flag = "--set corpus.exclude=[\"*.md\"]";
    let new = told(&place, &format!("new in --output job.toml {flag}"));
    assert!(new.contains("1 *.pdf"), "{new}");
    assert!(new.contains("3 files of HTML"), "{new}");
    let job = fs::read_to_string(place.path("job.toml")).expect("written");
    assert!(job.contains("exclude = [\"*.md\", \"*.pdf\"]"), "{job}");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_left_out_and_said_so() {
    let place = Workdir::new();
    fs::create_dir(place.path("in")).expect("made");
    (0..30).for_each(|i| place.write(&format!("in/{i}.txt"), [SEA, SKY][i % 2]));
    std::os::unix::fs::symlink("/nowhere", place.path("in/lost.txt")).expect("linked");
    let new = told(&place, "new in --output job.toml");
    assert!(new.contains("lost.txt, which is not a file"), "{new}");
    let run = told(&place, "run job.toml -w 1");
    assert!(run.contains("lost.txt, which is not a file"), "{run}");
}
