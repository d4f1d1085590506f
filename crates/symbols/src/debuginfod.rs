//! Debug files by build id from debuginfod: those that it has fetched before, and, when `DEBUGINFOD_URLS` names servers,
//! those that its client fetches now. The client is a program of its own (`debuginfod-find`): it has the user's settings,
//! and no network is in ours.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::elf::{self, ElfFile};
use crate::progress::Progress;

/// The client.
const CLIENT: &str = "debuginfod-find";
/// How long the client may take for one file when its user sets no `DEBUGINFOD_TIMEOUT`.
const LIMIT: Duration = Duration::from_secs(60);
/// What the client is given beyond its own limit, after which it gives up itself.
const GRACE: Duration = Duration::from_secs(5);

/// Where debuginfod's files are, and whether it is asked for more.
#[derive(Debug, Default)]
pub struct Debuginfod {
    client: PathBuf,
    caches: Vec<PathBuf>,
    limit: Duration,
    /// Whether there are servers, none of which has kept us waiting for too long.
    is_asked: AtomicBool,
}

impl Debuginfod {
    /// As the environment of this process says.
    pub fn from_environment() -> Debuginfod {
        let directory =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = directory("HOME");
        let of_user = directory("XDG_CACHE_HOME").or_else(|| home.as_ref().map(|home| home.join(".cache")));
        let caches = [
            directory("DEBUGINFOD_CACHE_PATH"),
            of_user.map(|cache| cache.join("debuginfod_client")),
            // Where it was until 2021, and still is for who has one there.
            home.map(|home| home.join(".debuginfod_client_cache")),
        ];
        let seconds = std::env::var("DEBUGINFOD_TIMEOUT").ok().and_then(|text| text.parse().ok());
        Debuginfod {
            client: PathBuf::from(CLIENT),
            caches: caches.into_iter().flatten().collect(),
            // The client gives up itself, unless it hangs.
            limit: seconds.filter(|seconds| *seconds > 0).map_or(LIMIT, Duration::from_secs) + GRACE,
            is_asked: AtomicBool::new(directory("DEBUGINFOD_URLS").is_some()),
        }
    }

    /// The debug file of a build id.
    pub(crate) fn debug_file(&self, build_id: &[u8], progress: &dyn Progress) -> Option<ElfFile> {
        if build_id.is_empty() {
            return None;
        }
        let hex: String = build_id.iter().map(|b| format!("{b:02x}")).collect();
        let sound = |path: &Path| elf::read(path).ok().filter(|file| file.build_id == build_id);
        let fetched = self.caches.iter().find_map(|cache| sound(&cache.join(&hex).join("debuginfo")));
        fetched.or_else(|| self.fetch(&hex, progress).and_then(|path| sound(&path)))
    }

    /// Has the client fetch a debug file; where it is then.
    fn fetch(&self, hex: &str, progress: &dyn Progress) -> Option<PathBuf> {
        if !self.is_asked.load(Ordering::Relaxed) {
            return None;
        }
        progress.waiting("debuginfod is asked for debug information");
        let mut client = Command::new(&self.client);
        client.args(["debuginfo", hex]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut client) = client.spawn() else {
            self.is_asked.store(false, Ordering::Relaxed); // it is not installed
            return None;
        };
        let answer = first_line(&mut client, self.limit);
        if answer.is_none() {
            self.is_asked.store(false, Ordering::Relaxed);
        }
        let _ = client.kill();
        let _ = client.wait();
        answer.filter(|path| path.starts_with('/')).map(PathBuf::from)
    }
}

/// With another client and cache, for tests.
#[cfg(test)]
pub(crate) fn of_client(client: PathBuf, cache: PathBuf, limit: Duration) -> Debuginfod {
    Debuginfod { client, caches: vec![cache], limit, is_asked: AtomicBool::new(true) }
}

/// The first line that a program prints, empty when it prints none; `None` when it takes too long. A reader of its own
/// waits for it, since whom the program has started may hold its output open for ever.
fn first_line(client: &mut Child, limit: Duration) -> Option<String> {
    let out = client.stdout.take()?;
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(out).read_line(&mut line);
        let _ = send.send(read.map_or(String::new(), |_| line.trim_end().to_owned()));
    });
    receive.recv_timeout(limit).ok()
}
