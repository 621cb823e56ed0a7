//! Settings that are compared: keys with several values, and their combinations.

use toml::Value;

use crate::failure::Failure;

/// The sections whose keys models of one collection can differ in.
const SECTIONS: [&str; 3] = ["model", "train", "tree"];

/// A key with its values, each as `section.key=value`.
pub(crate) type VariedKey = Vec<String>;

/// Splits the values of flags `--set` into those of all models, and the keys with several values: `section.key=a,b`, or a
/// list.
///
/// # Errors
/// A key that has several values is given by other flags, or a value cannot be in the name of a model.
pub(crate) fn split(sets: &[String]) -> Result<(Vec<String>, Vec<VariedKey>), Failure> {
    let (mut same, mut varied) = (Vec::new(), Vec::new());
    for set in sets {
        let key = set.split_once('=').map(|(key, values)| (key.trim(), values_of(values.trim())));
        let Some((key, values)) = key.filter(|(key, values)| is_varied(key) && values.len() > 1)
        else {
            same.push(set.clone());
            continue;
        };
        if let Some(flag) = [("model.topics", "--topics"), ("model.seed", "--seed and --seeds")]
            .iter()
            .find_map(|(name, flag)| (*name == key).then_some(flag))
        {
            return Err(Failure::usage(format!("--set {set}: is given by {flag}")));
        }
        if values.iter().any(|value| value.contains(['/', ','])) {
            let message = format!("--set {set}: values with a slash or a comma cannot be compared");
            return Err(Failure::usage(message).help("make a sweep of each"));
        }
        varied.push(values.iter().map(|value| format!("{key}={value}")).collect());
    }
    varied.sort();
    Ok((same, varied))
}

fn is_varied(key: &str) -> bool {
    key.split_once('.').is_some_and(|(section, _)| SECTIONS.contains(&section))
}

/// Returns the values of a list, which may lack its brackets and its quotes.
fn values_of(text: &str) -> Vec<String> {
    let of_list = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.parse::<Value>() {
        Ok(Value::Array(values)) => values.iter().map(of_list).collect(),
        Ok(_) => vec![text.to_owned()],
        Err(_) => text.split(',').map(|value| value.trim().to_owned()).collect(),
    }
}

/// Returns each combination of a value of every key, as `section.key=value,…`.
pub(super) fn combinations(varied: &[VariedKey]) -> Vec<String> {
    varied.iter().fold(vec![String::new()], |before, values| {
        let with = |start: &String| {
            let joined = |value| {
                if start.is_empty() { String::clone(value) } else { format!("{start},{value}") }
            };
            values.iter().map(joined).collect::<Vec<_>>()
        };
        before.iter().flat_map(with).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splits(sets: &[&str]) -> Result<(Vec<String>, Vec<VariedKey>), Failure> {
        split(&sets.iter().map(|&it| it.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn keys_with_several_values_are_combined() {
        let sets = [
            "train.passes=20, 40",
            "vocabulary.stop_words=en,own.txt",
            "train.sweeps=2",
            "model.geometry=['mean', \"exp-psi\"]",
        ];
        let (same, varied) = splits(&sets).unwrap();
        assert_eq!(same, ["vocabulary.stop_words=en,own.txt", "train.sweeps=2"]);
        assert_eq!(
            combinations(&varied),
            [
                "model.geometry=mean,train.passes=20",
                "model.geometry=mean,train.passes=40",
                "model.geometry=exp-psi,train.passes=20",
                "model.geometry=exp-psi,train.passes=40",
            ]
        );
        assert_eq!(combinations(&[]), [""]);
        assert!(splits(&["model.seed=1,2"]).is_err());
        assert!(splits(&["tree.file=a/b.txt,c"]).is_err());
        assert!(splits(&["tree.file=['a,b', 'c']"]).is_err());
        assert_eq!(splits(&["tree.file='a,b'"]).unwrap().1, Vec::<VariedKey>::new());
    }
}
