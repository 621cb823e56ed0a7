//! A walk over structs in Thrift's compact protocol, in which Parquet's metadata is written, before a parser trusts
//! their counts and recurses into them. It allocates nothing but the path.

/// The deepest nesting of structs and lists. Parquet's own metadata has less than ten.
const MOST_DEPTH: usize = 32;

/// What a walk meets.
pub(super) enum Item {
    /// The start of a field of this type.
    Field(u8),
    /// A whole number or a truth value.
    Number(i64),
    /// The end of a struct with this many fields.
    End(usize),
}

/// Why a walk ended early.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WalkFault {
    /// The bytes end within the struct.
    Short,
    /// No parser can read it.
    Wrong(String),
}

/// A receiver of what a walk meets, with the ids of the fields that lead there; a list adds none.
pub(super) type Visit<'v> = &'v mut dyn FnMut(&[i16], Item) -> Result<(), String>;

/// Walks over the struct at the start of `bytes`; returns its length.
pub(super) fn walk(bytes: &[u8], visit: Visit<'_>) -> Result<usize, WalkFault> {
    let mut walk = Walk { rest: bytes, path: Vec::new(), depth: 0, visit };
    walk.structure()?;
    Ok(bytes.len() - walk.rest.len())
}

struct Walk<'b, 'v> {
    rest: &'b [u8],
    path: Vec<i16>,
    depth: usize,
    visit: Visit<'v>,
}

impl Walk<'_, '_> {
    fn structure(&mut self) -> Result<(), WalkFault> {
        let (mut id, mut fields) = (0i16, 0);
        loop {
            let head = self.byte()?;
            if head & 0xf == 0 {
                return self.visit(Item::End(fields));
            }
            let delta = i16::from(head >> 4);
            id = if delta == 0 { self.zigzag()? as i16 } else { id.wrapping_add(delta) };
            fields += 1;
            self.path.push(id);
            self.visit(Item::Field(head & 0xf))?;
            match head & 0xf {
                kind @ (1 | 2) => self.visit(Item::Number((kind == 1).into()))?,
                kind => self.value(kind)?,
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8) -> Result<(), WalkFault> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(WalkFault::Wrong(format!(
                "its metadata is nested more than {MOST_DEPTH} deep"
            )));
        }
        match kind {
            3 => self.skip(1)?,
            4..=6 => {
                let number = self.zigzag()?;
                self.visit(Item::Number(number))?;
            }
            7 => self.skip(8)?,
            8 => {
                let length = self.varint()?;
                self.skip(length)?;
            }
            9 | 10 => self.list()?,
            11 => self.map()?,
            12 => self.structure()?,
            13 => self.skip(16)?,
            _ => {
                return Err(WalkFault::Wrong(format!("a field of type {kind} in its metadata")));
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn list(&mut self) -> Result<(), WalkFault> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        self.elements(count, &[head & 0xf])
    }

    fn map(&mut self) -> Result<(), WalkFault> {
        let count = self.varint()?;
        let kinds = if count == 0 { 0 } else { self.byte()? };
        self.elements(count, &[kinds >> 4, kinds & 0xf])
    }

    /// Walks over `count` elements of these kinds, each of which takes at least a byte.
    fn elements(&mut self, count: u64, kinds: &[u8]) -> Result<(), WalkFault> {
        if count > self.rest.len() as u64 {
            return Err(WalkFault::Short);
        }
        // The crate skips truth values in lists as if they took no bytes. Parquet's footers and pages have none.
        if count > 0 && kinds.iter().any(|&kind| kind < 3) {
            return Err(WalkFault::Wrong("a list of truth values in its metadata".to_owned()));
        }
        (0..count).try_for_each(|_| kinds.iter().try_for_each(|&kind| self.value(kind)))
    }

    fn visit(&mut self, item: Item) -> Result<(), WalkFault> {
        (self.visit)(&self.path, item).map_err(WalkFault::Wrong)
    }

    fn byte(&mut self) -> Result<u8, WalkFault> {
        let (&byte, rest) = self.rest.split_first().ok_or(WalkFault::Short)?;
        self.rest = rest;
        Ok(byte)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), WalkFault> {
        let bytes = usize::try_from(bytes).map_err(|_| WalkFault::Short)?;
        self.rest = self.rest.get(bytes..).ok_or(WalkFault::Short)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, WalkFault> {
        varint(&mut self.rest)
    }

    fn zigzag(&mut self) -> Result<i64, WalkFault> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

/// Reads a number in seven bits a byte from the start of `rest`.
pub(super) fn varint(rest: &mut &[u8]) -> Result<u64, WalkFault> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or(WalkFault::Short)?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(WalkFault::Wrong("a number of more than 64 bits in its metadata".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks, and returns what was met, as text.
    fn met(bytes: &[u8]) -> Result<String, WalkFault> {
        let mut met = Vec::new();
        let length = walk(bytes, &mut |path, item| {
            met.push(match item {
                Item::Field(_) => return Ok(()),
                Item::Number(number) => format!("{path:?}={number}"),
                Item::End(fields) => format!("{path:?}.{fields}"),
            });
            Ok(())
        })?;
        assert_eq!(length, bytes.len());
        Ok(met.join(" "))
    }

    #[test]
    fn numbers_and_ends_are_met_in_order_with_their_paths() {
        // 1: i32 = -1, 2: list of two structs {5: i32 = 3} and {}, 4: text "ab", 5: true
        let bytes = [0x15, 1, 0x19, 0x2c, 0x55, 6, 0, 0, 0x28, 2, b'a', b'b', 0x11, 0];
        let expected = "[1]=-1 [2, 5]=3 [2].1 [2].0 [5]=1 [].4";
        assert_eq!(met(&bytes).unwrap(), expected);
        for end in 0..bytes.len() {
            assert_eq!(met(&bytes[..end]), Err(WalkFault::Short), "{end} bytes");
        }
    }

    #[test]
    fn counts_and_depths_that_no_bytes_support_are_refused() {
        let claim = [0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7, 0, 0];
        assert_eq!(met(&claim), Err(WalkFault::Short));
        assert!(matches!(met(&[0x1c; 1 << 20]), Err(WalkFault::Wrong(_))));
        assert!(matches!(met(&[0x19, 0x19].repeat(1 << 20)), Err(WalkFault::Wrong(_))));
        assert!(matches!(
            met(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
            Err(WalkFault::Wrong(_))
        ));
        assert!(matches!(met(&[0x1e, 0]), Err(WalkFault::Wrong(_))));
        assert!(matches!(met(&[0x19, 0x12, 1, 0]), Err(WalkFault::Wrong(_))));
    }
}
