//! E-mail, alone and in an mbox.

use super::*;

const MBOX: &str = "From a@example.org Mon Jan  3 10:00:00 2022\n\
    From: \"Ada\" <ada@example.org>\nTo: list@example.org, other@example.org\nSubject: =?utf-8?Q?Caf=C3=A9?=\n\
    Date: Mon, 3 Jan 2022 10:00:00 +0100\nMessage-ID: <1@example.org>\n\
    Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\n\
    Caf=E9 au lait\n> quoted\n>From 2021\nFrom here on: text in 2022\n\n\
    From b@example.org Mon Jan  3 10:00:01 2022\n\
    From: b@example.org\nSubject: Re: two\nMIME-Version: 1.0\n\
    Content-Type: multipart/mixed; boundary=\"cut\"\n\n--cut\nContent-Type: text/html\n\n<p>one &amp; <b>two</b></p>\n\
    --cut\nContent-Type: application/pdf\nContent-Disposition: attachment\nContent-Transfer-Encoding: base64\n\nAAAA\n--cut--\n\n\
    From c@example.org Mon Jan  3 10:00:02 2022\nno headers\n";

#[test]
fn messages_are_documents_wherever_the_file_is_cut() {
    let (_folder, mut settings) = one_file("list.mbox", MBOX.as_bytes());
    settings.text = vec!["subject".into(), "text".into()];
    settings.metadata = ["from", "to", "date"].map(String::from).into();
    let expected = [
        ("1@example.org", "Café\nCafé au lait\nFrom 2021\nFrom here on: text in 2022\n\n"),
        ("list.mbox@407", "Re: two\none & two\n"),
    ];
    let start = MBOX.find("From: b@").unwrap();
    assert_eq!(expected[1].0, format!("list.mbox@{start}"));
    for block_bytes in [None, Some(1), Some(100)] {
        settings.block_bytes = block_bytes;
        let seen = read_all(&settings).unwrap();
        let texts: Vec<_> = seen.iter().map(|seen| (&seen.id[..], &seen.text[..])).collect();
        assert_eq!(texts[..2], expected);
        let values = ["ada@example.org", "list@example.org", "2022-01-03T10:00:00+01:00"];
        assert_eq!(seen[0].metadata, values.map(|value| Some(value.to_owned())));
        assert_eq!(seen[2].status, Some(DocumentStatus::ParseError));
        assert_eq!(seen.len(), 3);
    }
}

#[test]
fn a_file_may_be_one_message() {
    let message = "Subject: one\r\nFrom: a@b.c\r\n\r\nThe text.\r\nFrom 10:00 on, in 2022\r\n";
    let (_folder, settings) = one_file("1641400561.M561P1.host:2,S", message.as_bytes());
    let settings = CorpusSettings { format: Some("mail".into()), ..settings };
    assert_eq!(read_all(&settings).unwrap()[0].text, "The text.\nFrom 10:00 on, in 2022\n");
}

/// Returns the text of a message, or its status and the reason.
fn text_of(message: &str) -> String {
    let (_folder, mut settings) = one_file("x.eml", message.as_bytes());
    settings.max_document_bytes = 1 << 24;
    let seen = read_all(&settings).unwrap();
    assert_eq!(seen.len(), 1);
    match seen[0].status {
        Some(status) => format!("{status}: {}", seen[0].text),
        None => seen[0].text.clone(),
    }
}

const EMPTY: &str = "empty: x.eml@0: no text under `text`";

/// Returns a message of several parts.
fn of_parts(kind: &str, parts: &[&str]) -> String {
    let parts: String = parts.iter().map(|part| format!("--cut\n{part}\n")).collect();
    format!("Subject: s\nContent-Type: multipart/{kind}; boundary=cut\n\n{parts}--cut--\n")
}

const PLAIN: &str = "Content-Type: text/plain\n\n";
const HTML: &str = "Content-Type: text/html\n\n";

