//! A program that is about to be started in this process or by it: whether it will be recorded, as far as can be seen
//! before. It is looked at as the program itself will look: with the rights that it will have, and among the files
//! that it will see.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_int};

use heapscribe_nolibc::environment;
use heapscribe_nolibc::sys::{self, Errno};
use heapscribe_wire::unrecorded::UnrecordedReason;

use super::program_file;
use crate::platform::c_path::CPath;
use crate::platform::session_path;
use crate::program;

type List = *const *const c_char;

/// Where the file of a program is.
#[derive(Clone, Copy, Debug)]
pub enum ProgramFile {
    /// At this path, a C string.
    At(*const c_char),
    /// In a directory of PATH, unless the name has a slash.
    Searched(*const c_char),
    /// Open already.
    Open(c_int),
    /// Not known.
    Unknown,
}

/// A program that is about to be started, as the call names it.
#[derive(Clone, Copy, Debug)]
pub struct NewProgram {
    /// Its name, a C string or null.
    pub name: *const c_char,
    /// Its file.
    pub file: ProgramFile,
    /// Its environment, a list of C strings that ends with null; `None` for that of this process as it is now.
    pub environment: Option<List>,
}

/// Why this program will not be recorded, though this one is.
///
/// # Safety
/// * Its name, its file and its environment are those of a call that a program may make.
pub unsafe fn obstacle(program: &NewProgram) -> Option<UnrecordedReason> {
    let base = base()?;
    let environment = program.environment.or_else(own_environment)?;
    // SAFETY: as the caller says.
    unsafe {
        let of_file = of_file(program.file);
        of_file.or_else(of_rights).or_else(|| of_environment(environment, base))
    }
}

/// The base directory of the recording, in a process that has no session yet, too.
pub(super) fn base() -> Option<&'static CStr> {
    let of_environment = || {
        let environment = own_environment().filter(|_| !environment::is_privileged())?;
        // SAFETY: libc's own list.
        unsafe { variable(environment, SESSION) }.filter(|base| base.to_bytes().first() == Some(&b'/'))
    };
    session_path::base().or_else(of_environment)
}

const SESSION: &[u8] = b"HEAPSCRIBE_SESSION=";

fn of_rights() -> Option<UnrecordedReason> {
    sys::has_other_rights().then_some(UnrecordedReason::Privileged)
}

/// # Safety
/// * A path is a C string.
unsafe fn of_file(file: ProgramFile) -> Option<UnrecordedReason> {
    // SAFETY: C strings.
    let text = |path: *const c_char| (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) });
    match file {
        ProgramFile::At(path) => program_file::obstacle(text(path)?),
        ProgramFile::Searched(name) => of_searched(text(name)?),
        ProgramFile::Open(descriptor) => {
            let mut path = CPath::of(&[b"/proc/self/fd/"])?;
            path.push_number(u64::try_from(descriptor).ok()?)?;
            program_file::obstacle(path.as_c_str())
        }
        ProgramFile::Unknown => None,
    }
}

/// The same of the first program of this name in PATH.
fn of_searched(name: &CStr) -> Option<UnrecordedReason> {
    if name.to_bytes().contains(&b'/') {
        return program_file::obstacle(name);
    }
    // SAFETY: libc's own list.
    let path =
        unsafe { variable(own_environment()?, b"PATH=") }.map_or(&b"/bin:/usr/bin"[..], CStr::to_bytes);
    let mut candidates = path.split(|byte| *byte == b':').filter_map(|directory| {
        let directory = if directory.is_empty() { b"." } else { directory };
        CPath::of(&[directory, b"/", name.to_bytes()])
    });
    let file = candidates.find(|file| program_file::is_program(file.as_c_str()))?;
    program_file::obstacle(file.as_c_str())
}

/// What its environment lacks, or what that leads to and it cannot reach.
///
/// # Safety
/// * The environment is null, or a list of C strings that ends with null.
unsafe fn of_environment(environment: List, base: &CStr) -> Option<UnrecordedReason> {
    // SAFETY: an environment.
    let [session, preload] =
        [SESSION, b"LD_PRELOAD="].map(|name: &[u8]| unsafe { variable(environment, name) });
    let is_blank = |byte: &u8| matches!(byte, b':' | b' ');
    let mut libraries = preload.map_or(&[][..], CStr::to_bytes).split(is_blank);
    let is_ours = |path: &&[u8]| path.windows(LIBRARY.len()).any(|part| part == LIBRARY);
    if session != Some(base) {
        return Some(UnrecordedReason::Environment);
    }
    let Some(library) = libraries.find(is_ours) else { return Some(UnrecordedReason::Preload) };
    let unreached = match sys::stat_path(base) {
        Ok(directory) if directory.uid != sys::euid() => Some(UnrecordedReason::User),
        // It sees the directory, and can make no session there: `bwrap --ro-bind / /`.
        Ok(_) if sys::is_read_only(base) => Some(UnrecordedReason::Hidden),
        Ok(_) => None,
        Err(error) => of_error(error),
    };
    unreached.or_else(|| of_error(sys::stat_path(CPath::of(&[library])?.as_c_str()).err()?))
}

/// Why a path cannot be reached.
const fn of_error(error: Errno) -> Option<UnrecordedReason> {
    match error {
        Errno::EACCES => Some(UnrecordedReason::User),
        Errno::ENOENT | Errno::ENOTDIR => Some(UnrecordedReason::Hidden),
        _ => None,
    }
}

/// What the name of our library begins with, wherever it is.
const LIBRARY: &[u8] = b"/libheapscribe_preload";

fn own_environment() -> Option<List> {
    let place = program::loader()?.find_anywhere(b"environ")?.cast::<List>();
    // SAFETY: libc's variable of this name.
    Some(unsafe { place.read() })
}

/// The value of the variable whose name and `=` are `name`.
///
/// # Safety
/// * The environment is null, or a list of C strings that ends with null.
unsafe fn variable<'a>(environment: List, name: &[u8]) -> Option<&'a CStr> {
    let mut at = environment;
    // SAFETY: a list of C strings that ends with null; what follows a prefix of one is a C string, too.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            if CStr::from_ptr(*at).to_bytes().starts_with(name) {
                return Some(CStr::from_ptr((*at).add(name.len())));
            }
            at = at.add(1);
        }
    }
    None
}
