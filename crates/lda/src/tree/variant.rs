//! Which sampler.

/// The samplers of the paper's Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Enumerates every topic and path.
    Naive,
    /// Buckets, with normalisers and observed paths kept up to date.
    Fast,
    /// FAST-RB: with the refined smoothing bucket.
    FastRb,
    /// FAST-RB-SD: topics sorted by their count in the document, too.
    FastRbSd,
    /// FAST-RB-SW: a term's paths sorted by their edge-masked count, too.
    FastRbSw,
    /// FAST-RB-SDW: both sorted.
    FastRbSdw,
}

impl Variant {
    /// All, in the order of Table 1.
    pub const ALL: [Self; 6] = [
        Self::Naive,
        Self::Fast,
        Self::FastRb,
        Self::FastRbSd,
        Self::FastRbSw,
        Self::FastRbSdw,
    ];

    /// As the paper calls it.
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
