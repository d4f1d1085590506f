//! Runs a command within a time, and ends what it leaves running.

use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::answer::End;

/// How often a running program is looked at.
const GLANCE: Duration = Duration::from_millis(2);
/// How long what a program leaves running may go on: a daemon has its own work to end.
const AFTERLIFE: Duration = Duration::from_secs(5);
/// In the environment of all that runs, so that what is left of it is found.
pub(crate) const MARK: &str = "HEAPSCRIBE_CAMPAIGN";

/// Runs it in a group of processes of its own.
pub(crate) fn run(command: &mut Command, limit: Duration) -> io::Result<End> {
    let mut child = command.process_group(0).spawn()?;
    let end = Instant::now() + limit;
    while Instant::now() < end {
        if let Some(status) = child.try_wait()? {
            let code = status.code().or_else(|| Some(128 + status.signal()?));
            return Ok(End::Code(code.unwrap_or(-1)));
        }
        thread::sleep(GLANCE);
    }
    kill(&format!("-{}", child.id()));
    child.wait()?;
    Ok(End::TimedOut)
}

/// Waits until all that was started in `place` has ended, and ends it when it does not.
pub(crate) fn end_survivors(place: &Path) {
    let end = Instant::now() + AFTERLIFE;
    while Instant::now() < end {
        if survivors(place).is_empty() {
            return;
        }
        thread::sleep(10 * GLANCE);
    }
    survivors(place).iter().for_each(|pid| kill(pid));
}

/// The processes that stand in `place` or have it in their environment.
fn survivors(place: &Path) -> Vec<String> {
    let mark = format!("{MARK}={}\0", place.display()).into_bytes();
    let is_of_place = |process: &Path| {
        let stands = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(place));
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        stands || environment.windows(mark.len()).any(|window| window == mark)
    };
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let names = processes.flatten().filter(|process| is_of_place(&process.path()));
    let pids = names.filter_map(|process| process.file_name().into_string().ok());
    pids.filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit())).collect()
}

/// Kills a process, or a group of them: `-PID`.
fn kill(pid: &str) {
    let mut kill = Command::new("kill");
    let _ = kill.args(["-KILL", "--", pid]).stdout(Stdio::null()).stderr(Stdio::null()).status();
}
