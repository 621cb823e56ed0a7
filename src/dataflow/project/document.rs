//! One document against the published model: of a collection, or of a stream.

use lda::infer::settings::InferSettings;
use lda::infer::summary::{Listing, Projection};
use lda::infer::{Bag, ImpossibleDraw, Inferred, Inferrer, Target};
use lda::math::random::{Stage, Stream};

/// What documents are projected onto, and how.
#[derive(Clone, Copy)]
pub(crate) struct Projecting<'a> {
    /// The model.
    pub(crate) target: Target<'a>,
    /// How topics are inferred.
    pub(crate) infer: &'a InferSettings,
    /// The seed of the random streams, which are keyed by the numbers of documents.
    pub(crate) seed: u64,
    /// Which topics are listed.
    pub(crate) listing: Listing,
}

/// Projects a document; `known` are its proportions if it was inferred together with others.
///
/// # Errors
/// A draw cannot be made.
pub(crate) fn project_document<'s>(
    (number, bag): (u64, Bag<'_>),
    onto: Projecting<'s>,
    known: Option<&'s [f32]>,
    inferrer: &'s mut dyn Inferrer,
) -> Result<(Inferred<'s>, Projection), ImpossibleDraw> {
    let Projecting { target, infer, seed, listing } = onto;
    let inferred = match known {
        Some(proportions) => Inferred { proportions, alpha: &target.table.smoothing().alpha },
        None => {
            let mut stream = Stream::keyed(seed, Stage::Project, 0, number);
            inferrer.infer(bag, target, infer, &mut stream)?
        }
    };
    let mut projection = Projection::default();
    projection.describe(inferred.proportions, bag, target.table, listing);
    Ok((inferred, projection))
}
