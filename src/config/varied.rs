//! Keys with several values, for jobs that are compared.

use toml::Value;

use super::Job;
use super::keys;
use super::kind::ValueKind;
use super::template::Template;
use crate::failure::Failure;

/// The sections whose keys jobs with one collection and one sample can differ in.
const SECTIONS: [&str; 3] = ["model", "train", "tree"];

/// A key with several values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VariedKey {
    /// `section.key`.
    path: String,
    values: Vec<String>,
}

impl VariedKey {
    /// Splits the values of flags `--set` into those of all jobs, and the keys with several values: `section.key=a,b`, or
    /// a list.
    ///
    /// # Errors
    /// A key with several values is that of a text, is given by other flags, or is set twice.
    pub(crate) fn split(sets: &[String]) -> Result<(Vec<String>, Vec<Self>), Failure> {
        let (mut same, mut varied) = (Vec::new(), Vec::<Self>::new());
        for set in sets {
            let refused = |reason: &str| Failure::usage(format!("--set {set}: {reason}"));
            let (path, values) = match set.split_once('=') {
                Some((path, text)) => (path.trim(), values(path.trim(), text.trim())),
                None => (set.as_str(), Vec::new()),
            };
            if varied.iter().any(|key| key.path == path) {
                return Err(refused("the key has several values already"));
            }
            match &values[..] {
                [] => same.push(set.clone()),
                [value] => same.push(format!("{path}={value}")),
                _ if path == "model.topics" => return Err(refused("is given by --topics")),
                _ if path == "model.seed" => {
                    return Err(refused("is given by --seed and --seeds"));
                }
                _ if keys::key(path).is_some_and(|key| key.kind.is_text()) => {
                    return Err(refused("files cannot be compared").help("make a sweep of each"));
                }
                _ => varied.push(Self { path: path.to_owned(), values }),
            }
        }
        varied.sort_by(|a, b| a.path.cmp(&b.path));
        Ok((same, varied))
    }

    /// Returns the values of each combination, as `section.key=value,…` in the order of the keys.
    ///
    /// # Errors
    /// A value is wrong in a job with these others, or two are the same.
    pub(crate) fn combinations(varied: &[Self], job: &Job) -> Result<Vec<String>, Failure> {
        let mut all = vec![Template::of(job)];
        for key in varied {
            let mut more = Vec::new();
            for (template, value) in
                all.iter().flat_map(|it| key.values.iter().map(move |value| (it, value)))
            {
                let mut template = template.clone();
                template.set_text(&format!("{}={value}", key.path))?;
                more.push(template);
            }
            all = more;
        }
        let mut found: Vec<String> = Vec::new();
        for template in all {
            let job = template.job(&job.path)?;
            let value =
                |key: &Self| Some(format!("{}={}", key.path, plain(job.values.value(&key.path)?)));
            let settings = varied.iter().filter_map(value).collect::<Vec<_>>().join(",");
            if found.contains(&settings) {
                return Err(Failure::usage(format!("--set: {settings} is given twice")));
            }
            found.push(settings);
        }
        Ok(found)
    }
}

/// Returns the values of a list, which may lack its brackets and its quotes; none if the key has one.
fn values(path: &str, text: &str) -> Vec<String> {
    let is_varied = path.split_once('.').is_some_and(|(section, _)| SECTIONS.contains(&section));
    let is_prior = keys::key(path).is_some_and(|key| matches!(key.kind, ValueKind::Prior(_)));
    match text.parse::<Value>() {
        _ if !is_varied => Vec::new(),
        Ok(Value::Array(values)) if !is_prior => values.iter().map(plain).collect(),
        Ok(_) => Vec::new(),
        Err(_) if text.contains(',') => text.split(',').map(|it| it.trim().to_owned()).collect(),
        Err(_) => Vec::new(),
    }
}

/// Returns a value as a flag has it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn split(sets: &[&str]) -> Result<(Vec<String>, Vec<VariedKey>), Failure> {
        VariedKey::split(&sets.iter().map(|&it| it.to_owned()).collect::<Vec<_>>())
    }

    fn combined(sets: &[&str]) -> Result<Vec<String>, Failure> {
        let text = "[corpus]\ninput = \"x\"\n[model]\ntopics = 2\n[output]\npath = \"out\"";
        let job = Job::parse(text, Path::new("job.toml"), &[])?;
        VariedKey::combinations(&split(sets)?.1, &job)
    }

    #[test]
    fn keys_with_several_values_are_combined() {
        let sets = ["train.passes=20, 40", "model.alpha_sum=['auto', 1]"];
        let expected = [
            "model.alpha_sum=auto,train.passes=20",
            "model.alpha_sum=auto,train.passes=40",
            "model.alpha_sum=1.0,train.passes=20",
            "model.alpha_sum=1.0,train.passes=40",
        ];
        assert_eq!(combined(&sets).unwrap(), expected);
        assert_eq!(combined(&["train.method=\"sampled\",scvb0"]).unwrap().len(), 2);
        assert_eq!(combined(&[]).unwrap(), [""]);
        for wrong in ["train.step_decay=0.7,0.70", "train.passes=1,x", "train.passes=1,"] {
            assert!(combined(&[wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn other_keys_have_one_value() {
        let sets = [
            "vocabulary.stop_words=en,a.txt",
            "model.alpha=[1, 2]",
            "train.method=['cvb0']",
            "train.x",
        ];
        let (same, varied) = split(&sets).unwrap();
        assert_eq!(
            (&same[..2], same[2].as_str(), varied),
            (&sets.map(str::to_owned)[..2], "train.method=cvb0", vec![])
        );
        for wrong in ["model.seed=1,2", "tree.file=a.txt,b.txt", "model.topics=[1, 2]"] {
            assert!(split(&[wrong]).is_err(), "{wrong}");
        }
        assert!(split(&["train.passes=1,2", "train.passes=3"]).is_err());
    }
}
