//! How far a look-up is: reported to a progress bar of the program, since a library prints nothing.

/// Receives the progress of a look-up, from several threads at once.
pub trait Progress: Send + Sync {
    /// So many addresses are to be looked up.
    fn start(&self, addresses: u64);
    /// A module's turn has come.
    fn module(&self, path: &str);
    /// Somebody else is asked, who may take long.
    fn waiting(&self, _what: &str) {}
    /// One more address is done.
    fn advance(&self);
    /// All are done.
    fn finish(&self);
}

/// Ignores the progress.
pub(crate) struct Silent;

impl Progress for Silent {
    fn start(&self, _addresses: u64) {}
    fn module(&self, _path: &str) {}
    fn advance(&self) {}
    fn finish(&self) {}
}
