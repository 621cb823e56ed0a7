//! The tokenizer against `unicode-segmentation` over whole texts, and case by case.

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::*;

fn settings(rule: TokenRule) -> TokenSettings {
    TokenSettings {
        rule,
        lower_case: false,
        min_length: 1,
        max_length: usize::MAX,
        numbers: true,
        addresses: true,
        ..TokenSettings::DEFAULT
    }
}

fn tokens(settings: &TokenSettings, text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    Tokenizer::new(settings).tokens(text, &mut |token| tokens.push(token.to_owned()));
    tokens
}

fn words(text: &str) -> Vec<String> {
    tokens(&TokenSettings { lower_case: true, ..settings(TokenRule::Words) }, text)
}

/// Tokenizes the whole text with the crates, as the settings define it.
fn naive(rule: TokenRule, text: &str) -> Vec<String> {
    let kept = text.chars().filter(|&c| !is_ignorable(c));
    let usual = kept.map(|c| if is_variant(c) { c.nfkc().collect() } else { String::from(c) });
    let text: String = usual.collect::<String>().nfc().collect();
    let words: Vec<&str> = match rule {
        TokenRule::Words => text.unicode_words().map(str::trim).collect(),
        TokenRule::Dictionary => dictionary_words(&text).map(str::trim).collect(),
        TokenRule::Whitespace => text.split_whitespace().collect(),
        TokenRule::Letters => text.split(|c: char| !c.is_alphabetic() && !c.is_numeric()).collect(),
    };
    let is_around = |c| rule != TokenRule::Whitespace && c == '_';
    words
        .iter()
        .map(|w| w.trim_matches(is_around))
        .filter(|w| !w.is_empty())
        .map(|w| w.replace(['\u{2019}', '\u{2bc}'], "'").replace('ſ', "s"))
        .map(|w| w.nfc().collect())
        .collect()
}

/// Characters of every word-break class and some more, to combine rules.
const MIXTURE: &str = "[ab1_.,:;'\" \\-<\n\r\t()éß\u{301}\u{308}\u{345}\u{338}’‘“—·…\u{200D}\
    \u{AD}\u{FEFF}\u{2003}\u{A0}\u{85}\u{3000}אב״カーひ漢字한\u{1100}\u{1161}\u{11A8}٣२\
    क्षिИжΣσ\u{37E}\u{387}Å\u{212B}👍👩\u{1F3FD}🇮🇹‿，．]{0,24}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn ascii_agrees_with_the_crate(text in "[\\x00-\\x7f]{0,60}") {
        for rule in [TokenRule::Words, TokenRule::Letters, TokenRule::Whitespace] {
            prop_assert_eq!(tokens(&settings(rule), &text), naive(rule, &text));
        }
    }

    #[test]
    fn dense_ascii_agrees_with_the_crate(text in "[ab19_.,:;' -]{0,40}") {
        let rule = TokenRule::Words;
        prop_assert_eq!(tokens(&settings(rule), &text), naive(rule, &text));
    }

    #[test]
    fn mixtures_agree_with_the_crate(text in MIXTURE) {
        for rule in [TokenRule::Words, TokenRule::Letters, TokenRule::Whitespace] {
            prop_assert_eq!(tokens(&settings(rule), &text), naive(rule, &text));
        }
        let spaced: String = text.chars().filter(|&c| !unspaced::is_unspaced(c)).collect();
        let words = |rule| tokens(&settings(rule), &spaced);
        prop_assert_eq!(words(TokenRule::Dictionary), words(TokenRule::Words));
    }

    #[test]
    fn between_spaces_a_dictionary_changes_nothing(text in "[ab1_.,:;' éß\u{301}’“—…\u{AD}אבИжΣσ한국क्षि٣👍]{0,24}") {
        let words = |rule| tokens(&settings(rule), &text);
        prop_assert_eq!(words(TokenRule::Dictionary), words(TokenRule::Words));
    }

    #[test]
    fn any_text_agrees_with_the_crate(text in "\\PC{0,40}") {
        for rule in [TokenRule::Words, TokenRule::Letters, TokenRule::Whitespace] {
            prop_assert_eq!(tokens(&settings(rule), &text), naive(rule, &text));
        }
    }

    #[test]
    fn tokens_are_nfc_and_of_lawful_length(
        text in MIXTURE, identifiers: bool, numbers: bool, lower_case: bool,
    ) {
        let settings = TokenSettings {
            min_length: 2, max_length: 4, identifiers, numbers, lower_case,
            ..settings(TokenRule::Words)
        };
        for token in tokens(&settings, &text) {
            prop_assert!((2..=4).contains(&token.chars().count()));
            prop_assert_eq!(token.nfc().collect::<String>(), token.clone());
            prop_assert!(numbers || token.chars().any(char::is_alphabetic));
        }
    }
}

