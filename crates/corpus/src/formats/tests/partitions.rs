//! Columns whose values are in the names of folders.

use super::columnar::files;
use super::*;
use arrow_array::{ArrayRef, StringArray};

#[test]
fn folders_give_columns_that_records_do_not_have() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["one"]));
    let years: ArrayRef = Arc::new(StringArray::from(vec![Some("own")]));
    let mut contents = files(vec![("text", Arc::clone(&texts))], 1);
    contents.extend([
        ("x.jsonl", b"{\"text\": \"one\"}\n".to_vec()),
        ("x.csv", b"text\none\n".to_vec()),
        ("x.txt", b"one".to_vec()),
    ]);
    let in_folder = |folder: &str, columns: &[&str], name: &str, content: &[u8]| {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(folder);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join(name), content).unwrap();
        std::fs::write(root.path().join("_SUCCESS"), "").unwrap();
        let mut settings = settings(root.path());
        settings.metadata = columns.iter().map(|name| (*name).to_owned()).collect();
        settings.group = Some("place".into());
        read_all(&settings)
            .map(|seen| (seen[0].metadata.clone(), seen[0].group.clone(), seen.len()))
    };
    let text = |text: &str| Some(text.to_owned());
    for (name, content) in &contents {
        let folder = "data/year=1990/place=New%20York%2FNY";
        let (metadata, group, count) =
            in_folder(folder, &["year", "place"], name, content).unwrap();
        assert_eq!(metadata, [text("1990"), text("New York/NY")], "{name}");
        assert_eq!((group, count), (text("New York/NY"), 1), "{name}");
        let folder = "year=__HIVE_DEFAULT_PARTITION__/place=x/letters";
        let columns = ["year", "place", "folder"];
        let (metadata, ..) = in_folder(folder, &columns, name, content).unwrap();
        assert_eq!(metadata, [None, text("x"), text("letters")], "{name}");
    }
    for (name, content) in files(vec![("text", texts), ("year", years)], 1) {
        let (metadata, ..) =
            in_folder("year=1990/place=x", &["year", "place"], name, &content).unwrap();
        assert_eq!(metadata, [text("own"), text("x")], "{name}");
    }
}
