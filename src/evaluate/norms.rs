//! Norms of word association: the words that people answer to a given word, the cue (Nelson, McEvoy
//! & Schreiber 2004).
//!
//! A file has a cue and an associate in each line, and optionally the strength of the association, such as
//! the share of people who gave that answer: `cue TAB associate TAB strength`, or with commas.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use super::foreign::{for_each_line, open};
use crate::failure::Failure;
use crate::knowledge::fields;

/// The words that people associate with cues.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Norms {
    /// In the order of the file.
    pub cues: Vec<Cue>,
}

/// A cue.
#[derive(Clone, Debug, PartialEq)]
pub struct Cue {
    /// The word.
    pub word: String,
    /// Its associates, strongest first; equal ones, and those without strengths, in the file's order.
    pub associates: Vec<String>,
}

/// A cue whose word is a term, with its associates that are other terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownCue {
    /// The cue.
    pub cue: u32,
    /// Its associates, strongest first, at least one.
    pub associates: Vec<u32>,
    /// Whether the first of them is the cue's strongest of all.
    pub(crate) has_first: bool,
}

/// An associate in a line.
struct Pair {
    line: u64,
    associate: String,
    strength: Option<f64>,
}

impl Norms {
    /// Reads a file, compressed or not. A first line whose first field is `cue` is a heading; empty lines are skipped.
    ///
    /// # Errors
    /// The file cannot be read; a line has another form, or repeats an earlier one; there is no pair.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        Self::parse(path, open(path)?)
    }

    /// Parses a file's content, decompressed.
    ///
    /// # Errors
    /// Errors of [`read`](Self::read).
    pub fn parse(path: &Path, file: impl BufRead) -> Result<Self, Failure> {
        let mut delimiter = None;
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut cues: Vec<(String, Vec<Pair>)> = Vec::new();
        let mut has_strengths = None;
        for_each_line(path, file, |line, text| {
            if text.trim().is_empty() {
                return Ok(true);
            }
            let refuse = |problem: String| Failure::line(path, line, problem);
            let has_tab = || text.contains('\t');
            let is_first = delimiter.is_none();
            let delimiter = *delimiter.get_or_insert_with(|| if has_tab() { '\t' } else { ',' });
            let fields = fields(text, delimiter).map_err(refuse)?;
            if is_first && fields[0].eq_ignore_ascii_case("cue") {
                return Ok(true);
            }
            let (cue, pair) = pair(line, fields, delimiter).map_err(refuse)?;
            if *has_strengths.get_or_insert(pair.strength.is_some()) != pair.strength.is_some() {
                let problem = "either every line has a strength, or none".to_owned();
                return Err(refuse(problem));
            }
            let place = *numbers.entry(cue.clone()).or_insert_with(|| {
                cues.push((cue, Vec::new()));
                cues.len() - 1
            });
            let (cue, pairs) = &mut cues[place];
            let is_same = |other: &&Pair| other.associate == pair.associate;
            if let Some(Pair { line, .. }) = pairs.iter().find(is_same) {
                let associate = &pair.associate;
                let problem = format!("\"{cue}\" and \"{associate}\" are in line {line} too");
                return Err(refuse(problem));
            }
            pairs.push(pair);
            Ok(true)
        })?;
        if cues.is_empty() {
            let problem = "has no line with a cue and an associate, separated by a tab or comma";
            return Err(Failure::file(path, problem));
        }
        let sorted = |(word, mut pairs): (String, Vec<Pair>)| {
            let strength = |pair: &Pair| pair.strength.unwrap_or_default();
            pairs.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
            let associates = pairs.into_iter().map(|pair| pair.associate).collect();
            Cue { word, associates }
        };
        let cues = cues.into_iter().map(sorted).collect();
        Ok(Self { cues })
    }

    /// Returns the number of pairs of a cue and an associate.
    pub(crate) fn pair_count(&self) -> usize {
        self.cues.iter().map(|cue| cue.associates.len()).sum()
    }

    /// Returns the cues that are terms and have an associate that is another term; `term_of` maps words to terms.
    pub fn known(&self, mut term_of: impl FnMut(&str) -> Option<u32>) -> Vec<KnownCue> {
        let mut known = Vec::new();
        for Cue { word, associates } in &self.cues {
            let Some(cue) = term_of(word) else {
                continue;
            };
            let mut term = |word: &String| term_of(word).filter(|&term| term != cue);
            let has_first = term(&associates[0]).is_some();
            let associates: Vec<u32> = associates.iter().filter_map(term).collect();
            if !associates.is_empty() {
                known.push(KnownCue { cue, associates, has_first });
            }
        }
        known
    }
}

