//! Frames that say nothing beside those of the code that an interpreter runs: forty times the interpreter's loop and its
//! helpers, and what starts the program.

use std::collections::BTreeSet;

use crate::answer::Frame;

/// What the names of the files begin with that start programs and threads.
const STARTERS: [&[u8]; 4] = [b"libc.so", b"libc-", b"libpthread", b"ld-"];

/// Which frames of one process are left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Folding {
    keeps_native: bool,
    /// Modules whose code runs interpreted frames.
    interpreters: BTreeSet<u32>,
    /// Modules of the C library.
    starters: BTreeSet<u32>,
}

impl Folding {
    /// None is left out if all are to be kept.
    pub(super) fn new(keeps_native: bool) -> Folding {
        Folding { keeps_native, ..Folding::default() }
    }

    /// A module of this number has this path.
    pub(super) fn module(&mut self, number: u32, path: &[u8]) {
        let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        if STARTERS.iter().any(|begin| file.starts_with(begin)) {
            self.starters.insert(number);
        }
    }

    /// A native frame runs an interpreted one.
    pub(super) fn interpreter(&mut self, frame: &Frame) {
        self.interpreters.extend(frame.module);
    }

    /// Whether a frame is left out of a stack with interpreted frames. `is_within`: it is one, or inside of one.
    pub(super) fn leaves_out(&self, frame: &Frame, is_within: bool) -> bool {
        let Some(module) = frame.module.filter(|_| !self.keeps_native) else { return false };
        self.interpreters.contains(&module) || !is_within && self.starters.contains(&module)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_and_what_starts_it_is_left_out() {
        let frame = |module| Frame { module: Some(module), ..Frame::default() };
        for keeps_native in [false, true] {
            let mut folding = Folding::new(keeps_native);
            folding.module(1, b"/lib/x86_64-linux-gnu/libc.so.6");
            folding.module(2, b"/usr/lib/libcurl.so.4");
            folding.interpreter(&frame(3));
            for (module, is_within, is_left_out) in [
                (1, false, true),
                (1, true, false),
                (2, false, false),
                (2, true, false),
                (3, false, true),
                (3, true, true),
            ] {
                assert_eq!(
                    folding.leaves_out(&frame(module), is_within),
                    is_left_out && !keeps_native,
                    "{module}"
                );
            }
            assert!(!folding.leaves_out(&Frame::default(), true));
        }
    }
}
