//! Errors of invalid jobs: the file, the line, the key, the allowed values, the remedy.

use std::path::Path;

use topicmill::config::Job;

use crate::workdir::Workdir;

use super::small::{SMALL, parse, told, with};

#[test]
fn unknown_keys_are_told_the_line_and_the_nearest() {
    let text = format!("{SMALL}\n# a comment\n[train]\npasses = 3\nminibach = 512\n");
    assert_eq!(
        told(parse(&text)),
        "jobs/small.toml:13: unknown key `minibach` in [train] | did you mean `minibatch`?"
    );
    assert_eq!(
        told(parse(&format!("{SMALL}[train]\ntopics = 3\n"))),
        "jobs/small.toml:10: unknown key `topics` in [train] | `topics` belongs in [model]"
    );
    assert_eq!(
        told(parse(&format!("{SMALL}[trian]\npasses = 3\n"))),
        "jobs/small.toml:9: unknown section [trian] | did you mean [train]?"
    );
    assert_eq!(
        told(parse(&format!("topics = 3\n{SMALL}"))),
        "jobs/small.toml:1: `topics` is outside any section | put `topics` under [model]"
    );
    assert!(told(parse(&format!("{SMALL}[sample]\nzzz = 1\n"))).ends_with(
        "unknown key `zzz` in [sample] | the keys of [sample] are fraction, documents, held_out, seed"
    ));
}

/// Settings that contradict each other, and the text that names the contradiction.
const CONTRADICTIONS: &[([&str; 2], &str)] = &[
    (["train.memory=off", "train.alpha_every=3"], "`train.alpha_every` is 3"),
    (["train.memory=off", "train.online_passes=3"], "`train.online_passes` is 3"),
    (["train.memory=off", "train.estimator=soft"], "`train.estimator` is \"soft\""),
    (["train.online_passes=0", "train.sweeps=5"], "`train.sweeps` is 5"),
    (["train.online_passes=0", "train.step_decay=0.7"], "`train.step_decay` is 0.7"),
    (["train.memory=on", "model.geometry=exp-psi"], "`model.geometry` is \"exp-psi\""),
    (
        ["train.estimator=soft", "train.passes=3"],
        "`train.passes` is 3, but must be more than train.online_passes",
    ),
    (["train.memory=off", "train.schedule=residual"], "`train.schedule` is \"residual\""),
    (["train.schedule=influence", "train.importance=true"], "`train.importance` is true"),
    (["train.schedule=influence-draws", "train.residual_floor=2"], "`train.residual_floor` is 2"),
    (["train.method=online-vb", "train.sweeps=2"], "`train.sweeps` is 2"),
    (["train.method=online-vb", "train.memory=on"], "`train.memory` is \"on\""),
    (["train.method=scvb0", "model.geometry=exp-psi"], "`model.geometry` is \"exp-psi\""),
    (["train.method=cvb0", "train.memory=off"], "`train.memory` is \"off\""),
    (["train.method=cvb0", "train.average_every=2"], "`train.average_every` is 2"),
    (["train.method=cvb0", "train.estimator=soft"], "`train.estimator` is \"soft\""),
    (["train.method=batch-vb", "train.minibatch=9"], "`train.minibatch` is 9"),
    (["train.method=batch-vb", "model.geometry=mean"], "`model.geometry` is \"mean\""),
    (["train.method=smc", "train.passes=2"], "`train.passes` is 2"),
    (
        ["train.method=smc", "train.schedule=influence-draws"],
        "`train.schedule` is \"influence-draws\"",
    ),
];

#[test]
fn keys_that_would_change_nothing_are_refused() {
    for (sets, refused) in CONTRADICTIONS {
        let told = told(with(sets));
        assert!(told.contains(refused) && told.contains("train."), "{told}");
    }
    for sets in [
        &["train.memory=off", "train.sweeps=5", "model.geometry=exp-psi"][..],
        &["train.online_passes=0", "train.alpha_every=5"],
        &["train.schedule=residual", "train.residual_floor=2"],
        &["train.method=online-vb", "train.schedule=residual"],
        &["train.method=smc", "train.sweeps=2"],
    ] {
        assert!(with(sets).is_ok(), "{sets:?}");
    }
}

