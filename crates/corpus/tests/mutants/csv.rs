//! Formats of lines: CSV and TSV, and the counts of SVMlight and Vowpal Wabbit. Fields and rows are lost, repeated and
//! replaced, and so are the marks between them.

use super::random::Random;

/// Marks of these formats, and what their programs write.
const MARKS: [&[u8]; 24] = [
    b",",
    b";",
    b"\t",
    b"|",
    b":",
    b"#",
    b"'",
    b"\"",
    b"\"\"",
    b"\\\"",
    b"\"a\nb\"",
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n\n",
    b"sep=;\n",
    b"\xef\xbb\xbf",
    b"\0",
    b"\xff",
    b" ",
    b"-1",
    b"1e400",
    b"18446744073709551616:4294967296",
    b"id,text\n",
];

/// The most bytes that a repeated field may have.
const LONG: usize = 1 << 16;

/// Rows below a header, in several dialects.
pub fn tables() -> Vec<Vec<u8>> {
    let rows = "1,\"a, \"\"b\"\"\nc\",x\r\n\n2,d e,\n3,\"\",\"y\"\n";
    let escaped = "sep=;\nid;text;m\n1;\"so \\\"said;\\\"\nhe\";x\n2;\"\\\\\";y\n";
    vec![
        format!("id,text,m\n{rows}").into_bytes(),
        format!("\u{feff}id,text,m\n{}", rows.repeat(30)).into_bytes(),
        escaped.as_bytes().to_vec(),
        b"id,text\r1,a b\r2,\"c\rd\"\r".to_vec(),
    ]
}

/// Lines below a header.
pub fn tabs() -> Vec<Vec<u8>> {
    let rows = "1\ta b \"c\"\tx\n\n2\t\ty\r\n";
    vec![
        format!("id\ttext\tm\n{rows}").into_bytes(),
        format!("id\ttext\tm\n{}", rows.repeat(30)).into_bytes(),
    ]
}

/// Numbers and their counts.
pub fn numbers() -> Vec<Vec<u8>> {
    let lines = "+1 1:2 3:1.0 9:4 # a\n-1 qid:3 2:1\n\n# nothing\n";
    vec![lines.as_bytes().to_vec(), lines.repeat(30).into_bytes()]
}

/// Words and their counts.
pub fn words() -> Vec<Vec<u8>> {
    let lines = "1 'a|title whale:2 sea |body the a:b:3\n| x\n2 b| y:1.0\n";
    vec![lines.as_bytes().to_vec(), lines.repeat(30).into_bytes()]
}

/// Pages of Common Crawl, below the record about the file.
pub fn pages() -> Vec<Vec<u8>> {
    let info = "WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 3\r\n\r\nx:y\r\n\r\n";
    let page = "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://x.org/\r\n\
                WARC-Record-ID: <urn:uuid:1>\r\nContent-Length: 9\r\n\r\nthe whale\r\n\r\n";
    vec![[info, page].concat().into_bytes(), (info.to_owned() + &page.repeat(30)).into_bytes()]
}

/// Changes fields, rows and marks.
pub fn mutate(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let mut table = seed.to_vec();
    for _ in 0..=random.below(4) {
        let ends = |is_end: fn(&u8) -> bool| -> Vec<usize> {
            let places = table.iter().enumerate().filter(|(_, byte)| is_end(byte));
            [0].into_iter().chain(places.map(|(at, _)| at)).chain([table.len()]).collect()
        };
        let ends = match random.below(2) {
            0 => ends(|byte| b"\n\r".contains(byte)),
            _ => ends(|byte| b",;\t|: \"\n\r".contains(byte)),
        };
        let part = random.below(ends.len() - 1);
        let place = ends[part]..ends[part + 1];
        let field = table[place.clone()].to_vec();
        let put: Vec<u8> = match random.below(7) {
            0 => Vec::new(),
            1 => random.pick(&MARKS).to_vec(),
            2 => [*random.pick(&MARKS), &field].concat(),
            3 => field.repeat(1 + random.below(300).min(LONG / field.len().max(1))),
            4 => random.pick(&MARKS).repeat(1 + random.below(3000)),
            5 => [b"\"", &field[..], b"\""].concat(),
            _ => {
                let number = random.number().to_string();
                [&field, number.as_bytes()].concat()
            }
        };
        table.splice(place, put);
        if random.below(10) == 0 {
            let [from, to] = [0; 2].map(|_| *random.pick(b",;\t|\"\n\r"));
            table.iter_mut().filter(|byte| **byte == from).for_each(|byte| *byte = to);
        }
    }
    table
}
