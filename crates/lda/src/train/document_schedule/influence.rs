//! isLDA (Wahabzada & Kersting 2011, §3): every document once a pass, drawn without replacement with p(d) ∝ Σ_w n_dw²
//! (Eq. 3). Documents ascend by E/p(d), with E exponential (Efraimidis & Spirakis 2006).

use super::{DocumentSchedule, squares};
use crate::infer::Bag;
use crate::math::random::{Stage, Stream};
use crate::math::special::ln;

/// Influential documents earlier.
pub const SCHEDULE: DocumentSchedule = DocumentSchedule {
    name: "influence",
    doc: "visits each document once per pass, those with a large Σ n² earlier",
    order: Some(order),
    draw: None,
};

fn order([seed, document]: [u64; 2], bag: Bag<'_>) -> f64 {
    let mut stream = Stream::keyed(seed, Stage::Minibatch, 0, document);
    let exponential = -ln(stream.uniform_positive());
    ln(exponential.max(f64::MIN_POSITIVE)) - ln(squares(bag).max(1.0))
}
