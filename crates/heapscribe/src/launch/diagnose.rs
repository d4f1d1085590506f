//! Why a program has no recorded calls: a silent empty trace helps nobody.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use heapscribe_formats::{Unrecorded, UnrecordedProgram, UnrecordedReason};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, ReadCache, ReadRef};

use crate::message;
use heapscribe_collect::Summary;
use heapscribe_views::unrecorded;

/// A program of which no allocation call was recorded.
pub(crate) struct Unseen {
    pid: u32,
    program: OsString,
    why: Why,
}

impl Unseen {
    /// Looks for the reason in its file.
    pub(crate) fn new(program: &OsStr, pid: u32) -> Unseen {
        let why = find(program).as_deref().map_or(Why::Unknown, why);
        Unseen { pid, program: program.to_owned(), why }
    }

    /// The same for the trace, when the reason is one for which it cannot have been recorded.
    pub(crate) fn unrecorded(&self, mono_ns: u64) -> Option<UnrecordedProgram> {
        let reason = match self.why {
            Why::Architecture(_) => UnrecordedReason::Architecture,
            Why::Static | Why::StaticGo => UnrecordedReason::Static,
            Why::Privileged => UnrecordedReason::Privileged,
            Why::OwnHeap(_) => UnrecordedReason::OwnHeap,
            Why::Sanitizer(_) => UnrecordedReason::Sanitizer,
            Why::NoLibc | Why::Script | Why::Unknown => return None,
        };
        Some(UnrecordedProgram { pid: self.pid, mono_ns, reason, name: self.program.as_bytes().to_vec() })
    }

    /// Warns of it, with the reason and what to do. Of one that allocates nothing itself but starts programs that
    /// were recorded nothing is missing, and why one was not recorded that tells it itself is said already; not so with
    /// `is_quiet`, where there is no summary. Who wants it quiet is not told that a program made no calls (`true`): what
    /// the loader would not record has another reason.
    fn warn(self, has_recorded: bool, unrecorded: &Unrecorded, is_quiet: bool) {
        let is_explained = has_recorded || unrecorded.programs.iter().any(|program| program.pid == self.pid);
        let may_be_right = match self.why {
            Why::Unknown => is_explained || is_quiet,
            Why::Script => is_explained,
            _ => false,
        };
        if may_be_right {
            if is_quiet && !has_recorded {
                warn_of(unrecorded);
            }
            return;
        }
        let (pid, program, (why, hint)) = (self.pid, self.program, self.why.words());
        message::warning(&format!("recorded no allocations of process {pid}: {} {why}", program.display()));
        message::hint(hint);
    }
}

/// Warns of the program that was started, if no call of it was recorded. With `is_quiet`, where no summary says it, also
/// if it was recorded but started another in its place that was not: `env -i ./app`.
pub(crate) fn warn(unseen: Option<Unseen>, pid: u32, summary: &Summary, is_quiet: bool) {
    let is_replaced = || summary.unrecorded.programs.iter().any(|program| program.pid == pid);
    match unseen {
        Some(unseen) => unseen.warn(summary.calls + summary.pool_calls > 0, &summary.unrecorded, is_quiet),
        None if is_quiet && is_replaced() => warn_of(&summary.unrecorded),
        None => {}
    }
}

fn warn_of(unrecorded: &Unrecorded) {
    let lines = unrecorded::lines(unrecorded, None);
    lines.iter().for_each(|line| message::warning(&format!("not recorded: {line}")));
}

/// The sanitizer that a program is built with: no other heap can be put under it.
pub(crate) fn sanitizer_of(program: &OsStr) -> Option<&'static str> {
    let cache = ReadCache::new(fs::File::open(find(program)?).ok()?);
    sanitizer(&object::File::parse(&cache).ok()?)
}

/// What machine a program is for, where that is another one than ours.
pub(crate) fn other_machine(path: &Path) -> Option<String> {
    const HEADER: usize = 20;
    const X86_64: u16 = 62;
    const MACHINES: [(u16, &str); 6] =
        [(3, "x86"), (8, "MIPS"), (21, "PowerPC"), (40, "ARM"), (183, "aarch64"), (243, "RISC-V")];
    let mut header = [0; HEADER];
    fs::File::open(path).ok()?.read_exact(&mut header).ok()?;
    let [low, high] = [header[18], header[19]];
    let number =
        if header[5] == 2 { u16::from_be_bytes([low, high]) } else { u16::from_le_bytes([low, high]) };
    let is_other = header.starts_with(b"\x7fELF") && number != X86_64;
    let known = MACHINES.iter().find(|(machine, _)| *machine == number);
    is_other.then(|| known.map_or_else(|| format!("machine {number}"), |(_, name)| (*name).to_owned()))
}

