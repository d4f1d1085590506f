//! Code that a JIT compiler has made has names while its process runs, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Place, Report, Run, Started, has, heapscribe, skip, until};
use crate::view::View;

/// A recorded program that holds blocks until it is told to end.
struct Holds {
    record: Started,
    place: Place,
    pid: String,
}

impl Holds {
    /// Starts a command in a place of its own.
    fn start(options: &[&str], command: &str) -> Holds {
        let place = Place::new();
        fs::create_dir(place.path("sessions")).unwrap();
        let command = format!("cd {} && exec {command}", place.path("").display());
        let run = Run::new(&place, "sh").args(["-c", &command]).options(options);
        let run = run.options(["--session-dir".as_ref(), place.path("sessions").as_os_str()]);
        let mut record = run.start();
        let ended = |record: &mut Started| record.child.try_wait().unwrap().is_some();
        until("it holds what it is to hold", || place.path("holds").exists() || ended(&mut record));
        let pid = fs::read_to_string(place.path("holds")).unwrap_or_else(|_| panic!("{:?}", record.said()));
        Holds { record, place, pid }
    }

    fn command(&self, name: &str) -> Command {
        let mut command = heapscribe();
        command.args([name, &self.pid, "--session-dir"]).arg(self.place.path("sessions"));
        command
    }

    /// What `snapshot` writes, as text.
    fn snapshot(&self) -> String {
        let to = self.place.path("now.hst");
        let output = self.command("snapshot").arg("--force").arg("-o").arg(&to).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        Report::with(&[], &to).json.to_string()
    }

    fn top(&self) -> String {
        let output = self.command("top").arg("--once").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn view(&self) -> String {
        let view = View::of(self.pid.parse().unwrap(), &self.place.path("sessions"));
        view.get("api/flame").to_string()
    }

    fn end(self) {
        fs::write(self.place.path("end"), "").unwrap();
        let Holds { record, place, pid } = self;
        let ended = record.wait();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let _ = fs::remove_file(format!("/tmp/perf-{pid}.map"));
        drop(place);
    }
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

#[test]
fn javascript_has_names_in_snapshot_top_and_view() {
    if !has("node") {
        return skip("node is not installed");
    }
    let script = program("holds_jit.js");
    let options = "--perf-basic-prof --interpreted-frames-native-stack";
    let holds = Holds::start(&[], &format!("node {options} {}", script.display()));
    for (what, seen) in [("snapshot", holds.snapshot()), ("top", holds.top()), ("view", holds.view())] {
        assert!(seen.contains("loadOrder") && seen.contains("holds_jit.js"), "{what}: {seen}");
    }
    holds.end();
}

/// Python 3.12 and later, whose own frames are left alone here: the names are those of its perf map.
#[test]
fn python_has_the_names_of_its_perf_map() {
    let home = std::env::var("HOME").unwrap_or_default();
    let versions =
        ["3.12.1", "3.13.0"].map(|version| format!("{home}/.pyenv/versions/{version}/bin/python3"));
    let Some(python) = versions.iter().find(|python| Path::new(python).exists()) else {
        return skip("no Python of 3.12 or later is installed by pyenv");
    };
    let command = format!("{python} -X perf {}", program("holds_jit.py").display());
    let holds = Holds::start(&["--no-interpreter-frames"], &command);
    for (what, seen) in [("snapshot", holds.snapshot()), ("top", holds.top()), ("view", holds.view())] {
        assert!(seen.contains("load_order") && seen.contains("holds_jit.py"), "{what}: {seen}");
    }
    holds.end();
}