#[test]
fn wrong_values_are_told_what_is_allowed() {
    let cases = [
        (
            "train.minibatch=norm",
            "`train.minibatch` is \"norm\", but must be a whole number from 1 to 4294967295, or \"auto\" or \"norms\"",
        ),
        ("train.passes=2.5", "`train.passes` is 2.5, but must be a whole number from 1 to"),
        ("train.step_decay=0.5", "`train.step_decay` is 0.5, but must be a number above 0.5"),
        (
            "train.residual_floor=0",
            "`train.residual_floor` is 0, but must be a number above 0, or \"auto\"",
        ),
        (
            "train.residual_switch=-0.1",
            "`train.residual_switch` is -0.1, but must be a number from 0",
        ),
        (
            "model.topics=65536",
            "`model.topics` is 65536, but must be a whole number from 1 to 65535",
        ),
        ("model.geometry=flat", "is \"flat\", but must be one of \"mean\", \"exp-psi\""),
        ("model.alpha=[1.0, 2.0]", "must be a number from 1e-6 to 1e6, or a list of 10 of them"),
        ("model.eta=1e-12", "from 1e-6 to 1e6, or \"auto\""),
        ("sample.fraction=1.5", "must be a number above 0, at most 1"),
        ("sample.held_out=1", "must be a number from 0, below 1"),
        ("tokens.lower_case=yes", "must be true or false"),
        ("tokens.max_length=2", "must be a whole number from 3 to 1000"),
        ("corpus.format=pdf", "must be one of \"auto\", \"text\", \"jsonl\""),
        ("corpus.input=[]", "must be a text or a list of texts, none of them empty"),
        ("corpus.metadata=[\"a\", \"a\"]", "must be a list of distinct names"),
        ("vocabulary.stop_words=klingon", "must be \"none\", a language"),
        ("output.path=\"\"", "must be a text, not empty"),
    ];
    for (set, expected) in cases {
        let told = told(with(&[set]));
        assert!(told.starts_with(&format!("--set {set}: ")), "{told}");
        assert!(told.contains(expected), "{told}");
    }
    let text = SMALL.replace("topics = 10", "topics = \"ten\"");
    assert_eq!(
        told(parse(&text)),
        "jobs/small.toml:5: `model.topics` is \"ten\", but must be a whole number from 1 to 65535 | "
    );
}

#[test]
fn numbers_beside_which_others_vanish_are_refused() {
    for (set, allowed) in [
        ("tree.must_link=1e100", "a number from 1e-30 to 1e30"),
        ("tree.cannot_link=1e-100", "a number from 1e-30 to 1e30"),
        ("project.temperature=1e-40", "a number from 1e-6 to 1e6"),
    ] {
        let told = told(with(&[set]));
        assert!(told.contains(allowed), "{told}");
    }
}

#[test]
fn keys_without_effect_are_refused_and_their_defaults_are_not() {
    for (rule, key, is_unused) in [
        ("letters", "tokens.elisions=true", true),
        ("whitespace", "tokens.elisions=true", true),
        ("words", "tokens.elisions=true", false),
        ("dictionary", "tokens.elisions=true", false),
        ("letters", "tokens.elisions=false", false),
        ("whitespace", "tokens.addresses=true", true),
        ("letters", "tokens.addresses=true", false),
    ] {
        let job = with(&[&format!("tokens.rule={rule}"), key]);
        assert_eq!(job.is_err(), is_unused, "{rule} {key}");
        if is_unused {
            let expected = format!("absent: it has no effect with tokens.rule = \"{rule}\"");
            assert!(told(job).contains(&expected));
        }
    }
    for (format, key, is_unused) in [
        ("jsonl", "corpus.header=false", true),
        ("csv", "corpus.header=false", false),
        ("csv", "corpus.counts=words", true),
        ("parquet", "corpus.counts=words", false),
        ("jsonl", "htrc.first_year=1900", true),
        ("htrc", "htrc.first_year=1900", false),
    ] {
        let job = with(&[&format!("corpus.format={format}"), key]);
        assert_eq!(job.is_err(), is_unused, "{format} {key}");
    }
    assert!(with(&["evaluate.particles=5"]).is_err());
    assert!(with(&["evaluate.resample=true"]).is_err());
}

