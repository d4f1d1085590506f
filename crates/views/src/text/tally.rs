//! The part of a report that only a file of another format has.

use std::io;

use heapscribe_convert::heaplog::LogTally;
use heapscribe_convert::memtrace::{Sampled, Tally};
use heapscribe_units::{count, counted};

use super::out::{Out, heading};

/// What a memtrace file is a sample of.
pub fn memtrace(out: Out<'_>, tally: &Tally) -> io::Result<()> {
    let line = |out: Out<'_>, name: &str, of: Sampled| {
        let part = 100.0 * of.samples as f64 / tally.all.samples.max(1) as f64;
        let bytes = heapscribe_units::bytes(tally.bytes(of.samples));
        writeln!(out, "  {name:<12} {:>10} objects {bytes:>12} {part:>6.1} %", of.objects)
    };
    writeln!(
        out,
        "\nA SAMPLE by memtrace with a rate of {} per word: bytes are estimates, blocks are the",
        tally.sample_rate
    )?;
    writeln!(out, "sampled objects")?;
    for (name, of) in [
        ("all", tally.all),
        ("minor heap", tally.minor),
        ("major heap", tally.major),
        ("external", tally.external),
        ("promoted", tally.promoted),
        ("collected", tally.collected),
    ] {
        line(out, name, of)?;
    }
    for (domain, of) in tally.domains.iter().filter(|_| tally.domains.len() > 1) {
        line(out, &format!("domain {domain}"), *of)?;
    }
    if tally.hidden_stacks != 0 {
        writeln!(out, "  stacks missing because they were too deep: {}", tally.hidden_stacks)?;
    }
    Ok(())
}

/// The lines of a log of heaphook's, by what they are.
pub fn heaplog(out: Out<'_>, tally: &LogTally) -> io::Result<()> {
    let form = match (tally.with_spaces, tally.lines - tally.with_spaces) {
        (_, 0) => "as version 0.1 writes them, with spaces",
        (0, _) => "as later versions write them, with commas",
        _ => "some with spaces, some with commas",
    };
    heading(out, "The log")?;
    writeln!(out, "  {} of heaphook, {form}.", counted(tally.lines, "line"))?;
    writeln!(
        out,
        "  The log has no times, threads or stacks: times here are counts of calls, everything is one\n  \
         thread, and the called function stands for the stack."
    )?;
    for (n, what) in [
        (tally.usable_size_calls, "calls of malloc_usable_size"),
        (tally.null_frees, "frees of NULL"),
        (tally.replaced, "allocations at the address of a live block, which counts as freed"),
        (tally.late, "of these, freed soon after by a line that was late"),
        (tally.unknown_frees, "frees of unknown blocks"),
        (tally.unknown_reallocs, "reallocs of unknown blocks"),
        (tally.zeros_at_end, "unused zero bytes at its end"),
    ] {
        if n > 0 {
            writeln!(out, "  {what}: {}", count(n))?;
        }
    }
    Ok(())
}
