use proptest::prelude::*;

use super::*;
use crate::formats::text::TEXT;

/// Returns what is left of a text in a file of this format, and what was left out by each rule.
fn left(text: &str, format: &Format) -> (String, Vec<LeftOut>) {
    let mut document = RawDocument {
        source_id: "id".into(),
        group: None,
        metadata: Vec::new(),
        body: Body::Text { text: text.into(), repaired: false },
    };
    let mut left_out = Vec::new();
    let gaps = leave_out(&mut document, format, &mut left_out);
    let Body::Text { text: left, .. } = document.body else { panic!("no text") };
    assert_eq!(gaps.place(left.len()), text.len());
    (left.into_owned(), left_out)
}

#[track_caller]
fn is_kept(text: &str) {
    assert_eq!(left(text, &TEXT), (text.to_owned(), Vec::new()));
}

#[test]
fn licences_of_e_books_are_left_out_by_their_marks() {
    let book = "A first line.\n\nThe end of the Project Gutenberg EBook was near.\n";
    let two = "*** START OF THE PROJECT GUTENBERG EBOOK X ***\na\n*** END OF THE PROJECT GUTENBERG EBOOK X ***\n";
    assert_eq!(left(&two.repeat(2), &TEXT).0, "a\na\n");
    for (before, after) in [
        (
            "The Project Gutenberg EBook of X\n\n*** START OF THE PROJECT GUTENBERG EBOOK X ***\n",
            "*** END OF THE PROJECT GUTENBERG EBOOK X ***\n\nlicence\n",
        ),
        (
            "*** START OF THIS PROJECT GUTENBERG EBOOK A LONG\nTITLE ***\n",
            "End of the Project Gutenberg EBook of X, by Y\n\n*** END OF THIS PROJECT GUTENBERG EBOOK X ***\nlicence",
        ),
        ("", "End of Project Gutenberg's X, by Y\nlicence"),
        ("small print\n*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*\n", ""),
        (
            "small print\n**END THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.08.01*END**\n",
            "End of this Project Gutenberg Etext of X\nlicence\n",
        ),
        ("*END THE SMALL PRINT! FOR*END*\n", "End of Project Gutenberg’s X, by Y\n"),
    ] {
        let text = [before, book, after].concat();
        let (left, left_out) = left(&text, &TEXT);
        assert_eq!(left, book);
        assert_eq!((left_out[0].rule.as_str(), left_out[0].documents), (RULES[0].name, 1));
        assert_eq!(left_out[0].lines as usize, before.lines().count() + after.lines().count());
    }
    let credits = two.replace("a\n", "\nProduced by A and\nB at C\n\nProduced by us\n");
    assert_eq!(left(&credits, &TEXT).0, "\nProduced by us\n");
    is_kept("End of Project Gutenberg\n");
    is_kept("END THE SMALL PRINT! at once\n");
    is_kept("This eBook is for the use of anyone anywhere at no cost\n\nProject Gutenberg\n");
    // Too much for a licence.
    let long = "text\n".repeat(LONG) + "*** START OF THE PROJECT GUTENBERG EBOOK X ***\n";
    is_kept(&long);
}

const LONG: usize = 20_000;

#[test]
fn encoded_files_are_left_out() {
    let line = "M!PP1%AL@)2HO-#D^0TA-4E=<869K<'5Z?X2)CI.8G:*GK+&VN\\#%RL_4V=[C\n";
    let named = format!("begin 644 x.gif\n{line}{line}#0V%T\n`\nend\n");
    let unnamed = line.repeat(3) + "#0V%T\n";
    let base64 = "VGhpcyBpcyBhIHRlc3Qgb2YgYmFzZTY0IGVuY29kZWQgbGluZXMgMDEyMzQ1Njc4OQ\n".repeat(4)
        + "YWJj\n=ab1C\n";
    for code in [
        named.clone(),
        unnamed,
        base64.replace("YWJj\n=ab1C", "YWJjYQ=="),
        "GhQ!QSQBUC!!@SQUU(QSCfPhGhL(H+HCL&KjQTU)LDH)HBL*UCUCJ!U@GQ9hGiKK\n".repeat(3),
        named.replace('\n', "\r\n"),
        format!(
            "-----BEGIN PGP SIGNATURE-----\nVersion: 2.2\n\n{base64}-----END PGP SIGNATURE-----\n"
        ),
    ] {
        let (left, left_out) = left(&["before\n", &code, "after\n"].concat(), &TEXT);
        assert_eq!(left, "before\nafter\n", "{code}");
        assert_eq!(left_out[0].lines as usize, code.lines().count());
        assert!(left_out[0].examples.len() == 3);
    }
    let shout = "MANY PEOPLE IN THIS GROUP SHOUT ALL OF THE TIME, DON'T THEY??\n".repeat(5);
    is_kept(&shout);
    let signed = "-----BEGIN PGP SIGNED MESSAGE-----\n\nYes.\n";
    assert_eq!(left(signed, &TEXT).0, "\nYes.\n");
    is_kept("-----BEGIN PGP MESSAGE-----\nand no end\n");
    is_kept("begin 644 things\nand end\nthem\nend\n");
    is_kept(&("-".repeat(70) + "\n").repeat(5));
    is_kept(&"https://example.org/a/very/long/address/of/something?query=1&page=22222\n".repeat(4));
    is_kept(&"/''/'(Room'12)'/''/''/''or'/'\"SOMEONE@PLACE.EXAMPLE.EDU\"'/''/''/''\n".repeat(4));
    is_kept(&("漢字".repeat(40) + "\n").repeat(4));
}

