//! The libraries that are preloaded into programs: embedded in this one, and written to a cache directory for
//! the dynamic loader.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Result;

use heapscribe_diagnostics::Problem;
use rustix::fs::{StatVfsMountFlags, statvfs};

use super::carried::Carried;

/// What a program is started with: libraries to preload, in this order, and variables for them.
#[derive(Debug, Default)]
pub(crate) struct Preload {
    pub(crate) libraries: Vec<PathBuf>,
    pub(crate) variables: Vec<(&'static str, OsString)>,
}

/// A library that is carried inside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Library {
    /// What its file's name begins with.
    stem: &'static str,
    file: Carried,
}

/// A file that `build.rs` built, and compressed beside it.
macro_rules! carried {
    ($variable:literal) => {
        Carried::new(include_bytes!(concat!(env!($variable), ".gz")))
    };
}

/// The recorder.
pub(crate) const RECORDER: Library =
    Library { stem: "libheapscribe_preload", file: carried!("HEAPSCRIBE_PRELOAD") };
/// The pool heap.
pub(crate) const TLSF: Library =
    Library { stem: "libheapscribe_tlsf", file: carried!("HEAPSCRIBE_HEAP_TLSF") };
/// The program's own heap, behind functions of ours.
pub(crate) const ORIGINAL: Library =
    Library { stem: "libheapscribe_original", file: carried!("HEAPSCRIBE_HEAP_ORIGINAL") };
/// A heap that another library brings as a table of functions.
pub(crate) const TABLE: Library =
    Library { stem: "libheapscribe_table", file: carried!("HEAPSCRIBE_HEAP_TABLE") };
/// The same to be linked into that other library, which then needs no other.
pub(crate) const TABLE_ARCHIVE: Carried = carried!("HEAPSCRIBE_HEAP_TABLE_ARCHIVE");
/// That with a log of every call.
pub(crate) const HEAPLOG: Library =
    Library { stem: "libheapscribe_heaplog", file: carried!("HEAPSCRIBE_HEAP_HEAPLOG") };
/// The pool heap with heaphook's defaults.
pub(crate) const HEAPHOOK_TLSF: Library =
    Library { stem: "libpreloaded_tlsf", file: carried!("HEAPSCRIBE_HEAP_HEAPHOOK_TLSF") };

impl Library {
    pub(crate) fn file(self) -> Carried {
        self.file
    }
}

/// Places a library in a cache directory, under a name that tells its contents; where it is.
pub(crate) fn place(library: Library) -> Result<PathBuf> {
    let Library { stem, file } = library;
    let name = format!("{stem}.{:08x}.{}.so", file.crc32(), file.size_bytes());
    let mut reasons = Vec::new();
    for directory in candidates() {
        match place_in(&directory, &name, file) {
            Ok(path) => return Ok(path),
            Err(e) => reasons.push(format!("{}: {e}", directory.display())),
        }
    }
    let what = format!("cannot install {stem}.so ({})", reasons.join("; "));
    Err(Problem::new(what, "set XDG_CACHE_HOME to a writable directory that is not mounted with noexec")
        .into())
}

/// A directory that has the letters `libasan.so`, and says to whoever sees it in a process why.
const DETOUR: &str = "for-AddressSanitizer-libasan.so";
const WHY_A_DETOUR: &str = "\
heapscribe loads its library by a path that leads through this directory and out of it again:
.../for-AddressSanitizer-libasan.so/../libheapscribe_preload...so. AddressSanitizer's runtime ends each program in which
another library is loaded before it, unless `libasan.so` is in that library's path. Nothing else is in here.
";

/// The same file by a path that AddressSanitizer's runtime takes for its own. It lets no program start in which another
/// library comes first, and knows itself by these letters in the path that the loader was told; this holds for
/// children, too, which no variable of ours would have to reach.
pub(crate) fn before_sanitizers(library: PathBuf) -> PathBuf {
    let (Some(directory), Some(name)) = (library.parent(), library.file_name()) else { return library };
    let detour = directory.join(DETOUR);
    let is_there = detour.is_dir() || fs::create_dir(&detour).is_ok();
    if is_there && !detour.join("README").exists() {
        // It is for people only: the detour works without.
        let _ = fs::write(detour.join("README"), WHY_A_DETOUR);
    }
    if is_there { detour.join("..").join(name) } else { library }
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
    root.into_iter().chain(user).chain([temporary]).filter(|path| is_listable(path))
}

fn place_in(directory: &Path, name: &str, file: Carried) -> io::Result<PathBuf> {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
    let meta = fs::symlink_metadata(directory)?;
    if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() || meta.mode() & 0o022 != 0 {
        return Err(io::Error::other("other users can write to it"));
    }
    if statvfs(directory)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err(io::Error::other("mounted with noexec"));
    }
    let path = directory.join(name);
    if fs::read(&path).is_ok_and(|there| file.is(&there)) {
        return Ok(path);
    }
    let new = directory.join(format!("{name}.{}", std::process::id()));
    fs::write(&new, file.unpacked()?)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
    fs::rename(&new, &path)?;
    Ok(path)
}

/// What LD_PRELOAD is to be: ours first, in their order, so that a heap that is preloaded too lies behind them.
pub(crate) fn list(libraries: &[PathBuf]) -> OsString {
    let others = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty());
    let mut list = OsString::new();
    for library in libraries.iter().map(|path| path.as_os_str()).chain(others.as_deref()) {
        if !list.is_empty() {
            list.push(":");
        }
        list.push(library);
    }
    list
}

/// Whether the dynamic loader can be told this path: its list is split at colons and blanks.
pub(crate) fn is_listable(path: &Path) -> bool {
    path.is_absolute() && !path.as_os_str().as_bytes().iter().any(|b| b": \t\n".contains(b))
}
