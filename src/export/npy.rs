//! The model as NumPy arrays: `phi.npy` (K × V), `alpha.npy` (K), `terms.txt`; `labels.txt` if topics are labels; and,
//! if documents were projected, θ as the three arrays of SciPy's `csr_array`, with the proportions in the table
//! `document_topics`, and `documents.txt`, the documents' ids line by line.
//!
//! ```text
//! theta = csr_array((data, indices, indptr), shape=(documents, K))
//! ```

use std::io::{self, Write};

use super::gensim::line;
use super::{Sink, Source};
use crate::failure::Failure;
use crate::tables::records::each_value;

const FILES: [&str; 8] = [
    "alpha.npy",
    "documents.txt",
    "labels.txt",
    "phi.npy",
    "terms.txt",
    "theta_data.npy",
    "theta_indices.npy",
    "theta_indptr.npy",
];

pub(super) fn write(source: &Source, sink: &Sink) -> Result<(), Failure> {
    sink.check(&FILES)?;
    let [alpha, documents, labels, phi, terms, data, indices, indptr] = FILES;
    sink.named(terms, |out| {
        let terms = source.terms()?;
        terms.iter().try_for_each(|term| Ok(writeln!(out, "{term}")?))
    })?;
    write_labels(source, sink, labels)?;
    let model = source.phi()?;
    sink.named(alpha, |out| {
        header(out, "<f8", &[model.alpha.len() as u64])?;
        let mut alphas = model.alpha.iter();
        alphas.try_for_each(|alpha| Ok(out.write_all(&alpha.to_le_bytes())?))
    })?;
    sink.named(phi, |out| {
        header(out, "<f4", &[model.topics.len() as u64, model.vocabulary_size as u64])?;
        let mut row = Vec::new();
        for topic in &model.topics {
            model.dense(topic, &mut row);
            for weight in &row {
                out.write_all(&weight.to_le_bytes())?;
            }
        }
        Ok(())
    })?;
    drop(model);
    write_theta(source, sink, [documents, data, indices, indptr])
}

/// Writes θ and the documents' ids to files of these names, if documents were projected.
fn write_theta(
    source: &Source,
    sink: &Sink,
    [documents, data, indices, indptr]: [&str; 4],
) -> Result<(), Failure> {
    let Some(theta) = source.table("document_topics")? else {
        return Ok(());
    };
    let ids = source.require("documents")?;
    sink.named(documents, |out| {
        each_value(ids.path(), "source_id", |id: String| Ok(writeln!(out, "{}", line(&id))?))
    })?;
    let entries = source.rows("document_topics");
    sink.named(data, |out| {
        header(out, "<f4", &[entries])?;
        each_value(theta.path(), "weight", |weight: f32| Ok(out.write_all(&weight.to_le_bytes())?))
    })?;
    sink.named(indices, |out| {
        header(out, "<i4", &[entries])?;
        each_value(theta.path(), "topic", |topic: i32| Ok(out.write_all(&topic.to_le_bytes())?))
    })?;
    sink.named(indptr, |out| {
        header(out, "<i8", &[source.documents() + 1])?;
        let (mut next, mut before) = (0, 0_u64);
        // For each document, the number of entries before it; at the end, of all.
        each_value(theta.path(), "doc_id", |document: i64| {
            while next <= document as u64 {
                out.write_all(&before.to_le_bytes())?;
                next += 1;
            }
            before += 1;
            Ok(())
        })?;
        while next <= source.documents() {
            out.write_all(&before.to_le_bytes())?;
            next += 1;
        }
        Ok(())
    })
}

/// Writes the label of each topic to a line of the file `name`, if topics are labels.
fn write_labels(source: &Source, sink: &Sink, name: &str) -> Result<(), Failure> {
    let Some(table) = source.table("labels")? else {
        return Ok(());
    };
    sink.named(name, |out| {
        each_value(table.path(), "label", |label: String| Ok(writeln!(out, "{}", line(&label))?))
    })
}

/// Writes the header of version 1.0, padded so that the values begin at a multiple of 64 bytes.
fn header(out: &mut impl Write, kind: &str, shape: &[u64]) -> io::Result<()> {
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    const BEFORE: usize = 10;
    let length = (BEFORE + text.len() + 1).next_multiple_of(64) - BEFORE;
    text.push_str(&" ".repeat(length - text.len() - 1));
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(length as u16).to_le_bytes())?;
    writeln!(out, "{text}")
}
