//! Switches of runtimes, so that more of them is seen: those with a compiler say what code they make and keep frame pointers
//! in it, and Python and PHP ask malloc for each object. Variables, since who starts the runtime may be a script; but a JVM
//! writes which options it took from one, and gets arguments where it is the command itself.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process;

/// Options of a JVM. The first lets one start that does not know one of the others.
const JVM_OPTIONS: [&str; 4] = [
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:+PreserveFramePointer",
    "-XX:+DumpPerfMapAtExit",
];
/// The variable that a JVM takes options from. It writes on its standard error that it has done so.
const JVM_VARIABLE: &str = "JAVA_TOOL_OPTIONS";
/// Options that Node.js takes from a variable, silently. With these V8 writes a log, for which the variable takes no other
/// place than the working directory; where it cannot write that, it writes it to the program's standard output.
const NODE: (&str, &str) = ("NODE_OPTIONS", "--perf-basic-prof --interpreted-frames-native-stack");
/// A variable that is a switch itself.
const DOTNET: (&str, &str) = ("DOTNET_PerfMapEnabled", "1");

/// What runtimes with a compiler are told, when this command is started.
#[derive(Debug)]
pub(crate) struct CompilerSwitches {
    /// Whether the command is a JVM, so that its options can be arguments and its standard error stays as it is. JVMs
    /// that it starts then have none.
    is_jvm: bool,
    /// Whether V8 can write its log where the command starts.
    has_room: bool,
}

impl CompilerSwitches {
    pub(crate) fn of(command: &[OsString]) -> CompilerSwitches {
        let program = command.first().and_then(|program| Path::new(program).file_name());
        let is_jvm = program.is_some_and(|name| name == "java");
        CompilerSwitches { is_jvm, has_room: takes_files(Path::new(".")) }
    }

    /// The variables to set, with what they have already.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let added = |name, options: &str| {
            let mut value = std::env::var_os(name).unwrap_or_default();
            if !value.is_empty() {
                value.push(" ");
            }
            value.push(options);
            (name, value)
        };
        let jvm = (!self.is_jvm).then(|| added(JVM_VARIABLE, &JVM_OPTIONS.join(" ")));
        let node = self.has_room.then(|| added(NODE.0, NODE.1));
        let dotnet = (DOTNET.0, OsString::from(DOTNET.1));
        node.into_iter().chain([dotnet]).chain(jvm).collect()
    }

    /// The command with the options that are arguments: before its own, which count when they are others.
    pub(crate) fn command(&self, command: &[OsString]) -> Vec<OsString> {
        let options: &[&str] = if self.is_jvm { &JVM_OPTIONS } else { &[] };
        let (program, arguments) = command.split_at(1.min(command.len()));
        let options = options.iter().map(OsString::from);
        program.iter().cloned().chain(options).chain(arguments.iter().cloned()).collect()
    }

    /// What was set, in words.
    pub(crate) fn in_words(&self) -> String {
        let jvm = match self.is_jvm {
            true => format!("java {}", JVM_OPTIONS.join(" ")),
            false => format!("{JVM_VARIABLE}={}", JVM_OPTIONS.join(" ")),
        };
        let [node, dotnet] = [NODE, DOTNET].map(|(name, value)| format!("{name}={value}"));
        if self.has_room {
            return format!("set for runtimes with a compiler: {node}; {jvm}; {dotnet}");
        }
        format!(
            "set for runtimes with a compiler: {jvm}; {dotnet}; nothing for Node.js, whose log would go to its output: \
             no file can be made in the working directory"
        )
    }
}

/// Whether a file can be made in a directory, as V8 makes its log: by making one. `/proc` has the rights for it, but no
/// files.
fn takes_files(directory: &Path) -> bool {
    let path = directory.join(format!(".heapscribe-{}", process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&path);
    made.is_ok() && fs::remove_file(path).is_ok()
}

/// An interpreter that is to ask malloc for each object: its name, and the variable by which it does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectSwitch {
    language: &'static str,
    variable: (&'static str, &'static str),
}

impl ObjectSwitch {
    pub(crate) const PYTHON: ObjectSwitch =
        ObjectSwitch { language: "Python", variable: ("PYTHONMALLOC", "malloc") };
    pub(crate) const PHP: ObjectSwitch = ObjectSwitch { language: "PHP", variable: ("USE_ZEND_ALLOC", "0") };

    /// The variable to set, whatever it is set to.
    pub(crate) fn variable(self) -> (&'static str, OsString) {
        (self.variable.0, OsString::from(self.variable.1))
    }

    /// What was set, in words.
    pub(crate) fn in_words(self) -> String {
        format!("set for {}: {}={}", self.language, self.variable.0, self.variable.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A JVM that `record` starts itself has its options as arguments, so that it prints nothing more than without.
    #[test]
    fn a_jvm_has_options_as_arguments_or_in_a_variable() {
        let check = |command: &[&str], is_variable: bool, expected: &[&str]| {
            let command: Vec<OsString> = command.iter().map(OsString::from).collect();
            let switches = CompilerSwitches::of(&command);
            let is_set = switches.variables().iter().any(|(name, _)| *name == JVM_VARIABLE);
            assert_eq!(is_set, is_variable, "{command:?}");
            let expected: Vec<OsString> = expected.iter().map(OsString::from).collect();
            assert_eq!(switches.command(&command), expected);
        };
        let with_options = |program| [&[program], &JVM_OPTIONS[..], &["-cp", ".", "App"]].concat();
        for program in ["java", "/usr/lib/jvm/default-java/bin/java"] {
            check(&[program, "-cp", ".", "App"], false, &with_options(program));
        }
        for command in [&["./run-java.sh", "java"][..], &["sh", "-c", "java App"], &["javac", "App.java"]] {
            check(command, true, command);
        }
    }

    #[test]
    fn nodes_switch_is_set_where_its_log_can_be_written() {
        for has_room in [true, false] {
            let switches = CompilerSwitches { is_jvm: false, has_room };
            let is_set = switches.variables().iter().any(|(name, _)| *name == NODE.0);
            assert_eq!((is_set, switches.in_words().contains(NODE.1)), (has_room, has_room));
        }
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
