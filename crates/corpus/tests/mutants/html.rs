//! HTML and XML, whose tags are removed.

use super::random::Random;

const PAGE: &str = "<!DOCTYPE html><html lang='en'>\n<head><title>A page</title><style>p > a { }</style>\n\
    <script type=\"x\">if (a < b && c > d) document.write(\"</p>\");</script></head>\n\
    <body class=\"a>b\"><!-- a comment -- > --><p>H<sub>2</sub>O &amp; caf&eacute; &#8217;&#x41;&notit;</p>\n\
    <ul><li>one<li>two</ul><br/><img alt='x\"y'><a href=x>link</a>s <template>no</template></body></html>\n";

const TEI: &str = "<?xml version=\"1.0\"?>\n<tei:text xml:id=\"a\"><![CDATA[1 < 2 &amp; so]]><tei:hi rend=\"it\">x</tei:hi>\
    <lb n=\"3\"/>y</tei:text>\n";

/// Beginnings and ends of everything.
const MARKS: [&str; 34] = [
    "<",
    ">",
    "</",
    "/>",
    "<!",
    "<!--",
    "-->",
    "<!-->",
    "<![CDATA[",
    "]]>",
    "<?",
    "?>",
    "&",
    ";",
    "&#",
    "&#x",
    "&#1114112;",
    "&#xD800;",
    "&amp",
    "\"",
    "'",
    "=",
    "<script>",
    "<script ",
    "</script",
    "<STYLE>",
    "</style>",
    "<a",
    "<b \"",
    "<b '>",
    "<p\u{e9}",
    "\0",
    "\u{feff}",
    "\u{212a}",
];

/// Returns valid files.
pub fn seeds() -> Vec<Vec<u8>> {
    [PAGE, TEI].map(|seed| seed.as_bytes().to_vec()).to_vec()
}

/// Changes a file where its structure is.
pub fn mutate(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let mut page: Vec<char> = String::from_utf8_lossy(seed).chars().collect();
    for _ in 0..=random.below(8) {
        let at = random.below(page.len());
        let length = random.below((page.len() - at).min(40)) + 1;
        match random.below(5) {
            0 => drop(page.drain(at..at + length)),
            1 => {
                let part = page[at..at + length].repeat(*random.pick(&[1, 2, 500]));
                let to = random.below(page.len());
                page.splice(to..to, part);
            }
            2 => {
                let marks = random.pick(&MARKS).repeat(*random.pick(&[1, 2, 5000]));
                page.splice(at..at, marks.chars());
            }
            3 => page[at..at + length].iter_mut().for_each(|c| *c = c.to_ascii_uppercase()),
            _ => {
                let [first, second] = [random.pick(&MARKS), random.pick(&MARKS)];
                let marks = format!("{first}{second}").repeat(*random.pick(&[1, 1000]));
                page.splice(at..at, marks.chars());
            }
        }
        if page.is_empty() {
            break;
        }
    }
    page.into_iter().collect::<String>().into_bytes()
}
