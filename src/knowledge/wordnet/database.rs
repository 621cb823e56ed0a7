//! The files of a part of speech: synsets and hypernyms (`data`), the senses of lemmas (`index`) and irregular forms
//! (`exc`); and the base forms of a word (morphy(7WN)).

use std::collections::HashMap;

use crate::failure::Failure;
use lda::tree::MAX_DEPTH;
use serde::Serialize;

use super::Part;
use super::line::Line;

/// A set of synonyms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Synset {
    /// Its first lemma, its part of speech, and which of the lemma's senses it is: `bank.n.01`.
    pub(super) name: String,
    /// Its line in `data`, from 1.
    line: usize,
    /// The numbers of more general synsets, including the classes of instances.
    pub(super) hypernyms: Vec<u32>,
}

/// The database of a part of speech.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Database {
    /// The part of speech.
    pub(super) part: Part,
    /// Synsets, in the order of `data`.
    pub(super) synsets: Vec<Synset>,
    /// Lemmas with their synsets, the most frequent first; sorted.
    lemmas: Vec<(String, Vec<u32>)>,
    /// Irregular forms with their base forms, sorted.
    exceptions: Vec<(String, Vec<String>)>,
}

/// The suffix that a regular form loses, and its replacement.
type Detachment = (&'static str, &'static str);

/// Returns the rules of morphy(7WN), in its order.
fn detachments(part: Part) -> &'static [Detachment] {
    match part {
        Part::Noun => &[
            ("s", ""),
            ("ses", "s"),
            ("xes", "x"),
            ("zes", "z"),
            ("ches", "ch"),
            ("shes", "sh"),
            ("men", "man"),
            ("ies", "y"),
        ],
        Part::Verb => &[
            ("s", ""),
            ("ies", "y"),
            ("es", "e"),
            ("es", ""),
            ("ed", "e"),
            ("ed", ""),
            ("ing", "e"),
            ("ing", ""),
        ],
        Part::Adjective => &[("er", ""), ("est", ""), ("er", "e"), ("est", "e")],
        Part::Adverb => &[],
    }
}

impl Database {
    /// Returns the number of lemmas.
    pub(super) fn lemma_count(&self) -> usize {
        self.lemmas.len()
    }

    /// Parses the texts of `index`, `data` and `exc`.
    ///
    /// # Errors
    /// A line is invalid; a synset does not exist; hypernyms form a circle or too many levels.
    pub fn parse(part: Part, index: &str, data: &str, exceptions: &str) -> Result<Self, Failure> {
        let mut database =
            Self { part, synsets: Vec::new(), lemmas: Vec::new(), exceptions: Vec::new() };
        let places = database.read_data(data)?;
        database.read_index(index, &places)?;
        database.read_exceptions(exceptions)?;
        database.name_synsets();
        database.topological_order()?;
        Ok(database)
    }

    /// Returns the name of one of its files.
    pub(super) fn file(&self, kind: &str) -> String {
        format!("{kind}.{}", self.part.ending())
    }

    /// Reads the synsets; returns their numbers by offset.
    fn read_data(&mut self, text: &str) -> Result<HashMap<u32, u32>, Failure> {
        let file = self.file("data");
        let mut places = HashMap::new();
        // Hypernyms are offsets until all synsets are known.
        for mut line in Line::all(&file, text) {
            let offset = line.number_of("the offset of a synset", 10)?;
            line.text("the number of a lexicographer file")?;
            line.text("a part of speech")?;
            let words = line.number_of("the number of words", 16)?;
            let name = line.text("a word")?;
            line.text("a lexical id")?;
            for _ in 1..words {
                line.text("a word")?;
                line.text("a lexical id")?;
            }
            let mut hypernyms = Vec::new();
            for _ in 0..line.number_of("the number of pointers", 10)? {
                let symbol = line.text("a pointer")?;
                let target = line.number_of("the offset of a pointer", 10)?;
                let part = line.text("the part of speech of a pointer")?;
                line.text("source and target of a pointer")?;
                if matches!(symbol, "@" | "@i") && part == self.part.letter() {
                    hypernyms.push(target);
                }
            }
            if places.insert(offset, self.synsets.len() as u32).is_some() {
                return Err(line.refuse(format!("has the offset {offset} of an earlier line")));
            }
            // Adjectives may have a marker of their position.
            let name = name.split('(').next().unwrap_or(name);
            self.synsets.push(Synset { name: name.to_lowercase(), line: line.number(), hypernyms });
        }
        for synset in &mut self.synsets {
            for hypernym in &mut synset.hypernyms {
                *hypernym = *places.get(hypernym).ok_or_else(|| {
                    let problem = format!("the hypernym {hypernym:08} is not in this file");
                    Failure::line(&file, synset.line, problem)
                })?;
            }
        }
        Ok(places)
    }

