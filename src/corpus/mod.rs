//! The collection: the input, its conversion to bags of words, and their form on disk.
//!
//! `input` finds the files, `block` cuts them into units that any worker can parse, `reader` turns
//! a block into documents, `tokenizer` a document into terms, `phrases` joins, replaces and deletes some, `terms` counts them, `vocabulary`
//! prunes them, `shard` writes and reads the bags of words, `sample` chooses the training
//! documents.

pub mod block;
pub mod collection;
pub mod compression;
mod document;
pub mod draft;
pub mod input;
pub mod labels;
pub mod language;
pub mod minibatches;
pub mod phrases;
pub mod reader;
pub mod sample;
pub mod settings;
pub mod shard;
pub mod stop_words;
pub mod synth;
pub mod synth_settings;
pub mod terms;
pub mod tokenizer;
pub mod vocabulary;
pub mod vocabulary_file;
pub mod word_file;

pub use document::{Body, DocumentStatus, RawDocument, Sections, ShardDocument};
