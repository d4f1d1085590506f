//! Histories as text, and answers as text.
//!
//! ```text
//!   process 10 exited             what follows is of this process    exited execed abandoned unknown
//!   process 10 exited 9ms         the same, and when it ended
//!   3ms T1 +a malloc 64 main>f    thread 1 is given block a
//!   5ms T2 -a                     thread 2 frees it                  -a cfree  for another function
//!   6ms T1 ~a 128 main>g          reallocs it                        ~a 0      frees it
//!   6ms T1 ?                      frees what is not known
//!   6ms T1 ?b 10 main>f           reallocs what is not known, and has b
//!   7ms T1 !malloc 9000 main>f    fails
//!   7ms T1 lost 3 0               3 events are missing, for reason 0
//!   7ms T1 border                 the thread's chunk is full
//!   8ms T1 begin parse            a section    end parse
//!   8ms T1 mark ready             a mark
//!   8ms T1 took 5                 the call right before was 5 us in the heap
//!   8ms T1 named audio            the thread's name
//!   7ms T1 map /lib/x             a plug-in comes                    unmap     it goes
//! ```

use heapscribe_analyze::Options;
use heapscribe_analyze::answer::{Amount, Answer, Ended, Holder};
use heapscribe_analyze::input::{Choice, Chosen, ProcessFacts};
use heapscribe_analyze::selection::Split;
use heapscribe_wire::record::{Call, Note};

use super::{Act, BEGIN_NS, Op, Recorded, facts};
use crate::erased::analyze;

/// Checks that each line of `expected` is one of the answer.
pub fn check(history: &str, expected: &str) {
    check_of(history, &Choice::default(), expected);
}

/// The same of the processes and threads that are chosen.
pub fn check_of(history: &str, choice: &Choice, expected: &str) {
    let recorded = parse(history);
    let split = Split::new(&recorded);
    let chosen = split.chosen(Chosen::of(&recorded, choice));
    let answer = analyze(&chosen, &Options { timeline_steps: 10, ..Options::default() });
    let lines = render(&recorded, &answer);
    for line in expected.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert!(
            lines.iter().any(|l| l.trim_end() == line),
            "no line\n  {line}\namong\n  {}\n",
            lines.join("\n  ")
        );
    }
}

pub fn parse(history: &str) -> Recorded {
    let (mut recorded, mut count) = (Recorded::default(), 0);
    for line in history.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["process", pid, how] = words[..] {
            recorded.process(facts(pid.parse().unwrap(), ended(how)));
            count += 1;
            continue;
        }
        if let ["process", pid, how, when] = words[..] {
            let end_mono_ns = BEGIN_NS + us_of(when) * 1000;
            recorded.process(ProcessFacts { end_mono_ns, ..facts(pid.parse().unwrap(), ended(how)) });
            count += 1;
            continue;
        }
        if count == 0 {
            recorded.process(facts(1, Ended::Exited));
            count = 1;
        }
        let us = us_of(words[0]);
        let thread = words[1].strip_prefix('T').expect("a thread").parse().unwrap();
        recorded.do_all(&[Op { process: count - 1, thread, us, act: act(&words[2..]) }]);
    }
    recorded
}

fn us_of(word: &str) -> u64 {
    match word.strip_suffix("ms") {
        Some(ms) => ms.parse::<u64>().unwrap() * 1000,
        None => word.strip_suffix("us").expect("a time").parse().unwrap(),
    }
}

fn ended(how: &str) -> Ended {
    match how {
        "exited" => Ended::Exited,
        "execed" => Ended::Execed,
        "abandoned" => Ended::Abandoned,
        _ => Ended::Unknown,
    }
}

fn act(words: &[&str]) -> Act {
    let number = |word: &str| word.parse::<u64>().unwrap();
    let (first, block) = words[0].split_at(1);
    let block = block.to_owned();
    match (first, &words[1..]) {
        ("+", [call, size, stack]) => {
            Act::Alloc { block, call: function(call), size: number(size), stack: (*stack).to_owned() }
        }
        ("-", []) => Act::Free { block, call: Call::Free },
        ("-", [call]) => Act::Free { block, call: function(call) },
        ("~", ["0"]) => Act::Free { block, call: Call::Realloc },
        ("~", [size, stack]) => Act::Realloc { block, size: number(size), stack: (*stack).to_owned() },
        ("?", []) => Act::UnknownFree,
        ("?", [size, stack]) => Act::UnknownRealloc { block, size: number(size), stack: (*stack).to_owned() },
        ("!", [size, stack]) => {
            Act::Failed { call: function(&block), size: number(size), stack: (*stack).to_owned() }
        }
        ("l", [count, reason]) => Act::Lost { count: number(count), reason: number(reason) as u8 },
        ("b", []) => Act::Border,
        ("b", [name]) => Act::Note { note: Note::Begin, name: (*name).to_owned() },
        ("e", [name]) => Act::Note { note: Note::End, name: (*name).to_owned() },
        ("m", [name]) if block == "ark" => Act::Note { note: Note::Mark, name: (*name).to_owned() },
        ("t", [units]) => Act::Took { units: number(units) },
        ("n", [name]) => Act::Named { name: (*name).to_owned() },
        ("m", [path]) => Act::Map { path: (*path).to_owned() },
        ("u", []) => Act::Unmap,
        _ => panic!("what is {words:?}"),
    }
}

