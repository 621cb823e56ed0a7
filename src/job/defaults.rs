//! Every default of a job, in one place, each with its reason.
//!
//! `corpus.input`, `model.topics` and `output.path` have none: nobody can guess them.

/// `corpus.id`: what most JSON Lines and tables call it.
pub const ID: &str = "id";
/// `corpus.text`: likewise.
pub const TEXT: &str = "text";
/// `corpus.max_document_mib`: far above any book (the longest novels have 20 MiB), far below what
/// would make one document the slowest part of a run.
pub const MAX_DOCUMENT_MIB: f64 = 256.0;

/// `tokens.min_length`: of English words of two letters nearly all are function words (MALLET's
/// importer draws the same line).
pub const MIN_LENGTH: u64 = 3;
/// `tokens.max_length`: longer than the words of any dictionary; what is longer is base64 or a URL.
pub const MAX_LENGTH: u64 = 40;

/// `vocabulary.stop_words`: without a list the first topics hold nothing but function words.
pub const STOP_WORDS: &str = "en";
/// `vocabulary.min_documents`: a term in four documents says nothing about a topic, and such terms
/// are most of the vocabulary (Zipf).
pub const MIN_DOCUMENTS: u64 = 5;
/// `vocabulary.max_share`: a term in more than half of the documents does not tell them apart.
pub const MAX_SHARE: f64 = 0.5;
/// `vocabulary.max_terms`: term ids then fit in two bytes, and rarer terms moved no figure measured.
pub const MAX_TERMS: u64 = 65_536;

/// `sample.documents`: smaller collections are trained on whole; at this size the quality of online
/// training at 100 to 1000 topics was flat, and the sample still fits in memory (some 0.3 GB).
pub const SAMPLE_DOCUMENTS: u64 = 200_000;
/// `sample.held_out`: 4,000 of 200,000 documents give the figure three digits.
pub const HELD_OUT: f64 = 0.02;

/// `model.seed`: any number; the same one gives the same bytes.
pub const SEED: u64 = 1;
/// `model.alpha_sum`: measured best at 100 to 1000 topics; documents have a handful of topics.
pub const ALPHA_SUM: f64 = 5.0;

/// `train.minibatch`: between 1024 and 4096 quality is flat; 128 killed topics.
pub const MINIBATCH: u64 = 2048;
/// `train.passes`: an upper bound; `patience` usually ends training before it.
pub const PASSES: u64 = 10;
/// `train.burn_in`: after the sequential first sweep, one sweep thrown away was enough.
pub const TRAIN_BURN_IN: u64 = 1;
/// `train.sweeps`: three kept sweeps gave what five did.
pub const TRAIN_SWEEPS: u64 = 3;
/// `train.step_offset`: t_0 of the step size; small enough to forget the random start soon.
pub const STEP_OFFSET: f64 = 10.0;
/// `train.step_decay`: κ; must be above 0.5 to converge, and 0.6 kept learning longest.
pub const STEP_DECAY: f64 = 0.6;
/// `train.prune`: dropping weights below 0.3 to 0.5 of a token cost 0.01 nats at 1000 topics and
/// made rows four times shorter.
pub const PRUNE: f64 = 0.4;
/// `train.evaluate_every`: with it, evaluation is a few per cent of the time.
pub const EVALUATE_EVERY: u64 = 10;
/// `train.patience`: one evaluation without gain may be noise, three are not.
pub const PATIENCE: u64 = 3;
/// `train.tolerance`: nats per token; a fifth of the spread between seeds (±0.01).
pub const TOLERANCE: f64 = 0.002;
/// `train.checkpoint_every`: rounds; a minute or so of work at most is done again.
pub const CHECKPOINT_EVERY: u64 = 50;

/// `project.burn_in`: against a trained model two sweeps reach the posterior's bulk.
pub const PROJECT_BURN_IN: u64 = 2;
/// `project.sweeps`: soft counts of four sweeps are smoother than plain counts of forty.
pub const PROJECT_SWEEPS: u64 = 4;
/// `project.threshold`: a topic with less than 1 % of a document is within the noise of sampling.
pub const THRESHOLD: f64 = 0.01;
/// `project.top`: no limit; the threshold already bounds the rows.
pub const TOP: u64 = 0;
/// `project.topic_documents`: enough to read what a topic is about.
pub const TOPIC_DOCUMENTS: u64 = 20;
/// `project.top_terms`: what coherence is usually measured over, twice.
pub const TOP_TERMS: u64 = 20;

/// `synth.topics`: few enough that each can be looked at.
pub const SYNTH_TOPICS: u64 = 20;
/// `synth.documents`: some seconds of work.
pub const SYNTH_DOCUMENTS: u64 = 10_000;
/// `synth.terms`: a small corpus's vocabulary.
pub const SYNTH_TERMS: u64 = 5_000;
/// `synth.mean_length`: tokens; a long abstract.
pub const SYNTH_MEAN_LENGTH: f64 = 120.0;
/// `synth.alpha_sum`: two or three topics a document, so that planted topics can be told apart.
pub const SYNTH_ALPHA_SUM: f64 = 1.0;
/// `synth.zipf`: the exponent of natural language.
pub const SYNTH_ZIPF: f64 = 1.0;
