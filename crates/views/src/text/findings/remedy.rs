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
    let excess_bytes = anonymous_bytes.saturating_sub(heap_bytes);
    let mapped_bytes = mapped_bytes_max(facts);
    if mapped_bytes.is_some_and(|bytes| bytes > excess_bytes / 2) {
        let mapped = short_bytes(mapped_bytes.unwrap_or_default());
        return format!(
            "Most of it may be what the program mapped itself, {mapped} at most: `heapscribe report {trace} --full` \
             lists who did. {plot}."
        );
    }
    if freed_bytes_max < excess_bytes / 2 {
        let look_for = match mapped_bytes {
            None => "mmap (`heapscribe record --track-mmap` says whose), thread stacks, or a heap",
            Some(_) => "thread stacks, or a heap",
        };
        return format!(
            "Most of it is not malloc's, whose blocks were never so many: look for {look_for} of the program's own. \
             {plot}."
        );
    }
    let trim = "malloc_trim(0) returns what glibc can return";
    let trim = if has_other_heap(facts.answer) { String::new() } else { format!("; {trim}") };
    format!("{plot}, `heapscribe replay {trace}` what another heap would need{trim}.")
}

/// The most that the processes had mapped themselves, where that was recorded.
fn mapped_bytes_max(facts: &Facts<'_>) -> Option<u64> {
    let mapped = facts.answer.processes.iter().filter_map(|process| process.mappings.as_ref());
    let followed = mapped.filter(|of| of.unfollowed_calls == 0);
    followed.map(|of| of.peak_bytes).reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{Answer, Mappings, Process};
    use heapscribe_analyze::findings::{Kind, Level};

    use super::*;

    const MIB: u64 = 1 << 20;

    /// What to try about 360 MiB of which the heap had 61, and the program mapped so much where that was recorded.
    fn of_excess(mapped_mib: &[u64], expected: &str) {
        let evidence = Evidence::ResidentExcess {
            anonymous_bytes: 360 * MIB,
            heap_bytes: 61 * MIB,
            freed_bytes_max: 0,
            time_ns: 0,
        };
        let (severity, confidence) = (Level::High, Level::Medium);
        let kind = Kind::ResidentExcess;
        let finding = Finding { kind, severity, confidence, evidence, culprits: Vec::new(), more: 0 };
        let process = |mib: &u64| Process {
            mappings: Some(Mappings { peak_bytes: mib * MIB, ..Mappings::default() }),
            ..Process::default()
        };
        let answer = Answer { processes: mapped_mib.iter().map(process).collect(), ..Answer::default() };
        let text = remedy(&finding, &Facts { answer: &answer, who: "main", accepted: "" }, "t.hst");
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn mappings_that_are_recorded_are_not_to_be_looked_for() {
        of_excess(&[], "look for mmap (`heapscribe record --track-mmap` says whose), thread stacks");
        of_excess(&[4, 8], "look for thread stacks, or a heap of the program's own");
        of_excess(&[100, 100, 100], "mapped itself, 300 MiB at most: `heapscribe report t.hst --full` lists");
    }
}
