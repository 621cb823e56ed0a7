//! The maximum content of a report. Its size is bounded by these, by `topic_trends` and by the number of topics, K: the
//! more topics, the less each shows, down to a minimum.

/// Metadata columns that are shown.
pub(super) const MOST_COLUMNS: usize = 8;
/// Points of the training curve.
pub(super) const CURVE_POINTS: usize = 400;
/// Groups of `drift`.
pub(super) const DRIFT_GROUPS: usize = 20;
/// Nearest topics of each.
pub(super) const NEAREST: usize = 6;
/// Terms, with those that no topic shows.
pub(super) const MOST_TERMS: usize = 8_000;
/// Topics with most of a term's uses.
pub(super) const MOST_HOLDERS: usize = 3;
/// The share of a term's uses that such a topic has at least.
pub(super) const LEAST_HELD: f64 = 0.05;
/// Shares of topics in trends that have intervals: the largest of all trends.
pub(super) const MOST_INTERVALS: usize = 7_000;
/// Documents sought for each value of a trend, and the most that its view lists.
pub(super) const VALUE_DOCUMENTS: usize = 50;
/// Parts of `documents` in which they are sought.
pub(super) const VALUE_PARTS: usize = 100;
/// Topics of a document.
pub(super) const DOCUMENT_TOPICS: usize = 4;
/// Names of input files.
pub(super) const MOST_INPUTS: usize = 5;
/// Topics that a warning names.
pub(super) const NAMED_TOPICS: usize = 200;
/// Characters of a document's id.
pub(super) const ID_CHARS: usize = 160;
/// Characters of any other text.
pub(super) const NAME_CHARS: usize = 60;

/// The bounds that depend on the number of topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Terms of a topic at each λ.
    pub(crate) terms: usize,
    /// Documents of a topic.
    pub(crate) documents: usize,
    /// Of these, documents with a passage, which takes some 400 bytes.
    pub(crate) passages: usize,
    /// Documents that values of trends have besides those of topics, which take some 90 bytes each.
    pub(crate) value_documents: usize,
}

impl Bounds {
    /// Returns the bounds of a report with K topics.
    pub(crate) fn of(topics: usize) -> Self {
        let share = |budget: usize| budget / topics.max(1);
        Self {
            terms: share(30_000).clamp(10, 25),
            documents: share(2_000).clamp(5, 20),
            passages: share(750).clamp(2, 20),
            value_documents: share(150_000).clamp(500, 3_000),
        }
    }
}

/// Returns the text, or its beginning and an ellipsis if it has more than `most` characters.
pub(crate) fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Returns the text, or its beginning, an ellipsis and its end if it has more than `most` characters.
pub(super) fn clip_middle(text: &str, most: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= most {
        return text.to_owned();
    }
    let (before, after) = ((most - 1) / 2, characters.len() - most / 2);
    characters[..before].iter().chain(&['…']).chain(&characters[after..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_topics_show_less_each_and_never_nothing() {
        let shown = |topics| {
            let bounds = Bounds::of(topics);
            (bounds.terms, bounds.documents, bounds.passages, bounds.value_documents)
        };
        assert_eq!(shown(0), (25, 20, 20, 3000));
        assert_eq!(shown(100), (25, 20, 7, 1500));
        assert_eq!(shown(300), (25, 6, 2, 500));
        assert_eq!(shown(2000), (15, 5, 2, 500));
        assert_eq!(shown(65_535), (10, 5, 2, 500));
    }

    #[test]
    fn long_texts_are_clipped_between_characters() {
        assert_eq!(clip("naïve", 5), "naïve");
        assert_eq!(clip("naïve", 4), "naï…");
        assert_eq!(clip("", 4), "");
        assert_eq!(clip_middle("naïve", 5), "naïve");
        assert_eq!(clip_middle("naïvely", 5), "na…ly");
        assert_eq!(clip_middle("naïvely", 4), "n…ly");
    }
}
