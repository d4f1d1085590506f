//! Which files are libraries of the system, and which of these every program has.

/// Where the system has its libraries, in these directories or one below for an architecture.
const LIBRARY_DIRECTORIES: [&str; 5] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"];

/// Interpreters that are in a library: their programs have little more than a `main`.
const INTERPRETERS: [&str; 7] =
    ["libruby", "libpython", "libperl.so", "libphp", "libR.so", "libtcl", "liblua"];

/// What the files of libraries begin with that every program has, or that only run the threads of others.
const RUNTIMES: [&str; 12] = [
    "libc.so",
    "libc-",
    "libstdc++",
    "libgcc_s",
    "libm.so",
    "libm-",
    "ld-",
    "libpthread",
    "libdl",
    "libc++",
    "libgomp",
    "libomp",
];

/// `/usr/lib/x86_64-linux-gnu/libgtk-3.so.0`, but not `/usr/lib/libreoffice/program/libmergedlo.so`.
pub(crate) fn is_system_library(path: &str) -> bool {
    let Some((directory, file)) = path.rsplit_once('/') else { return false };
    let directory = match directory.rsplit_once('/') {
        Some((above, architecture)) if architecture.contains("-linux-") => above,
        _ => directory,
    };
    let is_interpreter = INTERPRETERS.iter().any(|name| file.starts_with(name));
    file.contains(".so") && LIBRARY_DIRECTORIES.contains(&directory) && !is_interpreter
}

/// Whether a library of the system is one that every program has.
pub(crate) fn is_runtime(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    RUNTIMES.iter().any(|runtime| file.starts_with(runtime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_no_programs_library() {
        for (path, expected) in [
            ("/lib/x86_64-linux-gnu/libc.so.6", true),
            ("/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", true),
            ("/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0", true),
            ("/usr/lib/x86_64-linux-gnu/libgs.so.10", false),
            ("libcairo.so.2", false),
        ] {
            assert_eq!(is_runtime(path), expected, "{path}");
        }
    }
}
