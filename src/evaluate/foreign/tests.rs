//! Each format against the same topics, and everything that must be refused.

use std::fs;
use std::path::PathBuf;

use npyz::WriterBuilder;

use super::*;
use crate::failure::Exit;
use crate::knowledge::tests::gzip;
use corpus::vocabulary::{TermStatus, Vocabulary, VocabularyTerm};

const TERMS: [&str; 3] = ["whale", "sea", "bread"];

/// φ of two topics.
const PHI: [[f64; 3]; 2] = [[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]];

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

    fn npy<T: npyz::Serialize + npyz::AutoSerialize>(
        &self,
        order: npyz::Order,
        shape: &[u64],
        values: impl IntoIterator<Item = T>,
    ) -> PathBuf {
        let mut bytes = Vec::new();
        let options = npyz::WriteOptions::new().default_dtype().order(order);
        let mut writer = options.shape(shape).writer(&mut bytes).begin_nd().unwrap();
        writer.extend(values).unwrap();
        writer.finish().unwrap();
        self.write("m.npy", bytes)
    }

    fn terms(&self) -> PathBuf {
        self.write("terms.txt", TERMS.join("\n"))
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

fn assert_is(model: &ForeignModel, phi: &[[f64; 3]; 2]) {
    assert_eq!(model.terms, TERMS);
    for (own, expected) in dense(model).iter().zip(phi) {
        for (a, b) in own.iter().zip(expected) {
            assert!((a - b).abs() < 1e-6, "{own:?} for {expected:?}");
        }
    }
}

/// Returns the error that a file is refused with.
fn refused(path: &Path, terms: Option<&Path>) -> String {
    read(path, terms).expect_err("it is wrong").to_string()
}

#[test]
fn a_matrix_is_read_in_either_order_and_of_any_number() {
    let place = Place::new();
    let terms = place.terms();
    let weights = [[2.0, 2.0, 0.0], [0.0, 1.0, 3.0]];
    let rows: Vec<f64> = weights.concat();
    let columns: Vec<f64> = (0..6).map(|i| weights[i % 2][i / 2]).collect();
    let c = npyz::Order::C;
    let read = |path: &Path| read(path, Some(&terms)).unwrap();
    assert_is(&read(&place.npy(c, &[2, 3], rows.clone())), &PHI);
    let fortran = place.npy(npyz::Order::Fortran, &[2, 3], columns);
    assert_is(&read(&fortran), &PHI);
    let singles = rows.iter().map(|&x| x as f32 / 4.0);
    let model = read(&place.npy(c, &[2, 3], singles));
    assert_is(&model, &PHI);
    assert!(model.form.contains("probabilities"), "{}", model.form);
    let counts = rows.iter().map(|&x| x as i32);
    let model = read(&place.npy(c, &[2, 3], counts));
    assert_is(&model, &PHI);
    assert!(model.form.contains("normalised"), "{}", model.form);
    assert_eq!(model.alpha, None);
    let bytes = rows.iter().map(|&x| x as u8);
    assert_is(&read(&place.npy(c, &[2, 3], bytes)), &PHI);
}

#[test]
fn a_wrong_matrix_is_refused_by_row_and_column() {
    let place = Place::new();
    let terms = place.terms();
    let c = npyz::Order::C;
    let told = |shape: &[u64], values: &[f64]| {
        refused(&place.npy(c, shape, values.to_vec()), Some(&terms))
    };
    let nan = told(&[2, 3], &[1.0, 1.0, 1.0, 1.0, f64::NAN, 1.0]);
    assert!(nan.contains("row 1, column 1") && nan.contains("NaN"), "{nan}");
    let negative = told(&[2, 3], &[1.0, 1.0, -0.5, 1.0, 1.0, 1.0]);
    assert!(negative.contains("row 0, column 2") && negative.contains("-0.5"), "{negative}");
    let infinite = told(&[2, 3], &[1.0, 1.0, 1.0, 1.0, 1.0, f64::INFINITY]);
    assert!(infinite.contains("row 1, column 2"), "{infinite}");
    let empty = told(&[2, 3], &[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    assert!(empty.contains("topic 1 has no weight"), "{empty}");
    let turned = told(&[3, 2], &[1.0; 6]);
    assert!(turned.contains("3 × 2, terms × topics") && turned.contains("transpose"), "{turned}");
    let other = told(&[2, 4], &[1.0; 8]);
    assert!(other.contains("2 × 4") && other.contains("lists 3"), "{other}");
    let flat = told(&[6], &[1.0; 6]);
    assert!(flat.contains("1 dimensions"), "{flat}");
    let path = place.npy(c, &[2, 3], vec![1.0; 6]);
    let none = refused(&path, None);
    assert!(none.contains("--terms"), "{none}");
    let mut cut = fs::read(&path).unwrap();
    cut.truncate(cut.len() - 3);
    fs::write(&path, cut).unwrap();
    assert!(refused(&path, Some(&terms)).contains("cut short"));
    let twice = place.write("twice.txt", "a\nb\na\n");
    let path = place.npy(c, &[2, 3], vec![1.0; 6]);
    assert!(refused(&path, Some(&twice)).contains("line 3: \"a\" is in line 1"));
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
        let model = read(&place.write("state", bytes), None).unwrap();
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
        let told = refused(&path, None);
        assert!(told.contains(word), "{told}");
    }
}

#[test]
fn lists_of_weights_and_counts_are_read() {
    let place = Place::new();
    let lines = "0\twhale\t2\n0\tsea\t2.0\n1\tsea\t1e0\n1\tbread\t3\n0\tbread\t0\n";
    assert_is(&read(&place.write("w", lines), None).unwrap(), &PHI);
    let headed = format!(" \n\ntopic\tterm\tweight\n{lines}");
    assert_is(&read(&place.write("w", gzip(headed.as_bytes())), None).unwrap(), &PHI);
    let counts = "0 whale 0:2\n1 sea 1:1 0:2\n2 bread 1:3\n";
    let model = read(&place.write("c", counts), None).unwrap();
    assert_eq!(model.terms, TERMS);
    let beta = text::MALLET_BETA;
    let phi = dense(&model);
    assert!((phi[1][2] - (3.0 + beta) / (4.0 + 3.0 * beta)).abs() < 1e-6);
    assert!((phi[1][0] - beta / (4.0 + 3.0 * beta)).abs() < 1e-6);
    for (content, word) in [
        ("0\ta\t1\n0\ta\t2\n", "\"a\" has two weights in topic 0"),
        ("0\ta\t1\n2\ta\t2\n", "topic 1 has no weight"),
        ("0\ta\t1\n0\tb\tx\n", "line 2: \"x\" is not a weight"),
        ("0\ta\t1\n0\tb\tNaN\n", "line 2: the weight of \"b\" in topic 0 is NaN"),
        ("0\ta\t1\n0\tb\t1e300\n", "line 2: the weight of \"b\" in topic 0"),
        ("0\ta\t1e-300\n", "topic 0 has no weight at all"),
        ("0\ta\t1\n-1\tb\t1\n", "line 2: \"-1\" is not a topic"),
        ("0\ta\t1\n70000\tb\t1\n", "topic 70000: topics are numbered"),
        ("0 a 0:1\n1 a 0:1\n", "line 2: \"a\" is in line 1"),
        ("0 a 0:1\n1 b 0=1\n", "\"0=1\" is not topic:count"),
        ("once upon a time\n", "is in no known format"),
        ("", "is in no known format"),
    ] {
        let told = refused(&place.write("bad", content), None);
        assert!(told.contains(word), "{told}");
    }
    assert!(
        refused(&place.write("bad", b"0\ta\t1\n0\t\xff\t1\n"), None)
            .contains("line 2: is not UTF-8")
    );
    assert!(refused(&place.write("bad", b"PK\x03\x04...."), None).contains("zip"));
    let absent = read(&place.0.path().join("absent"), None).unwrap_err();
    assert_eq!(absent.exit, Exit::Usage);
    let folder = read(place.0.path(), None).unwrap_err();
    assert_eq!(folder.exit, Exit::Io, "{folder}");
}

/// Returns a `.npy` of this shape, written by hand, with these bytes after its header.
fn raw_npy(shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), values].concat()
}

