//! One document's proportions, by any method.

use super::hybrid::Hybrid;
use super::label_topics::LabelTopics;
use super::maxent::Classifier;
use super::mean_field::MeanField;
use super::project::Projector;
use super::settings::{InferSettings, Method};
use super::term_topics::TermTopics;
use super::{Bag, ImpossibleDraw, naive_bayes};
use crate::math::random::Stream;
use crate::model::factors::FactorTable;

/// The model that documents are inferred against; inference never changes it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The factors of all terms, in the mean geometry.
    pub table: FactorTable<'a>,
    /// The same without small entries, for CVB0.
    pub topics: &'a TermTopics,
    /// The classifier that some methods start from ([`Method::needs_classifier`]).
    pub classifier: Option<&'a Classifier>,
}

const NO_CLASSIFIER: &str = "a classifier, which the method needs";

/// Inference of proportions, document after document, with the same buffers.
#[derive(Clone, Debug, Default)]
pub struct Inferrer {
    projector: Projector,
    mean_field: MeanField,
    hybrid: Hybrid,
    proportions: Vec<f32>,
}

impl Inferrer {
    /// Infers as [`infer`](Self::infer) does, and also returns the α_k that the document was inferred with: with
    /// CVB0 and `labels`, the document has its own.
    ///
    /// # Panics
    /// Panics as `infer` does.
    ///
    /// # Errors
    /// Returns the errors of `infer`.
    pub fn infer_labels<'s>(
        &'s mut self,
        bag: Bag<'_>,
        target: Target<'s>,
        labels: Option<&LabelTopics>,
        settings: &InferSettings,
        stream: &mut Stream,
    ) -> Result<(&'s [f32], &'s [f32]), ImpossibleDraw> {
        let (table, topics) = (target.table, target.topics);
        match (settings.method, labels) {
            (Method::Cvb0, Some(labels)) => {
                (self.mean_field).cvb0_of_labels(bag, (table, topics), labels, settings)
            }
            _ => {
                let proportions = self.infer(bag, target, settings, stream)?;
                Ok((proportions, &table.smoothing().alpha))
            }
        }
    }

    /// Returns θ_d for each topic, given the terms of `bag` that have factors; adds up to 1. Methods that infer
    /// documents together (`train::joint`) are `Gibbs` here, because there is only one document.
    ///
    /// # Panics
    /// Panics if the method needs a classifier and there is none.
    ///
    /// # Errors
    /// Returns [`ImpossibleDraw`] if the model has no positive, finite factor for a term.
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
            Method::Cvb0 => self.mean_field.cvb0(bag, (table, target.topics), settings),
            Method::NaiveBayes => {
                naive_bayes::infer(bag, table, &mut self.proportions);
                Ok(&self.proportions)
            }
            Method::MaxEnt => {
                let classifier = target.classifier.expect(NO_CLASSIFIER);
                classifier.predict(bag, settings.temperature, &mut self.proportions);
                Ok(&self.proportions)
            }
            Method::Hybrid => {
                let classifier = target.classifier.expect(NO_CLASSIFIER);
                self.hybrid.infer(bag, table, classifier, settings, stream)
            }
        }
    }
}
