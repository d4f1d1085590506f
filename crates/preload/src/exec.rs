//! The ways in which a process goes on as another program: noted before, and taken back when it fails. So a process
//! that becomes one without a session - a static one, or one that allocates nothing - is known to have done that,
//! and not taken for killed. One that execs by a system call of its own is. A program that will not be recorded is
//! noted with the reason, also one that is spawned.
//!
//! Three have their arguments one by one. Their hooks make the list of them where they lie: the five in registers
//! are pushed behind those on the stack, over the return address, which is kept below.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_int, c_void};

use heapscribe_nolibc::sys;
use heapscribe_recorder::{
    NewProgram, ProgramFile, UnrecordedNote, begin_exec, exec_failed, note_unrecorded, obstacle, program,
    take_back_unrecorded,
};

type Text = *const c_char;
type List = *const Text;

/// The function of this name that the program would have called.
fn next(name: &str, own: *const ()) -> Option<*const ()> {
    program::loader()?.find_next(name.as_bytes(), own)
}

/// What is noted before an exec, and taken back when it fails.
struct Exec {
    unrecorded: Option<UnrecordedNote>,
}

impl Exec {
    /// Begins the exec of a program.
    ///
    /// # Safety
    /// * The program is that of a call that a program may make.
    unsafe fn begin(program: &NewProgram) -> Exec {
        begin_exec();
        // SAFETY: as the caller says.
        let note = |reason| unsafe { note_unrecorded(sys::pid(), program.name, reason) };
        // SAFETY: as the caller says.
        Exec { unrecorded: unsafe { obstacle(program) }.map(note) }
    }

    fn fail(self) {
        exec_failed();
        if let Some(note) = self.unrecorded {
            take_back_unrecorded(note);
        }
    }
}

/// The file that `execveat` is given.
fn file_at(directory: c_int, path: Text) -> ProgramFile {
    const AT_FDCWD: c_int = -100;
    // SAFETY: the program's call: a C string or null.
    let is_absolute = !path.is_null() && unsafe { *path } == b'/' as c_char;
    if is_absolute || directory == AT_FDCWD { ProgramFile::At(path) } else { ProgramFile::Unknown }
}

macro_rules! exec_functions {
    ($($name:ident($($argument:ident: $type:ty),*) of $name_given:expr, $file:expr, $environment:expr;)*) => {$(
        /// The C library's function of this name.
        ///
        /// # Safety
        /// * The call is one that a program may make of the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            type Function = unsafe extern "C" fn($($type),*) -> c_int;
            const FAILED: c_int = -1;
            let Some(next) = next(stringify!($name), $name as *const ()) else { return FAILED };
            // SAFETY: the program's arguments, of which the C library's function of this name takes the same.
            unsafe {
                let program =
                    NewProgram { name: $name_given, file: $file, environment: $environment };
                let exec = Exec::begin(&program);
                let result = core::mem::transmute::<*const (), Function>(next)($($argument),*);
                exec.fail();
                result
            }
        }
    )*};
}

exec_functions! {
    execve(path: Text, arguments: List, environment: List)
        of path, ProgramFile::At(path), Some(environment);
    execv(path: Text, arguments: List)
        of path, ProgramFile::At(path), None;
    execvp(file: Text, arguments: List)
        of file, ProgramFile::Searched(file), None;
    execvpe(file: Text, arguments: List, environment: List)
        of file, ProgramFile::Searched(file), Some(environment);
    fexecve(descriptor: c_int, arguments: List, environment: List)
        of *arguments, ProgramFile::Open(descriptor), Some(environment);
    execveat(directory: c_int, path: Text, arguments: List, environment: List, flags: c_int)
        of path, file_at(directory, path), Some(environment);
}

type Pid = c_int;
type Settings = *const c_void;

macro_rules! spawn_functions {
    ($($name:ident in $file:expr;)*) => {$(
        /// The C library's function of this name.
        ///
        /// # Safety
        /// * The call is one that a program may make of the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            pid: *mut Pid,
            file: Text,
            actions: Settings,
            attributes: Settings,
            arguments: List,
            environment: List,
        ) -> c_int {
            type Function = unsafe extern "C" fn(*mut Pid, Text, Settings, Settings, List, List) -> c_int;
            const NO_SUCH_FUNCTION: c_int = 38;
            let Some(next) = next(stringify!($name), $name as *const ()) else { return NO_SUCH_FUNCTION };
            let mut child = 0;
            // SAFETY: the program's arguments, of which the C library's function of this name takes the same; it
            // writes the pid when it has made a process, and takes null for who does not want it.
            unsafe {
                let next = core::mem::transmute::<*const (), Function>(next);
                let failed = next(&raw mut child, file, actions, attributes, arguments, environment);
                if failed == 0 && !pid.is_null() {
                    pid.write(child);
                }
                let program =
                    NewProgram { name: file, file: $file(file), environment: Some(environment) };
                if failed == 0 && let Some(reason) = obstacle(&program) {
                    note_unrecorded(child as u32, file, reason);
                }
                failed
            }
        }
    )*};
}

spawn_functions! {
    posix_spawn in ProgramFile::At;
    posix_spawnp in ProgramFile::Searched;
}

/// `execle` with the list of its arguments, behind whose end the environment stands.
///
/// # Safety
/// * The list is that of a call that a program may make of `execle`.
unsafe extern "C" fn execle_of_list(path: Text, arguments: List) -> c_int {
    let mut end = arguments;
    // SAFETY: the list ends with null, and behind that stands the environment.
    unsafe {
        while !(*end).is_null() {
            end = end.add(1);
        }
        execve(path, arguments, *end.add(1).cast::<List>())
    }
}

macro_rules! exec_functions_of_single_arguments {
    ($($name:ident => $body:path;)*) => {$(
        /// The C library's function of this name.
        ///
        /// # Safety
        /// * The call is one that a program may make of the C library's function.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "pop r11",
                ".cfi_register 16, 11",
                ".cfi_adjust_cfa_offset -8",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                ".cfi_adjust_cfa_offset 40",
                "mov rsi, rsp",
                "push r11",
                ".cfi_adjust_cfa_offset 8",
                ".cfi_offset 16, -48",
                "call {body}",
                "pop r11",
                ".cfi_register 16, 11",
                ".cfi_adjust_cfa_offset -8",
                "add rsp, 40",
                ".cfi_adjust_cfa_offset -40",
                "push r11",
                ".cfi_adjust_cfa_offset 8",
                ".cfi_offset 16, -8",
                "ret",
                ".cfi_endproc",
                body = sym $body
            )
        }
    )*};
}

exec_functions_of_single_arguments! {
    execl => execv;
    execlp => execvp;
    execle => execle_of_list;
}
