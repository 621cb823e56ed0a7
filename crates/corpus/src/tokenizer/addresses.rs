//! Finds web and e-mail addresses in a text, to leave them out.
//!
//! An address begins with a scheme (`https://`) or `www.`, and ends before white space, quotes, brackets and anything
//! that is not ASCII; or it is an e-mail address, whose domain has a dot.

use std::ops::Range;

use memchr::{memchr, memchr3_iter, memmem};

/// Visits the parts of `text` that are not addresses.
#[inline]
pub(super) fn without(text: &str, visit: &mut impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let has = |mark: &str| memmem::find(bytes, mark.as_bytes()).is_some();
    if memchr(b'@', bytes).is_some() || has("://") || has("www.") {
        around(text, visit)
    } else {
        visit(text)
    }
}

fn around(text: &str, visit: &mut impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut begin = 0;
    for mark in memchr3_iter(b':', b'@', b'w', bytes) {
        if let Some(address) = (mark >= begin).then(|| address(bytes, begin, mark)).flatten() {
            visit(&text[begin..address.start]);
            begin = address.end;
        }
    }
    visit(&text[begin..]);
}

/// Returns the address around a `:`, `@` or `w`; nothing before `begin` belongs to it.
fn address(bytes: &[u8], begin: usize, mark: usize) -> Option<Range<usize>> {
    let back = |is_part: fn(u8) -> bool| {
        let before = bytes[begin..mark].iter().rev();
        mark - before.take_while(|&&byte| is_part(byte)).count()
    };
    let rest = &bytes[mark..];
    // Only a domain is scanned forwards before it is clear that an address begins: else texts of such marks take
    // quadratic time.
    let (start, least) = match bytes[mark] {
        b'@' => {
            let start = back(|byte| byte.is_ascii_alphanumeric() || b"._%+-".contains(&byte));
            let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b".-".contains(byte);
            let domain = rest[1..].iter().take_while(is_part).count();
            let dot = memchr(b'.', &rest[1..1 + domain])?;
            let is_mail = start < mark && dot > 0 && dot + 1 < domain;
            return is_mail.then(|| start..mark + 1 + domain);
        }
        b':' if rest.starts_with(b"://") => (back(|byte| byte.is_ascii_alphanumeric()), 3),
        b'w' if rest.starts_with(b"www.") => (mark, 4),
        _ => return None,
    };
    let is_address = match bytes[mark] {
        b'w' => !bytes[begin..mark].last().is_some_and(u8::is_ascii_alphanumeric),
        _ => start < mark,
    };
    if !is_address {
        return None;
    }
    let ends = |&byte: &u8| !byte.is_ascii_graphic() || b"<>\"'`()[]{}|\\^".contains(&byte);
    let length = rest.iter().position(ends).unwrap_or(rest.len());
    (length > least).then(|| start..mark + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_linear_in_the_text() {
        for text in ["://", "xwww.", "a@b", "a:// ", "@", "a@", ":"] {
            let text = text.repeat((4 << 20) / text.len());
            let mut bytes = 0;
            without(&text, &mut |part| bytes += part.len());
            assert!(bytes <= text.len());
        }
    }

    #[test]
    fn addresses_are_left_out_and_nothing_else() {
        for (text, left) in [
            ("no address: a.b, x:y w", "no address: a.b, x:y w"),
            ("see https://t.co/a_b?c=d#e, or not", "see | or not"),
            ("(http://a.b/c) [x](ftp://d)", "(|) [x](|)"),
            ("看看https://t.co/a这个", "看看|这个"),
            ("WWW www.example.com/x wwwx.de xwww.de", "WWW | wwwx.de xwww.de"),
            ("<jo.smith+x@mail.example.org>, @jo a@b @", "<|>, @jo a@b @"),
            ("std::io :// a:// b://c", "std::io :// a:// |"),
            ("é@a.de ü.x@a.de", "é@a.de ü|"),
            ("http://a@b.c/http://d www.x.y", "| |"),
            ("", ""),
        ] {
            let mut parts = Vec::new();
            without(text, &mut |part| parts.push(part.to_owned()));
            assert_eq!(parts.join("|"), left, "{text}");
        }
    }
}
