//! A trace as JSON, an object per line; `type` says of what.

use std::io::{self, Write};

use heapscribe_formats::{
    ExitStatus, HeapInfo, LiveTable, MemorySample, Process, ResidentSample, SessionEnd, SessionInfo, Stage,
};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::head::LossReason;
use heapscribe_wire::heap::HeapCounts;
use heapscribe_wire::ids::{NameId, StackId};
use heapscribe_wire::mode::Mode;
use heapscribe_wire::record::{Block, Call, Event, Note};
use serde::Serialize;
use serde_json::{Value, json};

use super::lines::{hex, how_ended, language, reason_name, role};
use super::mappings::MappingJson;
use super::printer::{Moment, Printer, Rates, Standing};
use crate::interpreters::version;
use crate::json::parts::DrainerJson;
use crate::json::unrecorded::UnrecordedJson;
use heapscribe_symbols::lossy;

/// Writes objects.
pub struct Objects<W> {
    /// Where the objects go.
    pub out: W,
    /// Sampling rates that were defined so far.
    pub rates: Rates,
}

impl<W: Write> Objects<W> {
    fn line(&mut self, object: &Value) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, object)?;
        self.out.write_all(b"\n")
    }
}

impl<W: Write> Printer for Objects<W> {
    fn session(&mut self, info: &SessionInfo) -> io::Result<()> {
        self.line(&json!({
            "type": "session", "host": info.host, "version": info.version, "command": texts(&info.command),
            "begin_real_ns": info.started_real_ns,
        }))
    }

    fn process(&mut self, process: &Process) -> io::Result<()> {
        let info = process.info.as_ref();
        self.line(&json!({
            "type": "process", "process": process.index.0,
            "pid": info.map(|i| i.pid), "parent": info.map(|i| i.parent_pid),
            "forked": info.map(|i| i.stage == Stage::Forked),
            "exe": info.map(|i| lossy(&i.exe)), "command": info.map(|i| texts(&i.command)),
        }))
    }

    fn definition(&mut self, process: u32, node: StackId, definition: &Definition<'_>) -> io::Result<()> {
        self.rates.note(process, definition);
        self.line(&match definition {
            Definition::Node(n) => json!({
                "type": "stack", "process": process, "stack": node.0, "pc": format!("{:#x}", n.pc.0),
                "caller": n.parent.0, "guesses": n.guesses, "exact": n.exact,
            }),
            Definition::Function(f) => json!({
                "type": "function", "process": process, "function": f.id.0, "language": language(f.language),
                "first_line": f.first_line, "name": lossy(f.name), "file": lossy(f.file),
            }),
            Definition::Code(c) => json!({
                "type": "code", "process": process, "start": format!("{:#x}", c.start),
                "end": format!("{:#x}", c.end), "function": c.function.0, "line": c.line,
                "first_stack": (c.first_node != StackId::UNKNOWN).then_some(c.first_node.0),
            }),
            Definition::Interpreter(i) => json!({
                "type": "interpreter", "process": process, "language": language(i.language),
                "version": version(i.version), "frames_read": i.frames.name(),
                "objects": i.objects.name(),
            }),
            Definition::Interpreted(n) => json!({
                "type": "stack", "process": process, "stack": node.0, "function": n.function.0, "line": n.line,
                "caller": n.parent.0,
            }),
            Definition::Cut { reason, parent } => json!({
                "type": "stack", "process": process, "stack": node.0, "cut": reason_name(*reason),
                "caller": parent.0,
            }),
            Definition::Thread { id, tid, born_ticks, name } => json!({
                "type": "thread", "process": process, "thread": id.0, "tid": tid, "born_ticks": born_ticks,
                "name": lossy(name),
            }),
            Definition::Module(m) => json!({
                "type": "module", "process": process, "start": format!("{:#x}", m.start),
                "end": format!("{:#x}", m.end), "bias": format!("{:#x}", m.bias),
                "build_id": hex(m.build_id), "path": lossy(m.name),
            }),
            Definition::Unmapped => json!({ "type": "unmapped", "process": process }),
            Definition::Rate { id, mean_bytes } => {
                json!({ "type": "rate", "process": process, "rate": id.0, "mean_bytes": mean_bytes })
            }
            Definition::Name { id, name } => {
                json!({ "type": "name", "process": process, "name": id.0, "text": lossy(name) })
            }
        })
    }

