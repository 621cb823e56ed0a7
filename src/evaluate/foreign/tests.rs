//! MALLET's state, everything that must be refused, and terms of a job.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::failure::Exit;
use crate::knowledge::tests::gzip;
use corpus::vocabulary::{TermStatus, Vocabulary, VocabularyTerm};

const TERMS: [&str; 3] = ["whale", "sea", "bread"];

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

/// φ_kw of all topics and terms.
fn dense(model: &ForeignModel) -> Vec<Vec<f64>> {
    let mut phi: Vec<Vec<f64>> =
        model.smoothing.iter().map(|&h| vec![h; model.terms.len()]).collect();
    for (w, row) in model.rows.iter().enumerate() {
        for &(k, g) in row {
            phi[usize::from(k)][w] += f64::from(g);
        }
    }
    phi
}

/// Returns the error that a file is refused with.
fn refused(path: &Path) -> String {
    read(path).expect_err("it is wrong").to_string()
}

const STATE: &str = "\
#doc source pos typeindex type topic
#alpha : 0.3 0.7 0.1 \n#beta : 0.01 
0 a file name.txt 0 0 whale 0
0 NA 1 1 sea 0
1 NA 0 2 bread 1
1 NA 1 2 bread 1
1 NA 2 1 sea 1
";

#[test]
fn a_state_gives_smoothed_counts_and_both_priors() {
    let place = Place::new();
    for bytes in [gzip(STATE.as_bytes()), STATE.as_bytes().to_vec()] {
        let model = read(&place.write("state", bytes)).unwrap();
        assert_eq!(model.terms, TERMS);
        assert_eq!(model.alpha, Some(vec![0.3, 0.7, 0.1]));
        let phi = dense(&model);
        assert!((phi[0][0] - 1.01 / 2.03).abs() < 1e-6);
        assert!((phi[0][2] - 0.01 / 2.03).abs() < 1e-6);
        assert!((phi[1][2] - 2.01 / 3.03).abs() < 1e-6);
        // It has no tokens: all terms are equally likely.
        assert!((phi[2][1] - 1.0 / 3.0).abs() < 1e-6);
        for row in phi {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-6);
        }
    }
    for (from, to, word) in [
        ("whale 0", "whale x", "line 4: \"x\" is not a topic"),
        ("#alpha : 0.3 0.7 0.1", "#alpha : 0.3", "topics up to 1"),
        ("#alpha : 0.3", "#alpha : -0.3", "line 2"),
        ("#beta : 0.01", "#beta : no", "its beta"),
        ("2 1 sea 1", "2 1 lake 1", "term 1 is \"lake\" here, and \"sea\""),
        ("1 NA 2 1 sea 1", "sea 1", "six fields"),
        ("1 NA 2 1 sea 1", "1 sea 1", "six fields"),
        ("1 NA 2 1 sea 1", "1 2 1 sea 1", "six fields"),
    ] {
        let path = place.write("bad", STATE.replacen(from, to, 1));
        let told = refused(&path);
        assert!(told.contains(word), "{told}");
    }
}

#[test]
fn what_is_cut_short_or_something_else_is_told_as_that() {
    let place = Place::new();
    let tokens: String = (0..500).map(|n| format!("{n} NA 0 {n} term{} 0\n", n * n)).collect();
    let header = "\u{feff}\n#doc source pos typeindex type topic\n#alpha : 1 1\n#beta : 0.01\n";
    let whole = gzip(format!("{header}{tokens}").as_bytes());
    assert_eq!(read(&place.write("whole.gz", &whole)).unwrap().terms.len(), 500);
    let cut = read(&place.write("cut.gz", &whole[..whole.len() / 2])).unwrap_err();
    assert!(cut.exit == Exit::Data && cut.to_string().contains("cut short or damaged"), "{cut}");
    for (bytes, word) in [
        (&b"PAR1 and then nothing"[..], "is Parquet that is cut short"),
        (b"\x80\x04\x95pickle", "is in no known format"),
        (b"\x93NUMPY\x01\0", "topicmill.convert of the Python package"),
        (b"0\twhale\t2\n", "topicmill.convert of the Python package"),
        (b"", "is in no known format"),
        (b"\xfd7zXZ\0\0", "compressed with xz"),
        (b"PK\x03\x04....", "zip"),
    ] {
        let told = refused(&place.write("other", bytes));
        assert!(told.contains(word), "{told}");
    }
    let absent = read(&place.0.path().join("absent")).unwrap_err();
    assert_eq!(absent.exit, Exit::Usage);
    let folder = read(place.0.path()).unwrap_err();
    assert_eq!(folder.exit, Exit::Io, "{folder}");
    let endless = vec![b'7'; (MOST_LINE + 5) as usize];
    let told = refused(&place.write("endless", endless));
    assert!(told.contains("is in no known format"), "{told}");
    let state = |more: &str| {
        let lines =
            "#doc source pos typeindex type topic\n#alpha : 1 1 \n#beta : 0.01\n0 NA 0 0 a 1\n";
        refused(&place.write("state", format!("{lines}{more}\n")))
    };
    assert!(state("#beta : 0.5").contains("line 5: there is a second beta"));
    assert!(state("#alpha : 1").contains("line 5: there is a second alpha"));
    let latin = place.write("latin", [header.as_bytes(), b"0 \xff 0 0 a 0\n"].concat());
    assert!(refused(&latin).contains("line 5: is not UTF-8"));
    assert!(state("#beta : -1").contains("line 5: its beta is not a number above 0"));
}

fn vocabulary(terms: &[(&str, u64)]) -> Vocabulary {
    let term = |&(term, tokens): &(&str, u64)| VocabularyTerm {
        term: term.to_owned(),
        tokens,
        documents: 1,
        status: TermStatus::Kept,
    };
    Vocabulary::from_terms(terms.iter().map(term).collect()).unwrap()
}

#[test]
fn terms_are_mapped_by_their_text() {
    let path = Path::new("model");
    let mut weights = Weights::new(["ink", "whale", "sea"].map(str::to_owned).to_vec());
    // No topic generates "ink", so the model lacks it.
    for (term, topic, weight) in [(0, 0, 0.0), (1, 0, 2.0), (2, 1, 1.0)] {
        weights.set(term, topic, weight).unwrap();
    }
    let model = weights.normalised(path, 0.0).unwrap();
    let ours = vocabulary(&[("sea", 10), ("fog", 5), ("ink", 3), ("whale", 2)]);
    let mapping = terms::Mapping::new(&model, &ours, path).unwrap();
    assert_eq!(mapping.places, [Some(2), None, None, Some(1)]);
    assert_eq!((mapping.terms, mapping.tokens, mapping.all_tokens), (2, 12, 20));
    let others = vocabulary(&[("fog", 1000), ("whale", 9)]);
    let told = terms::Mapping::new(&model, &others, path).unwrap_err().to_string();
    assert!(told.contains("another vocabulary") && told.contains("knows 9"), "{told}");
    let enough = vocabulary(&[("fog", 1000), ("whale", 11)]);
    assert!(terms::Mapping::new(&model, &enough, path).is_ok());
}
