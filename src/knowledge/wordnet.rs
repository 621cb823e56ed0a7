//! WordNet's database (Miller 1995; versions 3.0 and 3.1): synsets as groups of terms, or its hierarchy.
//!
//! Terms are found as WordNet's own programs find them ([`database`]): a term has the senses of its
//! spelling and of its base forms, so that `cats` is in the synsets of `cat`.

pub mod database;
mod line;

use std::path::Path;

use crate::failure::Failure;
use lda::model::statistics::MAX_TERMS;
use lda::tree::Node;
use serde::Serialize;

use super::branch::{self, Branch};
use super::groups::Groups;
use super::lexicon::EXAMPLES;
use super::pruned::SYNSETS;
use super::{KnowledgeSettings, Pruned, text};
use corpus::vocabulary::Vocabulary;
use database::Database;

/// A part of speech, which has its own files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Nouns.
    Noun,
    /// Verbs.
    Verb,
    /// Adjectives, including satellites.
    Adjective,
    /// Adverbs.
    Adverb,
}

impl Part {
    /// All parts of speech.
    pub(crate) const ALL: [Self; 4] = [Self::Noun, Self::Verb, Self::Adjective, Self::Adverb];

    /// Returns the extension of its files.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Noun => "noun",
            Self::Verb => "verb",
            Self::Adjective => "adj",
            Self::Adverb => "adv",
        }
    }

    /// Returns its letter in pointers and in the names of synsets.
    fn letter(self) -> &'static str {
        match self {
            Self::Noun => "n",
            Self::Verb => "v",
            Self::Adjective => "a",
            Self::Adverb => "r",
        }
    }
}

/// The structure that synsets form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Each synset with at least two terms is a node below the root, whose terms belong together, as in the experiments
    /// of Hu & Boyd-Graber 2012 (Section 5).
    Synsets,
    /// Synsets are below their hypernyms (Boyd-Graber, Blei & Zhu 2007). A synset with several hypernyms is below each;
    /// if a synset has others below it, its own terms are a separate node beside these.
    Hierarchy,
}

/// The part of WordNet that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordNetSettings {
    /// The structure that synsets form.
    pub structure: Structure,
    /// Parts of speech; those that the database lacks are ignored.
    pub parts: Vec<Part>,
    /// Maximum number of senses of a term in each part of speech, the most frequent first, in WordNet's order.
    pub max_senses: usize,
}

/// A database, with files for each part of speech.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct WordNet {
    databases: Vec<Database>,
}

/// The terms of a vocabulary in each synset, ascending, by part of speech.
struct Members<'w> {
    parts: Vec<(&'w Database, Vec<Vec<u32>>)>,
    pruned: Pruned,
}

impl WordNet {
    /// Creates it from these parts of speech.
    pub fn new(databases: Vec<Database>) -> Self {
        Self { databases }
    }

    /// Returns how many words it names; a word counts in each part of speech.
    pub(super) fn word_count(&self) -> usize {
        self.databases.iter().map(Database::lemma_count).sum()
    }

