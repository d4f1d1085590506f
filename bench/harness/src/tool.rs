//! The tools that are compared: what stands before the program's command, and what is in its environment.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use clap::ValueEnum;

use crate::places::Places;

/// A tool under which a program is run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, ValueEnum)]
pub(crate) enum Tool {
    /// The program alone
    Bare,
    /// A preloaded library that only counts: the floor
    Count,
    /// heapscribe's library, preloaded without anybody asking it to record
    Loaded,
    /// `heapscribe record`
    Heapscribe,
    /// `heapscribe record --sample 512KiB --sample-seed 1`
    HeapscribeSampled,
    /// `heapscribe record --no-interpreter-frames`
    HeapscribeNative,
    /// `heapscribe record --latency`
    HeapscribeLatency,
    /// heaptrack, as its script runs it
    Heaptrack,
}

/// What a tool adds to a command.
#[derive(Clone, Default, Debug)]
pub(crate) struct Around {
    /// Stands before the program's own command.
    pub(crate) before: Vec<OsString>,
    /// Is in the environment.
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

/// What sampling is asked for: the mean distance of samples.
const SAMPLE: &str = "512KiB";
/// The same samples each time, so that instructions can be compared.
const SEED: &str = "1";

impl Tool {
    /// Those of a table when nobody names others.
    pub(crate) const USUAL: [Tool; 5] =
        [Tool::Bare, Tool::Count, Tool::Heapscribe, Tool::HeapscribeSampled, Tool::Heaptrack];

    /// Its name, as on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Bare => "bare",
            Tool::Count => "count",
            Tool::Loaded => "loaded",
            Tool::Heapscribe => "heapscribe",
            Tool::HeapscribeSampled => "heapscribe-sampled",
            Tool::HeapscribeNative => "heapscribe-native",
            Tool::HeapscribeLatency => "heapscribe-latency",
            Tool::Heaptrack => "heaptrack",
        }
    }

    /// Why it cannot be measured here, when it cannot.
    pub(crate) fn is_missing(self, places: &Places) -> Option<String> {
        let has_option = |option| {
            let path = places.heapscribe.as_deref();
            path.is_some_and(|path| prints(path, &["record", "--help"], option))
        };
        match self {
            Tool::Heapscribe if places.heapscribe.is_none() => Some("no heapscribe was built".to_owned()),
            Tool::Loaded if places.library.is_none() => Some(
                "its library is known only when the harness builds heapscribe (no --heapscribe)".to_owned(),
            ),
            Tool::HeapscribeSampled if !has_option("--sample") => {
                Some("this heapscribe's `record` has no --sample".to_owned())
            }
            Tool::HeapscribeNative if !has_option("--no-interpreter-frames") => {
                Some("this heapscribe's `record` has no --no-interpreter-frames".to_owned())
            }
            Tool::HeapscribeLatency if !has_option("--latency") => {
                Some("this heapscribe's `record` has no --latency".to_owned())
            }
            Tool::Heaptrack if !prints(Path::new("heaptrack"), &["--version"], "heaptrack") => {
                Some("heaptrack is not installed (apt-get install heaptrack)".to_owned())
            }
            _ => None,
        }
    }

    /// What it adds; its traces go below `traces`.
    pub(crate) fn around(self, places: &Places, traces: &Path) -> Around {
        let record = |options: &[&str]| {
            let mut before = vec![places.heapscribe.clone().unwrap_or_default().into_os_string()];
            before.extend(["record", "-q"].map(OsString::from));
            before.extend(options.iter().map(OsString::from));
            before.extend(["-o".into(), traces.join("trace.hst").into_os_string(), "--".into()]);
            Around { before, environment: Vec::new() }
        };
        let preload = |library: &Path| Around {
            before: Vec::new(),
            environment: vec![("LD_PRELOAD", library.into()), ("BENCH_COUNT", traces.into())],
        };
        match self {
            Tool::Bare => Around::default(),
            Tool::Count => preload(&places.program("libcount.so")),
            Tool::Loaded => preload(places.library.as_deref().unwrap_or(Path::new(""))),
            Tool::Heapscribe => record(&[]),
            Tool::HeapscribeSampled => record(&["--sample", SAMPLE, "--sample-seed", SEED]),
            Tool::HeapscribeNative => record(&["--no-interpreter-frames"]),
            Tool::HeapscribeLatency => record(&["--latency"]),
            Tool::Heaptrack => Around {
                before: vec!["heaptrack".into(), "-o".into(), traces.join("trace").into_os_string()],
                environment: Vec::new(),
            },
        }
    }

    /// Whether it is ours.
    pub(crate) fn needs_heapscribe(self) -> bool {
        self == Tool::Loaded || self.writes_traces() && self != Tool::Heaptrack
    }

    /// Whether what it leaves behind is a trace.
    pub(crate) fn writes_traces(self) -> bool {
        !matches!(self, Tool::Bare | Tool::Count | Tool::Loaded)
    }
}

/// Those that are to be measured: the named ones, all of which must be there, or else the usual ones that are;
/// and why others are not.
pub(crate) fn chosen(
    named: &[Tool],
    usual: &[Tool],
    places: &Places,
) -> anyhow::Result<(Vec<Tool>, Vec<String>)> {
    let mut tools = vec![Tool::Bare];
    let mut notes = Vec::new();
    let wanted = if named.is_empty() { usual } else { named };
    for &tool in wanted.iter().filter(|&&tool| tool != Tool::Bare) {
        match tool.is_missing(places) {
            Some(why) if named.is_empty() => notes.push(format!("{} is not measured: {why}.", tool.name())),
            Some(why) => anyhow::bail!("{} can not be measured: {why}", tool.name()),
            None => tools.push(tool),
        }
    }
    Ok((tools, notes))
}

fn prints(program: &Path, arguments: &[&str], word: &str) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(word))
}
