//! Where the program's modules are found.

use heapscribe_nolibc::loader::Loader;
use heapscribe_nolibc::once::Once;

static LOADER: Once<Loader> = Once::new();

/// The program's loader. `None` when it was not found.
pub fn loader() -> Option<&'static Loader> {
    if LOADER.get().is_none() {
        LOADER.set(Loader::discover()?);
    }
    LOADER.get()
}