#[test]
fn a_header_that_lies_is_refused_and_takes_no_memory() {
    let place = Place::new();
    let terms = place.terms();
    let none = place.write("none.txt", "");
    for (shape, terms, word) in [
        // Their product is 0 in 64 bits.
        ("(9223372036854775808, 4)", &terms, "--terms lists 3"),
        ("(9223372036854775808, 3)", &terms, "it needs 1 to 65535 topics"),
        ("(65536, 3)", &terms, "it needs 1 to 65535 topics"),
        ("(0, 3)", &terms, "it needs 1 to 65535 topics"),
        ("(1099511627776, 0)", &none, "at least one term"),
        ("(2, 0)", &none, "at least one term"),
        ("(65535, 3)", &terms, "ends after 1 of the 196605 values"),
        ("(2, 3", &terms, "its header is not"),
        ("[2, 3]", &terms, "its header is not"),
    ] {
        let path = place.write("m.npy", raw_npy(shape, &1f32.to_le_bytes()));
        let told = refused(&path, Some(terms));
        assert!(told.contains(word), "{shape}: {told}");
    }
    let sound = raw_npy("(1, 3)", &[0, 0, 128, 63].repeat(3));
    assert!(read(&place.write("m.npy", &sound), Some(&terms)).is_ok());
    let packed = place.write("m.npy.gz", gzip(&sound));
    let model = read(&packed, Some(&terms)).unwrap();
    assert_eq!(model.topic_count(), 1);
    for length in 6..sound.len() {
        let told = refused(&place.write("cut.npy", &sound[..length]), Some(&terms));
        assert!(told.contains("cut short"), "{length}: {told}");
    }
}

