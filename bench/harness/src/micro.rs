//! `micro`: ns of a single call. The real library is measured in a real program ([`crate::deep`]), as what a
//! call takes more than in the program alone; only the encoder of events, which stands alone, is called here.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{Block, Call, Event};
use serde_json::{Value, json};

use crate::cli::MicroArgs;
use crate::deep::{Case, Kind, Paths, times_ns};
use crate::places::Places;
use crate::report::Part;
use crate::rounds::{Measured, interleave};
use crate::statistics::least;
use crate::table::{Table, cell};
use crate::tool::{self, Tool};

const DEPTHS: [u32; 4] = [8, 20, 40, 100];
const FRESH: [u32; 3] = [0, 2, 10];
/// Operations of a round, and rounds of a run: a tenth of a second under a recorder.
const OPERATIONS: u64 = 2000;
const ROUNDS: u64 = 150;
/// Fewer where each round makes new stacks.
const ROUNDS_NEW: u64 = 20;

const TOOLS: [Tool; 6] =
    [Tool::Bare, Tool::Count, Tool::Loaded, Tool::Heapscribe, Tool::HeapscribeSampled, Tool::Heaptrack];

const EXPLANATION: &str = "CPU time of the thread, the least of all rounds, in ns: alone, and what each tool adds to it. Depth is that of \
the stack above main; fresh frames are the innermost ones, left and entered anew at each call by another way than the time before. \
`loaded` is heapscribe's library in a program that nobody records: what forwarding takes. A stack that was never seen has three or \
more new frames to be named. Blocks of 24 to 39 bytes, 2,000 live at a time.";

/// Measures calls, then events.
pub(crate) fn measure(args: &MicroArgs, places: &Places) -> Result<Vec<Part>> {
    let (tools, mut notes) = tool::chosen(&args.rounds.tools, &TOOLS, places)?;
    notes.insert(0, EXPLANATION.to_owned());
    let heads = tools
        .iter()
        .map(|tool| if *tool == Tool::Bare { "bare".into() } else { format!("+ {}", tool.name()) });
    let mut table = Table::new(
        &["<call".to_owned(), "depth".into(), "<fresh frames".into()]
            .into_iter()
            .chain(heads)
            .collect::<Vec<_>>(),
    );
    let mut data = Vec::new();
    for case in cases() {
        let rounds = if case.paths == Paths::New { ROUNDS_NEW } else { ROUNDS };
        let job = case.job(OPERATIONS, rounds, args.rounds.timeout, places);
        let measured = interleave(&case.name(), &job, &tools, args.rounds.rounds, places)?;
        let calls: &[&str] = if case.kind == Kind::Batch { &["malloc", "free"] } else { &["realloc"] };
        for (i, call) in calls.iter().enumerate() {
            let ns: Vec<Option<f64>> = tools.iter().map(|&tool| least_ns(&measured, tool, i)).collect();
            let added = |ns: Option<f64>| {
                cell(ns.zip(ns_of_bare(&tools, &measured, i)).map(|(ns, bare)| ns - bare), 1)
            };
            let cells = ns.iter().enumerate().map(|(i, &ns)| if i == 0 { cell(ns, 1) } else { added(ns) });
            let fresh = if case.paths == Paths::New {
                format!("{}, never seen", case.fresh)
            } else {
                case.fresh.to_string()
            };
            table.row([(*call).to_owned(), case.depth.to_string(), fresh].into_iter().chain(cells).collect());
            let by_tool: serde_json::Map<String, Value> =
                tools.iter().zip(&ns).map(|(tool, ns)| (tool.name().to_owned(), json!(ns))).collect();
            data.push(json!({
                "call": call, "depth": case.depth, "fresh": case.fresh, "is_new": case.paths == Paths::New, "ns": by_tool
            }));
        }
    }
    let title = format!("A call, {} rounds", args.rounds.rounds);
    Ok(vec![Part { key: "calls", title, notes, table, data: data.into() }, events(args.rounds.rounds)])
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for depth in DEPTHS {
        for fresh in FRESH.into_iter().filter(|fresh| fresh + 4 <= depth) {
            let paths = if fresh == 0 { Paths::One } else { Paths::Four };
            cases.push(Case { kind: Kind::Batch, depth, fresh, paths });
        }
    }
    cases.push(Case { kind: Kind::Batch, depth: 20, fresh: 10, paths: Paths::New });
    cases.push(Case { kind: Kind::Realloc, depth: 8, fresh: 0, paths: Paths::One });
    cases
}

fn least_ns(measured: &Measured, tool: Tool, which: usize) -> Option<f64> {
    let (_, runs) = measured.tools.iter().find(|(other, _)| *other == tool)?;
    least(&runs.iter().filter_map(|run| Some(times_ns(&run.stderr)?[which])).collect::<Vec<_>>())
}

fn ns_of_bare(tools: &[Tool], measured: &Measured, which: usize) -> Option<f64> {
    least_ns(measured, *tools.first()?, which)
}

/// How long the encoder of events takes.
fn events(rounds: u32) -> Part {
    let block = Block { size_bytes: 100, stack: StackId(3000), age_ticks: 50_000, birth_thread: None };
    let (size_bytes, stack) = (100, StackId(3000));
    let events = [
        ("malloc", Event::Alloc { call: Call::Malloc, size_bytes, stack, align_log2: 0 }),
        ("free", Event::Free { call: Call::Free, block }),
        ("realloc", Event::Realloc { call: Call::Realloc, old: block, size_bytes, stack }),
    ];
    let mut table = Table::new(&["<event", "bytes", "ns"]);
    let mut data = Vec::new();
    for (name, event) in events {
        let mut at = [0; EVENT_BYTES_MAX];
        let bytes = event.encode(300, &mut at);
        let ns = encode_ns(&event, 40 * rounds);
        table.row(vec![name.to_owned(), bytes.to_string(), cell(Some(ns), 1)]);
        data.push(json!({"event": name, "bytes": bytes, "ns": ns}));
    }
    let note = "`heapscribe_wire::record::Event::encode` into a warm buffer, called by the harness: size 100, stack 3,000, age 50,000 \
                ticks, 300 ticks after the event before. The least of many rounds."
        .to_owned();
    Part { key: "events", title: "An event encoded".to_owned(), notes: vec![note], table, data: data.into() }
}

fn encode_ns(event: &Event, rounds: u32) -> f64 {
    const TIMES: u32 = 20_000;
    let mut at = [0; EVENT_BYTES_MAX];
    let mut best = f64::MAX;
    for _ in 0..rounds {
        let begin = Instant::now();
        for _ in 0..TIMES {
            black_box(black_box(event).encode(black_box(300), &mut at));
            black_box(&at);
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / f64::from(TIMES));
    }
    best
}