    fn read_index(&mut self, text: &str, places: &HashMap<u32, u32>) -> Result<(), Failure> {
        let file = self.file("index");
        for mut line in Line::all(&file, text) {
            let lemma = line.text("a lemma")?.to_lowercase();
            line.text("a part of speech")?;
            let count = line.number_of("the number of synsets", 10)?;
            for _ in 0..line.number_of("the number of pointers", 10)? {
                line.text("a pointer")?;
            }
            line.text("the number of senses")?;
            line.text("the number of senses in texts")?;
            let mut senses = Vec::new();
            for _ in 0..count {
                let offset = line.number_of("the offset of a synset", 10)?;
                let synset = places.get(&offset).ok_or_else(|| {
                    line.refuse(format!("synset {offset:08} is not in {}", self.file("data")))
                })?;
                senses.push(*synset);
            }
            if line.text("").is_ok() {
                let problem = "has more synsets than it says";
                return Err(line.refuse(problem));
            }
            self.lemmas.push((lemma, senses));
        }
        self.lemmas.sort();
        match self.lemmas.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => {
                let problem = format!("`{}` has two lines", pair[0].0);
                Err(Failure::file(&file, problem))
            }
            None => Ok(()),
        }
    }

    fn read_exceptions(&mut self, text: &str) -> Result<(), Failure> {
        let file = format!("{}.exc", self.part.ending());
        for mut line in Line::all(&file, text) {
            let form = line.text("an inflected form")?.to_owned();
            let first = line.text("a base form")?;
            let bases = [first].into_iter().chain(line.rest());
            let bases = bases.map(str::to_owned).collect();
            self.exceptions.push((form, bases));
        }
        self.exceptions.sort();
        Ok(())
    }

    fn name_synsets(&mut self) {
        for number in 0..self.synsets.len() {
            let lemma = &self.synsets[number].name;
            let senses = self.senses_of(lemma).unwrap_or_default();
            let place = senses.iter().position(|&sense| sense as usize == number);
            let place = place.map_or(0, |place| place + 1);
            let name = format!("{lemma}.{}.{place:02}", self.part.letter());
            self.synsets[number].name = name;
        }
    }

    /// Returns the synsets of a lemma.
    fn senses_of(&self, lemma: &str) -> Option<&[u32]> {
        let place = self.lemmas.binary_search_by(|(l, _)| l[..].cmp(lemma));
        Some(&self.lemmas[place.ok()?].1)
    }

    /// Returns the synsets of a word, in lower case and with `_` for spaces: those of its spelling, then those of its
    /// base forms, each once.
    pub(super) fn senses(&self, word: &str) -> Vec<u32> {
        let mut senses: Vec<u32> = Vec::new();
        let mut add = |lemma: &str| {
            for &sense in self.senses_of(lemma).unwrap_or_default() {
                if !senses.contains(&sense) {
                    senses.push(sense);
                }
            }
        };
        add(word);
        let place = self.exceptions.partition_point(|(form, _)| &form[..] < word);
        let irregular = self.exceptions[place..].iter();
        let mut irregular = irregular.take_while(|(form, _)| form == word).peekable();
        // An irregular form has no other base forms.
        let is_regular = irregular.peek().is_none()
            && !(self.part == Part::Noun && (word.ends_with("ss") || word.len() <= 2));
        irregular.for_each(|(_, bases)| bases.iter().for_each(|base| add(base)));
        let rules = detachments(self.part).iter().filter(|_| is_regular);
        let mut bases = rules.filter_map(|(ending, base)| {
            let stem = word.strip_suffix(ending)?;
            Some(format!("{stem}{base}"))
        });
        if let Some(base) = bases.find(|base| self.senses_of(base).is_some()) {
            add(&base);
        }
        senses
    }

    /// Returns the hyponyms of each synset, ascending.
    pub(super) fn hyponyms(&self) -> Vec<Vec<u32>> {
        let mut hyponyms = vec![Vec::new(); self.synsets.len()];
        for (number, synset) in (0..).zip(&self.synsets) {
            let hypernyms = synset.hypernyms.iter();
            hypernyms.for_each(|&hypernym| hyponyms[hypernym as usize].push(number));
        }
        hyponyms
    }

    /// Returns all synsets, each after its hypernyms.
    pub(super) fn topological_order(&self) -> Result<Vec<u32>, Failure> {
        let hyponyms = self.hyponyms();
        let synsets = self.synsets.iter();
        let mut waits: Vec<usize> = synsets.map(|synset| synset.hypernyms.len()).collect();
        let mut depths = vec![1; self.synsets.len()];
        let mut order: Vec<u32> = Vec::new();
        order.extend((0..).zip(&waits).filter(|(_, w)| **w == 0).map(|(n, _)| n));
        let mut next = 0;
        while let Some(&synset) = order.get(next) {
            next += 1;
            let depth = depths[synset as usize] + 1;
            // Below it there may be a node for its own terms, then leaves.
            if depth > MAX_DEPTH - 1 {
                let problem = format!("more than {} levels of hypernyms", MAX_DEPTH - 2);
                return Err(self.refuse(synset, &problem));
            }
            for &hyponym in &hyponyms[synset as usize] {
                depths[hyponym as usize] = depth.max(depths[hyponym as usize]);
                waits[hyponym as usize] -= 1;
                if waits[hyponym as usize] == 0 {
                    order.push(hyponym);
                }
            }
        }
        if order.len() < self.synsets.len() {
            return Err(self.refuse(self.circular(&waits), "its hypernyms lead back to it"));
        }
        Ok(order)
    }

    /// Returns a synset in a circle: goes up from a waiting one until one repeats.
    fn circular(&self, waits: &[usize]) -> u32 {
        let is_waiting = |synset: u32| waits[synset as usize] > 0;
        let mut synset = (0..).find(|&synset| is_waiting(synset)).unwrap_or(0);
        let mut is_seen = vec![false; waits.len()];
        while !std::mem::replace(&mut is_seen[synset as usize], true) {
            let hypernyms = &self.synsets[synset as usize].hypernyms;
            let waiting = hypernyms.iter().copied().find(|&h| is_waiting(h));
            synset = waiting.unwrap_or(synset);
        }
        synset
    }

    fn refuse(&self, synset: u32, problem: &str) -> Failure {
        let Synset { name, line, .. } = &self.synsets[synset as usize];
        let problem = format!("synset {name}: {problem}");
        Failure::line(self.file("data"), *line, problem)
    }
}

#[cfg(test)]
mod tests;
