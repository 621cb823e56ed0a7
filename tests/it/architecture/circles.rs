//! No file imports another in a circle.
//!
//! A file imports another if it names something that the other defines, by a path that begins with
//! `crate::`, `super::` or `self::`, in a `use` or anywhere else. A path is followed to the file of
//! the definition, through modules and through names that a module re-exports, so importing from a
//! module that only re-exports does not count for its other parts. Circles leave out:
//!
//! - a module's imports from its own submodules, however deep. Imports of a submodule from its
//!   module count, and so do imports from a submodule of another module;
//! - tests: items under `#[cfg(test)]`, files called `tests.rs` and folders called `tests`;
//! - methods, which are called without a path; a glob counts as an import of the whole module.
//!
//! Between crates, the compiler prevents circles.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;

use super::{LAYERS, package, sources};

/// The names in a path; a module's path begins at its crate's root.
type Names = Vec<String>;

/// One source file: a module.
struct Module {
    file: String,
    code: String,
    /// The imported names, with their paths.
    imported: BTreeMap<String, Names>,
}

/// The modules of a crate, by their paths.
type Modules = BTreeMap<Names, Module>;

/// For each file, the files that it imports, with a name that it uses from each.
type Imports = BTreeMap<String, BTreeMap<String, String>>;

#[test]
fn no_file_imports_another_in_a_circle() {
    let (mut circles, mut importing) = (Vec::new(), 0);
    for (folder, _) in LAYERS {
        let imports = imports(&modules(folder));
        importing += imports.len();
        circles.extend(found(&imports));
    }
    assert!(importing > 100, "these {importing} files are not all that import");
    assert!(circles.is_empty(), "\n{}\n", circles.join("\n"));
}

#[test]
fn a_circle_is_found_whatever_way_it_is_written() {
    let found = |files: &[(&str, &str)]| {
        let modules = files.iter().map(|(file, code)| module("src", file, code));
        found(&imports(&modules.collect()))
    };
    let face = ("src/a.rs", "mod b;\nmod c;\npub use c::{d::Deep, Name};\n");
    let deep = ("src/a/c/d.rs", "pub struct Deep;\n");
    let taken = |code| [face, deep, ("src/a/b.rs", code), ("src/a/c.rs", "use super::b::B;\n")];
    for code in [
        "use super::c::Name;\n",
        "use super::c::{self, d};\n",
        "use super::{Name as Other};\n",
        "use crate::{\n    a::{b, Name},\n};\n",
        "fn f(_: &super::c::Name) {}\n",
        "#[cfg(test)]\nmod tests {\n    use super::*;\n}\nuse crate::a::Name;\n",
    ] {
        let circles = found(&taken(code));
        assert_eq!(circles.len(), 1, "{code}");
        assert!(circles[0].starts_with("src/a/b.rs -> src/a/c.rs ("), "{circles:?}");
    }
    for code in [
        "use super::Deep;\n",
        "use super::other;\n",
        "// use super::c::Name;\n",
        "#[cfg(test)]\nmod tests {\n    use super::super::c::Name;\n}\n",
        "pub(in crate::a::c) struct B;\n",
    ] {
        assert_eq!(found(&taken(code)), [""; 0], "{code}");
    }
}

/// Returns the modules of the crate in `folder`.
fn modules(folder: &str) -> Modules {
    let is_test = |path: &str| path.ends_with("tests.rs") || path.contains("/tests/");
    let files = sources().into_iter();
    let files = files.filter(|path| path.starts_with(&format!("{folder}/")) && !is_test(path));
    files
        .map(|path| {
            let text = fs::read_to_string(package().join(&path)).expect("sources are UTF-8");
            module(folder, &path, &text)
        })
        .collect()
}

/// Parses the module of one file; returns its path too.
fn module(folder: &str, file: &str, text: &str) -> (Names, Module) {
    let inside = file[folder.len() + 1..].trim_end_matches(".rs");
    let names = inside.split('/').map(str::to_owned);
    let path: Names = names.filter(|name| name != "lib").collect();
    let mut module =
        Module { file: file.to_owned(), code: without_tests(text), imported: BTreeMap::new() };
    for (start, _) in module.code.match_indices("use ") {
        let line = module.code[..start].rsplit('\n').next().unwrap_or_default();
        if line.trim().is_empty() || line.trim().starts_with("pub") {
            let mut leaves = Vec::new();
            tree(&module.code[start + 4..], &Names::new(), &mut leaves);
            let leaves = leaves.into_iter();
            let named = leaves.map(|(names, bound)| (bound, absolute(&path, names)));
            module.imported.extend(named);
        }
    }
    (path, module)
}

