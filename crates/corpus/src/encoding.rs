//! Texts that are not UTF-8: the encoding that a job names for them, and a guess at it.

use std::borrow::Cow;
use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::language::{UNDETERMINED, identify};

/// The encoding of texts that are not valid UTF-8. By default UTF-8: invalid bytes are replaced by U+FFFD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct TextEncoding(&'static Encoding);

impl Default for TextEncoding {
    fn default() -> Self {
        Self(UTF_8)
    }
}

impl TryFrom<String> for TextEncoding {
    type Error = &'static str;

    fn try_from(label: String) -> Result<Self, Self::Error> {
        Self::of(&label).ok_or("no encoding that contains ASCII has this label")
    }
}

impl TextEncoding {
    /// Returns the encoding with this label in the WHATWG Encoding Standard, such as "latin1"; `None` if there is none,
    /// or if it does not contain ASCII (UTF-16, ISO-2022-JP): lines and commas could not be found in it.
    pub fn of(label: &str) -> Option<Self> {
        let found = Encoding::for_label(label.as_bytes())?;
        found.is_ascii_compatible().then_some(Self(found))
    }

    /// Returns its name, the same for all its labels: "windows-1252" for "latin1".
    pub fn name(self) -> String {
        self.0.name().to_ascii_lowercase()
    }

    /// Decodes bytes, as UTF-8 if they are valid; also returns whether some of them were replaced by U+FFFD.
    pub fn decode(self, bytes: &[u8]) -> (Cow<'_, str>, bool) {
        match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), false),
            Err(_) => self.0.decode_without_bom_handling(bytes),
        }
    }

    /// Decodes a whole file, in the encoding of its byte order mark (UTF-8 or UTF-16) if it has one.
    pub fn decode_file(self, bytes: &[u8]) -> (Cow<'_, str>, bool) {
        match Encoding::for_bom(bytes) {
            Some((encoding, mark)) if encoding != UTF_8 => {
                encoding.decode_without_bom_handling(&bytes[mark..])
            }
            Some((_, mark)) => self.decode(&bytes[mark..]),
            None => self.decode(bytes),
        }
    }
}

/// Languages that are written in windows-1252 where they are not in UTF-8.
const WESTERN: [&str; 16] = [
    "af", "ca", "da", "de", "en", "es", "fi", "fr", "id", "it", "jv", "nb", "nl", "pt", "sv", "tl",
];

/// Bytes of a text whose language is identified.
const LANGUAGE_BYTES: usize = 4_000;

/// A guess at the encoding of texts that are not UTF-8.
pub struct EncodingGuess {
    detector: EncodingDetector,
    /// Texts that were added.
    texts: usize,
    /// Those in Western languages, minus those in others.
    western: i64,
    /// Bytes other than ASCII that stand alone, minus runs of them.
    alone: i64,
}

impl fmt::Debug for EncodingGuess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EncodingGuess").field(&self.best()).finish()
    }
}

impl Default for EncodingGuess {
    fn default() -> Self {
        Self {
            detector: EncodingDetector::new(Iso2022JpDetection::Deny),
            texts: 0,
            western: 0,
            alone: 0,
        }
    }
}

impl EncodingGuess {
    /// Adds the start of a text, unless it is UTF-8, or UTF-16 with a mark.
    pub fn add(&mut self, bytes: &[u8]) {
        if std::str::from_utf8(bytes).is_err() && !is_utf_16(bytes) {
            self.detector.feed(bytes, false);
            let start = String::from_utf8_lossy(&bytes[..bytes.len().min(LANGUAGE_BYTES)]);
            self.texts += 1;
            let runs = bytes.split(u8::is_ascii).map(<[u8]>::len);
            let alone = |run| match run {
                0 => 0,
                1 => 1,
                _ => -1,
            };
            self.alone += runs.map(alone).sum::<i64>();
            self.western += match identify(&start) {
                UNDETERMINED => 0,
                code if WESTERN.contains(&code) => 1,
                _ => -1,
            };
        }
    }

    /// Returns the likeliest encoding of all the texts that were added; `None` without any.
    ///
    /// It is windows-1252 if most are in Western languages, with a letter or symbol here and there: one kind of them, such
    /// as £, says less than the words around it.
    pub fn best(&self) -> Option<TextEncoding> {
        let best = if self.western > 0 && self.alone > 0 {
            WINDOWS_1252
        } else {
            self.detector.guess(None, Utf8Detection::Deny)
        };
        (self.texts > 0).then_some(TextEncoding(best))
    }
}

