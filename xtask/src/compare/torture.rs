//! All parts of the programs that e2e/stacks.rs records, each compared.

use std::ffi::OsString;
use std::process::Command;

use super::session::{Session, Trouble};
use crate::sources::root;

const PROGRAMS: [&str; 4] = ["flow", "signals", "fibers", "code"];
const LIBRARIES: [&str; 4] = ["first.so", "second.so", "lazy.so", "other.so"];

/// Compares them; whether each difference is explained.
pub(super) fn run(session: Session<'_>) -> Result<bool, Trouble> {
    let script = root().join("crates/heapscribe/tests/programs/stacks_build.sh");
    let (program, mut is_explained) = (session.place.join("stacks"), true);
    for name in PROGRAMS {
        let status = Command::new("sh").arg(&script).arg(session.place).arg(name).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(format!("stacks_{name} can not be compiled").into());
        }
        let parts = Command::new(&program).output().map_err(|e| e.to_string())?;
        for part in String::from_utf8_lossy(&parts.stdout).lines() {
            println!("--- {name} {part}");
            let libraries = LIBRARIES.map(|library| session.place.join(library).into_os_string());
            let command: Vec<OsString> =
                [program.clone().into(), part.into()].into_iter().chain(libraries).collect();
            is_explained &= session.compare(&command, false)?;
        }
    }
    Ok(is_explained)
}
