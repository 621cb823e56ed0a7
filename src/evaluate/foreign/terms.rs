//! Which term of a job each term of an external model is.
//!
//! Terms are the same if their text is. Terms that the model lacks are left out when documents are
//! scored; terms that the collection lacks keep their mass: φ is not renormalised, so that a model
//! pays for terms that it expects and does not find.

use std::path::Path;

use super::ForeignModel;
use crate::failure::Failure;
use corpus::vocabulary::Vocabulary;

/// The least share of the collection's tokens that a model must know.
const LEAST_SHARE: f64 = 0.01;

/// Maps each term of a job to a term of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// For each term of the job, the model's, or `None` if it lacks the term.
    pub(crate) places: Vec<Option<u32>>,
    /// The job's terms that the model has.
    pub(crate) terms: u64,
    /// Tokens of these in the collection.
    pub(crate) tokens: u64,
    /// Tokens of all terms of the job.
    pub(crate) all_tokens: u64,
}

impl Mapping {
    /// Maps a job's vocabulary. A term that no topic can generate counts as missing from the model.
    ///
    /// # Errors
    /// The model knows less than 1 % of the tokens, or has a term twice; `path` is for the error.
    pub(crate) fn new(
        model: &ForeignModel,
        vocabulary: &Vocabulary,
        path: &Path,
    ) -> Result<Self, Failure> {
        let mut mapping = Self {
            places: vec![None; vocabulary.kept()],
            terms: 0,
            tokens: 0,
            all_tokens: vocabulary.kept_terms().iter().map(|t| t.tokens).sum(),
        };
        for (place, text) in model.terms.iter().enumerate() {
            let Some(term) = vocabulary.id(text) else {
                continue;
            };
            let known = &mut mapping.places[term as usize];
            if known.is_some() {
                let problem = format!("has the term \"{text}\" twice");
                return Err(Failure::file(path, problem));
            }
            if model.gives(place) {
                *known = Some(place as u32);
                mapping.terms += 1;
                mapping.tokens += vocabulary.kept_terms()[term as usize].tokens;
            }
        }
        let share = mapping.tokens as f64 / mapping.all_tokens.max(1) as f64;
        if share < LEAST_SHARE {
            let problem = format!(
                "a model of another vocabulary: of {} tokens it knows {} ({:.2} %), and at least 1 % is \
                 needed; are its terms cut and lower-cased as [tokens] says?",
                mapping.all_tokens,
                mapping.tokens,
                100.0 * share
            );
            return Err(Failure::file(path, problem));
        }
        Ok(mapping)
    }
}