/// Returns pages of lines of a novel, each with the lines above and below it.
fn pages(count: usize, edge: impl Fn(usize) -> [String; 2]) -> String {
    let line = |page: usize, line: usize| {
        format!("and so the story of page {page} went on in line {line}\n")
    };
    let page = |page: usize| {
        let [above, below] = edge(page);
        above + &(0..20).map(|number| line(page, number)).collect::<String>() + &below
    };
    (1..=count).map(page).collect()
}

#[test]
fn running_heads_and_page_numbers_are_left_out() {
    let plain = pages(9, |_| ["".into(), "\n".into()]);
    for edges in [
        (|page| ["".into(), format!("\n{}\n\n", page + 11)]) as fn(usize) -> [String; 2],
        |page| ["".into(), format!("\n- {page} -\n")],
        |page| ["".into(), format!("\n[{page}]\n\nPRIDE AND PREJUDICE\n\n")],
        |page| ["".into(), format!("[Pg {page}]\n\n")],
        |page| [format!("\u{c}Pride and Prejudice {page}\n"), "\n".into()],
        |page| [format!("\u{c}Pride and Prejudice{}{page}\n", " ".repeat(90)), "\n".into()],
        |page| {
            [
                "".into(),
                format!("\n{}\nPRIDE AND PREJ{}DICE\n\n", page, &"UUVUUUUOU"[page - 1..page]),
            ]
        },
        |page| {
            [
                "".into(),
                format!(
                    "\n{}\n",
                    ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"][page - 1]
                ),
            ]
        },
    ] {
        let (left, left_out) = left(&pages(9, edges), &TEXT);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&left), words(&plain));
        assert_eq!((left_out.len(), left_out[0].rule.as_str()), (1, RULES[4].name));
    }
}

#[test]
fn refrains_speakers_headings_and_lists_are_kept() {
    let stanza = |number: usize| {
        format!("{}, said the bird\nand all of them {number}\n\nNevermore!\n\n", number * 7)
    };
    is_kept(&(0..400).map(stanza).collect::<String>());
    let speech = |number: usize| {
        format!(
            "HAMLET.\nWords, words, words, {number} of them, my lord.\n\nPOLONIUS.\nWhat is the matter?\n\n"
        )
    };
    is_kept(&(0..400).map(speech).collect::<String>());
    // A play in pages: the first speaker of a page also speaks on other pages.
    let page = |_| format!("\u{c}{}", (0..9).map(speech).collect::<String>());
    is_kept(&(0..40).map(page).collect::<String>());
    is_kept(&pages(9, |page| [format!("\nChapter {page}\n\n"), String::new()]));
    is_kept(&pages(9, |page| [format!("\n{page}.\n\n"), "and all was well.\n".into()]));
    is_kept(&(1..2000).map(|number| format!("{number}\n\nitem\n\n")).collect::<String>());
    is_kept(&pages(9, |page| ["".into(), format!("\n{}\n", 1900 - page)]));
    is_kept(&pages(9, |page| ["".into(), format!("\nAddison, {}, {}\n", page, page * 2)]));
}

