//! What the end-to-end tests share: programs compiled at test time, run as they are and recorded, with a
//! time limit, and what the trace says of them.
#![allow(unreachable_pub, reason = "`pub` says what the test files use")]

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) use skip::skip;

mod compiled;
mod counts;
pub mod heaps;
pub mod interpreted;
pub mod libraries;
pub mod python;
pub mod screens;
mod skip;
pub mod static_program;
pub use counts::{Calls, Counted, own_calls};

/// Longer than this no test program runs: one that does hangs.
pub const TIME_LIMIT: Duration = Duration::from_secs(180);

/// The program under test; `HEAPSCRIBE_BIN` names another build of it.
pub fn heapscribe() -> Command {
    let built = OsStr::new(env!("CARGO_BIN_EXE_heapscribe")).to_owned();
    let mut command = Command::new(std::env::var_os("HEAPSCRIBE_BIN").unwrap_or(built));
    command
        .env("COLUMNS", "100")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("RUST_BACKTRACE")
        .env_remove("LD_PRELOAD");
    command
}

/// Where the sources of the test programs lie.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// Whether a command can be found.
pub fn has(program: &str) -> bool {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|dir| dir.join(program).is_file())
}

/// Whether this is root; else says what is skipped.
pub fn is_root_or_skip(what: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip(format_args!("{what} needs root"));
    }
    root
}

/// Whether programs in this place can have other rights than their callers; else says what is skipped.
pub fn may_be_setuid_or_skip(place: &Place) -> bool {
    if !is_root_or_skip("setuid for another user") {
        return false;
    }
    let flags = rustix::fs::statvfs(place.path("")).unwrap().f_flag;
    let may = !flags.contains(rustix::fs::StatVfsMountFlags::NOSUID) && status_of_this("NoNewPrivs:") == "0";
    if !may {
        skip(format_args!("nobody gets other rights by a program in {}", place.path("").display()));
    }
    may
}

/// Whether this is root with the right to mount, which root in most containers has not; else says what is
/// skipped.
pub fn may_mount_or_skip(what: &str) -> bool {
    const CAP_SYS_ADMIN: u32 = 21;
    let may = u64::from_str_radix(&status_of_this("CapEff:"), 16).unwrap() >> CAP_SYS_ADMIN & 1 == 1;
    if !may {
        skip(format_args!("{what} needs CAP_SYS_ADMIN"));
    }
    may && is_root_or_skip(what)
}

/// A number from the environment, for campaigns that do a test's work more often.
pub fn times(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// A directory of its own for a test.
pub struct Place {
    dir: TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place { dir: tempfile::Builder::new().prefix("heapscribe-e2e.").tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Compiles `source` with `compiler` and gives the program.
    pub fn compile_with(&self, compiler: &str, source: &str, name: &str, flags: &[&str]) -> PathBuf {
        let output = self.path(name);
        compiled::compile(compiler, source, flags, &output);
        output
    }

    /// Compiles a C or C++ program named like its source.
    pub fn compile(&self, source: &str) -> PathBuf {
        let compiler = if source.ends_with(".cpp") { "c++" } else { "cc" };
        let name = source.split('.').next().unwrap();
        self.compile_with(compiler, source, name, &[])
    }

    /// Compiles a shared library.
    pub fn library(&self, source: &str, name: &str, flags: &[&str]) -> PathBuf {
        self.compile_with("cc", source, name, &[&["-shared", "-fPIC"], flags].concat())
    }
}

/// A program to run: the same recorded or not.
#[derive(Clone)]
pub struct Run<'a> {
    place: &'a Place,
    command: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    options: Vec<OsString>,
}

/// How a run ended, and what it said.
#[derive(Debug)]
pub struct Ended {
    /// As shells tell it: 128 and more for signals.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl<'a> Run<'a> {
    pub fn new(place: &'a Place, program: impl AsRef<OsStr>) -> Run<'a> {
        Run { place, command: vec![program.as_ref().to_owned()], environment: vec![], options: vec![] }
    }

    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Options of `record`.
    pub fn options<S: AsRef<OsStr>>(mut self, options: impl IntoIterator<Item = S>) -> Self {
        self.options.extend(options.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Where `record` writes the trace.
    pub fn trace(&self) -> PathBuf {
        self.place.path("run.hst")
    }

    /// The program as it is.
    pub fn plain(&self) -> Ended {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).envs(self.environment.iter().map(|(k, v)| (k, v)));
        Started::new(command, self.place, "plain").wait()
    }

    /// The program under `record`, started.
    pub fn start(&self) -> Started {
        let mut command = heapscribe();
        command
            .args(["record", "--force", "-o"])
            .arg(self.trace())
            .args(&self.options)
            .args(self.seed())
            .arg("--")
            .args(&self.command);
        command.envs(self.environment.iter().map(|(k, v)| (k, v)));
        Started::new(command, self.place, "recorded")
    }

    /// The same samples in every run, unless a test chose its own seed: 4 MiB sampled at 1 MiB have none at all in
    /// one of 55 runs.
    fn seed(&self) -> &'static [&'static str] {
        let has = |option: &str| self.options.iter().any(|given| given == option);
        if has("--sample") && !has("--sample-seed") { &["--sample-seed", "7"] } else { &[] }
    }

    /// The program under `record`, to its end.
    pub fn recorded(&self) -> Ended {
        self.start().wait()
    }
}

/// Tests may have been started to ignore signals, by `nohup` or as a job of a script. A program would inherit that,
/// but not that we have a handler.
static TAKES_IGNORED_SIGNALS: LazyLock<()> = LazyLock::new(|| {
    let ignored = u64::from_str_radix(&status_of_this("SigIgn:"), 16).unwrap();
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2] {
        if ignored >> (signal.as_raw() - 1) & 1 == 1 {
            signal_hook::flag::register(signal.as_raw(), Arc::default()).unwrap();
        }
    }
});

/// What `/proc` says of this process under a name.
pub fn status_of_this(name: &str) -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
}