enum Why {
    Architecture(String),
    Static,
    StaticGo,
    Privileged,
    OwnHeap(String),
    Sanitizer(&'static str),
    NoLibc,
    Script,
    Unknown,
}

impl Why {
    fn words(self) -> (String, &'static str) {
        match self {
            Why::Architecture(which) => {
                (format!("is a program for {which}, and the recorder is for x86_64"), "build it for x86_64")
            }
            Why::Static => (
                "is statically linked, so the recorder cannot be loaded into it".to_owned(),
                "link it dynamically; a Rust program can also link the recorder itself (see the documentation: Static programs)",
            ),
            Why::StaticGo => (
                "is a statically linked Go program, whose heap is its runtime's own".to_owned(),
                "`heapscribe report` reads the heap profiles (runtime/pprof) and traces (runtime/trace) that Go writes",
            ),
            Why::Privileged => (
                "is setuid or setgid or has capabilities, so the dynamic loader ignores LD_PRELOAD"
                    .to_owned(),
                "run it as its own user, or record a copy without these rights",
            ),
            Why::OwnHeap(symbol) => (
                format!("contains its own heap ({symbol}) and calls it directly"),
                "build it with the system heap (in Rust, without a #[global_allocator]); heap profiles that jemalloc or tcmalloc write inside it can be given to `heapscribe report`",
            ),
            Why::Sanitizer(name) => (
                format!(
                    "is built with {name}, whose heap looks after every access to memory and is not recorded"
                ),
                "build it without -fsanitize to record it",
            ),
            Why::NoLibc => (
                "uses no C library, as programs in Go do, so it makes no calls that could be recorded"
                    .to_owned(),
                "use the tools of its language; heapscribe reads the traces and heap profiles that Go writes",
            ),
            Why::Script => (
                "is a script, and its interpreter was not recorded".to_owned(),
                "run the interpreter directly: heapscribe record -- INTERPRETER SCRIPT",
            ),
            Why::Unknown => (
                "allocated nothing, or cleared its environment before it started another program".to_owned(),
                "check that LD_PRELOAD reaches it: heapscribe record -- env",
            ),
        }
    }
}

/// The program's file, looked up as the shell does.
fn find(program: &OsStr) -> Option<PathBuf> {
    heapscribe_spawn::candidates(program).into_iter().find(|file| file.is_file())
}

fn why(path: &Path) -> Why {
    let is_setuid = fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o6000 != 0);
    if is_setuid || rustix::fs::getxattr(path, "security.capability", &mut [0u8; 64]).is_ok() {
        return Why::Privileged;
    }
    let Ok(bytes) = fs::read(path) else { return Why::Unknown };
    if bytes.starts_with(b"#!") {
        return Why::Script;
    }
    let Ok(file) = object::File::parse(&*bytes) else { return Why::Unknown };
    if let Some(name) = sanitizer(&file) {
        return Why::Sanitizer(name);
    }
    if file.architecture() != object::Architecture::X86_64 {
        return Why::Architecture(format!("{:?}", file.architecture()).to_lowercase());
    }
    if let Some(symbol) = own_heap(&file) {
        return Why::OwnHeap(symbol);
    }
    match file.section_by_name(".interp") {
        None if file.section_by_name(".go.buildinfo").is_some() => Why::StaticGo,
        None => Why::Static,
        Some(_) if !needs_libraries(&file) => Why::NoLibc,
        Some(_) => Why::Unknown,
    }
}

/// Whether a program that the loader starts needs any library.
fn needs_libraries(file: &object::File<'_>) -> bool {
    const ENTRY_BYTES: usize = 16;
    const NEEDED: u64 = 1;
    let dynamic =
        file.section_by_name(".dynamic").and_then(|section| section.data().ok()).unwrap_or_default();
    let mut tags = dynamic.chunks_exact(ENTRY_BYTES).filter_map(|entry| entry.first_chunk());
    tags.any(|tag| u64::from_le_bytes(*tag) == NEEDED)
}

/// The sanitizer that a program is built with: its runtime is a library that it needs, or is linked into it.
fn sanitizer<'a>(file: &object::File<'a, impl ReadRef<'a>>) -> Option<&'static str> {
    const SANITIZERS: [(&str, &str); 4] = [
        ("__asan_init", "AddressSanitizer"),
        ("__hwasan_init", "HWAddressSanitizer"),
        ("__msan_init", "MemorySanitizer"),
        ("__tsan_init", "ThreadSanitizer"),
    ];
    file.dynamic_symbols().chain(file.symbols()).find_map(|symbol| {
        let name = symbol.name().ok()?;
        SANITIZERS.iter().find(|(init, _)| *init == name).map(|(_, sanitizer)| *sanitizer)
    })
}

/// A symbol that tells of a heap inside the program: its own `malloc`, or one of the well-known heaps.
fn own_heap(file: &object::File<'_>) -> Option<String> {
    const PREFIXES: [&str; 6] = ["_rjem_", "je_malloc", "mi_malloc", "tc_malloc", "rpmalloc", "sn_malloc"];
    let mut symbols = file.dynamic_symbols().chain(file.symbols()).filter(|symbol| symbol.is_definition());
    let name = symbols.find_map(|symbol| {
        let name = symbol.name().ok()?;
        let is_heap = name == "malloc" || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        is_heap.then(|| name.to_owned())
    });
    // A static program has a malloc too; that it is static says more.
    name.filter(|_| file.section_by_name(".interp").is_some())
}
