//! The programs that were not recorded, at the end of a session end block: those that are known one by one, then how
//! many more there are, by reason.
//!
//! ```text
//!   count, for each: pid  mono  reason  name (text)        count, for each: reason  how many
//! ```

use heapscribe_wire::unrecorded::UnrecordedReason;

use super::fields::{Fields, put, put_text};
use crate::model::{Unrecorded, UnrecordedProgram};

/// Programs that are written one by one; others are counted.
pub(super) const PROGRAMS_MAX: usize = 1000;

pub(super) fn put_unrecorded(out: &mut Vec<u8>, unrecorded: &Unrecorded) {
    let mut all = unrecorded.clone();
    all.truncate(PROGRAMS_MAX);
    put(out, all.programs.len() as u64);
    for program in &all.programs {
        put(out, u64::from(program.pid));
        put(out, program.mono_ns);
        put(out, u64::from(program.reason as u32));
        put_text(out, program.name.get(..NAME_BYTES_MAX).unwrap_or(&program.name));
    }
    put(out, all.others.len() as u64);
    for (reason, count) in &all.others {
        put(out, u64::from(*reason as u32));
        put(out, *count);
    }
}

/// So many bytes of a name: all together fit in a block.
const NAME_BYTES_MAX: usize = 512;

pub(super) fn get_unrecorded(f: &mut Fields<'_>) -> Option<Unrecorded> {
    let mut unrecorded = Unrecorded::default();
    for _ in 0..f.number()? {
        unrecorded.programs.push(UnrecordedProgram {
            pid: f.small()?,
            mono_ns: f.number()?,
            reason: UnrecordedReason::from_number(f.small()?),
            name: f.text()?.to_vec(),
        });
    }
    for _ in 0..f.number()? {
        let reason = UnrecordedReason::from_number(f.small()?);
        unrecorded.add_others(reason, f.number()?);
    }
    Some(unrecorded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(pid: u32, reason: UnrecordedReason, name: &[u8]) -> UnrecordedProgram {
        UnrecordedProgram { pid, mono_ns: u64::from(pid) << 20, reason, name: name.to_vec() }
    }

    fn decoded(unrecorded: &Unrecorded) -> Unrecorded {
        let mut bytes = Vec::new();
        put_unrecorded(&mut bytes, unrecorded);
        for cut in 0..bytes.len() {
            assert_eq!(get_unrecorded(&mut Fields::new(&bytes[..cut])), None, "{cut}");
        }
        get_unrecorded(&mut Fields::new(&bytes)).unwrap()
    }

    #[test]
    fn programs_round_trip_and_a_cut_is_noticed() {
        let mut some = Unrecorded {
            programs: vec![
                program(7, UnrecordedReason::Environment, b"./hcl"),
                program(8, UnrecordedReason::Static, b""),
            ],
            others: Vec::new(),
        };
        some.add_others(UnrecordedReason::User, 3);
        assert_eq!(decoded(&some), some);
        assert_eq!((some.count(), decoded(&Unrecorded::default()).is_empty()), (5, true));
    }

    #[test]
    fn of_very_many_programs_the_first_are_written_and_the_others_counted() {
        let programs = (0..1010).rev().map(|pid| program(pid, UnrecordedReason::Hidden, &[b'x'; 600]));
        let many = Unrecorded { programs: programs.collect(), others: Vec::new() };
        let mut bytes = Vec::new();
        put_unrecorded(&mut bytes, &many);
        assert!(bytes.len() < 1 << 20);
        let read = get_unrecorded(&mut Fields::new(&bytes)).unwrap();
        assert_eq!((read.programs.len(), read.count(), read.programs[0].pid), (PROGRAMS_MAX, 1010, 0));
        assert_eq!(read.others, [(UnrecordedReason::Hidden, 10)]);
    }
}
