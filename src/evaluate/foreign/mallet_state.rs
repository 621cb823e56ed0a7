//! MALLET's Gibbs state (`--output-state`, gzipped): one line per token, with its topic, after the
//! two priors.
//!
//! ```text
//! #doc source pos typeindex type topic
//! #alpha : 0.1 0.2 …
//! #beta : 0.01
//! 0 NA 0 12 whale 3
//! ```
//!
//! The counts yield φ_kw = (n_kw + β) / (n_k + Vβ), as in MALLET itself.

use std::io::BufRead;
use std::path::Path;

use super::{ForeignModel, Weights, for_each_line};
use crate::failure::Failure;
use lda::model::MAX_TOPICS;

const HEADER: &str = "#doc source pos typeindex type topic";

/// Whether a file that begins with this line is a state.
pub(super) fn is_state(first: &str) -> bool {
    first.trim() == HEADER
}

/// A token of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// The number of its document, and its source.
    pub document: &'a str,
    /// The number of its term.
    pub index: usize,
    /// Its term.
    pub(crate) term: &'a str,
    /// Its topic.
    pub topic: u16,
}

/// Reads a state.
///
/// # Errors
/// Errors of [`for_each_token`]; a topic has no α; a term has two names.
pub fn read(path: &Path, file: impl BufRead) -> Result<ForeignModel, Failure> {
    let mut state = State::default();
    let (alpha, beta) = for_each_token(path, file, |token| state.take(token))?;
    let topics = alpha.len();
    let mut weights = Weights::new(state.terms);
    for (term, counts) in state.counts.iter().enumerate() {
        for &(topic, count) in counts {
            let set = weights.set(term, u64::from(topic), f64::from(count));
            set.map_err(|problem| Failure::file(path, problem))?;
        }
        // Topics without tokens count, too.
        if term == 0 && topics > 0 {
            let set = weights.set(term, topics as u64 - 1, 0.0);
            set.map_err(|problem| Failure::file(path, problem))?;
        }
    }
    if weights.topic_count() > topics {
        let problem = format!(
            "its tokens have topics up to {}, but #alpha lists {topics}",
            weights.topic_count() - 1
        );
        return Err(Failure::file(path, problem));
    }
    let mut model = weights.normalised(path, beta)?;
    model.form = format!("a MALLET state of {} tokens, smoothed by its beta {beta}", state.tokens);
    model.alpha = Some(alpha);
    Ok(model)
}

/// Passes every token of a state to `visit`; returns α and β. A line's fields are counted from its end,
/// because a document's source may contain spaces.
///
/// # Errors
/// The file cannot be read; a line is not a token's, or `visit` refuses it; there is no α or β.
pub fn for_each_token(
    path: &Path,
    file: impl BufRead,
    mut visit: impl FnMut(Token<'_>) -> Result<(), String>,
) -> Result<(Vec<f64>, f64), Failure> {
    let mut priors = Priors::default();
    for_each_line(path, file, |number, line| {
        let taken = match priors.take(line) {
            Ok(true) => Ok(()),
            Ok(false) => token(line).and_then(&mut visit),
            Err(problem) => Err(problem),
        };
        let refuse = |problem| Failure::line(path, number, problem);
        taken.map(|()| true).map_err(refuse)
    })?;
    let refuse = |problem: &str| Failure::file(path, problem);
    let beta = (priors.beta).ok_or_else(|| refuse("has no line `#beta : …`"))?;
    if priors.alpha.is_empty() {
        Err(refuse("has no line `#alpha : …`"))
    } else {
        Ok((priors.alpha, beta))
    }
}

#[derive(Default)]
struct Priors {
    alpha: Vec<f64>,
    beta: Option<f64>,
}

impl Priors {
    /// Takes a line that is not a token's; returns false if it is.
    fn take(&mut self, line: &str) -> Result<bool, String> {
        if line.is_empty() || line == HEADER {
            return Ok(true);
        }
        if let Some(values) = line.strip_prefix("#alpha :") {
            let positive =
                |text: &str| text.parse().ok().filter(|&a: &f64| (1e-20..=1e20).contains(&a));
            let values: Option<Vec<f64>> = values.split_whitespace().map(positive).collect();
            let values =
                values.ok_or("its alpha are not all numbers above 0 (from 1e-20 to 1e20)")?;
            if !std::mem::replace(&mut self.alpha, values).is_empty() {
                return Err("there is a second alpha".to_owned());
            }
            return Ok(true);
        }
        if let Some(value) = line.strip_prefix("#beta :") {
            let beta = value.trim().parse().ok();
            let beta = beta.filter(|&b: &f64| (1e-20..=1e20).contains(&b));
            if self
                .beta
                .replace(beta.ok_or("its beta is not a number above 0 (from 1e-20 to 1e20)")?)
                .is_some()
            {
                return Err("there is a second beta".to_owned());
            }
            return Ok(true);
        }
        Ok(false)
    }
}

/// Parses a token's line.
fn token(line: &str) -> Result<Token<'_>, String> {
    let mut fields = line.rsplitn(5, ' ');
    let mut next = || fields.next().ok_or("a token's line has six fields");
    let (topic, term, index, _, document) = (next()?, next()?, next()?, next()?, next()?);
    if !document.contains(' ') {
        return Err("a token's line has six fields".to_owned());
    }
    let topic: u16 = topic
        .parse()
        .ok()
        .filter(|&k| usize::from(k) < MAX_TOPICS)
        .ok_or_else(|| format!("\"{topic}\" is not a topic"))?;
    let index: usize = index
        .parse()
        .ok()
        .filter(|&i: &usize| i < lda::model::statistics::MAX_TERMS)
        .ok_or_else(|| format!("\"{index}\" is not the number of a term"))?;
    Ok(Token { document, index, term, topic })
}

#[derive(Default)]
struct State {
    terms: Vec<String>,
    /// For each term, (topic, tokens), by topic.
    counts: Vec<Vec<(u16, u32)>>,
    tokens: u64,
}

impl State {
    fn take(&mut self, token: Token<'_>) -> Result<(), String> {
        let Token { index, term, topic, .. } = token;
        self.name(index, term)?;
        let counts = &mut self.counts[index];
        match counts.binary_search_by_key(&topic, |&(k, _)| k) {
            Ok(place) => counts[place].1 += 1,
            Err(place) => counts.insert(place, (topic, 1)),
        }
        self.tokens += 1;
        Ok(())
    }

    /// Names a term. Terms without tokens stay unnamed, and count in V.
    fn name(&mut self, index: usize, term: &str) -> Result<(), String> {
        if index >= self.terms.len() {
            self.terms.resize(index + 1, String::new());
            self.counts.resize(index + 1, Vec::new());
        }
        let name = &mut self.terms[index];
        if name.is_empty() {
            term.clone_into(name);
        }
        if name == term {
            Ok(())
        } else {
            Err(format!("term {index} is \"{term}\" here, and \"{name}\" before"))
        }
    }
}
