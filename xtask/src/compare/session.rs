//! What comparisons need, and one comparison: a command recorded with the oracle behind the recorder.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{judge, oracle, recorded, show};
use crate::built::heapscribe;
use crate::sources::root;

/// Why nothing was compared.
pub(super) enum Trouble {
    /// The oracle can not be built.
    NoOracle,
    Other(String),
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Trouble::Other(why)
    }
}

/// What comparisons need: a directory, the oracle, the program.
pub(super) struct Session<'a> {
    pub(super) place: &'a Path,
    oracle: PathBuf,
    heapscribe: PathBuf,
}

impl<'a> Session<'a> {
    pub(super) fn begin(place: &'a Path) -> Result<Session<'a>, Trouble> {
        let oracle = build_oracle(place).ok_or(Trouble::NoOracle)?;
        Ok(Session { place, oracle, heapscribe: heapscribe()? })
    }

    /// Records and compares a command; whether each difference is explained.
    pub(super) fn compare(&self, command: &[impl AsRef<OsStr>], fast: bool) -> Result<bool, Trouble> {
        let (stacks, trace) = (self.place.join("oracle.stacks"), self.place.join("trace.hst"));
        for old in [&stacks, &trace] {
            let _ = std::fs::remove_file(old);
        }
        let mut record = Command::new(&self.heapscribe);
        record.args(["record", "-q", "-o"]).arg(&trace).arg("--").args(command);
        record.env("LD_PRELOAD", &self.oracle).env("STACK_ORACLE", &stacks);
        if fast {
            record.env("STACK_ORACLE_FAST", "1");
        }
        let status = record.status().map_err(|e| format!("heapscribe can not be run: {e}"))?;
        println!("the command ended with {status}");
        let found = judge::judge(&recorded::Calls::read(&trace)?, &oracle::Calls::read(&stacks)?);
        show::print(&found);
        Ok(found.is_explained())
    }
}

fn build_oracle(place: &Path) -> Option<PathBuf> {
    let library = place.join("stack_oracle.so");
    let source = root().join("crates/heapscribe/tests/programs/stack_oracle.c");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-shared", "-fPIC", "-Wl,-z,now", "-o"]).arg(&library).arg(source);
    // libunwind has functions of libgcc's names: who stands first is asked.
    cc.args(["-lgcc_s", "-lunwind"]);
    let output = cc.output().ok()?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
    }
    output.status.success().then_some(library)
}