#[test]
fn words_without_spaces_are_those_of_a_dictionary() {
    let settings = settings(TokenRule::Dictionary);
    for (text, words) in [
        ("经济发展需要科技创新", "经济 发展 需要 科技 创新"),
        ("公園を散歩する、the ship’s log", "公園 を 散歩 する the ship's log"),
        ("ไปเดินเล่นที่สวน", "ไป เดิน เล่น ที่ สวน"),
        ("don't 한국어 문서 42", "don't 한국어 문서 42"),
    ] {
        assert_eq!(tokens(&settings, text).join(" "), words);
    }
}

#[test]
fn each_script_of_a_text_has_its_words_and_their_lengths() {
    let job = |rule| TokenSettings { rule, ..TokenSettings::DEFAULT };
    let text = "The UN on 经济发展: of it 的 ពាក្យខ្មែរ ພາສາລາວ don't";
    assert_eq!(
        tokens(&job(TokenRule::Dictionary), text).join(" "),
        "the 经济 发展 ពាក្យ ខ្មែរ ພາສາ ລາວ don't"
    );
    let uax29 = tokens(&job(TokenRule::Words), "The UN on 经济发展 don't");
    assert_eq!(uax29.join(" "), "the don't");
    let long = TokenSettings { min_length: 5, ..job(TokenRule::Dictionary) };
    assert_eq!(tokens(&long, "four 经济 fives 한국"), ["经济", "fives"]);
}

#[test]
fn spaces_are_no_part_of_a_word() {
    let text = "a\u{2003}  \u{345} b";
    assert_eq!(tokens(&settings(TokenRule::Words), text), ["a", "\u{345}", "b"]);
}

#[test]
fn every_ascii_pair_and_triple_agrees_with_the_crate() {
    let settings = settings(TokenRule::Words);
    for a in 0..128_u8 {
        for b in 0..128_u8 {
            for frame in ["", "x", "5", "_"] {
                let text = format!("{frame}{}{}{frame}", a as char, b as char);
                assert_eq!(tokens(&settings, &text), naive(TokenRule::Words, &text), "{text:?}");
            }
        }
    }
}

#[test]
fn underscores_around_words_do_not_belong_to_them() {
    let text = "_the_ __init__ snake_case_ _été ___";
    assert_eq!(words(text), ["the", "init", "snake_case", "été"]);
    let whole = tokens(&settings(TokenRule::Whitespace), text);
    assert_eq!(whole, ["_the_", "__init__", "snake_case_", "_été", "___"]);
}

#[test]
fn apostrophes_belong_to_words() {
    assert_eq!(words("Don't, don’t; the ships' 'tis"), ["don't", "don't", "the", "ships", "tis"]);
    assert_eq!(words("library’s l'eau dell’arte"), ["library's", "l'eau", "dell'arte"]);
    let letters = TokenSettings { lower_case: true, ..settings(TokenRule::Letters) };
    assert_eq!(tokens(&letters, "Don’t x2"), ["don", "t", "x2"]);
}

#[test]
fn both_forms_of_a_letter_are_one() {
    assert_eq!(words("Cafe\u{301} caf\u{e9} CAFÉ CAFE\u{301}"), ["café"; 4]);
    assert_eq!(words("\u{212B}ngström \u{c5}ngström A\u{30A}ngström"), ["ångström"; 3]);
    // J + caron has no composed form, j + caron has.
    assert_eq!(words("J\u{30C}"), ["\u{1F0}"]);
    let letters = TokenSettings { lower_case: true, ..settings(TokenRule::Letters) };
    assert_eq!(tokens(&letters, "Cafe\u{301}s"), ["cafés"]);
}

#[test]
fn lower_case_is_rusts_but_for_the_turkish_i() {
    assert_eq!(words("STRASSE Straße ẞ"), ["strasse", "straße", "ß"]);
    assert_eq!(words("Σʼα σʼα Σ’α"), ["σ'α"; 3]);
    assert_eq!(words("ΣİſΣ"), ["σisς"]);
    assert_eq!(words("İstanbul ISPARTA ılık"), ["istanbul", "isparta", "ılık"]);
    assert_eq!(words("ΟΔΥΣΣΕΥΣ ΣΑΣ"), ["οδυσσευς", "σας"]);
    assert_eq!(words("ВОЙНА и Мир"), ["война", "и", "мир"]);
}

#[test]
fn forms_of_print_are_the_usual_letters() {
    for (text, expected) in [
        ("Regie\u{ad}rung", "regierung"),
        ("whale\u{fe0f} 辻\u{e0100}", "whale 辻"),
        ("oﬃce ﬁnance", "office finance"),
        ("paſt dieſer", "past dieser"),
        ("Ｆｕｌｌ，ｗｉｄｔｈ", "full width"),
        ("كتـــاب كِتَاب", "كتاب كتاب"),
        ("\u{200f}שלום\u{200e} мʼята", "שלום м'ята"),
        ("ﻣﺮﺣﺒﺎ ﾊﾟｿｺﾝ", "مرحبا パソコン"),
        ("می\u{200c}خواهم", "می\u{200c}خواهم"),
    ] {
        let expected: Vec<&str> = expected.split(' ').collect();
        assert_eq!(words(text), expected);
    }
}

