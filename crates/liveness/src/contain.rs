//! Panics of code that is not ours, returned as errors.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The calls of [`contained`] that this thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Runs code that may panic, such as a parser of another crate on bytes from outside.
///
/// What `run` has changed before it panicked must not be used afterwards. A hook that ends the process on a panic asks
/// [`is_contained`] first. An overflow of the stack and a failed allocation abort the process here as anywhere: bound
/// the depth and the claimed sizes of the bytes before they are parsed.
///
/// # Errors
/// Returns the message of the panic.
///
/// ```
/// assert_eq!(liveness::contained(|| 6 * 7), Ok(42));
/// let lost = liveness::contained(|| -> i32 { panic!("a column of {} bytes", -1) });
/// assert_eq!(lost, Err("a column of -1 bytes".to_owned()));
/// ```
pub fn contained<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    DEPTH.set(DEPTH.get() + 1);
    let done = catch_unwind(AssertUnwindSafe(run));
    DEPTH.set(DEPTH.get() - 1);
    done.map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without a message".to_owned())
    })
}

/// Returns whether a panic of the calling thread is returned by [`contained`] instead of ending the thread.
pub fn is_contained() -> bool {
    DEPTH.get() > 0
}
