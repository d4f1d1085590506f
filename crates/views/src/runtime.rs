//! Blocks that the runtime libraries of C, C++ and Rust keep until a process ends, on purpose: every program that
//! prints a line has some. They are no leaks of the program, so `report` puts them into one line and `check` lets
//! them pass.
//!
//! A block is the runtime's when it was asked for by a function that is known to keep it, with nothing of the
//! program between that function and malloc.

use heapscribe_analyze::answer::{NodeId, Stack};
use heapscribe_symbols::{NamedFrame, NamedStacks, short};

/// Blocks for one purpose.
struct Purpose {
    name: &'static str,
    /// Whether the innermost frames, those of the runtime itself, are of such a block.
    is_it: fn(&[NamedFrame]) -> bool,
}

/// All purposes. Names of libc's functions stand without `__GI_` and leading underscores.
const PURPOSES: [Purpose; 10] = [
    Purpose {
        name: "buffers of stdio",
        is_it: |frames| is_called_by(frames, 1, &["IO_file_doallocate", "IO_wfile_doallocate"]),
    },
    Purpose { name: "memory for C++ exceptions", is_it: is_exception_pool },
    Purpose {
        name: "loaded libraries",
        is_it: |frames| {
            is_called_by(frames, ANY, &["dlopen", "dlmopen", "dl_open", "dl_open_worker", "libc_dlopen_mode"])
        },
    },
    Purpose {
        name: "stacks of threads",
        is_it: |frames| is_called_by(frames, ANY, &["dl_allocate_tls", "allocate_dtv"]),
    },
    Purpose { name: "locale", is_it: |frames| is_called_by(frames, ANY, &["setlocale"]) },
    Purpose {
        name: "translated messages",
        is_it: |frames| {
            let keep =
                ["textdomain", "bindtextdomain", "bind_textdomain_codeset", "dcigettext", "nl_load_domain"];
            is_called_by(frames, ANY, &keep)
        },
    },
    Purpose {
        name: "time zone",
        is_it: |frames| is_called_by(frames, ANY, &["tzset", "tz_convert", "tzset_internal"]),
    },
    Purpose {
        name: "users and hosts",
        is_it: |frames| {
            let keep = [
                "nss_database_get",
                "nss_module_allocate",
                "nss_action_parse",
                "resolv_conf_get_current",
                "resolv_conf_load",
                "resolv_conf_allocate",
                "resolv_conf_attach",
            ];
            is_called_by(frames, ANY, &keep)
                || is_called_by(frames, 1, &["getpwuid", "getpwnam", "getgrgid", "getgrnam", "gethostbyname"])
        },
    },
    Purpose { name: "functions to call at exit", is_it: |frames| is_called_by(frames, ANY, &["new_exitfn"]) },
    Purpose { name: "Rust's main thread", is_it: is_rust_main_thread },
];

/// Frames that are enough to know which library a block is of.
const INNERMOST: usize = 64;
/// Frames of libc that are looked at.
const ANY: usize = usize::MAX;

/// How many purposes there are.
pub(crate) const COUNT: usize = PURPOSES.len();

/// What a runtime library keeps the blocks of a stack for: a number below [`COUNT`].
pub(crate) fn purpose(frames: &[NamedFrame]) -> Option<usize> {
    PURPOSES.iter().position(|purpose| (purpose.is_it)(frames))
}

/// Finds what runtime libraries keep among many stacks, most of which their innermost frames rule out.
pub(crate) struct Purposes<'a> {
    names: &'a NamedStacks<'a>,
    /// Whether there is a function that blocks of Rust's library are told by.
    has_rust: bool,
}

impl<'a> Purposes<'a> {
    pub(crate) fn new(names: &'a NamedStacks<'a>) -> Purposes<'a> {
        Purposes { names, has_rust: names.has_function(may_be_of_rust) }
    }

    /// What the blocks of a stack are kept for, see [`purpose`].
    pub(crate) fn of(&self, stack: NodeId) -> Option<usize> {
        let first = self.names.innermost(stack, 2);
        let is_libc = first.first().is_some_and(|frame| is_in(frame, &LIBC));
        let is_possible = is_libc || self.has_rust || is_exception_pool(&first);
        is_possible.then(|| purpose(&self.names.innermost(stack, INNERMOST))).flatten()
    }

    /// Those of some stacks that left blocks for a runtime library, with what it keeps them for.
    pub(crate) fn kept<'s>(
        &self,
        stacks: impl Iterator<Item = &'s Stack>,
    ) -> impl Iterator<Item = (&'s Stack, usize)> {
        let left = stacks.filter(|stack| stack.leaked.blocks > 0);
        left.filter_map(|stack| Some((stack, self.of(stack.node)?)))
    }
}

