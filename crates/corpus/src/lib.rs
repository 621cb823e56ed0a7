#![doc = include_str!("../README.md")]

pub mod block;
pub mod boilerplate;
pub mod cells;
pub mod collection;
pub mod columns;
pub mod compression;
pub mod dates;
mod document;
pub mod draft;
pub mod encoding;
mod error;
pub mod formats;
pub mod input;
pub mod labels;
pub mod language;
pub mod markup;
pub mod memo;
pub mod minhash;
pub mod minibatches;
pub mod names;
pub mod phrases;
pub mod sample;
mod sections;
pub mod settings;
pub mod shard;
pub mod stop_words;
pub mod synth;
pub mod synth_settings;
pub mod terms;
pub mod tokenizer;
pub mod value_type;
pub mod vocabulary;
pub mod vocabulary_file;
pub mod word_file;

pub use document::{Body, DocumentStatus, RawDocument, Sections, ShardDocument};
pub use error::CorpusError;
