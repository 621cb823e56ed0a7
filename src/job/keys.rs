//! The sections and keys of a job file, in the order in which a resolved job is written.
//!
//! One list: unknown keys are detected against it, suggestions come from it, and tests compare the
//! reader, the writer and docs/JOB.md with it.

/// A section of a job file.
#[derive(Clone, Copy, Debug)]
pub struct SectionKeys {
    /// Its name, without brackets.
    pub name: &'static str,
    /// Its keys.
    pub keys: &'static [&'static str],
}

/// Every section with its keys.
pub const SECTIONS: &[SectionKeys] = &[
    SectionKeys {
        name: "corpus",
        keys: &[
            "base",
            "input",
            "exclude",
            "format",
            "id",
            "text",
            "group",
            "metadata",
            "block_mib",
            "max_document_mib",
            "on_damage",
        ],
    },
    SectionKeys {
        name: "tokens",
        keys: &[
            "rule",
            "lower_case",
            "min_length",
            "max_length",
            "numbers",
            "identifiers",
        ],
    },
    SectionKeys {
        name: "vocabulary",
        keys: &[
            "stop_words",
            "stop_top",
            "min_documents",
            "max_share",
            "max_terms",
        ],
    },
    SectionKeys {
        name: "sample",
        keys: &["fraction", "documents", "held_out"],
    },
    SectionKeys {
        name: "model",
        keys: &[
            "topics",
            "seed",
            "alpha",
            "alpha_sum",
            "eta",
            "published_eta",
            "geometry",
        ],
    },
    SectionKeys {
        name: "train",
        keys: &[
            "minibatch",
            "passes",
            "memory",
            "memory_mib",
            "online_passes",
            "burn_in",
            "sweeps",
            "step_offset",
            "step_decay",
            "prune",
            "alpha_after",
            "alpha_every",
            "average_every",
            "sample_mib",
            "evaluate_every",
            "patience",
            "tolerance",
            "checkpoint_every",
            "checkpoint_minutes",
        ],
    },
    SectionKeys {
        name: "project",
        keys: &[
            "budget",
            "method",
            "burn_in",
            "sweeps",
            "chains",
            "estimator",
            "iterations",
            "tolerance",
            "temperature",
            "threshold",
            "top",
            "topic_documents",
            "top_terms",
        ],
    },
    SectionKeys {
        name: "maxent",
        keys: &["documents", "prior_variance", "iterations", "memory_mib"],
    },
    SectionKeys {
        name: "evaluate",
        keys: &[
            "metrics",
            "split",
            "documents",
            "particles",
            "resample",
            "completion_sweeps",
            "alpha",
            "coherence_terms",
            "reference",
            "labels",
            "folds",
            "compare",
        ],
    },
    SectionKeys {
        name: "output",
        keys: &["path", "scratch"],
    },
    SectionKeys {
        name: "cluster",
        keys: &["secret_file"],
    },
    SectionKeys {
        name: "synth",
        keys: &[
            "path",
            "topics",
            "documents",
            "terms",
            "mean_length",
            "alpha_sum",
            "zipf",
            "seed",
            "words",
        ],
    },
];

/// Pairs of keys that say the same thing in two ways: an override of one replaces the other.
pub const ALTERNATIVES: &[(&str, &str, &str)] = &[
    ("sample", "fraction", "documents"),
    ("model", "alpha", "alpha_sum"),
];

/// The section of this name as the list spells it.
pub fn section(name: &str) -> Option<&'static SectionKeys> {
    SECTIONS.iter().find(|s| s.name == name)
}

/// The keys of a section; none if there is no such section.
pub fn names(section_name: &str) -> &'static [&'static str] {
    section(section_name).map_or(&[], |s| s.keys)
}

/// The sections that have a key of this name, in order.
pub fn sections_with(key: &str) -> Vec<&'static str> {
    SECTIONS
        .iter()
        .filter(|s| s.keys.contains(&key))
        .map(|s| s.name)
        .collect()
}

/// The section that was probably meant.
pub fn nearest_section(name: &str) -> Option<&'static str> {
    nearest(name, SECTIONS.iter().map(|s| s.name))
}

/// The section and key that were probably meant by `key` in `section_name`: the same word in
/// another section, before a similar one in this section.
pub fn nearest_key(section_name: &str, key: &str) -> Option<(&'static str, &'static str)> {
    let same = SECTIONS.iter().find_map(|s| {
        let found = s.keys.iter().find(|k| **k == key)?;
        Some((s.name, *found))
    });
    let home = section(section_name)?;
    same.or_else(|| nearest(key, home.keys.iter().copied()).map(|k| (home.name, k)))
}

/// A value to show for a key that has no default.
pub fn example(section_name: &str, key: &str) -> Option<&'static str> {
    match (section_name, key) {
        ("corpus", "input") => Some("[\"texts/**/*.txt\"]"),
        ("model", "topics") => Some("100"),
        ("output", "path") => Some("\"out/my-topics\""),
        ("synth", "path") => Some("\"out/planted-corpus\""),
        _ => None,
    }
}

/// The candidate most like `word`, if it is like enough to be a slip of the pen.
fn nearest(word: &str, candidates: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    const LIKE_ENOUGH: f64 = 0.5;
    let mut best: Option<(f64, &'static str)> = None;
    for candidate in candidates {
        let likeness = strsim::normalized_damerau_levenshtein(&word.to_lowercase(), candidate);
        if likeness >= LIKE_ENOUGH && best.is_none_or(|(b, _)| likeness > b) {
            best = Some((likeness, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_understood() {
        assert_eq!(
            nearest_key("train", "minibach"),
            Some(("train", "minibatch"))
        );
        assert_eq!(
            nearest_key("vocabulary", "min_docs"),
            Some(("vocabulary", "min_documents"))
        );
        assert_eq!(nearest_key("train", "topics"), Some(("model", "topics")));
        assert_eq!(nearest_key("train", "qqqqqq"), None);
        assert_eq!(nearest_section("modle"), Some("model"));
    }
}
