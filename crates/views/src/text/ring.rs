//! What a report says of a ring: what it has evicted, and what is known of that all the same.

use std::io;

use heapscribe_analyze::answer::{Answer, Bounds};

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
        "A ring with the last {}; {} of the {} before were evicted:",
        duration(answer.duration_ns.saturating_sub(until_ns)),
        counted(evicted.events, "event"),
        duration(until_ns)
    )?;
    writeln!(
        out,
        "  {}, {} of {}, {} of {}. Below, only what is live counts them.",
        counted(evicted.calls.iter().copied().fold(0, u64::saturating_add), "call"),
        counted(evicted.allocated_blocks, "allocation"),
        short_bytes(evicted.allocated_bytes),
        counted(evicted.freed_blocks, "free"),
        short_bytes(evicted.freed_bytes)
    )?;
    if evicted.processes == 0 {
        return Ok(());
    }
    writeln!(out, "  Completely evicted: {}.", counted(evicted.processes, "process image"))
}

/// What is known of the peak before the ring begins.
pub(super) fn peak_before(out: Out<'_>, answer: &Answer, bounds: Option<&Bounds>) -> io::Result<()> {
    let seen = answer.peak.bytes;
    match (&answer.whole_peak, bounds.map(|bounds| &bounds.bytes)) {
        (Some(whole), _) => {
            let (bytes, after) = (bytes(whole.bytes), duration(whole.time_ns));
            writeln!(out, "  Before the ring begins it was larger, {after} after the start: {bytes}.")?;
            writeln!(out, "  Who held them then is not known; the list is of the peak in the ring.")
        }
        (None, Some(bytes)) if bytes.is_exact() && bytes.low == seen => {
            writeln!(out, "  It was not larger before the ring begins.")
        }
        (None, Some(bytes)) if bytes.low > seen || bytes.high.is_some() => {
            writeln!(out, "  Over the whole run the peak was {}.", bounds::bytes(bytes))
        }
        _ => writeln!(out, "  How large it was before the ring begins is not known."),
    }
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
