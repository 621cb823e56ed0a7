//! How well topics separate documents: the cross-validated accuracy of a linear classifier that
//! predicts labels from topic proportions alone (Wahabzada & Kersting 2011, §5, who use a support
//! vector machine and five folds; here it is multinomial logistic regression).

use crate::math::random::{Stage, hash};
use crate::regression::{self, Examples, Fitted, RegressionError, fit};

/// How labels are predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassificationSettings {
    /// The number of folds, ≥ 2.
    pub folds: usize,
    /// Determines the assignment of documents to folds.
    pub seed: u64,
    /// How the regression of each fold is fitted.
    pub regression: regression::Settings,
}

impl Default for ClassificationSettings {
    /// Five folds, as in the paper. Proportions are at most 1, so separating classes needs large
    /// weights: the prior variance is 10⁴.
    fn default() -> Self {
        Self {
            folds: 5,
            seed: 1,
            regression: regression::Settings {
                prior_variance: 1e4,
                iterations: 500,
                tolerance: 1e-7,
                ..regression::Settings::default()
            },
        }
    }
}

/// How well labels are predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Classification {
    /// The number of distinct labels.
    pub classes: usize,
    /// The share of each fold's documents whose label is predicted correctly.
    pub accuracies: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// The standard error of the mean: their standard deviation divided by √folds.
    pub standard_error: f64,
    /// The accuracy of always predicting the most frequent label.
    pub baseline: f64,
}

/// Why labels cannot be predicted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClassificationError {
    /// Proportions, labels and folds do not fit together, or there is a single label.
    #[error("{0}")]
    Unfit(String),
    /// The regression cannot be fitted.
    #[error(transparent)]
    Regression(#[from] RegressionError),
}

/// Predicts each document's label by a regression that is fitted to the other folds.
///
/// `proportions` has a row of `topic_count` values for each document, `labels` one label of any
/// ordered type. Folds are stratified: each has its share of every label. They depend only on the
/// order of the documents, their labels and the seed.
///
/// # Errors
/// The arguments do not match, or the regression cannot be fitted.
pub fn classification<L: Ord>(
    proportions: &[f32],
    topic_count: usize,
    labels: &[L],
    settings: &ClassificationSettings,
) -> Result<Classification, ClassificationError> {
    let (values, documents) = (proportions.len(), labels.len());
    let refuse = |problem| Err(ClassificationError::Unfit(problem));
    if values != documents * topic_count || topic_count == 0 {
        return refuse(format!(
            "{values} proportions of {topic_count} topics are not one row for each of {documents} labels"
        ));
    }
    let (classes, class_count) = number(labels);
    if class_count < 2 {
        return refuse(format!(
            "the number of different labels is {class_count}, but must be at least 2"
        ));
    }
    if settings.folds < 2 || settings.folds > documents {
        return refuse(format!(
            "{documents} documents cannot be split into {} folds; use at least 2, and at most one per document",
            settings.folds
        ));
    }
    // Before the examples are made, whose targets are most of it.
    let examples = labels.len() - labels.len().div_ceil(settings.folds);
    let occurrences = examples * topic_count;
    (settings.regression).check_memory(examples, occurrences, class_count, topic_count)?;
    let folds = stratify(&classes, class_count, settings);
    let rows: Vec<&[f32]> = proportions.chunks_exact(topic_count).collect();
    let mut accuracies = Vec::with_capacity(settings.folds);
    for fold in 0..settings.folds {
        let mut examples = Examples::new(class_count);
        for index in (0..rows.len()).filter(|&index| folds[index] != fold) {
            examples.push_class(features(rows[index]), classes[index]);
        }
        let fitted = fit(&examples, &settings.regression, &mut |_| {})?;
        let members: Vec<usize> = (0..rows.len()).filter(|&i| folds[i] == fold).collect();
        let is_right = |&&index: &&usize| likeliest(&fitted, rows[index]) == classes[index];
        let right = members.iter().filter(is_right).count();
        accuracies.push(right as f64 / members.len() as f64);
    }
    Ok(summarise(accuracies, &classes, class_count))
}

fn summarise(accuracies: Vec<f64>, classes: &[usize], class_count: usize) -> Classification {
    let folds = accuracies.len() as f64;
    let mean = accuracies.iter().sum::<f64>() / folds;
    let squares: f64 = accuracies.iter().map(|a| (a - mean) * (a - mean)).sum();
    let count = |class: usize| classes.iter().filter(|&&other| other == class).count();
    let most = (0..class_count).map(count).max().unwrap_or(0);
    Classification {
        classes: class_count,
        mean,
        standard_error: (squares / (folds - 1.0) / folds).sqrt(),
        baseline: most as f64 / classes.len() as f64,
        accuracies,
    }
}

/// Returns each document's class, numbered in the order of the labels, and the number of classes.
fn number<L: Ord>(labels: &[L]) -> (Vec<usize>, usize) {
    let mut distinct: Vec<&L> = labels.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let class = |label| distinct.partition_point(|&other| other < label);
    (labels.iter().map(class).collect(), distinct.len())
}

