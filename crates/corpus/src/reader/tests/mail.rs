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
        (
            "1@example.org",
            "Café\nCafé au lait\nFrom 2021\nFrom here on: text in 2022\n\n",
        ),
        ("list.mbox@407", "Re: two\none & two\n"),
    ];
    let start = MBOX.find("From: b@").unwrap();
    assert_eq!(expected[1].0, format!("list.mbox@{start}"));
    for block_bytes in [None, Some(1), Some(100)] {
        settings.block_bytes = block_bytes;
        let seen = read_all(&settings).unwrap();
        let texts: Vec<_> = seen
            .iter()
            .map(|seen| (&seen.id[..], &seen.text[..]))
            .collect();
        assert_eq!(texts[..2], expected);
        let values = [
            "ada@example.org",
            "list@example.org",
            "2022-01-03T10:00:00+01:00",
        ];
        assert_eq!(seen[0].metadata, values.map(|value| Some(value.to_owned())));
        assert_eq!(seen[2].status, Some(DocumentStatus::ParseError));
        assert_eq!(seen.len(), 3);
    }
}

#[test]
fn a_file_may_be_one_message() {
    let message = "Subject: one\r\nFrom: a@b.c\r\n\r\nThe text.\r\nFrom 10:00 on, in 2022\r\n";
    let (_folder, settings) = one_file("1641400561.M561P1.host:2,S", message.as_bytes());
    let settings = CorpusSettings {
        format: Some(Format::Mail),
        ..settings
    };
    assert_eq!(
        read_all(&settings).unwrap()[0].text,
        "The text.\nFrom 10:00 on, in 2022\n"
    );
}
