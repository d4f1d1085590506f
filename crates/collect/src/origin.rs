//! What a recording is, left in its base directory for `recover`, should the one who records be killed: without
//! it the sessions would be of no command, machine and time, and nobody would know where the first part is.
//!
//! ```text
//!   origin      the header of a trace with its session block, as the trace has it
//!   trace       path of the trace
//!   held        once `recover` made a trace of the ring: which chunks it has, see `heapscribe_convert::ring::Held`
//!   recovered   once `recover` took a part out of the sessions: how many chunks the trace has that has it
//! ```

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use heapscribe_convert::ring::Held;
use heapscribe_formats::model::SessionInfo;
use heapscribe_formats::{Trace, Writer};

const ORIGIN: &str = "origin";
const TRACE: &str = "trace";
const RECOVERED: &str = "recovered";
const HELD: &str = "held";

/// What a base directory says of its recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// The recording as a whole.
    pub info: SessionInfo,
    /// Where its trace was written.
    pub trace: Option<PathBuf>,
    /// Chunks of the trace to which a part was recovered already. What is left has a gap without that trace: it is
    /// what a process wrote out by itself before, and what it did after.
    pub recovered_chunks: Option<usize>,
}

impl Origin {
    /// Leaves it. A recording that cannot do without is none: errors are of no interest.
    pub fn leave(base: &Path, trace: &Path, info: &SessionInfo) {
        let mut header = Vec::new();
        Writer::new().start(info, &mut header);
        let _ = fs::write(base.join(ORIGIN), header);
        let absolute = std::path::absolute(trace).unwrap_or_else(|_| trace.to_owned());
        let _ = fs::write(base.join(TRACE), absolute.as_os_str().as_bytes());
    }

    /// Leaves it behind when a part was recovered to this trace, which has so many chunks.
    pub fn leave_recovered(base: &Path, trace: &Path, info: &SessionInfo, chunks: usize) {
        Origin::leave(base, trace, info);
        let _ = fs::write(base.join(RECOVERED), chunks.to_string());
    }

    /// Leaves behind which chunks the trace has that was made of the ring.
    ///
    /// # Errors
    /// When it cannot be written: then the rest would have them a second time.
    pub fn leave_held(base: &Path, held: &Held) -> io::Result<()> {
        fs::write(base.join(HELD), held.to_bytes())
    }

    /// Finds these.
    pub fn held(base: &Path) -> Held {
        Held::from_bytes(&fs::read(base.join(HELD)).unwrap_or_default())
    }

    /// Finds it.
    pub fn of(base: &Path) -> Option<Origin> {
        let header = fs::read(base.join(ORIGIN)).ok()?;
        let info = Trace::open(header).ok()?.session()?.clone();
        let path = |bytes: Vec<u8>| PathBuf::from(OsString::from_vec(bytes));
        let trace = fs::read(base.join(TRACE)).ok().map(path);
        let recovered = fs::read_to_string(base.join(RECOVERED)).ok();
        let recovered_chunks = recovered.map(|chunks| chunks.parse().unwrap_or(usize::MAX));
        Some(Origin { info, trace, recovered_chunks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_found() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(Origin::of(place.path()), None);
        let info = SessionInfo {
            command: vec![b"app".to_vec(), b"-v".to_vec()],
            host: "machine".to_owned(),
            started_real_ns: 7,
            ..SessionInfo::default()
        };
        Origin::leave(place.path(), Path::new("/tmp/run.hst"), &info);
        let trace = Some(PathBuf::from("/tmp/run.hst"));
        let mut origin = Origin { info, trace, recovered_chunks: None };
        assert_eq!(Origin::of(place.path()), Some(origin.clone()));
        origin.recovered_chunks = Some(7);
        Origin::leave_recovered(place.path(), Path::new("/tmp/run.hst"), &origin.info, 7);
        assert_eq!(Origin::of(place.path()), Some(origin));
        fs::write(place.path().join(ORIGIN), "no header").unwrap();
        assert_eq!(Origin::of(place.path()), None);
    }
}