/// In a few words.
pub(crate) fn name(purpose: usize) -> &'static str {
    PURPOSES[purpose].name
}

fn is_in(frame: &NamedFrame, libraries: &[&str]) -> bool {
    let file = frame.module.as_deref().map(|path| path.rsplit('/').next().unwrap_or(path));
    file.is_some_and(|file| libraries.iter().any(|library| file.starts_with(library)))
}

const LIBC: [&str; 7] = ["libc.so", "libc-2", "ld-linux", "ld-2", "ld-musl", "libpthread", "libdl"];

/// Whether one of the first frames, all libc's, is one of these functions.
fn is_called_by(frames: &[NamedFrame], first: usize, functions: &[&str]) -> bool {
    let of_libc = frames.iter().take(first).take_while(|frame| is_in(frame, &LIBC));
    let mut names = of_libc.filter_map(|frame| frame.function.as_deref());
    names.any(|name| {
        let name = name.strip_prefix("__GI_").unwrap_or(name).trim_start_matches('_');
        functions.contains(&name)
    })
}

/// What the C++ library sets aside when it is loaded, to throw `bad_alloc` from.
fn is_exception_pool(frames: &[NamedFrame]) -> bool {
    let [pool, rest @ ..] = frames else { return false };
    let is_linked_in = pool.file.as_deref().is_some_and(|file| file.ends_with("/eh_alloc.cc"));
    let is_loaded = is_in(pool, &["libstdc++.so", "libc++abi.so"])
        && rest.first().is_some_and(|caller| is_in(caller, &["ld-linux", "ld-2", "ld-musl"]));
    is_linked_in || is_loaded
}

/// Whether a function may be one of those that [`is_rust_main_thread`] looks for.
fn may_be_of_rust(name: &str) -> bool {
    name.contains("rt::init") || name.contains("stack_overflow")
}

/// What Rust's library allocates before `main`, and keeps.
fn is_rust_main_thread(frames: &[NamedFrame]) -> bool {
    // Short names are dear, and hardly any stack has one of these.
    if !frames.iter().any(|frame| frame.function.as_deref().is_some_and(may_be_of_rust)) {
        return false;
    }
    let names = frames.iter().map_while(|frame| frame.function.as_deref().map(short));
    let mut of_library = names.take_while(|name| {
        ["std::", "core::", "alloc::", "__rust"].iter().any(|library| name.starts_with(library))
            || !name.contains("::")
    });
    of_library.any(|name| {
        name == "std::rt::init" || name.starts_with("std::sys::pal::unix::stack_overflow::imp::init")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: &str = "/lib/x86_64-linux-gnu/libc.so.6";
    const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

    fn check(frames: &[(&str, &str)], expected: Option<&str>) {
        let frame = |(function, module): &(&str, &str)| NamedFrame {
            function: Some((*function).to_owned()).filter(|name| !name.is_empty()),
            module: Some((*module).to_owned()),
            ..NamedFrame::default()
        };
        let frames: Vec<_> = frames.iter().map(frame).collect();
        assert_eq!(purpose(&frames).map(name), expected, "{frames:?}");
    }

    #[test]
    fn what_a_runtime_keeps_is_known_by_who_asked_for_it() {
        let app = "/home/me/app";
        check(
            &[("__GI__IO_file_doallocate", C), ("__GI__IO_puts", C), ("main", app)],
            Some("buffers of stdio"),
        );
        check(&[("__fopen_internal", C), ("main", app)], None);
        check(&[("", "/usr/lib/libstdc++.so.6"), ("call_init", LOADER)], Some("memory for C++ exceptions"));
        check(&[("", "/usr/lib/libstdc++.so.6"), ("main", app)], None);
        check(&[("_dl_new_object", LOADER), ("_dl_open", LOADER), ("main", app)], Some("loaded libraries"));
        check(&[("init_plugin", "/opt/plugin.so"), ("call_init", LOADER), ("_dl_open", LOADER)], None);
        check(&[("_nl_find_locale", C), ("__GI_setlocale", C), ("main", app)], Some("locale"));
        check(&[("set_up", app), ("setlocale", C)], None);
        check(&[("__strdup", C), ("__textdomain", C), ("main", app)], Some("translated messages"));
        let rust = [
            "alloc::alloc::alloc",
            "std::sys::pal::unix::stack_overflow::imp::init",
            "std::rt::init",
            "main",
        ];
        check(&rust.map(|name| (name, app)), Some("Rust's main thread"));
        check(&["alloc::alloc::alloc", "app::main", "std::rt::init"].map(|name| (name, app)), None);
        check(&[], None);
    }
}