    /// Reads `data.noun`, `index.noun`, `noun.exc` and those of the other parts of speech. `noun.exc` may be absent,
    /// and so may all files of a part of speech.
    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let mut databases = Vec::new();
        for part in Part::ALL {
            let ending = part.ending();
            let read = |name: &str| read_if_there(&store::join(folder, name));
            let index = read(&format!("index.{ending}"))?;
            let data = read(&format!("data.{ending}"))?;
            let exceptions = read(&format!("{ending}.exc"))?.unwrap_or_default();
            match (index, data) {
                (Some(index), Some(data)) => {
                    databases.push(Database::parse(part, &index, &data, &exceptions)?);
                }
                (None, None) => {}
                _ => {
                    let problem = format!("index.{ending} and data.{ending} belong together");
                    return Err(Failure::file(folder, problem));
                }
            }
        }
        if databases.is_empty() {
            let problem = "neither index.noun and data.noun, nor those of another part of speech: \
                           name the folder of WordNet's database, such as /usr/share/wordnet of \
                           Debian's package wordnet-base";
            return Err(Failure::file(folder, problem));
        }
        Ok(Self::new(databases))
    }

    /// Returns the nodes that the synsets of a vocabulary's terms form.
    pub(super) fn structures(
        &self,
        vocabulary: &Vocabulary,
        settings: &KnowledgeSettings,
    ) -> Result<(Vec<Node>, Pruned), Failure> {
        let strengths = settings.strengths;
        let Members { parts, mut pruned } = self.members(vocabulary, &settings.wordnet);
        if settings.wordnet.structure == Structure::Synsets {
            let mut groups = Groups::new(pruned, strengths);
            for (database, members) in parts {
                let named = database.synsets.iter().zip(members);
                let named = named.filter(|(_, terms)| !terms.is_empty());
                named.for_each(|(synset, terms)| groups.add(&synset.name, terms));
            }
            return Ok((groups.nodes, groups.pruned));
        }
        let mut branches = Vec::new();
        for (database, members) in &parts {
            let hierarchy = Hierarchy::new(database, members)?;
            branches.extend(hierarchy.grow(hierarchy.roots()));
            pruned.entries += members.iter().filter(|terms| !terms.is_empty()).count();
        }
        let (nodes, dropped) = branch::nodes(branches, strengths);
        pruned.dropped_entries = dropped;
        Ok((nodes, pruned))
    }

    fn members(&self, vocabulary: &Vocabulary, settings: &WordNetSettings) -> Members<'_> {
        let databases = self.databases.iter();
        let databases = databases.filter(|database| settings.parts.contains(&database.part));
        let mut parts: Vec<_> = databases
            .map(|database| (database, vec![Vec::new(); database.synsets.len()]))
            .collect();
        let mut pruned = Pruned::of(SYNSETS);
        pruned.words = vocabulary.kept();
        for (id, term) in (0..).zip(vocabulary.kept_terms()) {
            let spelling = term.term.to_lowercase().replace(' ', "_");
            let mut is_known = false;
            for (database, members) in &mut parts {
                let senses = database.senses(&spelling);
                is_known |= !senses.is_empty();
                pruned.dropped_senses += senses.len().saturating_sub(settings.max_senses);
                for &sense in senses.iter().take(settings.max_senses) {
                    members[sense as usize].push(id);
                }
            }
            if !is_known {
                pruned.unknown_words += 1;
                if pruned.examples.len() < EXAMPLES {
                    pruned.examples.push(term.term.clone());
                }
            }
        }
        Members { parts, pruned }
    }
}

fn read_if_there(path: &Path) -> Result<Option<String>, Failure> {
    match text::read(path) {
        Err(failure) if failure.io_kind() == Some(std::io::ErrorKind::NotFound) => Ok(None),
        read => read.map(Some),
    }
}

/// Synsets below their hypernyms.
struct Hierarchy<'w> {
    database: &'w Database,
    members: &'w [Vec<u32>],
    /// The hyponyms of each synset, ascending.
    hyponyms: Vec<Vec<u32>>,
    /// For each synset, the terms at and below it, counted on every path down.
    below: Vec<usize>,
}

impl<'w> Hierarchy<'w> {
    fn new(database: &'w Database, members: &'w [Vec<u32>]) -> Result<Self, Failure> {
        let mut below: Vec<usize> = members.iter().map(Vec::len).collect();
        for &synset in database.topological_order()?.iter().rev() {
            for &hypernym in &database.synsets[synset as usize].hypernyms {
                let sum = below[hypernym as usize].saturating_add(below[synset as usize]);
                below[hypernym as usize] = sum;
            }
        }
        let hierarchy = Self { database, members, hyponyms: database.hyponyms(), below };
        let roots = hierarchy.roots().map(|root| hierarchy.below[root as usize]);
        let leaves = roots.fold(0, usize::saturating_add);
        match leaves > MAX_TERMS {
            true => Err(Failure::file(
                database.file("data"),
                format!(
                    "a hierarchy of {leaves} leaves; {MAX_TERMS} are possible: take fewer senses"
                ),
            )),
            false => Ok(hierarchy),
        }
    }

    fn roots(&self) -> impl Iterator<Item = u32> {
        let synsets = (0..).zip(&self.database.synsets);
        let roots = synsets.filter(|(_, synset)| synset.hypernyms.is_empty());
        roots.map(|(number, _)| number)
    }

    /// Returns those of the synsets that have terms, with what is below them.
    fn grow(&self, synsets: impl Iterator<Item = u32>) -> Vec<Branch<u32>> {
        let used = synsets.filter(|&synset| self.below[synset as usize] > 0);
        used.map(|synset| self.branch(synset)).collect()
    }

    fn branch(&self, synset: u32) -> Branch<u32> {
        let name = &self.database.synsets[synset as usize].name;
        let branch = |name: String, terms, children| Branch {
            name,
            prior: None,
            leaf_prior: None,
            terms,
            children,
        };
        let terms = self.members[synset as usize].clone();
        let mut children = self.grow(self.hyponyms[synset as usize].iter().copied());
        if children.is_empty() {
            return branch(name.clone(), terms, children);
        }
        if !terms.is_empty() {
            children.insert(0, branch(format!("{name} itself"), terms, Vec::new()));
        }
        branch(name.clone(), Vec::new(), children)
    }
}

#[cfg(test)]
mod tests;
