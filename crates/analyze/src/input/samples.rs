//! What was sampled of a process while it ran: its memory, and the statistics of the heap under it.

use heapscribe_formats::{
    HeapInfo, HeapSample, Problem, ProcessIndex, ResidentSample, Scratch, Source, Trace, TraceError,
};

use super::facts::RssSample;

/// The samples of a process, by time.
#[derive(Debug, Default)]
pub(super) struct ProcessSamples {
    pub(super) rss: Vec<RssSample>,
    pub(super) heap: Option<(HeapInfo, Vec<HeapSample>)>,
    pub(super) resident: Vec<ResidentSample>,
    /// What of them cannot be read, in words; the rest is there all the same.
    pub(super) problems: Vec<String>,
}

impl ProcessSamples {
    pub(super) fn read<S: Source>(trace: &Trace<S>, process: ProcessIndex) -> ProcessSamples {
        let mut samples = ProcessSamples::default();
        let memory = trace.memory(process, &mut Scratch::default(), |sample| {
            samples.rss.push(RssSample {
                mono_ns: sample.mono_ns,
                rss_bytes: sample.rss_bytes,
                anonymous_bytes: sample.rss_bytes.saturating_sub(sample.shared_bytes),
            });
        });
        let heap = trace.heap(process, &mut Scratch::default(), |info, sample| {
            samples.heap.get_or_insert_with(|| (info.clone(), Vec::new())).1.push(*sample);
        });
        let resident =
            trace.resident(process, &mut Scratch::default(), |sample| samples.resident.push(sample.clone()));
        samples.resident.sort_by_key(|sample| sample.mono_ns);
        samples.rss.sort_by_key(|sample| sample.mono_ns);
        if let Some((_, heap)) = &mut samples.heap {
            heap.sort_by_key(|sample| sample.mono_ns);
        }
        samples.problems = [memory, heap, resident].into_iter().flat_map(in_words).collect();
        samples
    }
}

fn in_words(read: Result<Vec<Problem>, TraceError>) -> Vec<String> {
    match read {
        Ok(problems) => problems.iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    }
}
