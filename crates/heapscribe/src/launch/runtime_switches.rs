//! Switches of runtimes, so that more of them is seen: those with a compiler say what code they make and keep frame pointers
//! in it, and Python asks malloc for each object. Variables, since who starts the runtime may be a script.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process;

const NODE: &str = "NODE_OPTIONS";

/// What is added to a variable whose words are options.
const OPTIONS: [(&str, &str); 2] = [
    // With these V8 writes a log, for which this variable takes no other place than the working directory.
    (NODE, "--perf-basic-prof --interpreted-frames-native-stack"),
    // The first lets a JVM start that does not know one of the others.
    (
        "JAVA_TOOL_OPTIONS",
        "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:+PreserveFramePointer \
         -XX:+DumpPerfMapAtExit",
    ),
];
/// Variables that are switches themselves.
const SWITCHES: [(&str, &str); 1] = [("DOTNET_PerfMapEnabled", "1")];

/// The variables to set, with what they have already.
pub(crate) fn of_compilers() -> Vec<(&'static str, OsString)> {
    let has_room = takes_files(Path::new("."));
    let added = |(name, options): (&'static str, &str)| {
        let mut value = std::env::var_os(name).unwrap_or_default();
        if !value.is_empty() {
            value.push(" ");
        }
        value.push(options);
        (name, value)
    };
    let switches = SWITCHES.iter().map(|(name, value)| (*name, OsString::from(value)));
    options(has_room).map(added).chain(switches).collect()
}

/// The options that change no output: where V8 cannot write its log into the working directory, it writes it to the
/// program's standard output.
fn options(has_room: bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    OPTIONS.into_iter().filter(move |(name, _)| has_room || *name != NODE)
}

/// Whether a file can be made in a directory, as V8 makes its log: by making one. `/proc` has the rights for it, but no
/// files.
fn takes_files(directory: &Path) -> bool {
    let path = directory.join(format!(".heapscribe-{}", process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&path);
    made.is_ok() && fs::remove_file(path).is_ok()
}

/// The variable by which Python asks malloc for each object, whatever it is set to.
pub(crate) fn of_python() -> (&'static str, OsString) {
    ("PYTHONMALLOC", OsString::from("malloc"))
}

/// What was set for compilers, in words.
pub(crate) fn in_words() -> String {
    let has_room = takes_files(Path::new("."));
    let all = options(has_room).chain(SWITCHES).map(|(name, value)| format!("{name}={value}"));
    let set = format!("set for runtimes with a compiler: {}", all.collect::<Vec<_>>().join("; "));
    if has_room {
        return set;
    }
    format!(
        "{set}; nothing for Node.js, whose log would go to its output: no file can be made in the working directory"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_switch_is_set_where_its_log_can_be_written() {
        let names = |has_room| options(has_room).map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(true), [NODE, "JAVA_TOOL_OPTIONS"]);
        assert_eq!(names(false), ["JAVA_TOOL_OPTIONS"]);
    }

    #[test]
    fn a_directory_is_tried_and_left_as_it_was() {
        let place = std::env::temp_dir().join(format!("heapscribe-takes-files-{}", process::id()));
        fs::create_dir(&place).unwrap();
        assert!(takes_files(&place));
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
        fs::remove_dir(&place).unwrap();
        assert!(!takes_files(&place));
        assert!(!takes_files(Path::new("/proc")));
    }
}
