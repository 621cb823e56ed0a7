//! A tree written by a user in TOML or JSON: nodes with words, and nodes below them.
//!
//! ```toml
//! [[children]]
//! name = "animals"
//! terms = ["animal", "pet"]
//!
//! [[children.children]]
//! name = "birds"
//! terms = ["wren", "robin", "bird"]
//! ```
//!
//! `prior` is β of the edge to a node, `leaf_prior` that of each edge from it to a word.

use crate::failure::Failure;
use lda::constraints::Strengths;
use lda::model::tree::{MAX_DEPTH, Node};
use serde::{Deserialize, Serialize};

use super::branch::{self, Branch};
use super::lexicon::Lexicon;
use super::{EDGE_PRIORS, Pruned};

/// The nodes below the root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outline {
    children: Vec<Branch<String>>,
}

/// A node as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Option<String>,
    prior: Option<f64>,
    leaf_prior: Option<f64>,
    #[serde(default)]
    terms: Vec<String>,
    #[serde(default)]
    children: Vec<Branch<String>>,
}

impl Outline {
    /// Returns how many words it names.
    pub(super) fn word_count(&self) -> usize {
        self.children.iter().map(Branch::leaves).sum()
    }

    /// Whether a node is below another one.
    pub(super) fn is_hierarchy(&self) -> bool {
        self.children.iter().any(|branch| !branch.children.is_empty())
    }
}

impl<'de> Deserialize<'de> for Branch<String> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The parser adds the line.
        Written::deserialize(deserializer)?.checked().map_err(serde::de::Error::custom)
    }
}

impl Written {
    fn checked(self) -> Result<Branch<String>, String> {
        let mut sorted: Vec<&str> = self.terms.iter().map(|term| term.trim()).collect();
        sorted.sort_unstable();
        let repeated = sorted.windows(2).find(|pair| pair[0] == pair[1]);
        let named = self.name.clone().or_else(|| self.terms.first().cloned());
        let name = named.unwrap_or_else(|| "without a name".to_owned());
        let problem = if self.terms.is_empty() && self.children.is_empty() {
            "has neither terms nor children: leave it out".to_owned()
        } else if sorted.first() == Some(&"") {
            "has an empty term".to_owned()
        } else if let Some(pair) = repeated {
            format!("lists `{}` twice: one leaf is one sense", pair[0])
        } else if let Some(prior) =
            (self.prior.iter().chain(&self.leaf_prior)).find(|prior| !EDGE_PRIORS.contains(prior))
        {
            format!("has a prior of {prior:?}: it must be from 1e-30 to 1e30")
        } else {
            let branch = Branch {
                name,
                prior: self.prior,
                leaf_prior: self.leaf_prior,
                terms: self.terms,
                children: self.children,
            };
            if branch.height() < MAX_DEPTH {
                return Ok(branch);
            }
            return Err(format!(
                "node `{}` is too high: leaves are at most {MAX_DEPTH} levels below the root",
                branch.name
            ));
        };
        Err(format!("node `{name}` {problem}"))
    }
}

/// Parses a tree: JSON if it begins with `{`, else TOML.
///
/// # Errors
/// It is neither; it has unknown keys, empty nodes, a word twice in a node, invalid priors, or more than [`MAX_DEPTH`]
/// levels. Except for a few errors in TOML, the error names the line.
pub fn parse(file: &str, text: &str) -> Result<Outline, Failure> {
    let outline: Outline = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| {
            let whole = error.to_string();
            let message = whole.split(" at line ").next().unwrap_or(&whole);
            Failure::line(file, error.line(), message)
        })?
    } else {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = 1 + text[..start].matches('\n').count();
            Failure::line(file, line, error.message())
        })?
    };
    if outline.children.is_empty() {
        Err(Failure::file(file, "no node: `children` is empty"))
    } else {
        Ok(outline)
    }
}

/// Returns the nodes of a tree that have terms below them.
pub(super) fn structures(
    outline: &Outline,
    lexicon: &mut Lexicon<'_>,
    strengths: Strengths,
) -> (Vec<Node>, Pruned) {
    let branches: Vec<_> = outline.children.iter().map(|b| look_up(b, lexicon)).collect();
    let entries = branches.iter().map(Branch::nodes).sum();
    let (nodes, dropped_entries) = branch::nodes(branches, strengths);
    let pruned = Pruned { entries, dropped_entries, ..Pruned::of("nodes") };
    (nodes, pruned)
}

fn look_up(branch: &Branch<String>, lexicon: &mut Lexicon<'_>) -> Branch<u32> {
    Branch {
        name: branch.name.clone(),
        prior: branch.prior,
        leaf_prior: branch.leaf_prior,
        terms: lexicon.find_all(&branch.terms),
        children: branch.children.iter().map(|child| look_up(child, lexicon)).collect(),
    }
}

#[cfg(test)]
mod tests;