fn function(name: &str) -> Call {
    *Call::ALL.iter().find(|call| call.name() == name).expect("a function")
}

fn render(recorded: &Recorded, answer: &Answer) -> Vec<String> {
    let mut lines = Vec::new();
    let t = &answer.totals;
    let c = &t.calls;
    lines.push(format!(
        "calls malloc {} calloc {} realloc {} aligned {} free {}",
        c.malloc, c.calloc, c.realloc, c.aligned, c.free
    ));
    lines.push(format!("allocated {} blocks {} bytes", t.allocations, t.allocated_bytes));
    lines.push(format!("freed {} blocks {} bytes", t.frees, t.freed_bytes));
    lines.push(format!("failed {} unknown {} by others {}", t.failed, t.unknown_blocks, t.frees_by_others));
    lines.push(format!("resized {} {} {}", t.reallocs_grown, t.reallocs_shrunk, t.reallocs_same));
    lines.push(format!("leaked {}", amount(&answer.leaked)));
    lines.push(format!("temporary {}", amount(&answer.temporary)));
    lines.push(format!("complete {}", answer.complete));
    lines.push(format!("lost {} dropped {:?}", t.lost_events, dropped(&answer.dropped)));
    lines.push(format!("unresolved {} unknown {}", answer.unresolved_frames, answer.unknown_stacks));
    let holders = |all: &[Holder]| {
        let one = |h: &Holder| format!("{} {}", recorded.path(answer, h.node), amount(&h.held));
        let mut all: Vec<_> = all.iter().map(one).collect();
        all.sort();
        all.join(", ")
    };
    let peak = |p: &heapscribe_analyze::answer::Peak| {
        format!("{}b/{} at {}us: {}", p.bytes, p.blocks, p.time_ns / 1000, holders(&p.stacks))
    };
    lines.push(format!("peak {}", peak(&answer.peak)));
    for stack in &answer.stacks {
        let path = recorded.path(answer, stack.node);
        lines.push(format!("{path} allocated {}", amount(&stack.allocated)));
        lines.push(format!("{path} leaked {}", amount(&stack.leaked)));
        lines.push(format!("{path} temporary {}", amount(&stack.temporary)));
        let l = &stack.lifetime;
        lines.push(format!("{path} lived {} {} {}", l.min_ns / 1000, l.mean_ns / 1000.0, l.max_ns / 1000));
        lines.push(format!("{path} sizes {} {}", stack.size_min_bytes, stack.size_max_bytes));
    }
    for p in &answer.processes {
        lines.push(format!("{} peak {}", p.pid, peak(&p.peak)));
        lines.push(format!("{} leaked {}: {}", p.pid, amount(&p.leaked), holders(&p.leaked_stacks)));
        lines.push(format!("{} from {}us to {}us", p.pid, p.begin_ns / 1000, p.end_ns / 1000));
    }
    for t in &answer.threads {
        let totals = &t.totals;
        lines.push(format!(
            "{}.{} allocated {} freed {} others' {}",
            answer.processes[t.process].pid, t.id, totals.allocations, totals.frees, totals.frees_by_others
        ));
    }
    for (number, step) in answer.timeline.steps.iter().enumerate() {
        lines.push(format!(
            "step {number}: max {} end {} allocations {}",
            step.heap_max_bytes, step.heap_end_bytes, step.allocations
        ));
    }
    lines.extend(answer.problems.iter().map(|problem| format!("problem {problem}")));
    lines
}

fn amount(amount: &Amount) -> String {
    format!("{}b/{}", amount.bytes, amount.blocks)
}

fn dropped(dropped: &[heapscribe_analyze::answer::Dropped]) -> Vec<(u8, u64)> {
    dropped.iter().map(|d| (d.reason, d.count)).collect()
}
