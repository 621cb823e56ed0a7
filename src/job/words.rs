//! The words that the values of keys may be, and how a setting is read from a value.

use std::path::PathBuf;

use toml::Value;

use super::kind::{is_file, number};
use crate::evaluate::settings::Metric;
use crate::knowledge::Kind;
use corpus::dates::DateUnit;
use corpus::encoding::TextEncoding;
use corpus::sample::Split;
use corpus::settings::{Format, Markup, OnDamage, StopWords, TokenRule};
use lda::infer::settings::{Estimator, Method};
use lda::model::settings::{Alpha, Geometry, LabelPrior};
use lda::train::settings::{DocumentSchedule, LocalMethod, Memory, MinibatchSize};
use lda::train::warm_start::Unassigned;

/// A setting that is read from a value; `None` if the value does not fit.
pub(super) trait Setting: Sized {
    fn read(value: &Value) -> Option<Self>;
}

/// A setting that is one of a set of words.
pub(crate) trait Worded: Copy + PartialEq + 'static {
    /// The words, each with its value.
    const WORDS: &'static [(&'static str, Self)];

    /// Returns its word.
    fn word(self) -> &'static str {
        let mut words = Self::WORDS.iter();
        let found = words.find(|(_, value)| *value == self);
        found.expect("every variant has its word").0
    }
}

/// Defines the words for a type's values, after the word for no value, if there is one.
macro_rules! words {
    ($words:ident: $type:ty $(, none $none:literal)? { $($word:literal => $value:ident),+ }) => {
        pub(super) const $words: &[&str] = &[$($none,)? $($word),+];

        impl Worded for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$value)),+];
        }

        impl Setting for $type {
            fn read(value: &Value) -> Option<Self> {
                let word = value.as_str()?;
                let mut words = Self::WORDS.iter();
                words.find(|(known, _)| *known == word).map(|(_, value)| *value)
            }
        }
    };
}

words!(FORMATS: Format, none "auto" {
    "text" => Text, "jsonl" => JsonLines, "json" => Json, "csv" => Csv, "tsv" => Tsv, "parquet" => Parquet, "arrow" => Arrow, "uci" => Uci,
    "htrc" => Htrc, "mail" => Mail, "mallet" => Mallet,
    "svmlight" => SvmLight, "vw" => Vw, "lda-c" => LdaC, "mtx" => MatrixMarket
});
words!(MARKUP: Markup { "keep" => Keep, "remove" => Remove });
words!(ON_DAMAGE: OnDamage { "fail" => Fail, "keep" => Keep });
words!(RULES: TokenRule { "words" => Words, "dictionary" => Dictionary, "letters" => Letters, "whitespace" => Whitespace });
words!(GEOMETRIES: Geometry { "mean" => Mean, "exp-psi" => ExpPsi });
words!(LABEL_PRIORS: LabelPrior { "frequency" => Frequency, "uniform" => Uniform });
words!(KNOWLEDGE: Kind, none "auto" { "constraints" => Constraints, "outline" => Outline });
words!(UNASSIGNED: Unassigned { "nothing" => Nothing, "terms" => Terms, "documents" => Documents });
words!(MEMORIES: Memory { "auto" => Auto, "on" => On, "off" => Off });
pub(super) const MINIBATCHES: &[&str] = &["auto", "norms"];
words!(LOCAL_METHODS: LocalMethod {
    "sampled" => Sampled, "smc" => Smc, "online-vb" => OnlineVb, "batch-vb" => BatchVb, "scvb0" => Scvb0,
    "cvb0" => Cvb0
});
words!(SCHEDULES: DocumentSchedule {
    "uniform" => Uniform, "influence" => Influence, "influence-draws" => InfluenceDraws, "residual" => Residual
});
words!(METHODS: Method, none "none" {
    "gibbs" => Gibbs, "gibbs-joint" => GibbsJoint, "retrain" => Retrain,
    "variational" => Variational, "cvb0" => Cvb0, "maxent" => MaxEnt,
    "naive-bayes" => NaiveBayes, "hybrid" => Hybrid
});
words!(ESTIMATORS: Estimator { "soft" => Soft, "counts" => Counts });
words!(DATE_UNITS: DateUnit, none "auto" { "day" => Day, "month" => Month, "year" => Year, "decade" => Decade });
words!(METRICS: Metric {
    "completion" => Completion, "left-to-right" => LeftToRight, "umass" => Umass, "npmi" => Npmi, "c_v" => CV
});
words!(SPLITS: Split, none "all" {
    "held_out" => HeldOut, "sample" => Sample, "projected" => Projected
});

macro_rules! plain {
    ($($type:ty),+) => {$(
        impl Setting for $type {
            fn read(value: &Value) -> Option<Self> {
                value.clone().try_into().ok()
            }
        }
    )+};
}
plain!(bool, f64, u32, u64, usize, String, PathBuf);

impl Setting for TextEncoding {
    fn read(value: &Value) -> Option<Self> {
        Self::of(value.as_str()?)
    }
}

impl Setting for MinibatchSize {
    fn read(value: &Value) -> Option<Self> {
        match value.as_str() {
            Some("norms") => Some(Self::Norms),
            _ => usize::read(value).map(Self::Documents),
        }
    }
}

impl Setting for StopWords {
    fn read(value: &Value) -> Option<Self> {
        let name = value.as_str()?;
        Some(match is_file(name) {
            true => Self::File(name.into()),
            false => Self::Language(name.into()),
        })
    }
}

impl Setting for Alpha {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Array(_) => Vec::read(value).map(Self::Vector),
            _ => number(value).map(Self::Each),
        }
    }
}

impl<T: Setting> Setting for Vec<T> {
    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::read).collect()
    }
}

/// `None` for an empty text, or for a word such as "auto" that is not a `T`.
impl<T: Setting> Setting for Option<T> {
    fn read(value: &Value) -> Option<Self> {
        Some(T::read(value).filter(|_| value.as_str() != Some("")))
    }
}