#[test]
fn the_part_that_has_text_is_read() {
    let alternative = |blank: &str| {
        let [plain, html] =
            [format!("{PLAIN}{blank}"), format!("{HTML}<div>one</div><div>two</div>")];
        of_parts("alternative", &[&plain, &html])
    };
    let within =
        |inner: &str| format!("Content-Type: multipart/related; boundary=b\n\n--b\n{inner}\n--b--");
    let shown = format!("{PLAIN}shown");
    let html = within(&format!("{HTML}<p>html</p>"));
    let attached = "Content-Type: text/plain; name=a.txt\n\nattached";
    let forwarded = format!("Content-Type: message/rfc822\n\nSubject: in\n{shown}");
    let digest = ["one", "two"].map(|text| format!("\nSubject: in\n\n{text}"));
    let digest = of_parts("digest", &digest.each_ref().map(|part| &part[..]));
    let digest = digest.strip_prefix("Subject: s\n").unwrap().replace("cut", "inner");
    for (message, text) in [
        (alternative(" "), "one\n\ntwo\n"),
        (alternative("&nbsp;\n"), "one\n\ntwo\n"),
        (alternative("\u{a0}\n-- \n"), "one\n\ntwo\n"),
        (alternative("plain"), "plain\n"),
        (alternative("> only quoted"), "> only quoted\n"),
        (of_parts("alternative", &[&shown, &html]), "shown\n"),
        (of_parts("alternative", &[PLAIN, &html]), "html\n"),
        (of_parts("mixed", &[&shown, attached]), "shown\n"),
        (of_parts("mixed", &[&shown, &forwarded]), "shown\n"),
        (of_parts("mixed", &[&forwarded]), "shown\n"),
        (of_parts("mixed", &[PLAIN, &forwarded]), "shown\n"),
        (of_parts("mixed", &[&shown, &digest]), "shown\n\u{c}\none\n\u{c}\ntwo\n"),
        (
            of_parts("signed", &[&shown, "Content-Type: application/pgp-signature\n\nAAAA"]),
            "shown\n",
        ),
        (of_parts("mixed", &["no header", &shown]), "no header\n\u{c}\nshown\n"),
        (format!("Subject: s\n{forwarded}"), "shown\n"),
    ] {
        for message in [message.replace('\n', "\r\n"), message] {
            assert_eq!(text_of(&message), text, "{message}");
        }
    }
}

#[test]
fn a_type_that_is_no_type_is_plain_text_and_other_text_is_text() {
    for (kind, text) in [
        ("text", "<b>x</b>\n"),
        ("plain", "<b>x</b>\n"),
        ("text/", "<b>x</b>\n"),
        ("text/plain, charset=us-ascii", "<b>x</b>\n"),
        ("text/plain charset=us-ascii", "<b>x</b>\n"),
        ("", "<b>x</b>\n"),
        ("text/html, charset=us-ascii", "x\n"),
        ("TEXT/HTML", "x\n"),
        ("text/enriched", "x\n"),
        ("text/richtext", "x\n"),
        ("text/markdown", "<b>x</b>\n"),
        ("text/x-vcard", EMPTY),
        ("application/octet-stream", EMPTY),
        ("multipart/alternative", "<b>x</b>\n"),
        ("multipart/mixed; boundary=absent", "<b>x</b>\n"),
    ] {
        let message = format!("Subject: s\nContent-Type: {kind}\n\n<b>x</b>\n");
        assert_eq!(text_of(&message), text, "{kind}");
    }
}

#[test]
fn what_is_cut_off_or_torn_is_read_as_far_as_it_goes() {
    let cut = "Subject: s\nContent-Type: multipart/mixed; boundary=cut\n\n--cut\nContent-Type: text/plain\n\none\n\
        --cut\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\n";
    let coded = |encoding: &str, text: &str| {
        format!("Subject: s\nContent-Transfer-Encoding: {encoding}\n\n{text}\n")
    };
    for (message, text) in [
        (cut.to_owned(), "one\n"),
        (format!("{cut}dHdvIHRocm"), "one\n\u{c}\ntwo thr\n"),
        (
            coded("base64", "dHdvCg==\n____________\nThe list's footer"),
            "two\n____________\nThe list's footer\n",
        ),
        (coded("Base64", "not base64, but text"), "not base64, but text\n"),
        (coded("quoted-printable", "a=3Db=\nc x==1 y=zz"), "a=bc x==1 y=zz\n"),
        ("\n\nSubject: s\n\nx\n".to_owned(), "x\n"),
        ("Subject: s".to_owned(), EMPTY),
        (
            "Subject: s\nContent-Type: text/plain; format=flowed; delsp=yes\n\nwo \nrd  \nnext\n"
                .to_owned(),
            "word next\n",
        ),
    ] {
        assert_eq!(text_of(&message), text, "{message}");
    }
}

