//! What a report says of a ring: what it has evicted, and what is known of that all the same.

use std::io;

use heapscribe_analyze::answer::{Answer, Bounds, Range};

use super::{Out, bounds};
use heapscribe_units::{bytes, count, counted, duration, short_bytes};

/// What it evicted, after the header; nothing where that is nothing.
pub(super) fn header(out: Out<'_>, answer: &Answer) -> io::Result<()> {
    let evicted = &answer.evicted;
    if evicted.is_empty() {
        return Ok(());
    }
    let until_ns = evicted.until_mono_ns.saturating_sub(answer.begin_mono_ns);
    if !evicted.is_counted() {
        let (rest, before) = (duration(answer.duration_ns.saturating_sub(until_ns)), duration(until_ns));
        writeln!(
            out,
            "The rest of a recording, its last {rest}; events of the {before} before are missing."
        )?;
        let leaked = bounds::of(answer, |bounds| &bounds.leaked);
        if leaked.is_none_or(|leaked| leaked.bytes.high.is_some()) {
            writeln!(out, "  Below, only what is live counts them.")?;
        }
        return Ok(());
    }
    writeln!(
        out,
        "A ring with the last {}; {} of the {} before were evicted{}:",
        duration(answer.duration_ns.saturating_sub(until_ns)),
        counted(evicted.events, "event"),
        duration(until_ns),
        // The weight of each was evicted with it.
        if answer.sampling.is_some() { " (samples, not scaled up)" } else { "" }
    )?;
    writeln!(
        out,
        "  {}, {} of {}, {} of {}. Below, only what is live counts them.",
        counted(evicted.heap_calls(), "call"),
        counted(evicted.allocated_blocks, "allocation"),
        short_bytes(evicted.allocated_bytes),
        counted(evicted.freed_blocks, "free"),
        short_bytes(evicted.freed_bytes)
    )?;
    if has_no_events(answer) {
        writeln!(
            out,
            "  None are left: stacks, modules and names took the room of a small ring, or nothing happened in its time."
        )?;
    }
    if evicted.processes == 0 {
        return Ok(());
    }
    writeln!(out, "  Completely evicted: {}.", counted(evicted.processes, "process image"))
}

/// Whether all of its events were evicted.
fn has_no_events(answer: &Answer) -> bool {
    answer.totals.calls.all() == 0 && answer.pools.allocated.blocks + answer.pools.freed.blocks == 0
}

/// What is known of the peak before the ring begins.
pub(super) fn peak_before(out: Out<'_>, answer: &Answer, bounds: Option<&Bounds>) -> io::Result<()> {
    let seen = answer.peak.bytes;
    match (&answer.whole_peak, bounds.map(|bounds| &bounds.bytes)) {
        (Some(whole), range) if range.is_none_or(Range::is_exact) => {
            let (bytes, after) = (bytes(whole.bytes), duration(whole.time_ns));
            writeln!(out, "  Before the ring begins it was larger, {after} after the start: {bytes}.")?;
            writeln!(out, "  Who held them then is not known; the list is of the peak in the ring.")
        }
        (_, Some(bytes)) if bytes.is_exact() && bytes.low == seen => {
            writeln!(out, "  It was not larger before the ring begins.")
        }
        (_, Some(bytes)) if bytes.low > seen || bytes.high.is_some() => {
            writeln!(out, "  Over the whole run the peak was {}.", bounds::bytes(bytes))
        }
        _ => writeln!(out, "  How large it was before the ring begins is not known."),
    }
}

/// The peak of the whole run as far as it is known, in a sentence; nothing where all is known to be in the ring.
pub(super) fn peak_of_run(answer: &Answer) -> Option<String> {
    if !answer.evicted.is_of_ring() {
        return None;
    }
    let seen = answer.peak.bytes;
    let range = bounds::of(answer, |bounds| &bounds.peak).map(|bounds| &bounds.bytes);
    match (&answer.whole_peak, range) {
        (Some(whole), range) if range.is_none_or(Range::is_exact) => {
            let (bytes, after) = (bytes(whole.bytes), duration(whole.time_ns));
            Some(format!("Peak of the whole run: {bytes}, {after} after the start."))
        }
        (_, Some(range)) if range.is_exact() && range.low == seen => None,
        // Its lower end is that of what is in the ring, where nobody knows more.
        (_, Some(range)) if range.low > 0 || range.high.is_some() => {
            Some(format!("Peak of the whole run: {}.", bounds::bytes(range)))
        }
        _ => Some("Peak of the whole run: not known.".to_owned()),
    }
}

