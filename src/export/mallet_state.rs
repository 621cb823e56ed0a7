//! MALLET's Gibbs state: α, β, and a line per token with its topic, as written by `mallet train-topics
//! --output-state`.
//!
//! ```text
//! #doc source pos typeindex type topic
//! #alpha : 0.1 0.2
//! #beta : 0.01
//! 0 a.txt 0 12 whale 1
//! ```
//!
//! A finished result does not contain the topics of single tokens. They are drawn here from the posterior of each
//! document given the model: [`SWEEPS`] Gibbs sweeps with φ fixed, of which the last is written. The draws depend
//! only on the seed and the document's number. A bag of words has no positions, so the tokens of a document are
//! listed by term.

use std::io::{BufWriter, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::Sink;
use crate::failure::Failure;
use crate::result::OpenedResult;
use corpus::ShardDocument;
use corpus::shard::Columns;
use lda::infer::sampler::Sampler;
use lda::math::random::{Stage, Stream};
use lda::model::factors::{FactorTable, Factors};

/// Sweeps over a document, the first of which is sequential.
const SWEEPS: usize = 10;

pub(super) fn write(result: &OpenedResult, sink: &Sink) -> Result<(), Failure> {
    let (model, vocabulary) = result.model()?;
    let priors = model.header.published();
    let factors = Factors::prepare(&model.parameters(0, 1), &priors, |_| true, None);
    drop(model);
    let terms = vocabulary.kept_terms().iter();
    let terms: Vec<String> = terms.map(|term| word(&term.term)).collect();
    let parts = [&factors];
    let mut drawing = Drawing {
        table: FactorTable::new(&parts),
        seed: result.manifest()?.seed,
        sampler: Sampler::default(),
        assigned: Vec::new(),
    };
    sink.file(|out| {
        let mut out = BufWriter::new(GzEncoder::new(out, Compression::default()));
        writeln!(out, "#doc source pos typeindex type topic")?;
        write!(out, "#alpha :")?;
        for alpha in &priors.alpha {
            write!(out, " {alpha}")?;
        }
        writeln!(out, "\n#beta : {}", priors.eta)?;
        result.for_each_document(Columns::WithoutTexts, |number, document| {
            let assigned = drawing.assign(number, document)?;
            let name = word(&document.source_id);
            for (place, &(term, topic)) in assigned.iter().enumerate() {
                let text = &terms[term as usize];
                writeln!(out, "{number} {name} {place} {term} {text} {topic}")?;
            }
            Ok(())
        })?;
        let out = out.into_inner().map_err(|error| error.into_error())?;
        out.finish()?;
        Ok(())
    })
}

/// Draws the topics of documents, one after the other, reusing its buffers.
struct Drawing<'a> {
    table: FactorTable<'a>,
    seed: u64,
    sampler: Sampler,
    assigned: Vec<(u32, u16)>,
}

impl Drawing<'_> {
    /// Returns the term and topic of each token of a document, terms ascending.
    fn assign(&mut self, number: u64, document: &ShardDocument) -> Result<&[(u32, u16)], Failure> {
        let bag = document.bag();
        let mut stream = Stream::keyed(self.seed, Stage::Export, 0, number);
        self.sampler.start(bag, self.table);
        for _ in 0..SWEEPS {
            let swept = self.sampler.sweep(self.table, &mut stream);
            swept.map_err(Failure::drawing("document", number))?;
        }
        let assigned = &mut self.assigned;
        assigned.clear();
        for (term, _, topics) in self.sampler.runs() {
            assigned.extend(topics.iter().rev().map(|&topic| (term, topic)));
        }
        // The sampler has the rarest term first.
        assigned.reverse();
        Ok(assigned)
    }
}

/// Makes a text one field of a line: readers split lines at white space.
fn word(text: &str) -> String {
    let filled = |c: char| if c.is_whitespace() || c.is_control() { '_' } else { c };
    if text.is_empty() { "NA".to_owned() } else { text.chars().map(filled).collect() }
}
