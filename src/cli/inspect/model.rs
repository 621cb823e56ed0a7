//! A model file: its size and its priors.

use std::path::Path;

use crate::checkpoint::{self, Header};
use crate::cli::args::InspectArgs;
use crate::cli::{Failure, figures, plan};
use lda::model::parameters::Parameters;

/// Shows the model at `path`.
///
/// # Errors
/// It cannot be read; stdout cannot be written.
pub(super) fn show(args: &InspectArgs, path: &Path) -> Result<(), Failure> {
    let saved = checkpoint::read(path)?;
    if args.json {
        return crate::cli::print_json(&saved.header);
    }
    crate::cli::print(&plan::rows(&rows_of(&saved.header, &saved.parameters(0, 1))))
}

fn rows_of(header: &Header, parameters: &Parameters) -> Vec<(&'static str, String)> {
    let state = match header.published_eta {
        Some(_) => "finished",
        None => "in training",
    };
    let nonzero = parameters.nonzero_count();
    let cells = header.topic_count as f64 * header.vocabulary_size as f64;
    let alpha = figures::parameter(header.priors.alpha.iter().sum());
    let geometry = if header.priors.exp_psi { ", exp-psi geometry" } else { "" };
    let published = header
        .published_eta
        .map_or_else(String::new, |eta| format!(", published with {}", figures::parameter(eta)));
    let eta = figures::parameter(header.priors.eta);
    let tree = header.priors.tree.as_ref().map(|tree| {
        let text = format!(
            "{} over {}, at most {}",
            figures::counted(tree.inner_count() as u64 - 1, "node"),
            figures::counted(tree.structured_count() as u64, "term"),
            figures::counted(tree.most_senses() as u64, "sense"),
        );
        ("tree", text)
    });
    let rows = [
        (
            "model",
            format!(
                "{} topics over {} terms, {state}, {} rounds",
                figures::grouped(header.topic_count as u64),
                figures::grouped(header.vocabulary_size as u64),
                figures::grouped(header.rounds),
            ),
        ),
        ("priors", format!("alpha sum {alpha}, eta {eta}{published}{geometry}")),
        (
            "non-zeros",
            format!(
                "{} ({:.2} % of all, {:.1} per term)",
                figures::grouped(nonzero),
                100.0 * nonzero as f64 / cells.max(1.0),
                nonzero as f64 / (header.vocabulary_size as f64).max(1.0),
            ),
        ),
        ("model id", header.settings_hash.chars().take(16).collect()),
    ];
    rows.into_iter().chain(tree).collect()
}
