//! The preload library: carried inside this program, placed where the dynamic loader can find it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::message::Problem;

const LIBRARY: &[u8] = include_bytes!(env!("HEAPSCRIBE_PRELOAD"));

/// Places the library in a cache directory, under a name that tells its contents; where it is.
pub(crate) fn place() -> Result<PathBuf> {
    let name = format!("libheapscribe_preload.{:08x}.{}.so", crc32fast::hash(LIBRARY), LIBRARY.len());
    let mut reasons = Vec::new();
    for directory in candidates() {
        match place_in(&directory, &name) {
            Ok(path) => return Ok(path),
            Err(e) => reasons.push(format!("{}: {e}", directory.display())),
        }
    }
    let what = format!("the recorder's library can not be placed ({})", reasons.join("; "));
    Err(Problem::new(what, "set XDG_CACHE_HOME to a directory that can be written").into())
}

/// Directories to try. Of root's programs some go on as other users, who cannot look into root's home.
/// The dynamic loader splits its list at colons and blanks, so a path with any of these will not do.
fn candidates() -> impl Iterator<Item = PathBuf> {
    let uid = rustix::process::geteuid();
    let root = uid.is_root().then(|| PathBuf::from("/var/cache/heapscribe"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let user = cache.or(home).map(|cache| cache.join("heapscribe"));
    let temporary = std::env::temp_dir().join(format!("heapscribe-cache.{}", uid.as_raw()));
    let usable =
        |path: &PathBuf| path.is_absolute() && !path.as_os_str().as_bytes().iter().any(|b| b": ".contains(b));
    root.into_iter().chain(user).chain([temporary]).filter(usable)
}

fn place_in(directory: &Path, name: &str) -> io::Result<PathBuf> {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
    let meta = fs::symlink_metadata(directory)?;
    if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() || meta.mode() & 0o022 != 0 {
        return Err(io::Error::other("others may write there"));
    }
    let path = directory.join(name);
    if fs::read(&path).is_ok_and(|there| there == LIBRARY) {
        return Ok(path);
    }
    let new = directory.join(format!("{name}.{}", std::process::id()));
    fs::write(&new, LIBRARY)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
    fs::rename(&new, &path)?;
    Ok(path)
}

/// What LD_PRELOAD is to be: ours first, so that a heap that is preloaded too lies behind it.
pub(crate) fn list(library: &Path) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}