#[test]
fn what_is_missing_double_or_not_toml_is_told() {
    assert_eq!(
        told(parse("[corpus]\ninput = \"x\"\n[output]\npath = \"y\"\n")),
        "jobs/small.toml: `model.topics` is missing | add to [model]: topics = 100"
    );
    assert_eq!(
        told(parse(&format!("{SMALL}[sample]\nfraction = 0.1\ndocuments = 5\n"))),
        "jobs/small.toml:10: `sample.fraction` cannot be used with `sample.documents` | \
         keep `sample.fraction` or `sample.documents`, not both"
    );
    let told_syntax = told(parse(&format!("{SMALL}[train\n")));
    assert!(told_syntax.starts_with("jobs/small.toml:9: invalid TOML: "), "{told_syntax}");
    assert!(told(with(&["passes"])).starts_with("--set passes: expected section.key=value"));
    assert!(told(with(&["passes=3"])).starts_with("--set passes=3: expected section.key=value"));
    let told_read = told(Job::load(Path::new("no/such/job.toml"), &[]));
    assert!(told_read.starts_with("no/such/job.toml: cannot be read | "), "{told_read}");
}

#[test]
fn the_program_says_so_on_stderr_and_exits_as_documented() {
    let workdir = Workdir::new().with_job(SMALL);
    std::fs::create_dir(workdir.path("texts")).expect("made");
    workdir.write("texts/a.txt", "some words");
    let path = workdir.path("job.toml");
    let job = path.to_str().expect("UTF-8");

    let plan = workdir.output(&["plan", job]);
    assert_eq!(plan.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&plan.stdout).contains("model       topics = 10\n"));
    assert!(plan.stderr.is_empty());

    let cases: [(&[&str], i32, &str); 6] = [
        (&["plan", job, "--set", "train.minbatch=1"], 64, "help: did you mean `minibatch`?\n"),
        (&["plan", job, "-n", "2", "-p", "2", "--hosts", "x"], 64, "error: --process is 2, but"),
        (&["plan", "no-such-job.toml"], 64, "error: no-such-job.toml: cannot be read\ncause: "),
        (&["plan", "texts"], 64, "error: texts/job.toml: cannot be read\ncause: "),
        (&["plan", job, "--resolved", "--json"], 64, "cannot be used with"),
        (&["frobnicate"], 64, "unrecognized subcommand"),
    ];
    for (arguments, code, said) in cases {
        let output = workdir.output(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty() && !stderr.contains('\u{1b}'), "{arguments:?}");
    }
}

#[test]
fn every_subcommand_has_help_with_an_example() {
    let workdir = Workdir::new();
    for subcommand in [
        "run",
        "ingest",
        "train",
        "project",
        "plan",
        "inspect",
        "verify",
        "status",
        "synth",
        "completions",
    ] {
        let help = workdir.output(&[subcommand, "--help"]);
        assert_eq!(help.status.code(), Some(0), "{subcommand}");
        let text = String::from_utf8_lossy(&help.stdout).into_owned();
        assert!(text.matches(&format!("topicmill {subcommand}")).count() >= 2, "{text}");
    }
    let completions = workdir.output("completions bash");
    assert!(String::from_utf8_lossy(&completions.stdout).contains("--process-count"));
}
