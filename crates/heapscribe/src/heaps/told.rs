//! A file in which a heap tells of itself.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use heapscribe_wire::heap::{About, HEAP_FILE_BYTES, STATE_OFFSET, Update, state::STATE_BYTES};

use crate::drain::{self, Alive};

/// How often a copy is made again that was made while somebody wrote.
const TRIES: usize = 100;
const NAP: Duration = Duration::from_micros(50);

/// What one said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) path: PathBuf,
    pub(crate) pid: u32,
    pub(crate) parent_pid: u32,
    pub(crate) created_mono_ns: u64,
    pub(crate) pid_namespace: u64,
    /// Whether the program's own heap serves, which tells nothing.
    pub(crate) is_passing: bool,
    pub(crate) name: String,
    pub(crate) configuration: String,
    pub(crate) exe: String,
    pub(crate) update: Update,
}

impl Told {
    /// What a file says; `None` when it is none, or none yet.
    pub(crate) fn read(path: &Path) -> Option<Told> {
        Watched::open(path).map(|watched| watched.told)
    }

    /// Whether its process lives.
    pub(crate) fn is_alive(&self) -> bool {
        Alive::find_in(self.pid_namespace, self.pid, self.created_mono_ns).is_some()
    }
}

/// A file that is looked into again and again.
#[derive(Debug)]
pub(crate) struct Watched {
    file: File,
    pub(crate) told: Told,
}

impl Watched {
    /// Opens it.
    pub(crate) fn open(path: &Path) -> Option<Watched> {
        let file = drain::open_file(path, false)?;
        let mut bytes = [0; HEAP_FILE_BYTES];
        let n = drain::read_up_to(&file, &mut bytes, 0);
        let about = About::parse(&bytes[..n]).ok()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let told = Told {
            path: path.to_owned(),
            pid: about.pid,
            parent_pid: about.parent_pid,
            created_mono_ns: about.created_mono_ns,
            pid_namespace: about.pid_namespace,
            is_passing: about.is_passing,
            name: text(about.name),
            configuration: text(about.configuration),
            exe: text(about.exe),
            update: Update::default(),
        };
        let mut watched = Watched { file, told };
        watched.look();
        Some(watched)
    }

    /// Looks again. What it says that is new; `None` when that is nothing.
    pub(crate) fn look(&mut self) -> Option<Update> {
        for _ in 0..TRIES {
            let mut state = [0; STATE_BYTES];
            let n = drain::read_up_to(&self.file, &mut state, STATE_OFFSET as u64);
            if let Some(update) = Update::parse(&state[..n]) {
                let is_new = update != self.told.update;
                self.told.update = update;
                return is_new.then_some(update);
            }
            std::thread::sleep(NAP);
        }
        None
    }
}