    fn event(&mut self, m: &Moment<'_>) -> io::Result<()> {
        let (time, process, thread, took) = (m.time_ns, m.process, m.thread, m.took_ns);
        let Some(what) = what(m, &self.rates) else { return Ok(()) };
        serde_json::to_writer(&mut self.out, &Line { time, process, thread, took, what })?;
        self.out.write_all(b"\n")
    }

    fn live(&mut self, process: u32, time_ns: u64, t: &LiveTable) -> io::Result<()> {
        self.line(&json!({
            "type": "live", "process": process, "time": time_ns, "role": role(t.role), "blocks": t.blocks,
            "name": t.name, "inexact": t.inexact, "taken_real_ns": t.real_ns,
            "allocations": t.allocated_blocks, "bytes_allocated": t.allocated_bytes,
            "frees": t.freed_blocks, "bytes_freed": t.freed_bytes,
        }))
    }

    fn live_block(&mut self, s: &Standing<'_>) -> io::Result<()> {
        let b = s.block;
        self.line(&json!({
            "type": "live_block", "process": s.process, "time": s.time_ns, "thread": b.thread.0,
            "address": format!("{:#x}", b.address.0), "size": b.size_bytes, "stack": b.stack.0,
            "age": s.age_ns, "rate": b.rate.0, "pool": b.is_pool,
        }))
    }

    fn memory(&mut self, process: u32, time_ns: u64, s: &MemorySample) -> io::Result<()> {
        self.line(&json!({
            "type": "memory", "process": process, "time": time_ns, "rss": s.rss_bytes,
            "shared": s.shared_bytes, "virtual": s.virtual_bytes,
        }))
    }

    fn resident(&mut self, process: u32, time_ns: u64, sample: &ResidentSample) -> io::Result<()> {
        let sample = crate::json::resident::ResidentJson::new(sample, time_ns);
        self.line(&json!({ "type": "resident", "process": process, "sample": sample }))
    }

    fn heap(&mut self, process: u32, time_ns: u64, info: &HeapInfo, counts: &HeapCounts) -> io::Result<()> {
        let counts = crate::json::heap::Counts::from(counts);
        self.line(&json!({
            "type": "heap", "process": process, "time": time_ns, "name": info.name, "counts": counts,
        }))
    }

    fn mode(&mut self, process: u32, time_ns: u64, mode: Mode) -> io::Result<()> {
        let (name, mean_bytes) = match mode {
            Mode::Off => ("off", None),
            Mode::Full => ("full", None),
            Mode::Sampled { mean_bytes } => ("sampled", Some(mean_bytes)),
        };
        self.line(&json!({
            "type": "mode", "process": process, "time": time_ns, "mode": name, "mean_bytes": mean_bytes,
        }))
    }

    fn process_end(&mut self, process: &Process) -> io::Result<()> {
        let Some(end) = &process.end else {
            return self.line(&json!({ "type": "process_end", "process": process.index.0 }));
        };
        let drops =
            LossReason::ALL.map(|reason| (reason.name().to_owned(), end.drops[reason as usize].into()));
        self.line(&json!({
            "type": "process_end", "process": process.index.0, "how": how_ended(end.how),
            "threads": end.threads, "dropped": Value::Object(drops.into_iter().collect()),
            "note": end.lost_note,
        }))
    }

    fn session_end(&mut self, end: &SessionEnd) -> io::Result<()> {
        let (code, signal) = match end.exit {
            Some(ExitStatus::Code(code)) => (Some(code), None),
            Some(ExitStatus::Signal(signal)) => (None, Some(signal)),
            None => (None, None),
        };
        let (drainer, unrecorded) = (DrainerJson::from(&end.drainer), UnrecordedJson::from(&end.unrecorded));
        self.line(&json!({
            "type": "session_end", "code": code, "signal": signal, "drainer": drainer, "unrecorded": unrecorded,
        }))
    }
}