/// Returns the head of a left or a right page.
fn head(page: usize, chapter: usize) -> String {
    if page.is_multiple_of(2) {
        format!("{page}   PRIDE AND PREJUDICE")
    } else {
        format!("CHAPTER {} {page}", ["I", "II", "III"][chapter])
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn only_heads_with_their_numbers_are_left_out(
        first in 1..900usize,
        has_head in prop::collection::vec(prop::bool::weighted(0.9), 40..60),
        line in "[a-z]{30,60}( [a-z]{1,9}){1,3}[.,]?",
    ) {
        let text: String = (0..has_head.len())
            .map(|page| {
                let lines = format!("{line}\n").repeat(30);
                let title = if page % 20 == 0 { "\nCHAPTER II\n\n" } else { "" };
                let head = has_head[page].then(|| head(first + page, page / 20));
                format!("{}\n\n{title}{lines}", head.unwrap_or_default())
            })
            .collect();
        let (found, left_out) = left(&text, &TEXT);
        let is_text = |line: &&str| !line.contains(|c: char| c.is_ascii_digit());
        let [found, text] = [&found, &text].map(|it| it.lines().filter(is_text).collect::<Vec<_>>());
        prop_assert_eq!(found, text);
        prop_assert!(line.ends_with('.') || left_out[0].lines > 15);
    }
}

#[test]
fn quotations_and_signatures_are_left_out_of_mail_only() {
    let text = "Hello,\n\nOn Monday, Ann <a@x> wrote:\n> quoted\n>> again\n>\nI say:\n> no\nyes\n-- \nBob\nRoom 7\n\u{c}\nmore\n";
    let (found, left_out) = left(text, &MAIL);
    assert_eq!(found, "Hello,\n\nI say:\nyes\n\u{c}\nmore\n");
    let counts: Vec<_> = left_out.iter().map(|it| (it.rule.as_str(), it.lines)).collect();
    assert_eq!(counts, [(RULES[2].name, 5), (RULES[3].name, 3)]);
    is_kept(text);
    let long = "text\n-- \n".to_owned() + &"not a signature\n".repeat(20);
    assert_eq!(left(&long, &MAIL).0, long);
    let wrapped = "In 1999 I said:\nno.\nOn Mon, 5 Jan 2026 at 10:00, Ann Example\n<a@example.org>\nwrote:\n\n> quoted\nyes\n";
    assert_eq!(left(wrapped, &MAIL).0, "In 1999 I said:\nno.\n\nyes\n");
    let prose = "On Monday we met\nand Ann wrote:\n> quoted\n";
    assert_eq!(left(prose, &MAIL).0, "On Monday we met\n");
    // What a mail consists of is its text.
    for all in ["> a\n> b\n", "\n-- \nYes.\n"] {
        assert_eq!(left(all, &MAIL).0, all);
    }
    assert_eq!(left("> a\n\n-- \nYes.\n", &MAIL).0, "\n-- \nYes.\n");
    for marks in [[" > "; 3], ["|> "; 3], [": "; 3], ["JS> "; 3], [" Ann> "; 3]] {
        let quotation = marks.map(|mark| format!("{mark}quoted, by\n")).concat();
        let mail = format!("Ann (a@x) writes...\n{quotation}No.\n--\nBob\n");
        assert_eq!(left(&mail, &MAIL).0, "No.\n", "{mail}");
    }
    assert_eq!(left("In article <1@x>, a@y\n(Ann) writes:\n\nNo.\n", &MAIL).0, "\nNo.\n");
    for text in [
        "a\n: one\n: two\nb\n",
        "| a  | b |\n| c  | d |\n| e  | f |\n",
        "ftp> cd pub\nftp> ascii\nftp> get it\n",
        "The Bible says:\nso\n",
        "--\n\u{20}--\n--no\n",
    ] {
        assert_eq!(left(text, &MAIL).0, text);
    }
}

#[test]
fn sums_are_by_rule_with_the_first_examples() {
    let of = |rule: &BoilerplateRule, example: &str| LeftOut {
        rule: rule.name.to_owned(),
        documents: 1,
        lines: 2,
        characters: 30,
        examples: vec![example.to_owned(); 2],
    };
    let mut sums = vec![of(&RULES[1], "a")];
    LeftOut::add(&mut sums, &[of(&RULES[0], "b"), of(&RULES[1], "c")]);
    assert_eq!(sums[0], of(&RULES[0], "b"));
    assert_eq!((sums[1].documents, sums[1].lines, sums[1].characters), (2, 4, 60));
    assert_eq!(sums[1].examples, ["a", "a", "c"]);
}
