//! `heapscribe install-libs`: installs the heap libraries for use without heapscribe, for example in a ROS 2 launch
//! file: under heaphook's names, so that the launch file need not change, and under our own.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSymbol as _};
use serde_json::json;

use crate::cli::InstallLibsArgs;
use crate::launch::preload::{self, Library};
use heapscribe_diagnostics::Problem;

/// A symbol that every version of our libraries exports.
const OURS: &str = "heapscribe_heap_shell";

/// A library under a name.
struct Installed {
    name: &'static str,
    library: Library,
    purpose: &'static str,
}

const LIBRARIES: [Installed; 7] = [
    Installed {
        name: "libpreloaded_heaptrack.so",
        library: preload::HEAPLOG,
        purpose: "writes every heap call to heaplog.PID.log (HEAPLOG_FORMAT=calls|csv, HEAPLOG_DIR)",
    },
    Installed {
        name: "libpreloaded_tlsf.so",
        library: preload::HEAPHOOK_TLSF,
        purpose: "real-time pool heap (INITIAL_MEMPOOL_SIZE, ADDITIONAL_MEMPOOL_SIZE in bytes; default 100000000)",
    },
    Installed {
        name: "liboriginal_allocator.so",
        library: preload::ORIGINAL,
        purpose: "the program's own heap behind heapscribe's functions, to measure the cost of preloading",
    },
    Installed {
        name: "libheapscribe_heaplog.so",
        library: preload::HEAPLOG,
        purpose: "the same as libpreloaded_heaptrack.so",
    },
    Installed {
        name: "libheapscribe_tlsf.so",
        library: preload::TLSF,
        purpose: "the same heap as libpreloaded_tlsf.so (HEAPSCRIBE_POOL=64MiB, HEAPSCRIBE_POOL_GROW=16MiB)",
    },
    Installed {
        name: "libheapscribe_original.so",
        library: preload::ORIGINAL,
        purpose: "the same as liboriginal_allocator.so",
    },
    Installed {
        name: "libheapscribe_table.so",
        library: preload::TABLE,
        purpose: "adapter for your own library with heapscribe_get_heap (see heapscribe_heap.h)",
    },
];

/// Runs the command.
pub(crate) fn run(args: &InstallLibsArgs) -> Result<ExitCode> {
    if let Some(directory) = &args.directory {
        install(directory, args.force)?;
    }
    let mut out = io::stdout().lock();
    match args.json {
        true => out.write_all(&as_json(args.directory.as_deref())?)?,
        false => as_text(&mut out, args.directory.as_deref())?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Installs all libraries or none: checks every file before it writes the first.
fn install(directory: &Path, force: bool) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let foreign = LIBRARIES.iter().map(|file| directory.join(file.name)).find(|path| !is_ours(path));
    if let Some(path) = foreign.filter(|_| !force) {
        let what = format!("{} already exists and is not a heapscribe library", path.display());
        return Err(Problem::new(what, "choose another directory, or overwrite it with --force").into());
    }
    for file in &LIBRARIES {
        let path = directory.join(file.name);
        let written = file.library.file().unpacked().and_then(|bytes| write(&path, &bytes));
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Whether a file may be overwritten: it does not exist, or it is one of our libraries.
fn is_ours(path: &Path) -> bool {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) => return e.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err(),
    };
    let Ok(file) = ElfFile64::<object::Endianness>::parse(&*bytes) else { return false };
    file.dynamic_symbols().any(|symbol| symbol.is_definition() && symbol.name() == Ok(OURS))
}

/// Writes a new file and renames it: running programs keep the old one mapped.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension(format!("so.{}", std::process::id()));
    fs::write(&new, bytes)?;
    fs::set_permissions(&new, Permissions::from_mode(0o755))?;
    fs::rename(&new, path)
}

fn as_text(out: &mut impl Write, directory: Option<&Path>) -> io::Result<()> {
    if let Some(directory) = directory {
        writeln!(out, "Installed in {}:", directory.display())?;
    }
    for file in &LIBRARIES {
        writeln!(out, "  {:26} {}", file.name, file.purpose)?;
    }
    Ok(())
}

fn as_json(directory: Option<&Path>) -> Result<Vec<u8>> {
    let libraries = LIBRARIES.iter().map(|file| {
        let path = directory.map(|directory| directory.join(file.name).to_string_lossy().into_owned());
        json!({ "name": file.name, "path": path, "bytes": file.library.file().size_bytes(), "purpose": file.purpose })
    });
    let mut text = serde_json::to_vec_pretty(&json!({ "libraries": libraries.collect::<Vec<_>>() }))?;
    text.push(b'\n');
    Ok(text)
}
