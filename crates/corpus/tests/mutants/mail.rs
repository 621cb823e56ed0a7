//! E-mail: headers, nested parts, encodings, and mailboxes.

use super::random::Random;

const PLAIN: &str = "From a@x.org Mon Jan  3 10:00:00 2022\nFrom: Ada (of \\(x\\)) <ada@x.org>\n\
    To: list: a@x.org, \"b, c\" <b@x.org>; , d@x.org\nSubject: =?utf-8?Q?Caf=C3=A9?= =?koi8-r?B?7cnS?= x\n\
    Date: Mon, 3 Jan 2022 10:00:00 +0100 (CET)\nMessage-ID: <1@x.org>\n\
    Content-Type: text/plain; charset*0=us-; charset*1*=''ascii; format=flowed; delsp=yes\n\
    Content-Transfer-Encoding: quoted-printable\n\nCaf=E9 au =\nlait \nnoir\n> quoted\n>From 2021\n\n\
    From b@x.org Mon Jan  3 10:00:01 2022\nSubject: two\n\nthe second\n";

const PARTS: &str = "From: a@x.org\r\nSubject: parts\r\nMIME-Version: 1.0\r\n\
    Content-Type: multipart/mixed; boundary=\"a b\"\r\n\r\nbefore\r\n--a b\r\n\
    Content-Type: multipart/alternative; boundary=c\r\n\r\n--c\r\nContent-Type: text/plain; charset=utf-7\r\n\r\n \r\n\
    --c\r\nContent-Type: multipart/related; boundary=cc\r\n\r\n--cc\r\nContent-Type: text/html; charset=\"utf-16\"\r\n\
    Content-Transfer-Encoding: base64\r\n\r\n//48AHAAPgBvAG4AZQA8AC8AcAA+AA==\r\n--cc--\r\n--c--\r\n--a b\r\n\
    Content-Type: message/rfc822\r\n\r\nFrom: c@x.org\r\nSubject: attached\r\n\r\nits text\r\n--a b\r\n\
    Content-Type: multipart/digest; boundary=d\r\n\r\n--d\r\n\r\nSubject: one\r\n\r\ntext\r\n--d--\r\n--a b\r\n\
    Content-Type: text/enriched; name=\"x.txt\"\r\nContent-Disposition: attachment; filename*=utf-8''%e2%82\r\n\r\n\
    <bold>x</bold>\r\n--a b--\r\nafter\r\n";

/// Header fields that say something else about what follows.
const FIELDS: [&str; 22] = [
    "Content-Type: multipart/mixed; boundary=c",
    "Content-Type: multipart/alternative; boundary=\"a b\"",
    "Content-Type: multipart/digest; boundary=\"\"",
    "Content-Type: multipart/related",
    "Content-Type: message/rfc822",
    "Content-Type: text/html; charset=iso-2022-jp",
    "Content-Type: text/plain; charset=shift_jis",
    "Content-Type: text/plain; charset=utf-16be",
    "Content-Type: text/plain; charset=hz-gb-2312",
    "Content-Type: text/plain; charset=\"=?utf-8?B?dXRmLTg=?=\"",
    "Content-Type: text/x; a*0*=b'c'%ff; a*99999999999=x; a*1=y",
    "Content-Type: \"(\\\"",
    "Content-Type:",
    "Content-Transfer-Encoding: base64",
    "Content-Transfer-Encoding: quoted-printable",
    "Content-Transfer-Encoding: =?x?",
    "Content-Disposition: attachment",
    "Subject: =?utf-8*en?q?=41=?= =?utf-16?B?/v8=?=",
    "From: \"\\",
    "To: ((()) <\"@>>, :;;",
    "Date: 99 Foo 99999 99:99:99 -9999",
    "Message-ID: <<>>",
];

/// What repeated often takes a careless parser long.
const REPEATED: [&str; 18] = [
    "=?utf-8?Q?x",
    "=?utf-8?B?x=",
    "(",
    ")",
    "<",
    "\"",
    "\\",
    ",",
    ":;",
    "; a*1=b",
    "; a=b",
    "\n\t",
    "--",
    "=",
    "--c\n",
    "--c\n\n",
    "From a Mon Jan  3 10:00:00 2022\n",
    "+/v8-",
];

/// Returns valid files.
pub fn seeds() -> Vec<Vec<u8>> {
    [PLAIN, PARTS, &PARTS.replace("\r\n", "\n")].map(|seed| seed.as_bytes().to_vec()).to_vec()
}

/// Changes a file where its structure is.
pub fn mutate(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(seed);
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..=random.below(6) {
        let at = random.below(lines.len());
        let length = random.below((lines.len() - at).min(8)) + 1;
        match random.below(9) {
            0 => drop(lines.drain(at..at + length)),
            1 => {
                let part = lines[at..at + length].to_vec();
                let times = *random.pick(&[1, 2, 20]);
                let many = (0..times).flat_map(|_| part.clone()).collect::<Vec<_>>();
                let to = random.below(lines.len());
                lines.splice(to..to, many);
            }
            2 => lines[at] = format!("{}\n", random.pick(&FIELDS)),
            3 => lines.insert(at, format!("{}\n", random.pick(&FIELDS))),
            4 => {
                let times = *random.pick(&[1, 10, 100, 2000]);
                let line = &mut lines[at];
                let places: Vec<usize> = line.char_indices().map(|(place, _)| place).collect();
                line.insert_str(*random.pick(&places), &random.pick(&REPEATED).repeat(times));
            }
            5 => {
                let message = "Content-Type: message/rfc822\n\n";
                lines.insert(at, message.repeat(*random.pick(&[1, 99, 3000])));
            }
            6 => {
                let depth = *random.pick(&[1, 99, 2000]);
                let open = |i| format!("Content-Type: multipart/digest; boundary=b{i}\n\n--b{i}\n");
                lines.insert(at, (0..depth).map(open).collect());
            }
            7 => lines.insert(at, "\n".to_owned()),
            _ => {
                let to = random.below(lines.len());
                lines.swap(at, to);
            }
        }
        if lines.is_empty() {
            return Vec::new();
        }
    }
    lines.concat().into_bytes()
}
