//! The table of samples: rows with who they are of, in the order in which engines look for them.

use std::collections::BTreeMap;

use heapscribe_analyze::input::History as _;
use heapscribe_symbols::lossy;
use heapscribe_wire::definitions::Definition;

use super::batch::{Batch, Column, Leaf, Nested, NestedKind, Texts, Values};
use super::rows::{Row, Rows, Sum};
use super::stack_hash::StackHashes;
use crate::opened_trace::Opened;
use crate::recorded::About;

/// Columns that the rows are sorted by: service, version, stack, begin of the window.
pub const SORTED_BY: [usize; 4] = [0, 1, 2, 3];

/// Who rows are of.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The recording, its processes and threads.
    pub about: About,
    /// What is asked for in place of the names of the programs.
    pub service: Option<String>,
    /// What is asked for in place of the build ids of the programs.
    pub version: Option<String>,
    /// Labels of all rows.
    pub labels: BTreeMap<String, String>,
    build_ids: Vec<String>,
}

impl Origin {
    /// Of a trace.
    pub fn of(trace: &Opened) -> Origin {
        let recording = trace.recording();
        let build_id = |(number, exe): (usize, Vec<u8>)| {
            let mut found = String::new();
            // What cannot be read is reported where the definitions are read for good.
            let _ = recording.definitions(number, &mut |_, definition| {
                if let Definition::Module(module) = definition
                    && module.name == exe
                {
                    found = module.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
                }
            });
            found
        };
        let programs = recording.processes().into_iter().map(|process| process.exe).enumerate();
        Origin { about: About::of(trace), build_ids: programs.map(build_id).collect(), ..Origin::default() }
    }

    /// The service that a process is of.
    pub fn service_of(&self, process: usize) -> &str {
        let program = || self.about.processes.get(process).map_or("", |process| &process.program);
        self.service.as_deref().unwrap_or_else(program)
    }

    /// Its version.
    pub fn version_of(&self, process: usize) -> &str {
        let build_id = || self.build_ids.get(process).map_or("", String::as_str);
        self.version.as_deref().unwrap_or_else(build_id)
    }

    /// Its number on its host.
    pub fn pid_of(&self, process: usize) -> i32 {
        self.about.processes.get(process).map_or(0, |process| process.pid.cast_signed())
    }

    /// The thread as text; none where it is not known.
    pub fn thread_of(&self, process: usize, thread: Option<u32>) -> Option<String> {
        let of = self.about.thread(process, thread?)?;
        Some(format!("{}[{}]", lossy(of.name.as_bytes()), of.tid))
    }

    fn labels_of(&self, row: &Row) -> BTreeMap<String, String> {
        let mut labels = self.labels.clone();
        let program = self.about.processes.get(row.process).map(|process| process.program.clone());
        labels.extend(program.map(|program| ("program".to_owned(), program)));
        let thread = self.thread_of(row.process, row.thread);
        labels.extend(thread.map(|thread| ("thread".to_owned(), thread)));
        labels
    }

    /// A moment, ns of CLOCK_MONOTONIC, as µs since 1970.
    fn real_us(&self, begin_mono_ns: u64, ns: u64) -> i64 {
        let since = ns.saturating_sub(begin_mono_ns);
        (self.about.begin_real_ns.saturating_add(since) / 1000).cast_signed()
    }
}

/// The rows in their order, so many at a time; at least one batch.
pub fn batches(
    rows: &Rows,
    origin: &Origin,
    begin_mono_ns: u64,
    at_once: usize,
) -> impl Iterator<Item = Batch> {
    let hashes = StackHashes::of(&rows.tree);
    let mut sorted: Vec<&Row> = rows.rows.iter().collect();
    sorted.sort_by_cached_key(|row| {
        let program = (origin.service_of(row.process).to_owned(), origin.version_of(row.process).to_owned());
        (program, hashes.get(row.node), row.from_ns, row.process, row.thread)
    });
    let parts = sorted.len().div_ceil(at_once).max(1);
    (0..parts).map(move |n| {
        let part = &sorted[n * at_once..sorted.len().min((n + 1) * at_once)];
        batch(part, origin, begin_mono_ns, &hashes)
    })
}

fn batch(rows: &[&Row], origin: &Origin, begin_mono_ns: u64, hashes: &StackHashes) -> Batch {
    let texts = |of: &dyn Fn(&Row) -> String| {
        let mut texts = Texts::default();
        rows.iter().for_each(|row| texts.push(&of(row)));
        Values::Text(texts)
    };
    let times = |of: &dyn Fn(&Row) -> u64| {
        Values::TimeUs(rows.iter().map(|row| origin.real_us(begin_mono_ns, of(row))).collect())
    };
    let numbers = |of: &dyn Fn(&Row) -> u64| {
        Values::I64(rows.iter().map(|row| i64::try_from(of(row)).unwrap_or(i64::MAX)).collect())
    };
    let variances = |of: &dyn Fn(&Row) -> Sum, part: fn(&Sum) -> u128| {
        Values::F64(rows.iter().map(|row| part(&of(row)) as f64).collect())
    };
    let (allocated, live) = (|row: &Row| row.allocated, |row: &Row| row.live);
    let flat = vec![
        ("service", texts(&|row| origin.service_of(row.process).to_owned())),
        ("version", texts(&|row| origin.version_of(row.process).to_owned())),
        ("stack", Values::I64(rows.iter().map(|row| hashes.get(row.node)).collect())),
        ("window_start", times(&|row| row.from_ns)),
        ("window_end", times(&|row| row.to_ns)),
        ("host", texts(&|_| origin.about.host.clone())),
        ("pid", Values::I32(rows.iter().map(|row| origin.pid_of(row.process)).collect())),
        ("alloc_objects", numbers(&|row| row.allocated.blocks)),
        ("alloc_bytes", numbers(&|row| row.allocated.bytes)),
        ("live_objects", numbers(&|row| row.live.blocks)),
        ("live_bytes", numbers(&|row| row.live.bytes)),
        ("alloc_objects_variance", variances(&allocated, |sum| sum.blocks_variance)),
        ("alloc_bytes_variance", variances(&allocated, |sum| sum.bytes_variance)),
        ("live_objects_variance", variances(&live, |sum| sum.blocks_variance)),
        ("live_bytes_variance", variances(&live, |sum| sum.bytes_variance)),
    ];
    let mut columns: Vec<Column> =
        flat.into_iter().map(|(name, values)| Column::Flat(Leaf::new(name, values))).collect();
    columns.push(Column::Nested(labels(rows, origin)));
    Batch { rows: rows.len(), columns }
}

fn labels(rows: &[&Row], origin: &Origin) -> Nested {
    let (mut keys, mut values, mut lengths) = (Texts::default(), Texts::default(), Vec::new());
    for row in rows {
        let labels = origin.labels_of(row);
        lengths.push(labels.len() as u32);
        for (key, value) in &labels {
            keys.push(key);
            values.push(value);
        }
    }
    let fields = vec![Leaf::new("key", Values::Text(keys)), Leaf::new("value", Values::Text(values))];
    Nested { name: "labels", kind: NestedKind::Map, lengths, fields }
}
