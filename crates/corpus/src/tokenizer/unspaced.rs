//! Scripts without spaces between words, for which ICU4X has dictionaries.

/// The number of characters that is enough for a word of these scripts: most words of Chinese have two.
pub(super) const MIN_LENGTH: usize = 2;

/// Returns whether a character belongs to such a script: Chinese, Japanese, Thai, Lao, Burmese or Khmer.
pub fn is_unspaced(c: char) -> bool {
    matches!(
        c,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3031}'..='\u{303c}'
            | '\u{3041}'..='\u{30ff}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{a9e0}'..='\u{a9ff}'
            | '\u{aa60}'..='\u{aa7f}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Returns whether most letters of a text belong to such scripts.
pub fn is_most_of(text: &str) -> bool {
    let letters = || text.chars().filter(|c| c.is_alphabetic());
    2 * letters().filter(|&c| is_unspaced(c)).count() > letters().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_with_spaces_are_others() {
        for unspaced in
            ["漢字", "ひらがな", "カタカナ", "ไทย", "ລາວ", "ភាសាខ្មែរ", "မြန်မာ", "々〆", "𠮷"]
        {
            let is_letter = |c: &char| c.is_alphanumeric();
            assert!(unspaced.chars().filter(is_letter).any(is_unspaced), "{unspaced}");
            assert!(is_most_of(unspaced), "{unspaced}");
        }
        for spaced in [
            "English",
            "été",
            "русский",
            "한국어",
            "हिन्दी",
            "עברית",
            "العربية",
            "ქართული",
            "Tiếng Việt",
            "བོད་",
        ] {
            assert!(!spaced.contains(is_unspaced), "{spaced}");
        }
        assert!(!is_most_of("the word 漢字 in English") && !is_most_of(""));
    }
}
