//! Whether terms look like words.

/// The fewest letters of a word that must have a vowel, and of one letter in a row that no word has.
const LETTERS: usize = 4;

/// Whether a term looks like a piece of encoded or damaged text: letters mixed with digits or signs, other than a number
/// at the end, no vowel among at least four letters of the Latin script, or a letter four times in a row. Some words do
/// too (`3d`, `html`), so only many such terms together say anything.
pub(super) fn is_rubbish(term: &str) -> bool {
    term.split(['_', '-', '.', ' ', '\'', '’']).any(|part| {
        let part = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let letters: Vec<char> = part.chars().filter(|c| c.is_alphabetic()).collect();
        // Signs of other scripts belong to their words.
        let is_sign = |c: char| c.is_ascii() && !c.is_ascii_alphabetic();
        let is_mixed = !letters.is_empty() && part.contains(is_sign);
        let is_latin = letters.iter().all(char::is_ascii_alphabetic);
        let has_vowel = letters.iter().any(|c| "aeiouyAEIOUY".contains(*c));
        let repeats = letters.windows(LETTERS).any(|run| run.iter().all(|c| *c == run[0]));
        is_mixed || repeats || (is_latin && letters.len() >= LETTERS && !has_vowel)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_lines_are_no_words() {
        for term in ["max>ax", "g9v", "1d9l", "bhjn", "aaaa", "xxxxxx", "a86f", "34u", "q_9x"] {
            assert!(is_rubbish(term), "{term}");
        }
        let words = "wm_paint win32 dword window l'homme e-mail 1995 rhythm str ab état świat слово ни 東京 Größe हिन्दी gtk u.s";
        let words = words.split(' ').chain(["new york", "o'neill", ""]);
        words.for_each(|term| assert!(!is_rubbish(term), "{term}"));
    }
}