/// A process that runs in a group of its own, with its output in files.
pub struct Started {
    pub child: Child,
    began: Instant,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Started {
    pub fn new(mut command: Command, place: &Place, name: &str) -> Started {
        LazyLock::force(&TAKES_IGNORED_SIGNALS);
        let (stdout, stderr) = (place.path(&format!("{name}.out")), place.path(&format!("{name}.err")));
        command
            .stdin(Stdio::null())
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap());
        let child = command.process_group(0).spawn().unwrap();
        Started { child, began: Instant::now(), stdout, stderr }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Its output so far.
    pub fn said(&self) -> (String, String) {
        (text(&self.stdout), text(&self.stderr))
    }

    /// Waits for the end; past the time limit the whole group is killed and the test has failed.
    pub fn wait(mut self) -> Ended {
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                let (stdout, stderr) = self.said();
                return Ended { code: code(status), stdout, stderr };
            }
            if self.began.elapsed() > TIME_LIMIT {
                let _ = kill_process_group(self.pid(), Signal::KILL);
                let _ = self.child.wait();
                panic!("it hangs; so far it said: {:?}", self.said());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// As shells tell it.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// Waits until something holds; it is a failure when that takes too long.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < TIME_LIMIT, "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process is there and has not ended. (That it is a zombie in `/proc` says so of its first thread only:
/// one that is killed may have others for a while.)
pub fn lives(pid: u32) -> bool {
    let process = Pid::from_raw(pid as i32).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
    let Some(Ok(process)) = process else { return false };
    let mut ends = [PollFd::new(&process, PollFlags::IN)];
    poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 0
}

/// What `report --json` says of a trace, and its exit code.
pub struct Report {
    pub json: Value,
    pub code: i32,
    pub stderr: String,
}

impl Report {
    /// Reads a trace; that there is an answer must hold for every trace.
    pub fn of(trace: &Path) -> Report {
        Report::with(&[], trace)
    }

    /// The same with more options.
    pub fn with(options: &[&str], trace: &Path) -> Report {
        let output = heapscribe().args(["report", "--json"]).args(options).arg(trace).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let json = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{}: {e}: {stderr}", trace.display()));
        Report { json, code: code(output.status), stderr }
    }

    pub fn calls(&self) -> Calls {
        Calls::of_json(&self.json["calls"])
    }

    /// How often something was dropped, by the name of the reason or `total`.
    pub fn dropped(&self, reason: &str) -> u64 {
        self.json["dropped"][reason].as_u64().unwrap()
    }

    /// The reasons for which anything was dropped or cut.
    pub fn reasons(&self) -> Vec<(String, u64)> {
        let all = self.json["dropped"].as_object().unwrap().iter();
        let told = all.filter(|(name, n)| *name != "total" && n.as_u64() != Some(0));
        told.map(|(name, n)| (name.clone(), n.as_u64().unwrap())).collect()
    }

    pub fn processes(&self) -> &[Value] {
        self.json["processes"].as_array().unwrap()
    }

    /// Checks that nothing is missing but for the reasons named.
    #[track_caller]
    pub fn assert_whole(&self, but_for: &[&str]) {
        let other: Vec<_> =
            self.reasons().into_iter().filter(|(name, _)| !but_for.contains(&name.as_str())).collect();
        assert_eq!(other, [], "dropped for other reasons than {but_for:?}");
        assert_eq!(self.json["complete"], true);
        let lossless = ["total", "live_table", "replaced_block"].map(|reason| self.dropped(reason)) == [0; 3];
        assert_eq!(self.code, if lossless { 0 } else { 3 }, "{}", self.stderr);
    }

    /// Checks that every process has its parent in the report, but the one that `record` started. A parent
    /// may come after its children, when it allocates later than they do.
    #[track_caller]
    pub fn assert_linked(&self) {
        let pids: Vec<&Value> = self.processes().iter().map(|p| &p["pid"]).collect();
        let orphans: BTreeSet<u64> = self
            .processes()
            .iter()
            .filter(|p| !pids.contains(&&p["parent"]))
            .map(|p| p["pid"].as_u64().unwrap())
            .collect();
        assert!(orphans.len() <= 1, "processes without a parent: {orphans:?}");
    }
}

/// Numbers that differ from run to run and are told when a test fails.
pub struct Random(u64);

impl Random {
    /// From the clock, or `HEAPSCRIBE_SEED`.
    pub fn new() -> Random {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let seed = std::env::var("HEAPSCRIBE_SEED").ok().and_then(|s| s.parse().ok());
        let random = Random(seed.unwrap_or(now.as_nanos() as u64));
        println!("HEAPSCRIBE_SEED={}", random.0);
        random
    }

    /// The next, below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}