#[test]
fn addresses_elisions_and_hyphens_are_settings() {
    let text = "L’état d'\u{ad}Aujourd’hui: un gou-\nvernement, https://t.co/a www.b.fr c.d@e.fr";
    let plain = TokenSettings { min_length: 1, ..TokenSettings::DEFAULT };
    assert_eq!(tokens(&plain, text), ["l'état", "d'aujourd'hui", "un", "gou", "vernement"]);
    let french = TokenSettings { elisions: true, join_hyphens: true, ..plain };
    assert_eq!(tokens(&french, text), ["état", "aujourd'hui", "un", "gouvernement"]);
    let kept = TokenSettings { addresses: true, ..TokenSettings::DEFAULT };
    let addresses = ["https", "t.co", "www.b.fr", "c.d", "e.fr"];
    assert_eq!(tokens(&kept, text)[4..], addresses);
    let white = TokenSettings { rule: TokenRule::Whitespace, ..TokenSettings::DEFAULT };
    assert_eq!(tokens(&white, text)[4..], ["https://t.co/a", "www.b.fr", "c.d@e.fr"]);
}

#[test]
fn scripts_and_signs() {
    assert_eq!(
        words("La città è più bella, perché?"),
        ["la", "città", "è", "più", "bella", "perché"]
    );
    assert_eq!(words("漢字とカタカナ"), ["漢", "字", "と", "カタカナ"]);
    assert_eq!(words("👍 ok👩‍🚀go 🇮🇹"), ["ok", "go"]);
    assert_eq!(words("한국어 हिन्दी"), ["한국어", "हिन्दी"]);
    assert_eq!(words("e.g. 3.14 1,000 a_b U.S."), ["e.g", "3.14", "1,000", "a_b", "u.s"]);
}

#[test]
fn settings_drop_what_they_say() {
    let no_numbers = TokenSettings { numbers: false, ..settings(TokenRule::Words) };
    assert_eq!(tokens(&no_numbers, "in 1984 x86 3.14 ٣ २"), ["in", "x86"]);
    let letters = TokenSettings { numbers: false, ..settings(TokenRule::Letters) };
    assert_eq!(tokens(&letters, "abc123def é4è"), ["abc", "def", "é", "è"]);
    let white = settings(TokenRule::Whitespace);
    assert_eq!(
        tokens(&white, "new_york ,\u{2003}-- c++ d\u{a0}e"),
        ["new_york", ",", "--", "c++", "d", "e"]
    );
    let white = TokenSettings { numbers: false, ..white };
    assert_eq!(tokens(&white, "new_york , -- c++ 42"), ["new_york", "c++"]);
    let lengths = TokenSettings { min_length: 2, max_length: 3, ..settings(TokenRule::Words) };
    assert_eq!(tokens(&lengths, "a ab abc abcd é éé ééé éééé"), ["ab", "abc", "éé", "ééé"]);
}

#[test]
fn identifiers_are_split_and_not_kept() {
    let code = TokenSettings {
        lower_case: true,
        identifiers: true,
        min_length: 2,
        numbers: false,
        ..settings(TokenRule::Words)
    };
    let text = "fn parseHTTPResponse(max_bytes: u32) -> Vec3Add { self.inner_größeÄndern; don't }";
    assert_eq!(
        tokens(&code, text),
        [
            "fn", "parse", "http", "response", "max", "bytes", "u32", "vec3", "add", "self",
            "inner", "größe", "ändern", "don't"
        ]
    );
}

#[test]
fn huge_tokens_cost_linear_time_and_are_dropped() {
    let settings = TokenSettings { max_length: 64, lower_case: true, ..settings(TokenRule::Words) };
    let bad =
        ["a", "A.", "1,", "_", "é", "e\u{301}", "’a", "a\u{301}'", " \u{345}", "漢", "\u{301}"];
    for unit in bad {
        let text = unit.repeat(200_000);
        let longest = tokens(&settings, &text).iter().map(|t| t.chars().count()).max();
        assert!(longest.is_none_or(|length| length <= 64), "{unit:?}");
    }
    assert!(tokens(&settings, &"x'".repeat(200_000)).is_empty());
}

#[test]
fn a_tokenizer_carries_nothing_over() {
    let settings = settings(TokenRule::Words);
    let mut tokenizer = Tokenizer::new(&settings);
    for text in ["Cafe\u{301}", "", "plain", "’", "漢"] {
        let mut again = Vec::new();
        tokenizer.tokens(text, &mut |token| again.push(token.to_owned()));
        assert_eq!(again, tokens(&settings, text));
    }
}
