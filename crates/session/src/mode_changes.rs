//! When `ctl` changed what a process records: notes for the drainer, which sees the word in the head only when it looks.
//! A process without notes has recorded what its head says from its beginning on.
//!
//! ```text
//!   modes     CLOCK_MONOTONIC ns u64   mode before u64   mode after u64   for each change, appended by `ctl`
//! ```

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use heapscribe_formats::model::ModeChange;
use heapscribe_wire::mode::Mode;

use crate::files::{open_file, read_up_to};

/// The file's name in a session's directory.
const FILE_NAME: &str = "modes";
const CHANGE_BYTES: usize = 24;
/// Changes that are read.
const CHANGES_MAX: usize = 4096;

/// Notes a change from another mode.
pub(crate) fn note(directory: &Path, before: Mode, change: ModeChange) -> std::io::Result<()> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(flags);
    let words = [change.mono_ns, before.to_word(), change.mode.to_word()];
    options.open(directory.join(FILE_NAME))?.write_all(&words.map(u64::to_le_bytes).concat())
}

/// What was recorded of a process that began at this time, and whose head says `now`.
fn modes(directory: &Path, began_mono_ns: u64, now: Mode) -> Vec<ModeChange> {
    let mut bytes = vec![0; CHANGES_MAX * CHANGE_BYTES];
    let file = open_file(&directory.join(FILE_NAME), false);
    let n = file.map_or(0, |file| read_up_to(&file, &mut bytes, 0));
    let word = |note: &[u8], at: usize| note[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    let mode = |note: &[u8], at| Mode::from_word(word(note, at));
    let notes = bytes[..n].chunks_exact(CHANGE_BYTES);
    let first = notes.clone().next().map_or(now, |note| mode(note, 8));
    let mut modes = vec![ModeChange { mono_ns: began_mono_ns, mode: first }];
    for note in notes {
        // Two of `ctl` at a time may have written their notes in another order.
        let mono_ns = word(note, 0).max(modes.last().map_or(0, |last| last.mono_ns));
        modes.push(ModeChange { mono_ns, mode: mode(note, 16) });
    }
    modes.dedup_by_key(|change| change.mode);
    modes
}

/// The same where that was nothing for a time; else none, as everything is in the head.
pub fn modes_with_off(directory: &Path, began_mono_ns: u64, now: Mode) -> Vec<ModeChange> {
    let modes = modes(directory, began_mono_ns, now);
    if modes.iter().any(|change| change.mode == Mode::Off) { modes } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(notes: &[(u64, Mode, Mode)], now: Mode, expected: &[(u64, Mode)]) {
        let place = tempfile::tempdir().unwrap();
        for &(mono_ns, before, mode) in notes {
            note(place.path(), before, ModeChange { mono_ns, mode }).unwrap();
        }
        let modes = modes(place.path(), 3, now);
        assert!(
            modes.iter().map(|change| (change.mono_ns, change.mode)).eq(expected.iter().copied()),
            "{modes:?}"
        );
    }

    #[test]
    fn what_was_recorded_follows_from_the_notes() {
        use Mode::{Full, Off, Sampled};
        check(&[], Off, &[(3, Off)]);
        check(&[(5, Full, Full)], Full, &[(3, Full)]);
        let sampled = Sampled { mean_bytes: 7 };
        let notes = [(5, Full, Off), (9, Off, Full), (11, Full, sampled)];
        check(&notes, sampled, &[(3, Full), (5, Off), (9, Full), (11, sampled)]);
        check(&[(9, Full, Off), (8, Off, Full)], Full, &[(3, Full), (9, Off), (9, Full)]);
    }
}
