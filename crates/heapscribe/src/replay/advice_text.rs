//! The settings as a table, the best first.

use std::io;

use super::advice::{Advice, Tried};
use heapscribe_units::{counted, short_bytes};
use heapscribe_views::text::{Out, heading};

/// Columns of a setting's name.
const NAME: usize = 22;

/// Prints it.
pub(crate) fn print(out: Out<'_>, advice: &Advice) -> io::Result<()> {
    let a = advice;
    writeln!(out, "{}", a.process.name())?;
    let peak = a.process.at_least(&short_bytes(a.peak_live_bytes));
    let calls = counted(a.calls, "call");
    writeln!(
        out,
        "  {calls} by {}; peak {peak} live, {} at the end.",
        counted(a.threads as u64, "thread"),
        short_bytes(a.left_bytes)
    )?;
    if a.replayed_threads < a.threads as u64 {
        writeln!(out, "  {} replay them.", counted(a.replayed_threads, "thread"))?;
    }
    if let Some(others) = a.process.about_others() {
        writeln!(out, "  {others}")?;
    }
    for why in &a.process.estimate {
        writeln!(out, "  Estimate only: {why}.")?;
    }
    heading(out, "Anonymous memory of the replayed calls, least at the end first")?;
    writeln!(out, "  {:<NAME$} {:>10} {:>10} {:>10}  how", "", "at the end", "at most", "on average")?;
    a.settings.iter().try_for_each(|of| row(out, of))?;
    best(out, a)
}

fn row(out: Out<'_>, of: &Tried) -> io::Result<()> {
    let name = &of.name;
    if let Some(error) = &of.error {
        return writeln!(out, "  {name:<NAME$} failed: {error}");
    }
    let bytes = [of.final_bytes, of.peak_bytes, of.mean_bytes].map(short_bytes);
    let how = if of.is_baseline { "without any setting" } else { &of.to_type };
    let failed = (of.failures > 0).then(|| format!(" ({} failed)", counted(of.failures, "request")));
    let failed = failed.unwrap_or_default();
    writeln!(out, "  {name:<NAME$} {:>10} {:>10} {:>10}  {how}{failed}", bytes[0], bytes[1], bytes[2])
}

/// What the best setting would bring.
fn best(out: Out<'_>, a: &Advice) -> io::Result<()> {
    let works = |of: &&Tried| of.error.is_none() && of.failures == 0;
    let baseline = a.settings.iter().find(|of| of.is_baseline).filter(works);
    let (Some(now), Some(best)) = (baseline, a.settings.iter().find(works)) else { return Ok(()) };
    heading(out, "Advice")?;
    // Less than a 50th is within what thread stacks and the order of calls make out.
    if best.is_baseline || now.final_bytes - best.final_bytes < now.final_bytes / 50 {
        return writeln!(out, "  No setting keeps noticeably less.");
    }
    let less = short_bytes(now.final_bytes - best.final_bytes);
    writeln!(out, "  {}: {less} less at the end.", best.to_type)?;
    if best.peak_bytes > now.peak_bytes + now.peak_bytes / 50 {
        writeln!(out, "  Its peak is higher by {}.", short_bytes(best.peak_bytes - now.peak_bytes))?;
    }
    Ok(())
}
