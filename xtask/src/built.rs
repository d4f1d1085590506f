//! The program as users have it: the release build of this repository, or another that `HEAPSCRIBE_BIN` names.

use std::path::PathBuf;
use std::process::Command;

use crate::sources::root;

/// Builds it when nobody names another; where it is.
pub(crate) fn heapscribe() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("HEAPSCRIBE_BIN") {
        return Ok(named.into());
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "-q", "--release", "-p", "heapscribe"]).current_dir(root());
    match cargo.status() {
        Ok(status) if status.success() => {}
        _ => return Err("heapscribe can not be built".to_owned()),
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("release/heapscribe"))
}