/// Returns the code of a file, without comments and items under `#[cfg(test)]`.
fn without_tests(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("#[cfg(test)]") {
            let indent = &line[..line.len() - line.trim_start().len()];
            let item = lines.by_ref().find(|line| !line.trim_start().starts_with("#["));
            let is_long = item.is_some_and(|item| !item.ends_with([';', '}']));
            is_long.then(|| lines.by_ref().find(|line| *line == format!("{indent}}}")));
            continue;
        }
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

/// Parses a tree such as `a::{b, c as d}` at the start of `text`; adds its paths to `leaves`, each
/// prefixed with `before` and with the name that it binds; returns the rest of the text.
fn tree<'t>(text: &'t str, before: &Names, leaves: &mut Vec<(Names, String)>) -> &'t str {
    let (mut names, mut rest) = (before.clone(), text);
    loop {
        let (name, after) = word(rest);
        names.extend((!name.is_empty()).then(|| name.to_owned()));
        rest = after;
        match rest.strip_prefix("::") {
            Some(next) => rest = next,
            None => break,
        }
    }
    if let Some(inside) = rest.strip_prefix('{') {
        return branches(inside, &names, leaves);
    }
    if names.len() > 1 {
        names.pop_if(|name| name == "self");
    }
    let last = names.last().cloned().unwrap_or_default();
    let (bound, rest) = match rest.strip_prefix(" as ") {
        Some(renamed) => word(renamed),
        None => (&last[..], rest.strip_prefix('*').unwrap_or(rest)),
    };
    leaves.push((names, bound.to_owned()));
    rest
}

/// Adds the paths in braces, after the opening brace; returns the rest of the text.
fn branches<'t>(text: &'t str, before: &Names, leaves: &mut Vec<(Names, String)>) -> &'t str {
    let mut rest = text.trim_start();
    while !rest.starts_with('}') {
        let after = tree(rest, before, leaves).trim_start();
        assert!(after.len() < rest.len(), "this is no import: {rest:.40}");
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
    &rest[1..]
}

/// Splits a text after the name that it begins with.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    text.split_at(end.unwrap_or(text.len()))
}

/// Returns the path from the crate's root that the module `here` writes as `names`.
fn absolute(here: &Names, names: Names) -> Names {
    let mut path = here.clone();
    let mut names = names.into_iter().peekable();
    if names.next_if(|name| name == "crate").is_some() {
        path.clear();
    }
    names.next_if(|name| name == "self");
    while names.next_if(|name| name == "super").is_some() {
        path.pop();
    }
    path.extend(names);
    path
}

/// Returns the imports of each file.
fn imports(modules: &Modules) -> Imports {
    let mut imports = Imports::new();
    for (here, module) in modules {
        for names in paths(&module.code) {
            let name = names.last().cloned().unwrap_or_default();
            let Some(home) = home(modules, &absolute(here, names), 0) else {
                continue;
            };
            if !home.starts_with(here) {
                let taken = imports.entry(module.file.clone()).or_default();
                taken.entry(modules[&home].file.clone()).or_insert(name);
            }
        }
    }
    imports
}

/// Returns the paths in `code` that begin with `crate`, `super` or `self`.
fn paths(code: &str) -> Vec<Names> {
    let mut leaves = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let continues = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            if !code[..at].ends_with(continues) && !code[..at].ends_with("(in ") {
                tree(&code[at..], &Names::new(), &mut leaves);
            }
        }
    }
    leaves.into_iter().map(|(names, _)| names).collect()
}

/// Returns the module that defines the item that a path names.
fn home(modules: &Modules, path: &Names, steps: usize) -> Option<Names> {
    const MOST_STEPS: usize = 20;
    let mut module = Names::new();
    for (place, name) in path.iter().enumerate() {
        module.push(name.clone());
        if modules.contains_key(&module) {
            continue;
        }
        module.pop();
        return match modules.get(&module)?.imported.get(name) {
            Some(target) if steps < MOST_STEPS => {
                let rest = path[place + 1..].iter().cloned();
                let target: Names = target.iter().cloned().chain(rest).collect();
                home(modules, &target, steps + 1)
            }
            _ => Some(module),
        };
    }
    Some(module)
}

/// Returns the shortest circle through each file that is in one but not in an earlier one.
fn found(imports: &Imports) -> Vec<String> {
    let (mut circles, mut told) = (Vec::new(), BTreeSet::new());
    for start in imports.keys() {
        let Some(circle) = circle(imports, start) else {
            continue;
        };
        if circle.iter().any(|file| told.contains(file)) {
            continue;
        }
        let ends = circle.iter().skip(1).chain([start]);
        let arrows =
            circle.iter().zip(ends).map(|(from, to)| format!("{to} ({})", imports[from][to]));
        circles.push(format!("{start} -> {}", arrows.collect::<Vec<_>>().join(" -> ")));
        told.extend(circle);
    }
    circles
}

/// Returns the files on the shortest path from a file back to itself.
fn circle(imports: &Imports, start: &String) -> Option<Vec<String>> {
    let mut queue = VecDeque::from([vec![start.clone()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = queue.pop_front() {
        for next in way.last().and_then(|file| imports.get(file)).into_iter().flatten() {
            if next.0 == start {
                return Some(way);
            }
            if seen.insert(next.0) {
                queue.push_back(way.iter().chain([next.0]).cloned().collect());
            }
        }
    }
    None
}
