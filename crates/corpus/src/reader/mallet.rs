//! MALLET's format of one document per line, as its `import-file` reads it by default: an id, a label and the text,
//! separated by white space and commas.

/// Splits a line into its fields.
pub fn fields(line: &[u8]) -> [&[u8]; 3] {
    let (id, rest) = first_field(line.trim_ascii());
    let (label, text) = first_field(rest);
    [id, label, text]
}

/// Splits a line at its first white space; the rest begins after that and commas.
fn first_field(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(u8::is_ascii_whitespace);
    let (field, rest) = line.split_at(end.unwrap_or(line.len()));
    let parts = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
    let begin = rest.iter().position(|byte| !parts(byte));
    (field, &rest[begin.unwrap_or(rest.len())..])
}
