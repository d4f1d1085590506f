//! The start of a ring: its directory, which may be that of another one.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use heapscribe_diagnostics::Problem;
use heapscribe_formats::model::Evicted;
use rustix::process::{Resource, getrlimit};

use super::Ring;
use heapscribe_convert::ring::{Limits, SESSION, directory_of};

impl Ring {
    /// A new ring beside a trace that will be made of it.
    pub(crate) fn create_for(trace: &Path, limits: Limits, start: &[u8]) -> anyhow::Result<Ring> {
        let dir = directory_of(trace);
        Ring::create(&dir, limits, start).map_err(|e| {
            let what = format!("cannot create the ring {}: {e}", dir.display());
            let hint = match e.kind() {
                io::ErrorKind::AlreadyExists => format!(
                    "another recording uses it, or was killed; in that case: heapscribe recover {} -o TRACE",
                    dir.display()
                ),
                _ => "choose another path with -o TRACE".to_owned(),
            };
            Problem::new(what, hint).into()
        })
    }

    /// A new ring; an existing directory is left as it is, because its events may be wanted. It becomes one file, which
    /// may not be larger than files may be.
    fn create(dir: &Path, limits: Limits, start: &[u8]) -> io::Result<Ring> {
        let file_bytes = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        let is_short_of_room = file_bytes < limits.bytes;
        let limits = Limits { bytes: limits.bytes.min(file_bytes), ..limits };
        DirBuilder::new().mode(0o700).create(dir)?;
        fs::write(dir.join(SESSION), start)?;
        Ok(Ring {
            dir: dir.to_owned(),
            limits,
            is_short_of_room,
            crowded: None,
            session_bytes: start.len() as u64,
            past_bytes: 0,
            images: BTreeMap::new(),
            segments: VecDeque::new(),
            next: 0,
            pending: BTreeMap::new(),
            unfreed: Vec::new(),
            evicted_unfreed: BTreeMap::new(),
            evicted_images: Evicted::default(),
            evicted_mono_ns: 0,
            newest_mono_ns: 0,
            ended_mono_ns: 0,
        })
    }
}
