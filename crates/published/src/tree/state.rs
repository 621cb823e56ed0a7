//! The variants of the sampler, and the state that all of them share.

use super::Tree;
use super::counts::Counts;
use super::document::Document;

/// The samplers of the paper's Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Enumerates every topic and path.
    Naive,
    /// Uses buckets, with normalisers and observed paths kept up to date.
    Fast,
    /// FAST-RB: also refines the smoothing bucket.
    FastRb,
    /// FAST-RB-SD: also sorts topics by their count in the document.
    FastRbSd,
    /// FAST-RB-SW: also sorts a term's paths by their edge-masked count.
    FastRbSw,
    /// FAST-RB-SDW: sorts both.
    FastRbSdw,
}

impl Variant {
    /// All variants, in the order of Table 1.
    pub const ALL: [Self; 6] =
        [Self::Naive, Self::Fast, Self::FastRb, Self::FastRbSd, Self::FastRbSw, Self::FastRbSdw];

    /// Returns the paper's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "NAIVE",
            Self::Fast => "FAST",
            Self::FastRb => "FAST-RB",
            Self::FastRbSd => "FAST-RB-SD",
            Self::FastRbSw => "FAST-RB-SW",
            Self::FastRbSdw => "FAST-RB-SDW",
        }
    }

    pub(super) fn is_refined(self) -> bool {
        !matches!(self, Self::Naive | Self::Fast)
    }

    pub(super) fn sorts_documents(self) -> bool {
        matches!(self, Self::FastRbSd | Self::FastRbSdw)
    }

    pub(super) fn sorts_terms(self) -> bool {
        matches!(self, Self::FastRbSw | Self::FastRbSdw)
    }
}

/// The state on which a token's conditional depends.
#[derive(Clone, Debug)]
pub(super) struct State<'t> {
    pub(super) tree: &'t Tree,
    /// α_k.
    pub(super) alpha: Vec<f64>,
    pub(super) counts: Counts,
    pub(super) document: Document,
}
