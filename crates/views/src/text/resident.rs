//! Of what the resident memory of processes was made over time: a row for each of some moments.

use std::io;

use heapscribe_analyze::answer::{Answer, Process};
use heapscribe_analyze::memory::PartName;
use heapscribe_formats::ResidentSample;
use heapscribe_symbols::lossy;
use heapscribe_units::{date, duration, short_bytes};

use super::{Out, heading, tables};

/// Rows of a process, at most.
const ROWS: usize = 12;

/// Columns, and the parts that are summed up in each.
const COLUMNS: [(&str, &[PartName]); 6] = [
    ("live", &[PartName::Live, PartName::SampledHeap]),
    ("headers", &[PartName::Rounding, PartName::MappedTails]),
    ("in used pages", &[PartName::FreeInUsedPages]),
    ("free pages", &[PartName::FreePages, PartName::FreePagesAtTop, PartName::FreeArenas]),
    (
        "not heap",
        &[
            PartName::Stacks,
            PartName::Files,
            PartName::SharedMemory,
            PartName::OtherAnonymous,
            PartName::Unexplained,
        ],
    ),
    ("recorder", &[PartName::Recorder]),
];

/// Columns of a size.
const SIZE: usize = 9;

/// Whether there is anything to print.
pub fn is_any(answer: &Answer) -> bool {
    answer.processes.iter().any(|process| !process.resident.is_empty())
}

/// Prints what was recorded and when, and the tables.
pub fn report(out: Out<'_>, answer: &Answer) -> io::Result<()> {
    let command: Vec<_> = answer.command.iter().map(|part| lossy(part)).collect();
    writeln!(out, "Memory of: {}", command.join(" "))?;
    let when = match answer.begin_real_ns {
        0 => String::new(),
        begin_ns => format!(" on {}", date(begin_ns)),
    };
    writeln!(out, "Recorded{when} for {}.", duration(answer.duration_ns))?;
    section(out, answer)
}

/// Prints a table for each process that was looked at.
pub fn section(out: Out<'_>, answer: &Answer) -> io::Result<()> {
    for process in answer.processes.iter().filter(|process| !process.resident.is_empty()) {
        let name = tables::program(process);
        heading(out, &format!("What the resident memory of {name} ({}) was over time", process.pid))?;
        table(out, process, answer.begin_mono_ns)?;
    }
    Ok(())
}

fn table(out: Out<'_>, process: &Process, begin_mono_ns: u64) -> io::Result<()> {
    write!(out, "  {:>SIZE$} {:>SIZE$}", "time", "resident")?;
    COLUMNS.iter().try_for_each(|(name, _)| write!(out, " {name:>SIZE$}"))?;
    writeln!(out)?;
    for sample in chosen(&process.resident) {
        let time = duration(sample.mono_ns.saturating_sub(begin_mono_ns));
        write!(out, "  {time:>SIZE$} {:>SIZE$}", short_bytes(sample.resident_bytes))?;
        for (name, parts) in COLUMNS {
            let columns = name.len().max(SIZE);
            write!(out, " {:>columns$}", short_bytes(sum(sample, parts)))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "  The recorder is part of `resident` here; other reports leave it out.")?;
    if process.resident.iter().any(|sample| sample.is_sampled) {
        writeln!(out, "  Blocks were sampled, so `live` is all of the heap where they were.")?;
    }
    Ok(())
}

/// A moment in lines of at most 80 columns.
pub fn lines(sample: &ResidentSample) -> Vec<String> {
    let [live, headers, in_used, free, other, recorder] =
        COLUMNS.map(|(_, parts)| short_bytes(sum(sample, parts)));
    let resident = short_bytes(sample.resident_bytes);
    // Of samples nobody knows which page has a live block.
    if sample.is_sampled {
        return vec![format!("resident {resident}: heap {live}, not heap {other}, recorder {recorder}")];
    }
    vec![
        format!("resident {resident}: live {live}, headers {headers}, not heap {other}, recorder {recorder}"),
        format!("free in the heap: {in_used} in pages with live blocks, {free} in others"),
    ]
}

fn sum(sample: &ResidentSample, parts: &[PartName]) -> u64 {
    parts.iter().map(|part| sample.parts[*part as usize]).fold(0, u64::saturating_add)
}

/// The first, the last, the largest, and others at equal distances between them.
fn chosen(samples: &[ResidentSample]) -> Vec<&ResidentSample> {
    let last = samples.len().saturating_sub(1);
    let largest = (0..samples.len()).rev().max_by_key(|at| samples[*at].resident_bytes);
    let mut rows: Vec<usize> = match samples.len() {
        few if few <= ROWS => (0..few).collect(),
        _ => (0..ROWS - 1).map(|row| row * last / (ROWS - 2)).chain(largest).collect(),
    };
    rows.sort_unstable();
    rows.dedup();
    rows.into_iter().map(|at| &samples[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(resident: &[u64], expected: &[u64]) {
        let sample = |(at, bytes): (usize, &u64)| ResidentSample {
            mono_ns: at as u64,
            resident_bytes: *bytes,
            ..ResidentSample::default()
        };
        let samples: Vec<_> = resident.iter().enumerate().map(sample).collect();
        let times: Vec<u64> = chosen(&samples).iter().map(|sample| sample.mono_ns).collect();
        assert_eq!(times, expected);
    }

    #[test]
    fn the_largest_of_many_moments_is_shown() {
        check(&[], &[]);
        check(&[1, 2, 3], &[0, 1, 2]);
        let mut many = [1; 101];
        many[33] = 9;
        check(&many, &[0, 10, 20, 30, 33, 40, 50, 60, 70, 80, 90, 100]);
    }

    #[test]
    fn columns_have_each_part_once() {
        let mut parts: Vec<PartName> = COLUMNS.iter().flat_map(|(_, parts)| parts.iter().copied()).collect();
        parts.sort_unstable();
        assert_eq!(parts, PartName::ALL);
    }
}
