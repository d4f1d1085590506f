//! What to try about a finding: a change of the program, or the command that shows more.

use heapscribe_analyze::findings::{Evidence, Finding};
use heapscribe_symbols::lossy;
use heapscribe_units::short_bytes;

use super::summary::Facts;
use crate::coverage::{has_other_heap, runtimes};

/// In one or two sentences.
pub(super) fn remedy(finding: &Finding, facts: &Facts<'_>, trace: &str) -> String {
    let who = facts.who;
    let flame = |file: &str, metric: &str| format!("`heapscribe flame {trace} -o {file} --metric {metric}`");
    match &finding.evidence {
        Evidence::Growth { .. } => {
            format!(
                "Free or bound what {who} adds to. {} shows who calls it.",
                flame("growth.html", "leaked")
            )
        }
        Evidence::Leak { killed_by: Some(_), .. } => {
            format!(
                "Let the program end by itself to see what it leaks. {} shows who held it.",
                flame("leaked.html", "leaked")
            )
        }
        Evidence::Leak { .. } => format!(
            "{} shows all of it; `heapscribe check {trace} --max-leaked 0` fails until it is freed.",
            flame("leaked.html", "leaked")
        ),
        Evidence::Burst { .. } => format!(
            "Let {who} work in smaller pieces, or free what it no longer needs earlier. {} shows the peak.",
            flame("peak.html", "peak")
        ),
        Evidence::Temporary { timed_calls, .. } => {
            let more = match timed_calls {
                0 => "`heapscribe record --latency` measures what the calls cost.".to_owned(),
                _ => format!("{} shows the callers.", flame("temporary.html", "temporary")),
            };
            format!("Reuse one buffer around the loop in {who}. {more}")
        }
        Evidence::ReallocGrowth { largest_bytes, .. } => format!(
            "Reserve the size at once, or double it when it is used up; the largest block was {}.",
            short_bytes(*largest_bytes)
        ),
        Evidence::LateFree { freed, .. } if freed.blocks == 1 => {
            format!("If {who} does not need it to the end, free it after its last use.")
        }
        Evidence::LateFree { .. } => {
            format!("If {who} does not need them to the end, free them after their last use.")
        }
        Evidence::ForeignFree { .. } => format!(
            "Free them where they were allocated, or hand back many at a time. To compare times with \
             another heap: `heapscribe run --heap tlsf -- {}`.",
            command(facts)
        ),
        Evidence::Arenas { .. } => arenas(facts),
        Evidence::ResidentExcess { .. } => resident_excess(finding, facts, trace),
        Evidence::Rounding { over_aligned: true, .. } => {
            "Ask for the alignment that is needed, or put several objects into one aligned block.".to_owned()
        }
        Evidence::Rounding { .. } => {
            format!("Allocate many of these objects at once in {who}: an array, an arena or a pool.")
        }
        Evidence::Sampling { wanted_mean_bytes, .. } => {
            let (kib, command) = (wanted_mean_bytes >> 10, command(facts));
            match kib {
                0 => format!("Record every block: `heapscribe record -- {command}`."),
                _ => format!("Record finer samples: `heapscribe record --sample {kib}KiB -- {command}`."),
            }
        }
        Evidence::Section { .. } => {
            format!("`heapscribe report {trace} --full` lists what the section allocates, by stack.")
        }
    }
}

/// The command that was recorded.
fn command(facts: &Facts<'_>) -> String {
    let command: Vec<_> = facts.answer.command.iter().map(|part| lossy(part)).collect();
    if command.is_empty() { "CMD".to_owned() } else { command.join(" ") }
}

/// glibc's heap has a setting for it.
fn arenas(facts: &Facts<'_>) -> String {
    if has_other_heap(facts.answer) {
        return "Limit the arenas and caches of threads in the settings of its heap.".to_owned();
    }
    format!(
        "Record it with two arenas for all threads, and compare the resident memory: \
         `MALLOC_ARENA_MAX=2 heapscribe record -- {}`. Or let fewer threads do what needs much memory.",
        command(facts)
    )
}

/// Only memory of freed blocks can be returned, and only libc's heap has a call for that.
fn resident_excess(finding: &Finding, facts: &Facts<'_>, trace: &str) -> String {
    let Evidence::ResidentExcess { anonymous_bytes, heap_bytes, freed_bytes_max, .. } = finding.evidence
    else {
        return String::new();
    };
    if let Some(hint) = runtimes(facts.answer).next() {
        return hint.to_owned();
    }
    let plot = format!("`heapscribe plot {trace} -o heap.svg` shows both over time");
    if freed_bytes_max < anonymous_bytes.saturating_sub(heap_bytes) / 2 {
        return format!(
            "Most of it is not malloc's, whose blocks were never so many: look for mmap, thread stacks, or a heap of \
             the program's own. {plot}."
        );
    }
    let trim = "malloc_trim(0) returns what glibc can return";
    let trim = if has_other_heap(facts.answer) { String::new() } else { format!("; {trim}") };
    format!("{plot}, `heapscribe replay {trace}` what another heap would need{trim}.")
}
