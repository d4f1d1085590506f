//! Switches of runtimes, so that more of them is seen: those with a compiler say what code they make and keep frame pointers
//! in it, and Python and PHP ask malloc for each object. Variables, since who starts the runtime may be a script.

use std::ffi::OsString;

/// What is added to a variable whose words are options.
const OPTIONS: [(&str, &str); 2] = [
    ("NODE_OPTIONS", "--perf-basic-prof --interpreted-frames-native-stack"),
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
    let added = |(name, options): (&'static str, &str)| {
        let mut value = std::env::var_os(name).unwrap_or_default();
        if !value.is_empty() {
            value.push(" ");
        }
        value.push(options);
        (name, value)
    };
    let switches = SWITCHES.iter().map(|(name, value)| (*name, OsString::from(value)));
    OPTIONS.into_iter().map(added).chain(switches).collect()
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

/// What was set for compilers, in words.
pub(crate) fn in_words() -> String {
    let all = OPTIONS.iter().chain(&SWITCHES).map(|(name, value)| format!("{name}={value}"));
    format!("set for runtimes with a compiler: {}", all.collect::<Vec<_>>().join("; "))
}