/// Parses a line: its cue, and the rest.
fn pair(line: u64, fields: Vec<String>, delimiter: char) -> Result<(String, Pair), String> {
    let name = if delimiter == ',' { "commas" } else { "tabs" };
    let count = fields.len();
    let mut fields = fields.into_iter();
    let (cue, associate, strength) = match (fields.next(), fields.next(), fields.next()) {
        (Some(cue), Some(associate), strength)
            if count <= 3 && !cue.is_empty() && !associate.is_empty() =>
        {
            (cue, associate, strength)
        }
        _ => {
            return Err(format!(
                "is not a cue, an associate and perhaps a strength, separated by {name} as in the first line"
            ));
        }
    };
    let number = |text: String| {
        let value = text.parse::<f64>().ok();
        let value = value.filter(|value| value.is_finite() && *value >= 0.0);
        value.ok_or_else(|| format!("\"{text}\" is not a strength (a number from 0)"))
    };
    let strength = strength.map(number).transpose()?;
    let pair = Pair { line, associate, strength };
    Ok((cue, pair))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Norms, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("norms.csv");
        std::fs::write(&path, text).unwrap();
        let shortened = |error: Failure| {
            let path = folder.path().display().to_string();
            error.to_string().replace(&path, "")
        };
        Norms::read(&path).map_err(shortened)
    }

    fn cues(text: &str) -> Vec<(String, Vec<String>)> {
        let norms = read(text).unwrap().cues.into_iter();
        norms.map(|cue| (cue.word, cue.associates)).collect()
    }

    fn expected(cues: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let cue = |&(word, associates): &(&str, &[&str])| (word.to_owned(), owned(associates));
        cues.iter().map(cue).collect()
    }

    #[test]
    fn associates_are_in_the_order_of_their_strength() {
        let wanted = expected(&[("dog", &["cat", "bone", "leash"]), ("salt", &["pepper"])]);
        let with_tabs = "\u{feff}Cue\tresponse\tstrength\r\ndog\tbone\t0.1\r\nsalt\tpepper\t3\r\n\
                         dog\tcat\t0.4\r\n\ndog\tleash\t0.1\n";
        assert_eq!(cues(with_tabs), wanted);
        let quoted =
            "\ncue,associate\n\"dog\",\"cat\"\ndog, bone\n\"salt\",pepper\ndog,\"leash\"\n";
        assert_eq!(cues(quoted), wanted);
        assert_eq!(read(with_tabs).unwrap().pair_count(), 4);
    }

    #[test]
    fn lines_that_mean_nothing_are_named() {
        let form = "is not a cue, an associate and perhaps a strength, separated by";
        for (text, says) in [
            ("dog,cat\nbone\n", format!("line 2: {form} commas")),
            ("dog\tcat\n\ndog,bone\n", format!("line 3: {form} tabs")),
            ("dog,cat,1,2\n", format!("line 1: {form}")),
            ("dog,,1\n", format!("line 1: {form}")),
            ("dog,cat,many\n", "line 1: \"many\" is not a strength".into()),
            ("dog,cat,-1\n", "\"-1\" is not a strength".into()),
            ("dog,cat,NaN\n", "\"NaN\" is not a strength".into()),
            ("dog,cat,1\ndog,bone\n", "line 2: either every line".into()),
            ("dog,cat\na,b\ndog,cat\n", "line 3: \"dog\" and \"cat\" are in line 1 too".into()),
            ("dog,\"cat\n", "line 1: a quote is not closed".into()),
            ("cue,target\n\n", "has no line with a cue".into()),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.starts_with("/norms.csv"), "{told}");
            assert!(told.contains(&says), "{text:?}: {told}");
        }
    }

    #[test]
    fn pairs_of_two_terms_are_known() {
        let norms =
            read("dog,cat\ndog,bone\ndog,Dog\nsalt,pepper\nsalt,dog\nowl,cat\nbone,bone").unwrap();
        let terms = ["dog", "bone", "salt", "cat"];
        let find = |word: &str| {
            let place = terms.iter().position(|term| term.eq_ignore_ascii_case(word));
            place.map(|term| term as u32)
        };
        let known = |cue, associates: &[u32], has_first| KnownCue {
            cue,
            associates: associates.to_vec(),
            has_first,
        };
        let expected = [known(0, &[3, 1], true), known(2, &[0], false)];
        assert_eq!(norms.known(find), expected);
    }
}