#[test]
fn what_is_cut_short_or_something_else_is_told_as_that() {
    let place = Place::new();
    let lines: String = (0..500).map(|n| format!("{n} term{} 0:{}\n", n * n, n + 1)).collect();
    let whole = gzip(lines.as_bytes());
    assert!(read(&place.write("whole.gz", &whole), None).is_ok());
    let cut = read(&place.write("cut.gz", &whole[..whole.len() / 2]), None).unwrap_err();
    assert!(cut.exit == Exit::Data && cut.to_string().contains("cut short or damaged"), "{cut}");
    for (bytes, word) in [
        (&b"PAR1 and then nothing"[..], "is Parquet that is cut short"),
        (b"\x80\x04\x95pickle", "is in no known format"),
        (b"\xfd7zXZ\0\0", "compressed with xz"),
    ] {
        let told = refused(&place.write("other", bytes), None);
        assert!(told.contains(word), "{told}");
    }
    let marked = place.write("marked", "\u{feff}0\twhale\t1\n");
    assert_eq!(read(&marked, None).unwrap().terms, ["whale"]);
    let endless = vec![b'7'; (MOST_LINE + 5) as usize];
    let told = refused(&place.write("endless", endless), None);
    assert!(told.contains("is in no known format"), "{told}");
    let state = |more: &str| {
        let lines =
            "#doc source pos typeindex type topic\n#alpha : 1 1 \n#beta : 0.01\n0 NA 0 0 a 1\n";
        refused(&place.write("state", format!("{lines}{more}\n")), None)
    };
    assert!(state("#beta : 0.5").contains("line 5: there is a second beta"));
    assert!(state("#alpha : 1").contains("line 5: there is a second alpha"));
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
    let place = Place::new();
    // No topic generates "ink", so the model lacks it.
    let lines = "0\tink\t0\n0\twhale\t2\n1\tsea\t1\n";
    let path = place.write("w", lines);
    let model = read(&path, None).unwrap();
    let ours = vocabulary(&[("sea", 10), ("fog", 5), ("ink", 3), ("whale", 2)]);
    let mapping = terms::Mapping::new(&model, &ours, &path).unwrap();
    assert_eq!(mapping.places, [Some(2), None, None, Some(1)]);
    assert_eq!((mapping.terms, mapping.tokens, mapping.all_tokens), (2, 12, 20));
    let others = vocabulary(&[("fog", 1000), ("whale", 9)]);
    let told = terms::Mapping::new(&model, &others, &path).unwrap_err().to_string();
    assert!(told.contains("another vocabulary") && told.contains("knows 9"), "{told}");
    let enough = vocabulary(&[("fog", 1000), ("whale", 11)]);
    assert!(terms::Mapping::new(&model, &enough, &path).is_ok());
}
