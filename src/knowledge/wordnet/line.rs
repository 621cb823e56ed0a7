//! The space-separated fields of a line of WordNet's files (wndb(5WN)).

use std::str::SplitAsciiWhitespace;

use crate::failure::Failure;

/// A line being read.
pub(super) struct Line<'f> {
    file: &'f str,
    number: usize,
    fields: SplitAsciiWhitespace<'f>,
}

impl<'f> Line<'f> {
    /// Returns the lines of a file, without the licence, whose lines begin with a space.
    pub(super) fn all(file: &'f str, text: &'f str) -> impl Iterator<Item = Self> {
        let lines = (1..).zip(text.lines());
        let lines = lines.filter(|(_, line)| !line.starts_with(' ') && !line.trim().is_empty());
        lines.map(move |(number, line)| Self {
            file,
            number,
            fields: line.split_ascii_whitespace(),
        })
    }

    /// Returns its number, from 1.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Returns the next field; `what` names it for errors.
    pub(super) fn text(&mut self, what: &str) -> Result<&'f str, Failure> {
        match self.fields.next() {
            Some(field) => Ok(field),
            None => Err(self.refuse(format!("ends before {what}"))),
        }
    }

    /// Returns the next field, which is a number.
    pub(super) fn number_of(&mut self, what: &str, radix: u32) -> Result<u32, Failure> {
        let field = self.text(what)?;
        let number = u32::from_str_radix(field, radix);
        number.map_err(|_| self.refuse(format!("has `{field}` as {what}")))
    }

    /// Returns the remaining fields.
    pub(super) fn rest(self) -> impl Iterator<Item = &'f str> {
        self.fields
    }

    /// Returns the error that this line is invalid.
    pub(super) fn refuse(&self, problem: impl std::fmt::Display) -> Failure {
        let problem = format!("{problem}: not as WordNet's database is distributed (wndb(5WN))");
        Failure::line(self.file, self.number, problem)
    }
}