/// Returns whether a file begins with a byte order mark of UTF-16.
pub fn is_utf_16(start: &[u8]) -> bool {
    Encoding::for_bom(start).is_some_and(|(encoding, _)| encoding != UTF_8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In windows-1252, windows-1251 and Shift_JIS.
    const WESTERN: &[u8] = b"O\xf9 est le caf\xe9 ? \x93L\xe0-bas\x94, dit-elle.";
    const RUSSIAN: &[u8] = b"\xc2\xf1\xe5 \xf1\xf7\xe0\xf1\xf2\xeb\xe8\xe2\xfb\xe5 \xf1\xe5\xec\xfc\xe8 \xef\xee\xf5\xee\xe6\xe8";
    const JAPANESE: &[u8] = b"\x93\xfa\x96{\x8c\xea\x82\xcc\x95\xb6\x8f\xcd\x82\xc5\x82\xb7\x81B";

    #[test]
    fn labels_of_encodings_with_ascii_are_known_by_one_name() {
        let name = |label| TextEncoding::of(label).map(TextEncoding::name);
        assert_eq!(name("Latin1").as_deref(), Some("windows-1252"));
        assert_eq!(name("utf8"), Some(TextEncoding::default().name()));
        for label in ["utf-16", "iso-2022-jp", "ebcdic", ""] {
            assert_eq!(name(label), None, "{label}");
        }
    }

    #[test]
    fn what_is_utf_8_stays_and_the_rest_is_decoded() {
        let western = TextEncoding::of("latin1").unwrap();
        assert_eq!(western.decode("café".as_bytes()), ("café".into(), false));
        let text = "Où est le café ? “Là-bas”, dit-elle.";
        assert_eq!(western.decode(WESTERN), (text.into(), false));
        let (text, is_replaced) = TextEncoding::default().decode(b"caf\xe9 noir");
        assert_eq!((&text[..], is_replaced), ("caf\u{fffd} noir", true));
        let (text, is_replaced) = TextEncoding::of("gbk").unwrap().decode(b"a\xff");
        assert_eq!((&text[..], is_replaced), ("a\u{fffd}", true));
    }

    #[test]
    fn a_byte_order_mark_says_what_a_file_is_in() {
        let western = TextEncoding::of("latin1").unwrap();
        let decoded = |bytes| western.decode_file(bytes).0.into_owned();
        assert_eq!(decoded(b"\xff\xfec\0a\0f\0\xe9\0"), "café");
        assert_eq!(decoded(b"\xfe\xff\0c\0a\0f\0\xe9"), "café");
        assert_eq!(decoded(b"\xef\xbb\xbfcaf\xc3\xa9"), "café");
        assert_eq!(decoded(b"caf\xe9"), "café");
    }

    #[test]
    fn encodings_are_guessed_from_what_is_not_utf_8() {
        for (bytes, name) in
            [(WESTERN, "windows-1252"), (RUSSIAN, "windows-1251"), (JAPANESE, "shift_jis")]
        {
            let mut guess = EncodingGuess::default();
            guess.add("größer als der Rest, und dennoch ohne Belang".as_bytes());
            guess.add(bytes);
            assert_eq!(guess.best().unwrap().name(), name);
        }
    }

    #[test]
    fn one_kind_of_symbol_does_not_outweigh_the_words_around_it() {
        let texts = [
            "The captain of the ship paid \u{a3}5.00 for the whales that were seen in the harbour.",
            "It was na\u{ef}ve of the captain to sail with half a crew and without any bread.",
            "The crew ate \u{bd} of the bread that they had bought for \u{a5}900 in the harbour.",
            "C\u{e6}sar was the name of the ship, and her captain had never been to the harbour.",
            "Der Kapit\u{e4}n des Schiffes hatte den Hafen noch nie gesehen, und er wusste es nicht.",
            "Le capitaine du bateau \u{ea}tait dans le port, et les marins ne le savaient pas encore.",
        ];
        for text in texts {
            let mut guess = EncodingGuess::default();
            let bytes: Vec<u8> = text.chars().map(|c| c as u8).collect();
            for _ in 0..20 {
                guess.add(&bytes);
            }
            assert_eq!(guess.best().unwrap().name(), "windows-1252", "{text}");
        }
        let russian = b"The captain of the ship was called \xcf\xe5\xf2\xf0 \xc8\xe2\xe0\xed\xee\xe2 by the crew in the harbour.";
        let mut guess = EncodingGuess::default();
        guess.add(russian);
        assert_eq!(guess.best().unwrap().name(), "windows-1251");
        let polish = b"Kapitan statku zap\xb3aci\xb3 za chleb, kt\xf3rego nie by\xb3o, i nie widzia\xb3 portu.";
        let mut guess = EncodingGuess::default();
        guess.add(polish);
        assert_eq!(guess.best().unwrap().name(), "windows-1250");
        assert_eq!(EncodingGuess::default().best(), None);
    }
}