#[test]
fn a_charset_that_nobody_knows_is_the_encoding_of_the_job() {
    let bytes = |kind: &str, text: &str| {
        let message = format!("Subject: \u{e9}\nContent-Type: {kind}\n\n{text}\n");
        message.chars().map(|c| c as u8).collect::<Vec<u8>>()
    };
    let (_folder, mut settings) = one_file("x.eml", b"");
    settings.text = vec!["subject".into(), "text".into()];
    let mut read = |bytes: &[u8], encoding: &str| {
        std::fs::write(settings.base.join("x.eml"), bytes).unwrap();
        settings.encoding = TextEncoding::of(encoding).unwrap();
        let seen = read_all(&settings).unwrap().remove(0);
        (seen.text, seen.repaired)
    };
    for (kind, text) in [
        ("text/plain", "caf\u{e9}"),
        ("text/plain; charset=unknown-8bit", "caf\u{e9}"),
        ("text/plain; charset=utf-8", "caf\u{e9}"),
    ] {
        let bytes = bytes(kind, text);
        assert_eq!(read(&bytes, "latin1"), ("\u{e9}\ncaf\u{e9}\n".into(), false), "{kind}");
        assert_eq!(read(&bytes, "utf-8"), ("\u{fffd}\ncaf\u{fffd}\n".into(), true), "{kind}");
    }
    let cyrillic = bytes("text/plain; charset=koi8-r", "\u{cd}\u{c9}\u{d2}");
    assert_eq!(read(&cyrillic, "latin1").0, "\u{e9}\nмир\n");
    let torn = b"Subject: =?iso-8859-1?Q?caf\xe9?=\n\nx\n";
    assert_eq!(read(torn, "koi8-r"), ("caf\u{e9}\nx\n".into(), false));
    let ascii = "Subject: s\nContent-Type: text/plain; charset=us-ascii\n\nмир\n";
    assert_eq!(read(ascii.as_bytes(), "utf-8").0, "s\nмир\n");
}

#[test]
fn messages_without_a_blank_line_between_them_are_told_apart() {
    let message = |i: usize, end: &str| {
        format!(
            "From a@x.org Mon Jan  3 10:00:{i:02} 2022{end}Subject: s{end}{end}text {i}{end}From here{end}"
        )
    };
    for end in ["\n", "\r\n"] {
        let mbox: String = (0..60).map(|i| message(i, end)).collect();
        // A folder of a mail client.
        let (folder, mut settings) = one_file("Inbox", mbox.as_bytes());
        std::fs::write(folder.path().join("list.emlx"), "12\nSubject: s\n\n<?xml ?><plist/>\n")
            .unwrap();
        for block_bytes in [None, Some(1), Some(1000)] {
            settings.block_bytes = block_bytes;
            let seen = read_all(&settings).unwrap();
            let texts: Vec<&str> = seen.iter().map(|seen| &seen.text[..]).collect();
            let expected: Vec<String> = (0..60).map(|i| format!("text {i}\nFrom here\n")).collect();
            assert_eq!(texts[..60], expected);
            assert_eq!(seen[60].status, Some(DocumentStatus::Empty));
            assert_eq!(seen.len(), 61);
        }
    }
}

#[test]
fn a_maildir_hides_its_folders() {
    let (folder, mut settings) = one_file("x", b"");
    settings.format = Some("mail".into());
    for name in ["cur", "new", ".Sent/cur", ".Sent/new", ".git/cur"] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("1.host:2,S"), "Subject: s\n\nsent\n").unwrap();
    }
    let seen = read_all(&settings).unwrap();
    let ids: Vec<&str> = seen.iter().map(|seen| &seen.id[..]).collect();
    let folders = [".Sent/cur", ".Sent/new", "cur", "new"];
    let messages = folders.map(|folder| format!("{folder}/1.host:2,S@0"));
    assert_eq!(ids[..4], messages);
    assert_eq!(ids[4..], ["x"]);
}

/// Returns a message with this many multiparts or messages in each other, `open` for each.
fn nested(depth: usize, open: impl Fn(usize) -> String) -> String {
    let parts: String = (0..depth).map(open).collect();
    format!("Subject: s\n{parts}Content-Type: text/plain\n\ntext\n")
}

#[test]
fn parts_that_are_nested_too_deep_are_a_parse_error() {
    let message = |_| "Content-Type: message/rfc822\n\n".to_owned();
    let multipart = |i| format!("Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n");
    let digest = |i| format!("Content-Type: multipart/digest; boundary=b{i}\n\n--b{i}\n\n");
    for open in [&message as &dyn Fn(usize) -> String, &multipart] {
        assert_eq!(text_of(&nested(100, open)), "text\n");
        for depth in [101, 20_000] {
            let seen = text_of(&nested(depth, open));
            assert!(
                seen.starts_with("parse_error: x.eml@0: more than 100 levels of parts; "),
                "{seen}"
            );
        }
    }
    assert_eq!(text_of(&nested(50, digest)), "text\n");
    assert!(text_of(&nested(51, digest)).starts_with("parse_error"));
    let parts = |count| of_parts("mixed", &vec![""; count]);
    assert_eq!(text_of(&parts(9_999)), EMPTY);
    let seen = text_of(&parts(10_000));
    assert!(seen.starts_with("parse_error: x.eml@0: more than 10000 parts; "), "{seen}");
}