/// What has to be known of a ring to read its figures, in sentences, with those of the whole run.
pub fn caveat(answer: &Answer) -> Option<String> {
    if !answer.evicted.is_of_ring() {
        return None;
    }
    let until_ns = answer.evicted.until_mono_ns.saturating_sub(answer.begin_mono_ns);
    let last = duration(answer.duration_ns.saturating_sub(until_ns));
    let mut sentences =
        vec![format!("This is a ring: it has the events of the last {last} and all that is live.")];
    if let Some(allocated) = bounds::of(answer, |bounds| &bounds.allocated) {
        let (blocks, bytes) =
            (bounds::blocks(&allocated.blocks, "allocation"), bounds::bytes(&allocated.bytes));
        sentences.push(format!("The whole run had {blocks} of {bytes}."));
    }
    let in_ring = || format!("The peak of the whole run is in it: {}.", bytes(answer.peak.bytes));
    sentences.push(peak_of_run(answer).unwrap_or_else(in_ring));
    Some(sentences.join(" "))
}

/// What processes never freed of which nothing is left.
pub(super) fn leaked_by_evicted(out: Out<'_>, answer: &Answer) -> io::Result<()> {
    let leaked = answer.leaked_by_evicted;
    if leaked.blocks == 0 {
        return Ok(());
    }
    let (bytes, blocks) = (bytes(leaked.bytes), counted(leaked.blocks, "block"));
    let images = match answer.evicted.processes {
        1 => "a process image that was".to_owned(),
        n => format!("{} process images that were", count(n)),
    };
    writeln!(out, "  Of that, {bytes} in {blocks} are of {images} completely evicted.")
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{FigureBounds, Peak, WholePeak};
    use heapscribe_formats::Evicted;

    use super::*;

    /// A ring with the last 2 of 5 seconds, between what its peak lies, and the peak before it began.
    fn check(peak: Option<Range>, whole: Option<u64>, expected: &str) {
        let exact = |n| Bounds { bytes: Range::exact(4096 * n), blocks: Range::exact(n) };
        let bounds = |bytes| FigureBounds {
            allocated: exact(6_000),
            peak: Bounds { bytes, blocks: Range::exact(1) },
            ..FigureBounds::default()
        };
        let answer = Answer {
            duration_ns: 5_000_000_000,
            evicted: Evicted { chunks: 1, events: 9, until_mono_ns: 3_000_000_000, ..Evicted::default() },
            peak: Peak { bytes: 4096, ..Peak::default() },
            whole_peak: whole.map(|bytes| WholePeak { bytes, time_ns: 1_500_000_000 }),
            bounds: peak.map(bounds),
            ..Answer::default()
        };
        let run = "The whole run had 6,000 allocations of 24,576,000 bytes (23.4 MiB). ";
        let run = if peak.is_some() { run } else { "" };
        let ring = "This is a ring: it has the events of the last 2.00 s and all that is live. ";
        assert_eq!(caveat(&answer), Some(format!("{ring}{run}{expected}")));
    }

    #[test]
    fn a_ring_says_what_is_known_of_the_whole_run() {
        let larger = "Peak of the whole run: 8,192 bytes (8.00 KiB), 1.50 s after the start.";
        check(Some(Range::exact(8192)), Some(8192), larger);
        let in_it = "The peak of the whole run is in it: 4,096 bytes (4.00 KiB).";
        check(Some(Range::exact(4096)), None, in_it);
        let at_most = "Peak of the whole run: between 4,096 bytes (4.00 KiB) and 9,000 bytes (8.79 KiB).";
        check(Some(Range { low: 4096, high: Some(9000) }), None, at_most);
        // A peak that blocks without a slot are part of, whose frees nobody saw.
        check(Some(Range { low: 4096, high: Some(9000) }), Some(9000), at_most);
        let at_least = "Peak of the whole run: at least 4,096 bytes (4.00 KiB).";
        check(Some(Range { low: 4096, high: None }), None, at_least);
        check(None, None, "Peak of the whole run: not known.");
        assert_eq!((caveat(&Answer::default()), peak_of_run(&Answer::default())), (None, None));
    }
}
