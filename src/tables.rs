//! The output of a job: typed, long Parquet tables, and the protocol that makes each file complete
//! or absent.
//!
//! A table is a file: its columns (docs/FORMATS.md lists them), its check and, if it is summed while documents are
//! projected, its roll-up; and a line in [the list](TABLES). `writer` writes tables. `output` owns the output folder:
//! temporary names, publishing, the lock; `manifest` lists the files. `verify` and `digest` read everything back; `read`
//! reads tables for display.

pub(crate) mod check;
pub mod compare;
pub mod digest;
pub mod manifest;
mod metadata;
pub(crate) mod notes;
pub mod output;
pub(crate) mod parts;
pub mod phi;
pub mod projected;
pub mod read;
pub(crate) mod records;
pub(crate) mod rollup;
mod schema;
pub(crate) mod tally;
mod terms;
pub(crate) mod trend_columns;
pub(crate) mod verify;
pub(crate) mod views;
pub(crate) mod warnings;
pub(crate) mod wide;
mod writer;

use std::path::Path;

use parquet::errors::ParquetError;

pub(crate) use check::VerifyReport;
pub use digest::digest;
pub use manifest::Manifest;
pub use metadata::FileMetadata;
pub(crate) use metadata::{COMMIT, VERSION};
pub use output::Output;
pub(crate) use output::part_name;
pub use schema::Row;
pub(crate) use schema::TableSpec;
pub use verify::verify;
pub use writer::TableWriter;
pub(crate) use writer::{PartInfo, write_part};

use crate::failure::{Exit, Failure};

/// Declares the list of tables: the file of each and its row, and `summed` if it has a roll-up.
macro_rules! tables {
    ($($vis:vis $table:ident $row:ident $($summed:ident)?;)*) => {
        $( $vis mod $table; )*

        /// Every table that a job can write, by name.
        pub(crate) const TABLES: [TableSpec; [$( stringify!($table) ),*].len()] =
            [$( $table::$row::SPEC ),*];

        /// Starts the roll-ups of all tables that have one, except `drift`, of which more than the table is needed.
        pub(crate) fn roll_ups(context: &rollup::RollUpContext, start: &mut impl rollup::StartRollUp) {
            $( tables!(@start $table $($summed)? context start); )*
        }
    };
    (@start $table:ident summed $context:ident $start:ident) => { $table::roll_up($context, $start) };
    (@start $table:ident $context:ident $start:ident) => {};
}

tables! {
    pub(crate) document_scores DocumentScoreRow;
    pub(crate) document_topics DocumentTopicRow;
    pub documents DocumentRow;
    pub(crate) drift DriftRow;
    pub(crate) evaluation EvaluationRow;
    pub(crate) generations GenerationRow summed;
    pub(crate) group_topics GroupTopicRow summed;
    pub(crate) labels LabelRow;
    pub(crate) phrases PhraseRow;
    pub(crate) predictions PredictionRow;
    pub(crate) sweep SweepRow;
    pub(crate) sweep_matches SweepMatchRow;
    pub(crate) sweep_sizes SweepSizeRow;
    pub(crate) sweep_topics SweepTopicRow;
    pub(crate) topic_changes TopicChangeRow;
    pub(crate) topic_concentration TopicConcentrationRow summed;
    pub(crate) topic_correlations TopicCorrelationRow summed;
    pub(crate) topic_documents TopicDocumentRow;
    pub(crate) topic_names TopicNameRow;
    pub(crate) topic_nodes TopicNodeRow;
    pub(crate) topic_passages TopicPassageRow;
    pub(crate) topic_scores TopicScoreRow;
    pub(crate) topic_stability TopicStabilityRow;
    pub(crate) topic_term_diagnostics TopicTermDiagnosticsRow;
    pub(crate) topic_terms TopicTermRow;
    pub(crate) topic_trends TopicTrendRow summed;
    pub topics TopicRow;
    pub(crate) training_log TrainingLogRow;
    pub vocabulary VocabularyRow;
}

/// Version of the tables' columns; increases when a column changes its meaning.
const SCHEMA_VERSION: u32 = 2;

/// Converts the error that Parquet cannot read a file.
fn of_parquet(path: &Path) -> impl Fn(ParquetError) -> Failure {
    move |source| match corpus::shard::io_error(source) {
        Ok(source) => Failure::io(path)(source),
        Err(source) => {
            let message = format!("{}: {source}", path.display());
            Failure::new(Exit::Data, source).context(message)
        }
    }
}

/// Converts the error that Parquet cannot write a file.
fn unwritten(path: &Path) -> impl Fn(ParquetError) -> Failure {
    move |source| Failure::io(path)(corpus::shard::write_error(source))
}

#[cfg(test)]
mod tests;
