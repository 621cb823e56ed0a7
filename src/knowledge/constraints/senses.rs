//! Words with several senses: each sense is a term of its own until the nodes are made.

use std::collections::BTreeMap;

use crate::failure::Failure;
use lda::constraints::Strengths;
use lda::model::tree::Node;

use super::Constraint;
use crate::knowledge::Lexicon;

/// Maximum number of terms in a node's name.
const TITLE_TERMS: usize = 3;

/// The senses of split terms, numbered from V.
pub(super) struct Senses<'f> {
    file: &'f str,
    /// V.
    first: u32,
    /// The number of the line that splits each term.
    splits: BTreeMap<u32, usize>,
    /// The term of each sense.
    terms: Vec<u32>,
    /// Must-links of senses with the terms that define them.
    pub(super) links: Vec<Vec<u32>>,
    /// Number of lines that split nothing in this vocabulary.
    pub(super) dropped: usize,
}

impl<'f> Senses<'f> {
    /// Collects the senses that the split constraints among `lines` make.
    pub(super) fn new(
        file: &'f str,
        lines: &[(usize, Constraint)],
        lexicon: &mut Lexicon<'_>,
    ) -> Result<Self, Failure> {
        let mut all = Self {
            file,
            first: lexicon.len() as u32,
            splits: BTreeMap::new(),
            terms: Vec::new(),
            links: Vec::new(),
            dropped: 0,
        };
        let mut company = Vec::new();
        for (line, constraint) in lines {
            let Constraint::Split { word, senses } = constraint else {
                continue;
            };
            let term = lexicon.find(word);
            let groups: Vec<Vec<u32>> = senses.iter().map(|s| lexicon.find_all(s)).collect();
            let Some(term) = term.filter(|_| groups.iter().any(|group| !group.is_empty())) else {
                all.dropped += 1;
                continue;
            };
            if let Some(before) = all.splits.insert(term, *line) {
                let problem = format!(
                    "`{word}` is split in line {before} already: list all its senses in one line"
                );
                return Err(Failure::line(file, *line, problem));
            }
            for group in groups {
                let sense = all.vocabulary_size() as u32;
                all.terms.push(term);
                company.push((*line, sense, group));
            }
        }
        for (line, sense, mut group) in company {
            all.check(line, &group, lexicon)?;
            if !group.is_empty() {
                group.push(sense);
                all.links.push(group);
            }
        }
        Ok(all)
    }

    /// Returns V plus the number of senses.
    pub(super) fn vocabulary_size(&self) -> usize {
        self.first as usize + self.terms.len()
    }

    /// Returns the term itself, or the term that a sense belongs to.
    pub(super) fn term(&self, number: u32) -> u32 {
        match number.checked_sub(self.first) {
            None => number,
            Some(sense) => self.terms[sense as usize],
        }
    }

    /// Refuses terms that are split, because it is unknown which sense is meant.
    pub(super) fn check(
        &self,
        line: usize,
        terms: &[u32],
        lexicon: &Lexicon<'_>,
    ) -> Result<(), Failure> {
        let split = |term: &u32| Some((*term, *self.splits.get(term)?));
        let Some((term, before)) = terms.iter().find_map(split) else {
            return Ok(());
        };
        let problem = format!(
            "`{}` is split in line {before}: name the words of this line with one of its senses there",
            lexicon.term(term)
        );
        Err(Failure::line(self.file, line, problem))
    }

    /// Replaces senses by their terms, gives every sense that is in no node a node of its own, and names the nodes by
    /// their terms.
    pub(super) fn place(
        &self,
        mut nodes: Vec<Node>,
        lexicon: &Lexicon<'_>,
        strengths: Strengths,
    ) -> Result<Vec<Node>, Failure> {
        let mut is_placed = vec![false; self.terms.len()];
        for node in &mut nodes {
            self.place_in(node, &mut is_placed, lexicon)?;
        }
        let alone = self.terms.iter().zip(is_placed).filter(|(_, placed)| !placed);
        nodes.extend(alone.map(|(&term, _)| Node {
            name: lexicon.term(term).to_owned(),
            prior: strengths.ordinary,
            leaf_prior: strengths.ordinary,
            children: Vec::new(),
            terms: vec![term],
        }));
        Ok(nodes)
    }

    /// Places the senses below the node, and names it; returns the first terms below it.
    fn place_in(
        &self,
        node: &mut Node,
        is_placed: &mut [bool],
        lexicon: &Lexicon<'_>,
    ) -> Result<Vec<u32>, Failure> {
        for term in &mut node.terms {
            if let Some(sense) = term.checked_sub(self.first) {
                is_placed[sense as usize] = true;
                *term = self.term(*term);
            }
        }
        let mut below = node.terms.clone();
        below.sort_unstable();
        if let Some(pair) = below.windows(2).find(|pair| pair[0] == pair[1]) {
            let problem = format!(
                "must-links connect two senses of `{}`: keep the words that tell them apart",
                lexicon.term(pair[0])
            );
            return Err(Failure::line(self.file, self.splits[&pair[0]], problem));
        }
        for child in &mut node.children {
            below.extend(self.place_in(child, is_placed, lexicon)?);
        }
        let mut title: Vec<u32> = Vec::new();
        for term in below {
            if !title.contains(&term) && title.len() <= TITLE_TERMS {
                title.push(term);
            }
        }
        let words = title.iter().take(TITLE_TERMS).map(|&term| lexicon.term(term));
        node.name = words.collect::<Vec<_>>().join(", ");
        if title.len() > TITLE_TERMS {
            node.name.push_str(", …");
        }
        Ok(title)
    }
}
