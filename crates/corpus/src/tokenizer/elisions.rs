//! Elided words of French, Italian, Catalan and Occitan before an apostrophe: `l'état`, `dell'arte`.

/// Articles, prepositions, pronouns and conjunctions before their apostrophe, without accents, sorted.
const ELIDED: [&str; 33] = [
    "agl", "all", "anch", "c", "coll", "com", "cos", "d", "dagl", "dall", "degl", "dell", "dov",
    "gl", "j", "jusqu", "l", "lorsqu", "m", "n", "negl", "nell", "pell", "puisqu", "qu", "quell",
    "quest", "quoiqu", "s", "sugl", "sull", "t", "un",
];

/// Returns the word without elided words before it.
pub(super) fn without(mut word: &str) -> &str {
    while let Some((before, after)) = word.split_once(['\'', '\u{2019}', '\u{2bc}']) {
        let is_elided = ELIDED.iter().any(|elided| elided.eq_ignore_ascii_case(before));
        if !is_elided || after.is_empty() {
            break;
        }
        word = after;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elided_words_are_dropped_and_compounds_kept() {
        for (word, expected) in [
            ("l'état", "état"),
            ("L’État", "État"),
            ("jusqu'à", "à"),
            ("qu'l'on", "on"),
            ("dell'arte", "arte"),
            ("un'altra", "altra"),
            ("aujourd'hui", "aujourd'hui"),
            ("presqu'île", "presqu'île"),
            ("o'neill", "o'neill"),
            ("l'", "l'"),
            ("dell", "dell"),
        ] {
            assert_eq!(without(word), expected);
        }
        assert!(ELIDED.is_sorted());
    }
}
