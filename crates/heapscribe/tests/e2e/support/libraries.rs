//! The heap libraries as `heapscribe libs` places them, under programs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Ended, Place, Started, has, heapscribe};

/// A directory with the libraries, the test program, and room for logs.
pub struct Libraries {
    pub place: Place,
    program: PathBuf,
    musl: Option<PathBuf>,
}

/// The library that logs.
pub const HEAPTRACK: &str = "libpreloaded_heaptrack.so";
/// The pool heap.
pub const TLSF: &str = "libpreloaded_tlsf.so";
/// The program's own heap.
pub const ORIGINAL: &str = "liboriginal_allocator.so";
/// All three.
pub const ALL: [&str; 3] = [HEAPTRACK, TLSF, ORIGINAL];

impl Libraries {
    pub fn new() -> Libraries {
        let place = Place::new();
        let output = heapscribe().arg("install-libs").arg(place.path("libs")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::create_dir(place.path("logs")).unwrap();
        let program = place.compile("heaps.c");
        let musl = has("musl-gcc").then(|| place.compile_with("musl-gcc", "heaps.c", "heaps_musl", &[]));
        Libraries { place, program, musl }
    }

    /// The path of a library.
    pub fn path(&self, library: &str) -> PathBuf {
        self.place.path("libs").join(library)
    }

    /// A command under libraries, with small pools and logs in a directory of their own.
    pub fn command(&self, program: impl AsRef<Path>, libraries: &[&str]) -> Command {
        let list: Vec<OsString> = libraries.iter().map(|name| self.path(name).into_os_string()).collect();
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.place.path("")).env("LD_PRELOAD", list.join(":".as_ref()));
        command.env("HEAPLOG_DIR", self.place.path("logs"));
        command.env("INITIAL_MEMPOOL_SIZE", "20000000").env("ADDITIONAL_MEMPOOL_SIZE", "4000000");
        command
    }

    /// The test program in a mode, under libraries.
    pub fn mode(&self, mode: &str, libraries: &[&str]) -> Command {
        let mut command = self.command(&self.program, libraries);
        command.arg(mode);
        command
    }

    /// The same with musl, where there is one.
    pub fn musl_mode(&self, mode: &str, libraries: &[&str]) -> Option<Command> {
        let mut command = self.command(self.musl.as_ref()?, libraries);
        command.arg(mode);
        Some(command)
    }

    pub fn run(&self, command: Command) -> Ended {
        Started::new(command, &self.place, "run").wait()
    }

    /// Runs it; it has to end well and say so, and nothing else.
    #[track_caller]
    pub fn must(&self, command: Command) -> Ended {
        let told = format!("{command:?}");
        let ended = self.run(command);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{told}");
        assert!(ended.stdout.ends_with("ok\n"), "{told}: {}", ended.stdout);
        ended
    }

    /// The logs so far, by what stands between `heaplog.` and `.log`; they are gone then.
    pub fn logs(&self) -> BTreeMap<String, String> {
        let mut logs = BTreeMap::new();
        for entry in fs::read_dir(self.place.path("logs")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let pid = name.strip_prefix("heaplog.").and_then(|rest| rest.strip_suffix(".log"));
            let text = String::from_utf8(fs::read(&path).unwrap()).unwrap();
            logs.insert(pid.unwrap_or_else(|| panic!("{name}")).to_owned(), text);
            fs::remove_file(path).unwrap();
        }
        logs
    }

    /// The only log that there is.
    #[track_caller]
    pub fn log(&self) -> String {
        let logs = self.logs();
        assert_eq!(logs.len(), 1, "{:?}", logs.keys());
        logs.into_values().next().unwrap()
    }
}
