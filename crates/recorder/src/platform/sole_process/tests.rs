//! The word as the first process, the same after exec, and a second one find it.

use std::ffi::CString;
use std::fs;

use heapscribe_wire::plan::SOLE_PROCESS_FILE_NAME;

use super::*;

/// This process alone, and the word that another would write.
pub(crate) fn alone() -> (SoleProcess, &'static AtomicU64) {
    let word: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(5)));
    (SoleProcess { word, own: 5 }, word)
}

/// Whether this process is alone after it has begun in a file with this word; and what the word is then.
fn check(before: u64, is_alone: bool) {
    let place = std::env::temp_dir().join(format!("heapscribe-sole-{}-{before}", std::process::id()));
    fs::create_dir(&place).unwrap();
    let path = place.join(SOLE_PROCESS_FILE_NAME);
    let mut bytes = vec![0; SOLE_PROCESS_FILE_BYTES];
    bytes[..8].copy_from_slice(&before.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let name = CString::new(place.to_str().unwrap()).unwrap();
    let base = File::open(&name, Open::Directory).unwrap();
    let sole = SoleProcess::begin(&base).unwrap();
    assert_eq!(sole.is_alone(), is_alone);
    // What it has become by exec is alone as long as it was.
    assert_eq!(SoleProcess::begin(&base).unwrap().is_alone(), is_alone);
    let word = u64::from_le_bytes(*fs::read(&path).unwrap().first_chunk().unwrap());
    assert_eq!(word == SEVERAL, !is_alone);
    fs::remove_dir_all(&place).unwrap();
}

#[test]
fn the_first_process_is_alone_until_a_second_begins() {
    check(0, true);
    check(u64::MAX - 1, false);
}
