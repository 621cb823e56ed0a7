//! A UCI bag of words in memory.

use std::error::Error;
use std::fs;
use std::path::Path;

/// A document's (term, count), ascending.
pub type Counts = Vec<(u32, u32)>;

/// Reads `docword*.txt`; returns V and the documents, terms from 0.
pub fn read(path: &Path) -> Result<(usize, Vec<Counts>), Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut lines = text.lines();
    let mut header = || lines.next().unwrap_or_default().trim().parse::<usize>();
    let (document_count, vocabulary_size, _entries) = (header()?, header()?, header()?);
    let mut documents: Vec<Counts> = vec![Vec::new(); document_count];
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let (document, term, count) = entry(line).ok_or_else(|| format!("bad line: {line}"))?;
        let bag = documents.get_mut(document);
        let bag = bag.ok_or_else(|| format!("no such document: {line}"))?;
        if term as usize >= vocabulary_size {
            return Err(format!("no such term: {line}").into());
        }
        bag.push((term, count));
    }
    for bag in &mut documents {
        bag.sort_unstable();
    }
    Ok((vocabulary_size, documents))
}

/// Returns document and term, from 0, and the tokens.
fn entry(line: &str) -> Option<(usize, u32, u32)> {
    let mut fields = line.split_ascii_whitespace().map(str::parse::<u32>);
    let mut field = || fields.next()?.ok();
    let (document, term, count) = (field()?, field()?, field()?);
    Some((document.checked_sub(1)? as usize, term.checked_sub(1)?, count))
}
