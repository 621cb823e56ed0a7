#![doc = include_str!("../README.md")]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

thread_local! {
    /// The signs of life of this thread, if it is watched.
    static OWN: RefCell<Option<Arc<Liveness>>> = const { RefCell::new(None) };
    /// The calls of [`contained`] that this thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// The signs of life of one thread.
#[derive(Debug, Default)]
pub struct Liveness {
    ticks: AtomicU64,
    is_waiting: AtomicBool,
    stage: Mutex<&'static str>,
}

impl Liveness {
    /// Makes the calling thread watched. The value lives as long as the thread.
    pub fn enroll() -> Weak<Self> {
        let own = Arc::new(Self::default());
        let watched = Arc::downgrade(&own);
        OWN.set(Some(own));
        watched
    }

    /// Returns how often the thread has ticked; the start and end of a wait count too.
    pub fn ticks(&self) -> u64 {
        self.ticks.load(Ordering::Relaxed)
    }

    /// Returns whether the thread is waiting for others.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed)
    }

    /// Returns the stage that the thread last reported; empty before the first [`stage`].
    pub fn stage(&self) -> &'static str {
        *self.stage.lock()
    }

    fn tick(&self) {
        self.ticks.fetch_add(1, Ordering::Relaxed);
    }
}

/// Records that the calling thread makes progress.
pub fn tick() {
    with_own(Liveness::tick);
}

/// Sets the stage that the calling thread is in.
pub fn stage(name: &'static str) {
    with_own(|own| {
        *own.stage.lock() = name;
        own.tick();
    });
}

/// Runs `wait`, which blocks until others are ready or has its own timeout.
pub fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    let set = |is_waiting| {
        let mut before = false;
        with_own(|own| {
            before = own.is_waiting.swap(is_waiting, Ordering::Relaxed);
            own.tick();
        });
        before
    };
    let before = set(true);
    let value = wait();
    set(before);
    value
}

fn with_own(sign: impl FnOnce(&Liveness)) {
    // A thread that is ending may have destroyed its value.
    let _ = OWN.try_with(|own| own.borrow().as_deref().map(sign));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_waits_and_stages_are_those_of_the_calling_thread() {
        tick();
        let own = Liveness::enroll().upgrade().unwrap();
        assert_eq!((own.ticks(), own.stage()), (0, ""));
        std::thread::spawn(|| {
            Liveness::enroll();
            stage("elsewhere");
        })
        .join()
        .unwrap();
        tick();
        stage("train");
        assert_eq!((own.ticks(), own.stage()), (2, "train"));
        waiting(|| {
            waiting(|| assert!(own.is_waiting()));
            assert!(own.is_waiting(), "the outer wait continues");
        });
        assert!(!own.is_waiting());
        assert_eq!(own.ticks(), 6);
    }

    #[test]
    fn what_a_thread_leaves_is_gone_with_it() {
        let watched = std::thread::spawn(Liveness::enroll).join().unwrap();
        assert!(watched.upgrade().is_none());
    }
}