/// Checks that each of these messages is read in a time that suits its bytes, with this status.
fn check_times(messages: impl IntoIterator<Item = (String, &'static str)>) {
    for (message, status) in messages {
        let begun = std::time::Instant::now();
        let (_folder, mut settings) = one_file("x.eml", message.as_bytes());
        settings.max_document_bytes = 1 << 28;
        let seen = read_all(&settings).unwrap();
        let found = seen[0].status.map_or("text", DocumentStatus::name);
        let start: String = message.chars().take(60).collect();
        assert_eq!((found, seen.len()), (status, 1), "{start}");
        assert!(begun.elapsed().as_secs() < 10, "{start}");
    }
}

/// How often something is in a message that should take no more time than its bytes.
const MANY: usize = 200_000;

/// Returns a message with this field.
fn with_field(name: &str, value: &str) -> String {
    format!("Subject: s\n{name}: {value}\n\ntext\n")
}

#[test]
fn headers_and_parts_take_time_in_proportion_to_their_bytes() {
    let typed =
        |value: &str| with_field("Content-Type", &format!("text/plain{}", value.repeat(MANY)));
    let field = |name: &str, value: &str| with_field(name, &value.repeat(MANY));
    let coded = |coding: &str, text: &str| {
        with_field("Content-Transfer-Encoding", coding) + &text.repeat(MANY)
    };
    let parts = |part: &str| of_parts("mixed", &vec![part; 9_000]);
    let multipart = |i| format!("Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n");
    let words = format!("Content-Type: text/plain; a=\"{}\n\ntext", "=?utf-8?Q?x".repeat(90));
    let unclosed = "Content-Type: multipart/mixed; boundary=no\n\ntext";
    let same = "Content-Type: multipart/mixed; boundary=cut\n\ntext";
    let long = format!("multipart/mixed; boundary={}", "b".repeat(MANY));
    check_times([
        (field("To", "("), "text"),
        (field("To", "a@x.org, "), "text"),
        (field("To", "a:b;"), "text"),
        (field("Date", "("), "text"),
        (field("Subject", "=?utf-8?Q?x"), "text"),
        (field("Subject", "=?utf-8?B?x\n "), "text"),
        (field("X-Long", "0123456789"), "text"),
        ("X: y\n".repeat(MANY) + "Subject: s\n\ntext\n", "text"),
        ("From: a@x.org\n".repeat(MANY) + "\ntext\n", "text"),
        (typed("; a*1=b"), "text"),
        (typed("; a=b"), "text"),
        (typed("=?utf-8?Q?x"), "text"),
        (with_field("Content-Type", &long), "text"),
        (parts(&words), "text"),
        (parts(unclosed), "text"),
        (parts(same), "parse_error"),
        (of_parts("mixed", &vec![""; MANY]), "parse_error"),
        (nested(99, multipart) + &"--b\n".repeat(MANY), "text"),
        (coded("quoted-printable", "= "), "text"),
        (coded("base64", "="), "text"),
    ]);
}

#[test]
fn html_takes_time_in_proportion_to_its_bytes() {
    let html = |html: &str| (with_field("Content-Type", "text/html") + html, "text");
    let many = |mark: &str| html(&mark.repeat(MANY));
    check_times([
        many("<p>"),
        many("<!--"),
        many("<![CDATA["),
        many("<script>"),
        many("<a \"><a '>"),
        many("<"),
        many("&"),
        many("&amp;"),
        many("&#"),
        html(&format!("<p {}>x", "a=b ".repeat(MANY))),
        html(&("<!-->".repeat(MANY) + "-->")),
        html(&("<script ".repeat(MANY) + ">")),
        html(&("<a <a ".repeat(MANY) + "\">x")),
    ]);
}

#[test]
fn a_file_without_a_message_and_a_message_without_content_have_rows() {
    for content in ["", "\n\n"] {
        assert_eq!(text_of(content), "empty: x.eml: the file is empty", "{content:?}");
    }
    let from = "From a@b Mon Jan  3 10:00:00 2022\n";
    let mbox = format!("{from}\n{from}Subject: s\nFrom: a@b\n\ntext\n\n{from}");
    let (_folder, settings) = one_file("list.mbox", mbox.as_bytes());
    let seen = read_all(&settings).unwrap();
    let statuses: Vec<_> = seen.iter().map(|seen| seen.status).collect();
    assert_eq!(statuses, [Some(DocumentStatus::Empty), None]);
}

#[test]
fn a_date_that_is_not_as_it_should_be_is_kept_as_it_is() {
    for date in ["Thu, 5 Mar 1998 10:00:00", "Thu Mar  5 10:00:00 1998", "1998-03-05 10:00:00"] {
        let message = format!("From: a@b\nSubject: s\nDate: {date}\n\ntext\n");
        let (_folder, mut settings) = one_file("x.eml", message.as_bytes());
        settings.metadata = vec!["date".into()];
        let value = read_all(&settings).unwrap()[0].metadata[0].clone().unwrap();
        assert!(value.contains("1998") && value.contains("10:00:00"), "{date}: {value}");
    }
}
