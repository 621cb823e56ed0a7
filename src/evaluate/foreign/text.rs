//! Two list formats of MALLET, which others write too: topic–word weights and word–topic counts.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use super::{ForeignModel, Weights, for_each_line};
use crate::failure::Failure;

/// The β that MALLET adds to counts by default (`--beta`); its lists do not contain it.
pub(crate) const MALLET_BETA: f64 = 0.01;

/// Whether a file that begins with this line lists weights: `topic TAB term TAB weight`, perhaps
/// after a line with such names.
pub(super) fn is_weights(first: &str) -> bool {
    let fields: Vec<&str> = first.split('\t').collect();
    matches!(fields[..], [topic, _, weight] if is_heading(first)
        || (topic.trim().parse::<u64>().is_ok() && weight.trim().parse::<f64>().is_ok()))
}

fn is_heading(line: &str) -> bool {
    line.starts_with("topic\t")
}

/// Reads weights (`--topic-word-weights-file`), and normalises them.
///
/// # Errors
/// The file cannot be read; a line has another form; a weight is invalid.
pub fn read_weights(path: &Path, file: impl BufRead) -> Result<ForeignModel, Failure> {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut weights = Weights::default();
    let mut is_first = true;
    for_each_line(path, file, |number, line| {
        if line.trim().is_empty() || (std::mem::take(&mut is_first) && is_heading(line)) {
            return Ok(true);
        }
        let refuse = |problem| Failure::line(path, number, problem);
        let fields: Vec<&str> = line.split('\t').collect();
        let &[topic, term, weight] = &fields[..] else {
            return Err(refuse("is not `topic TAB term TAB weight`".to_owned()));
        };
        let topic = topic.trim();
        let topic: u64 = topic
            .parse()
            .map_err(|_| refuse(format!("\"{topic}\" is not a topic (a whole number from 0)")))?;
        let weight: f64 =
            weight.trim().parse().map_err(|_| refuse(format!("\"{weight}\" is not a weight")))?;
        let known = numbers.get(term).copied();
        let term = known.unwrap_or_else(|| {
            let fresh = weights.add_term(term);
            numbers.insert(term.to_owned(), fresh);
            fresh
        });
        weights.set(term, topic, weight).map_err(refuse)?;
        Ok(true)
    })?;
    let mut model = weights.normalised(path, 0.0)?;
    model.form = "a list of topic-word weights, normalised to sum 1".to_owned();
    Ok(model)
}

/// Whether a file that begins with this line lists counts: `number term topic:count …`.
pub(super) fn is_counts(first: &str) -> bool {
    let mut fields = first.split_whitespace();
    let is_number = fields.next().is_some_and(|n| n.parse::<u64>().is_ok());
    is_number && fields.next().is_some() && fields.all(|pair| pair_of(pair).is_some())
}

fn pair_of(pair: &str) -> Option<(u64, f64)> {
    let (topic, count) = pair.split_once(':')?;
    Some((topic.parse().ok()?, count.parse().ok()?))
}

/// Reads counts (`--word-topic-counts-file`), smoothed by [`MALLET_BETA`].
///
/// # Errors
/// The file cannot be read; a line has another form; a term is listed twice.
pub fn read_counts(path: &Path, file: impl BufRead) -> Result<ForeignModel, Failure> {
    let mut numbers: HashMap<String, u64> = HashMap::new();
    let mut weights = Weights::default();
    for_each_line(path, file, |number, line| {
        let refuse = |problem| Failure::line(path, number, problem);
        let mut fields = line.split_whitespace().skip(1);
        let Some(term) = fields.next() else {
            return match line.trim().is_empty() {
                true => Ok(true),
                false => Err(refuse("is not `number term topic:count …`".to_owned())),
            };
        };
        if let Some(before) = numbers.insert(term.to_owned(), number) {
            return Err(refuse(format!("\"{term}\" is in line {before} too")));
        }
        let place = weights.add_term(term);
        for pair in fields {
            let (topic, count) =
                pair_of(pair).ok_or_else(|| refuse(format!("\"{pair}\" is not topic:count")))?;
            weights.set(place, topic, count).map_err(refuse)?;
        }
        Ok(true)
    })?;
    let mut model = weights.normalised(path, MALLET_BETA)?;
    model.form = format!("a list of word-topic counts, smoothed by MALLET's beta {MALLET_BETA}");
    Ok(model)
}