/// An event, whose and when.
#[derive(Serialize)]
struct Line {
    time: u64,
    process: u32,
    thread: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    took: Option<u64>,
    #[serde(flatten)]
    what: EventJson,
}

/// EventJson happened; `type` is the variant.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum EventJson {
    Alloc {
        call: &'static str,
        size: u64,
        stack: u32,
        align: Option<u64>,
    },
    Free {
        call: &'static str,
        size: u64,
        stack: u32,
        age: u64,
        birth_thread: Option<u32>,
    },
    Realloc {
        call: &'static str,
        size: u64,
        stack: u32,
        age: u64,
        birth_thread: Option<u32>,
        old: Old,
    },
    Failed {
        call: &'static str,
        size: u64,
        stack: u32,
    },
    UnknownFree {
        call: &'static str,
    },
    UnknownRealloc {
        call: &'static str,
        size: u64,
        stack: u32,
    },
    Rate {
        rate: u8,
        mean_bytes: Option<u64>,
    },
    Lost {
        count: u64,
        reason: String,
    },
    Mark {
        name: u32,
    },
    SectionBegin {
        name: u32,
    },
    SectionEnd {
        name: u32,
    },
    #[serde(rename = "section_goes_on")]
    SectionContinues {
        name: u32,
        age: u64,
    },
    Mapping(MappingJson),
}

/// The block that `realloc` took.
#[derive(Serialize)]
struct Old {
    size: u64,
    stack: u32,
}

/// None for what stands on the line of another event.
fn what(m: &Moment<'_>, rates: &Rates) -> Option<EventJson> {
    let age = m.age_ns;
    Some(match *m.event {
        Event::Took { .. } => return None,
        Event::Alloc { call, size_bytes: size, stack, align_log2 } => {
            EventJson::Alloc { call: call.name(), size, stack: stack.0, align: align(call, align_log2) }
        }
        Event::Free { call, block } => {
            let (size, stack, birth_thread) = (block.size_bytes, block.stack.0, birth(&block));
            EventJson::Free { call: call.name(), size, stack, age, birth_thread }
        }
        Event::Realloc { call, old, size_bytes: size, stack } => {
            let (birth_thread, stack) = (birth(&old), stack.0);
            let old = Old { size: old.size_bytes, stack: old.stack.0 };
            EventJson::Realloc { call: call.name(), size, stack, age, birth_thread, old }
        }
        Event::Failed { call, size_bytes: size, stack } => {
            EventJson::Failed { call: call.name(), size, stack: stack.0 }
        }
        Event::UnknownFree { call } => EventJson::UnknownFree { call: call.name() },
        Event::UnknownRealloc { call, size_bytes: size, stack } => {
            EventJson::UnknownRealloc { call: call.name(), size, stack: stack.0 }
        }
        Event::Rate { rate } => {
            EventJson::Rate { rate: rate.0, mean_bytes: rates.mean_bytes(m.process, rate) }
        }
        Event::Lost { count, reason } => EventJson::Lost { count, reason: reason_name(reason) },
        Event::Note { note, name: NameId(name) } => match note {
            Note::Mark => EventJson::Mark { name },
            Note::Begin => EventJson::SectionBegin { name },
            Note::End => EventJson::SectionEnd { name },
            Note::GoesOn { .. } => EventJson::SectionContinues { name, age },
        },
        Event::Mapping(ref mapping) => EventJson::Mapping(mapping.into()),
    })
}

fn align(call: Call, align_log2: u8) -> Option<u64> {
    call.is_aligned().then(|| 1 << align_log2.min(63))
}

fn birth(block: &Block) -> Option<u32> {
    block.birth_thread.map(|thread| thread.0)
}

fn texts(parts: &[Vec<u8>]) -> Vec<String> {
    parts.iter().map(|part| lossy(part)).collect()
}