/// Returns the fold of each document. The documents of a class are shuffled and dealt out, each
/// class continuing where the previous one ended, so that fold sizes differ by at most one.
fn stratify(
    classes: &[usize],
    class_count: usize,
    settings: &ClassificationSettings,
) -> Vec<usize> {
    let mut members = vec![Vec::new(); class_count];
    for (index, &class) in classes.iter().enumerate() {
        let key = hash(settings.seed, Stage::Folds, index as u64, 0);
        members[class].push((key, index));
    }
    let mut folds = vec![0; classes.len()];
    let mut dealt = 0;
    for mut class in members {
        class.sort_unstable();
        for (_, index) in class {
            folds[index] = dealt % settings.folds;
            dealt += 1;
        }
    }
    folds
}

fn features(row: &[f32]) -> impl Iterator<Item = (u32, f32)> + '_ {
    (0..).zip(row.iter().copied())
}

/// Returns the most probable class; ties go to the first.
fn likeliest(fitted: &Fitted, row: &[f32]) -> usize {
    let mut probabilities = Vec::new();
    fitted.predict(features(row), &mut probabilities);
    let mut best = 0;
    for (class, probability) in probabilities.iter().enumerate() {
        if *probability > probabilities[best] {
            best = class;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::draw::dirichlet;
    use crate::math::random::Stream;

    const TOPICS: usize = 4;

    /// Random proportions of `documents` documents.
    fn proportions(documents: u64) -> Vec<f32> {
        let mut all = Vec::new();
        for document in 0..documents {
            let mut stream = Stream::keyed(8, Stage::Synth, 0, document);
            let mut row = [0.5; TOPICS];
            dirichlet(&mut stream, &mut row);
            all.extend(row.map(|share| share as f32));
        }
        all
    }

    #[test]
    fn labels_that_proportions_decide_are_all_found() {
        let proportions = proportions(300);
        let mut kept = Vec::new();
        let mut labels = Vec::new();
        for row in proportions.chunks_exact(TOPICS) {
            // A margin between the classes, so that any good separating line classifies all correctly.
            if (row[0] - row[1]).abs() > 0.1 {
                kept.extend_from_slice(row);
                labels.push(if row[0] > row[1] { "sea" } else { "land" });
            }
        }
        let found = classification(&kept, TOPICS, &labels, &Default::default()).unwrap();
        assert_eq!(found.accuracies, [1.0; 5]);
        assert_eq!((found.mean, found.standard_error), (1.0, 0.0));
        assert!(found.classes == 2 && found.baseline < 0.7);
    }

    #[test]
    fn labels_that_have_nothing_to_do_with_topics_are_guessed() {
        let proportions = proportions(1000);
        let labels: Vec<u64> = (0..1000)
            .map(|index| Stream::keyed(9, Stage::Synth, 1, index).below(10).min(4))
            .collect();
        let found = classification(&proportions, TOPICS, &labels, &Default::default()).unwrap();
        let most = labels.iter().filter(|&&label| label == 4).count();
        assert_eq!((found.classes, found.baseline), (5, most as f64 / 1000.0));
        let distance = (found.mean - found.baseline).abs();
        assert!(distance < 0.05, "{found:?}");
        assert!(found.standard_error > 0.0 && found.standard_error < 0.05);
    }

    #[test]
    fn the_figures_are_those_of_the_folds() {
        let found = summarise(vec![0.5, 0.75, 1.0], &[0, 1, 1, 2], 3);
        assert_eq!((found.mean, found.baseline), (0.75, 0.5));
        // Variance 1/16, divided by three folds.
        assert!((found.standard_error - (1.0f64 / 48.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn folds_have_their_share_of_every_label_and_hang_on_the_seed() {
        let classes: Vec<usize> = (0..103).map(|n| usize::from(n % 10 == 0)).collect();
        let settings = ClassificationSettings::default();
        let folds = stratify(&classes, 2, &settings);
        for fold in 0..5 {
            let size =
                |class| (0..103).filter(|&i| folds[i] == fold && classes[i] == class).count();
            assert!((18..=19).contains(&size(0)) && (2..=3).contains(&size(1)));
            assert!((20..=21).contains(&(size(0) + size(1))));
        }
        assert_eq!(stratify(&classes, 2, &settings), folds);
        let other = ClassificationSettings { seed: 2, ..settings };
        assert_ne!(stratify(&classes, 2, &other), folds);
    }

    #[test]
    fn what_cannot_be_classified_says_why() {
        let told = |values: usize, labels: &[u8], folds: usize| {
            let settings = ClassificationSettings { folds, ..ClassificationSettings::default() };
            let proportions = vec![0.5; values];
            let error = classification(&proportions, 2, labels, &settings);
            error.unwrap_err().to_string()
        };
        assert!(told(7, &[1, 2, 3], 2).contains("7 proportions of 2 topics"));
        assert!(told(6, &[1, 1, 1], 2).contains("labels is 1,"));
        assert!(told(0, &[], 2).contains("labels is 0,"));
        assert!(told(6, &[1, 2, 2], 4).contains("3 documents cannot be split into 4 folds"));
        assert!(told(6, &[1, 2, 2], 1).contains("1 folds"));
        let labels: Vec<u32> = (0..60_000).collect();
        let many = classification(&vec![0.5; 60_000], 1, &labels, &Default::default());
        let error = many.unwrap_err().to_string();
        assert!(error.contains("60000 classes on 1 features"), "{error}");
    }
}
