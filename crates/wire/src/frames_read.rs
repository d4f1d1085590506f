//! Whether the frames of an interpreter are read, and if not, why: stacks through it are native then.

/// By its number in definitions. A reader shows those that it does not know by their number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FramesRead(pub u8);

impl FramesRead {
    /// They are.
    pub const YES: FramesRead = FramesRead(0);
    /// Not those of this language.
    pub const LANGUAGE: FramesRead = FramesRead(1);
    /// Where this version keeps them is not known.
    pub const VERSION: FramesRead = FramesRead(2);
    /// The interpreter was loaded by `dlopen`, and may be unloaded.
    pub const UNLOADABLE: FramesRead = FramesRead(3);
    /// Threads run it at the same time: a free-threaded build, or one for threads.
    pub const THREADS: FramesRead = FramesRead(4);
    /// It is over another C library than glibc.
    pub const C_LIBRARY: FramesRead = FramesRead(5);
    /// They are not where this version keeps them.
    pub const LAYOUT: FramesRead = FramesRead(6);
    /// The same, of a debug build.
    pub const DEBUG_BUILD: FramesRead = FramesRead(7);
    /// Nobody knows: the interpreter is there, and no stack that was looked at had frames of it.
    pub const UNTRIED: FramesRead = FramesRead(8);

    const NAMES: [&'static str; 9] = [
        "yes",
        "language",
        "version",
        "unloadable",
        "threads",
        "c_library",
        "layout",
        "debug_build",
        "untried",
    ];

    /// Its name in JSON; `None` for one that has none yet.
    pub fn name(self) -> Option<&'static str> {
        Self::NAMES.get(usize::from(self.0)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name() {
        assert_eq!(FramesRead::YES.name(), Some("yes"));
        assert_eq!(FramesRead::DEBUG_BUILD.name(), Some("debug_build"));
        assert_eq!(FramesRead::UNTRIED.name(), Some("untried"));
        assert_eq!(FramesRead(9).name(), None);
    }
}
