//! SIGTERM and SIGINT, for a process that has to pass them on.

/// The signals that came since they were last counted.
#[derive(Debug, Default)]
pub struct Interrupts {
    #[cfg(unix)]
    signals: Option<signal_hook::iterator::Signals>,
}

impl Interrupts {
    /// From now on the two signals no longer end this process: whoever waits for children asks for
    /// them. Never to be undone, so only for a process that does nothing else.
    ///
    /// # Errors
    /// The system refuses.
    #[cfg(unix)]
    pub fn listen() -> std::io::Result<Interrupts> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT])?;
        Ok(Interrupts {
            signals: Some(signals),
        })
    }

    /// Nothing is passed on where there are no such signals.
    ///
    /// # Errors
    /// None.
    #[cfg(not(unix))]
    pub fn listen() -> std::io::Result<Interrupts> {
        Ok(Interrupts::default())
    }

    /// How many of the two kinds of signals came since the last call.
    pub(super) fn count(&mut self) -> usize {
        #[cfg(unix)]
        let count = self.signals.iter_mut().map(|s| s.pending().count()).sum();
        #[cfg(not(unix))]
        let count = 0;
        count
    }
}
