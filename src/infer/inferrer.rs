//! One document's proportions by whatever method a job asks for.

use super::mean_field::MeanField;
use super::project::Projector;
use super::settings::{InferSettings, Method};
use super::{Bag, ImpossibleDraw, naive_bayes};
use crate::math::random::Stream;
use crate::model::factors::FactorTable;

/// What documents are inferred against; never changed by it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The factors of all terms, in the mean geometry.
    pub table: FactorTable<'a>,
}

/// Infers proportions, document after document, with the same buffers.
#[derive(Clone, Debug, Default)]
pub struct Inferrer {
    projector: Projector,
    mean_field: MeanField,
    proportions: Vec<f32>,
}

impl Inferrer {
    /// θ_d for each topic, given the terms of `bag` that have factors; adds up to 1. Methods that
    /// take documents together infer one alone by sampling it.
    ///
    /// # Errors
    /// [`ImpossibleDraw`] if the model holds no positive, finite factor for a term.
    pub fn infer(
        &mut self,
        bag: Bag<'_>,
        target: Target<'_>,
        settings: &InferSettings,
        stream: &mut Stream,
    ) -> Result<&[f32], ImpossibleDraw> {
        let table = target.table;
        match settings.method {
            Method::Gibbs | Method::GibbsJoint | Method::Retrain => {
                self.projector.infer(bag, table, settings, stream)
            }
            Method::Variational => self.mean_field.variational(bag, table, settings),
            Method::Cvb0 => self.mean_field.cvb0(bag, table, settings),
            Method::NaiveBayes => {
                naive_bayes::infer(bag, table, &mut self.proportions);
                Ok(&self.proportions)
            }
            Method::MaxEnt | Method::Hybrid => todo!(),
        }
    }
}
