//! Of what the resident memory of a process was made, from time to time: each sample as the difference from the one before
//! it, so that what did not change takes a byte. A sample says how many parts it has: a later version may have more. Sections
//! that had ended stand behind it as they are.

use super::fields::{Fields, put, put_from};
use crate::model::{RESIDENT_PARTS, ResidentSample, SectionLeft};
use heapscribe_wire::ids::{NameId, ThreadId};

/// Parts that a later version can have.
const PARTS_MAX: u64 = 64;
/// Bits of the flags.
const SAMPLED: u64 = 1;
const SECTIONS: u64 = 2;

pub(super) fn put_samples(out: &mut Vec<u8>, samples: &[ResidentSample]) {
    let mut last = ResidentSample::default();
    for sample in samples {
        put_from(out, sample.mono_ns, last.mono_ns);
        put_from(out, sample.resident_bytes, last.resident_bytes);
        put_from(out, sample.pinned_bytes, last.pinned_bytes);
        let has_sections = !sample.sections.is_empty();
        put(out, u64::from(sample.is_sampled) * SAMPLED + u64::from(has_sections) * SECTIONS);
        put(out, RESIDENT_PARTS as u64);
        for (now, before) in sample.parts.iter().zip(last.parts) {
            put_from(out, *now, before);
        }
        if has_sections {
            put_sections(out, &sample.sections);
        }
        last = ResidentSample { sections: Vec::new(), ..sample.clone() };
    }
}

fn put_sections(out: &mut Vec<u8>, sections: &[SectionLeft]) {
    put(out, sections.len() as u64);
    for of in sections {
        let took_ticks = of.end_ticks.saturating_sub(of.begin_ticks);
        let ids = [u64::from(of.name.0), u64::from(of.thread.0), of.begin_ticks, took_ticks];
        ids.into_iter().chain([of.blocks, of.bytes, of.pinned_bytes]).for_each(|field| put(out, field));
    }
}

/// Calls `visit` with the samples; `None` when bytes are left that are none.
pub(super) fn get_samples(payload: &[u8], mut visit: impl FnMut(&ResidentSample)) -> Option<()> {
    let mut f = Fields::new(payload);
    let (mut last, mut later) = (ResidentSample::default(), [0; PARTS_MAX as usize - RESIDENT_PARTS]);
    while !f.is_empty() {
        last.mono_ns = f.number_from(last.mono_ns)?;
        last.resident_bytes = f.number_from(last.resident_bytes)?;
        last.pinned_bytes = f.number_from(last.pinned_bytes)?;
        let flags = f.number()?;
        last.is_sampled = flags & SAMPLED != 0;
        let parts = f.number().filter(|n| *n <= PARTS_MAX)? as usize;
        for part in last.parts.iter_mut().chain(&mut later).take(parts) {
            *part = f.number_from(*part)?;
        }
        last.sections.clear();
        for _ in 0..if flags & SECTIONS == 0 { 0 } else { f.number()? } {
            last.sections.push(get_section(&mut f)?);
        }
        visit(&last);
    }
    Some(())
}

fn get_section(f: &mut Fields<'_>) -> Option<SectionLeft> {
    let (name, thread, begin_ticks) = (NameId(f.small()?), ThreadId(f.small()?), f.number()?);
    let end_ticks = begin_ticks.checked_add(f.number()?)?;
    let (blocks, bytes, pinned_bytes) = (f.number()?, f.number()?, f.number()?);
    Some(SectionLeft { name, thread, begin_ticks, end_ticks, blocks, bytes, pinned_bytes })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn read(payload: &[u8]) -> (Vec<ResidentSample>, bool) {
        let mut samples = Vec::new();
        let is_whole = get_samples(payload, |sample| samples.push(sample.clone())).is_some();
        (samples, is_whole)
    }

    fn section() -> impl Strategy<Value = SectionLeft> {
        (any::<[u32; 2]>(), any::<[u64; 4]>(), any::<u32>()).prop_map(
            |([name, thread], [begin_ticks, blocks, bytes, pinned_bytes], took_ticks)| SectionLeft {
                name: NameId(name),
                thread: ThreadId(thread),
                begin_ticks,
                end_ticks: begin_ticks.saturating_add(took_ticks.into()),
                blocks,
                bytes,
                pinned_bytes,
            },
        )
    }

    fn sample() -> impl Strategy<Value = ResidentSample> {
        let sections = vec(section(), 0..3);
        (any::<[u64; 3]>(), any::<bool>(), any::<[u64; RESIDENT_PARTS]>(), sections).prop_map(
            |([mono_ns, resident_bytes, pinned_bytes], is_sampled, parts, sections)| ResidentSample {
                mono_ns,
                resident_bytes,
                pinned_bytes,
                is_sampled,
                parts,
                sections,
            },
        )
    }

    proptest! {
        #[test]
        fn samples_are_read_as_they_were_written(samples in vec(sample(), 0..20)) {
            let mut out = Vec::new();
            put_samples(&mut out, &samples);
            prop_assert_eq!(read(&out), (samples, true));
        }

        #[test]
        fn any_bytes_are_read_to_an_end(bytes in vec(any::<u8>(), 0..200)) {
            let (samples, _) = read(&bytes);
            prop_assert!(samples.len() <= bytes.len());
        }
    }

    #[test]
    fn parts_of_a_later_version_are_stepped_over() {
        let mut out = Vec::new();
        for mono_ns in [7, 9] {
            [mono_ns - if mono_ns == 9 { 7 } else { 0 }, 4096, 0]
                .iter()
                .for_each(|n| put_from(&mut out, *n, 0));
            put(&mut out, 0);
            put(&mut out, 16);
            (0..16).for_each(|part| put_from(&mut out, part, 0));
        }
        let (samples, is_whole) = read(&out);
        assert_eq!((samples.len(), is_whole), (2, true));
        assert_eq!((samples[1].mono_ns, samples[1].parts[13]), (9, 26));
    }

    #[test]
    fn a_section_that_ends_beyond_all_time_is_damage() {
        let sections =
            vec![SectionLeft { begin_ticks: 5, end_ticks: 9, blocks: 1, ..SectionLeft::default() }];
        let mut out = Vec::new();
        put_samples(&mut out, &[ResidentSample { sections, ..ResidentSample::default() }]);
        assert!(read(&out).1);
        // More sections than there are bytes.
        let count = 3 + 1 + 1 + RESIDENT_PARTS;
        out[count] = 100;
        assert_eq!(read(&out), (Vec::new(), false));
        out[count] = 1;
        out.splice(count + 3..count + 4, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        assert_eq!(read(&out), (Vec::new(), false));
    }

    #[test]
    fn more_parts_than_there_can_be_are_damage() {
        let mut out = vec![0, 0, 0, 0];
        put(&mut out, PARTS_MAX + 1);
        assert_eq!(read(&out), (Vec::new(), false));
    }
}
