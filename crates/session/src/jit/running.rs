//! Names of what a running process's runtime has compiled so far, for snapshots of it. Of its stacks only that they were
//! captured while it lived is known here, so that where code came to an address again all names are possible.

use std::time::SystemTime;

use super::{CodeMade, Growth, JitFiles, Wanted, define, outside};

/// What is known of the code of one process; its files are read again only when they have changed.
#[derive(Debug)]
pub struct Running {
    files: JitFiles,
    /// Lengths of the files and when they were written, when they were read.
    read: Vec<Option<(u64, SystemTime)>>,
    code: CodeMade,
}

impl Running {
    /// Of the process with this pid here.
    pub fn of(pid: u32) -> Running {
        Running { files: JitFiles::of(pid), read: Vec::new(), code: CodeMade::default() }
    }

    /// The definitions that name what these run through.
    pub fn names(&mut self, wanted: &Wanted, definitions: &[u8]) -> Vec<u8> {
        let now = self.files.states(wanted.pid);
        if now != self.read {
            self.code = self.files.read(wanted, &Growth::default());
            self.read = now;
        }
        if self.code.is_empty() {
            return Vec::new();
        }
        define(&self.code, &outside(definitions), |_| wanted.lived)
    }
}
