//! Statistics of the heap under a process: its name and configuration, then samples, each as the difference from
//! the one before it. Each block repeats the name, so that it can be decoded alone.

use heapscribe_wire::heap::HeapCounts;

use super::fields::{Fields, put_from, put_text};
use crate::model::{HeapInfo, HeapSample};

pub(super) fn put_samples(out: &mut Vec<u8>, info: &HeapInfo, samples: &[HeapSample]) {
    put_text(out, info.name.as_bytes());
    put_text(out, info.configuration.as_bytes());
    let mut last = HeapSample::default();
    for sample in samples {
        put_from(out, sample.mono_ns, last.mono_ns);
        for (now, before) in sample.counts.to_words().into_iter().zip(last.counts.to_words()) {
            put_from(out, now, before);
        }
        last = *sample;
    }
}

/// Calls `visit` with the samples; `None` when bytes are left that are none.
pub(super) fn get_samples(payload: &[u8], mut visit: impl FnMut(&HeapInfo, &HeapSample)) -> Option<()> {
    let mut f = Fields::new(payload);
    let info = HeapInfo { name: f.string()?, configuration: f.string()? };
    let mut last = HeapSample::default();
    while !f.is_empty() {
        let mono_ns = f.number_from(last.mono_ns)?;
        let mut words = last.counts.to_words();
        for word in &mut words {
            *word = f.number_from(*word)?;
        }
        last = HeapSample { mono_ns, counts: HeapCounts::from_words(words) };
        visit(&info, &last);
    }
    Some(())
}
