use super::super::tests::{Made, files};
use super::*;

fn database(part: Part, synsets: &[Made], exceptions: &str) -> Result<Database, String> {
    let (index, data) = files(part, synsets);
    Database::parse(part, &index, &data, exceptions).map_err(|error| error.to_string())
}

#[test]
fn a_word_has_the_senses_of_its_base_forms() {
    let nouns: [Made; 7] = [
        (&["bass"], &[]),
        (&["box"], &[]),
        (&["axe"], &[]),
        (&["axis"], &[]),
        (&["glass"], &[]),
        (&["glasses", "spectacles"], &[]),
        (&["pony", "ba"], &[]),
    ];
    let nouns = database(Part::Noun, &nouns, "axes axe axis\n").unwrap();
    for (word, senses) in [
        ("boxes", &[1][..]),
        ("axes", &[2, 3]),
        ("glasses", &[5, 4]),
        ("ponies", &[6]),
        ("bas", &[6]),
        ("bass", &[0]),
        ("basss", &[]),
        ("", &[]),
    ] {
        assert_eq!(nouns.senses(word), senses, "{word}");
    }
    let verbs: [Made; 3] = [(&["hope"], &[]), (&["hop"], &[]), (&["walk"], &[])];
    let verbs = database(Part::Verb, &verbs, "hopped hop\n").unwrap();
    for (word, senses) in [
        ("hoped", &[0][..]),
        ("hoping", &[0]),
        ("hopped", &[1]),
        ("walks", &[2]),
        ("walking", &[2]),
    ] {
        assert_eq!(verbs.senses(word), senses, "{word}");
    }
}

#[test]
fn hypernyms_that_lead_back_are_refused() {
    let circle: [Made; 4] = [(&["a"], &[]), (&["b"], &[3]), (&["c"], &[0, 3]), (&["d"], &[2, 3])];
    let error = database(Part::Verb, &circle, "").unwrap_err();
    assert_eq!(error, "data.verb, line 5: synset d.v.01: its hypernyms lead back to it");
    let chain: Vec<[usize; 1]> = (0..40).map(|above| [above]).collect();
    let level = |number: usize| -> Made { (&["a"], &chain[number - 1]) };
    let levels = |count| -> Vec<Made> {
        let below = (1..count).map(level);
        [(&["a"][..], &[][..])].into_iter().chain(below).collect()
    };
    assert!(database(Part::Noun, &levels(30), "").is_ok());
    let error = database(Part::Noun, &levels(31), "").unwrap_err();
    assert!(error.starts_with("data.noun, line 32: synset a.n.31: more than 30 levels"), "{error}");
}

#[test]
fn lines_of_another_format_are_named() {
    let dogs: [Made; 2] = [(&["animal"], &[]), (&["dog"], &[0])];
    let (index, data) = files(Part::Noun, &dogs);
    let parse = |index: &str, data: &str, exceptions: &str| {
        let parsed = Database::parse(Part::Noun, index, data, exceptions);
        parsed.unwrap_err().to_string()
    };
    let offset = data.find("00000074 03").unwrap();
    assert_eq!(offset, 74);
    for (error, expected) in [
        (
            parse(&index, &data[..data.len() - 60], ""),
            "data.noun, line 3: ends before the offset of a pointer: not as WordNet's",
        ),
        (
            parse(&index, &data.replace("03 n 01", "03 n xy"), ""),
            "data.noun, line 2: has `xy` as the number of words: not as",
        ),
        (
            parse(&index, &data.replace("@ 00000074", "@ 00000075"), ""),
            "data.noun, line 3: the hypernym 00000075 is not in this file",
        ),
        (
            parse(&index.replace("0 00000074", "0 00000076"), &data, ""),
            "index.noun, line 2: synset 00000076 is not in data.noun",
        ),
        (
            parse(&index.replace("n 1 2", "n 0 2"), &data, ""),
            "index.noun, line 2: has more synsets than it says",
        ),
        (parse(&index.replace("dog", "animal"), &data, ""), "index.noun: `animal` has two lines"),
        (parse(&index, &data, "dogs\n"), "noun.exc, line 1: ends before a base form"),
        (
            parse(&index, &format!("{data}{}", &data[74..]), ""),
            "data.noun, line 4: has the offset 74 of an earlier line",
        ),
    ] {
        assert!(error.starts_with(expected), "{error}");
    }
    // Lines may have Windows line endings.
    let [index, data] = [index, data].map(|text| text.replace('\n', "\r\n"));
    assert!(Database::parse(Part::Noun, &index, &data, "").is_ok());
}
