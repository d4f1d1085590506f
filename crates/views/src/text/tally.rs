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
        "\nA SAMPLE of memtrace: each word was drawn with a chance of {}, so that bytes are estimates;",
        tally.sample_rate
    )?;
    writeln!(out, "blocks are the objects that were drawn")?;
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
        writeln!(out, "  {} stacks are not in the file: they were too deep for it", tally.hidden_stacks)?;
    }
    Ok(())
}

/// The lines of a log of heaphook's, by what they are.
pub fn heaplog(out: Out<'_>, tally: &LogTally) -> io::Result<()> {
    let form = match (tally.with_spaces, tally.lines - tally.with_spaces) {
        (_, 0) => "in the form with spaces of its version 0.1",
        (0, _) => "in the form with commas of its later versions",
        _ => "in both of its forms",
    };
    heading(out, "The log")?;
    writeln!(out, "  {} of heaphook, {form}.", counted(tally.lines, "line"))?;
    writeln!(
        out,
        "  The log has no times: times here are counts of calls. Nor has it threads or stacks: it is all\n  \
         one thread, and what stands for a stack is the function that was called."
    )?;
    for (n, what) in [
        (tally.usable_size_calls, "calls for the size of a block"),
        (tally.null_frees, "frees of NULL"),
        (tally.replaced, "blocks that came where another one was, which is taken as gone"),
        (tally.late, "of these whose end is told soon after, by a thread that was late"),
        (tally.unknown_frees, "frees of blocks that no line had handed out"),
        (tally.unknown_reallocs, "reallocs of such blocks"),
        (tally.zeros_at_end, "zero bytes at its end, room that was not used"),
    ] {
        if n > 0 {
            writeln!(out, "  {what}: {}", count(n))?;
        }
    }
    Ok(())
}
