//! Runs a program within a time, and says what came of it.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often a running program is looked at.
const GLANCE: Duration = Duration::from_millis(5);

/// What a program did.
pub(super) struct Ran {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
    pub(super) code: Option<i32>,
}

/// Runs it; an error says that it cannot be run, or that it did not end in time and was killed.
pub(super) fn run(program: &Path, args: &[&str], limit: Duration) -> Result<Ran, String> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("{} cannot be run: {e}", program.display()))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (out, err) = (thread::spawn(move || drain(out)), thread::spawn(move || drain(err)));
    let ended = wait(&mut child, limit);
    let stdout = out.join().unwrap_or_default();
    let stderr = String::from_utf8_lossy(&err.join().unwrap_or_default()).into_owned();
    Ok(Ran { stdout, stderr, code: ended?.code() })
}

fn drain(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What was read before an error is what is there to compare.
    let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    bytes
}

fn wait(child: &mut Child, limit: Duration) -> Result<std::process::ExitStatus, String> {
    let end = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() < end => thread::sleep(GLANCE),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("did not end within {} s", limit.as_secs()));
            }
            Err(e) => return Err(e.to_string()),
        }
    }
}

/// What a file holds that `gzip` or `xz` compressed.
pub(super) fn unpack(program: &str, path: &Path) -> Result<Vec<u8>, String> {
    let path = path.to_str().ok_or("a path that is no text")?;
    let ran = run(Path::new(program), &["-dc", path], Duration::from_secs(60))?;
    if ran.code == Some(0) { Ok(ran.stdout) } else { Err(format!("{program} -dc {path}: {}", ran.stderr)) }
}
