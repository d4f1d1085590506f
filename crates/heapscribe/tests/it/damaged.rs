//! Damaged traces: what is left is told, what is missing is said, and the exit code is 3.

use crate::sample;
use crate::see::Place;

/// What every cut and every damage must keep to: no panic, a code of the table, a reason when it is not 0.
fn check(bytes: &[u8]) {
    let place = Place::with_trace(bytes);
    for command in ["dump run.hst", "report run.hst"] {
        let (code, _, err) = place.all(command);
        assert!(matches!(code, Some(1 | 3)), "{command}: {code:?} {err}");
        assert!(err.contains("error: run.hst: ") && err.contains("hint: "), "{command}: {err}");
    }
}

#[test]
fn cut_anywhere() {
    let whole = sample::tiny();
    for cut in (0..whole.len()).step_by(whole.len() / 12) {
        check(&whole[..cut]);
    }
}

#[test]
fn a_flipped_byte_in_the_events_names_its_place() {
    let mut bytes = sample::trace();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    let place = Place::with_trace(&bytes);
    let (code, out, err) = place.all("dump run.hst");
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains(" at byte "), "{err}");
    assert!(out.contains("# session") && out.contains("# end session"), "{out}");
    check(&bytes);
}
