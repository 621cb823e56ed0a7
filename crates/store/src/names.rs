//! The names by which a program's users know what this library reads from the environment and keeps on the disk.

use std::sync::OnceLock;

/// The names in messages and in the environment; by default, those of a program called `store`.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// The program, with which the names of temporary files begin.
    pub program: &'static str,
    /// The variable for how many seconds a request to an object store is retried.
    pub patience: &'static str,
    /// The variable for an injected fault ([`faulty`](crate::faulty)).
    pub fault: &'static str,
    /// The setting for the folder of local copies.
    pub copies: &'static str,
}

/// The names of a program that sets none.
const OWN: Names = Names {
    program: "store",
    patience: "STORE_PATIENCE",
    fault: "STORE_FAULT",
    copies: "folder of copies",
};

/// The names that the program has set.
static NAMES: OnceLock<Names> = OnceLock::new();

impl Names {
    /// Sets the names of this process; call it before anything else of this library. The first call wins.
    pub fn set(self) {
        let _ = NAMES.set(self);
    }
}

/// Returns the names of this process.
pub(crate) fn get() -> &'static Names {
    NAMES.get().unwrap_or(&OWN)
}
