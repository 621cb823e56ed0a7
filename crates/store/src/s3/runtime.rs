//! The thread that drives the client's connections and timers: one per process, for any number of
//! buckets and callers. It sleeps while no request is in flight.

use std::future::{Future, pending};
use std::io;
use std::thread;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle};

/// The thread's runtime, once started.
static HANDLE: Mutex<Option<Handle>> = Mutex::new(None);

/// Returns the process's runtime, and starts it if needed.
///
/// # Errors
/// The system refuses a thread or a poller.
pub(super) fn handle() -> io::Result<Handle> {
    let mut started = HANDLE.lock();
    if let Some(handle) = &*started {
        return Ok(handle.clone());
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    thread::Builder::new()
        .name("object-store".to_owned())
        .spawn(move || runtime.block_on(pending::<()>()))?;
    *started = Some(handle.clone());
    Ok(handle)
}

/// Waits for a future on the calling thread. Requests have their own timeouts.
pub(super) fn wait<T>(handle: &Handle, future: impl Future<Output = T>) -> T {
    liveness::waiting(|| handle.block_on(future))
}
