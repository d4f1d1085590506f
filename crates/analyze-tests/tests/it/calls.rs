//! CallsByProcess inside sections, after marks, at times and by threads, of small histories; and processes taken out
//! of a recording.

use crate::common::text::parse;
use crate::common::{BEGIN_NS, BEGIN_TICKS, Recorded};
use crate::erased::analyze;
use heapscribe_analyze::busiest::busiest;
use heapscribe_analyze::calls::{CallCounts, CallsByProcess, Place, Question, StackCalls, calls};
use heapscribe_analyze::selection::Split;
use heapscribe_analyze::{Answer, Options};
use heapscribe_formats::{RuleViolation, Why};
use heapscribe_wire::ids::{NameId, StackId, ThreadId};
use heapscribe_wire::record::Call;
use proptest::prelude::*;

/// `main>f 1+ 2~ 3- 1! 400b 7us`: allocations, reallocs, frees, failed calls, bytes, time of the first.
fn line(recorded: &Recorded, found: &CallsByProcess, stack: &StackCalls) -> String {
    let tree = Answer { tree: found.tree.clone(), ..Answer::default() };
    let CallCounts { allocations, reallocs, frees, failed } = stack.kinds;
    let mut line = recorded.path(&tree, stack.node);
    for (count, sign) in [(allocations, '+'), (reallocs, '~'), (frees, '-'), (failed, '!')] {
        if count > 0 {
            line += &format!(" {count}{sign}");
        }
    }
    let worst = stack.worst_ns.map_or(String::new(), |ns| format!(" worst {}us", ns / 1000));
    format!("{line} {}b {}us{worst}", stack.bytes, (stack.first_ns - BEGIN_NS) / 1000)
}

/// What is found of each process: how often the place was entered, then the stacks.
fn check(history: &str, (place, thread): (Place<'_>, &str), expected: &[(u64, &[&str])]) {
    let recorded = parse(history);
    let threads = |name: &[u8]| thread.is_empty() || name == thread.as_bytes();
    let found = calls(&recorded, &[Question { place, threads: &threads }]);
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    let shown: Vec<(u64, Vec<String>)> = found
        .processes
        .iter()
        .map(|process| {
            let lines = process[0].stacks.iter().map(|stack| line(&recorded, &found, stack));
            (process[0].entered, lines.collect())
        })
        .collect();
    let expected: Vec<(u64, Vec<String>)> = expected
        .iter()
        .map(|(entered, lines)| (*entered, lines.iter().map(|line| (*line).to_owned()).collect()))
        .collect();
    assert_eq!(shown, expected, "{place:?} {thread}");
}

const EVERY_KIND: &str = "
    1us T1 named main
    1us T1 +a malloc 100 main>init
    2us T1 begin rt
    3us T1 +b malloc 10 main>f
    4us T1 ~b 30 main>g
    5us T1 !malloc 9000 main>f
    6us T1 -a
    7us T1 ?
    8us T1 end rt
    9us T1 -b
    10us T1 ?c 5 main>f";

#[test]
fn every_kind_of_call_in_a_section_counts() {
    // Stacks of one call each stand in the order of their nodes.
    let inside = ["main>f 1+ 1! 10b 3us", "? 1- 0b 7us", "main>init 1- 0b 6us", "main>g 1~ 30b 4us"];
    check(EVERY_KIND, (Place::Section(b"rt"), ""), &[(1, &inside)]);
    check(EVERY_KIND, (Place::Section(b"rt"), "main"), &[(1, &inside)]);
    check(EVERY_KIND, (Place::Section(b"rt"), "other"), &[(0, &[])]);
    check(EVERY_KIND, (Place::Section(b"no such"), ""), &[(0, &[])]);
}

#[test]
fn sections_nest_and_go_on_over_chunks() {
    let history = "
        1us T1 begin outer
        2us T1 +a malloc 1 main>f
        3us T1 begin inner
        4us T1 +b malloc 1 main>f
        5us T1 border
        9us T1 +c malloc 1 main>f
        10us T1 end inner
        11us T1 begin outer
        12us T1 +d malloc 1 main>f
        13us T1 end outer
        14us T1 border
        16us T1 +e malloc 1 main>f
        17us T1 end outer
        18us T1 +f malloc 1 main>f";
    check(history, (Place::Section(b"outer"), ""), &[(2, &["main>f 5+ 5b 2us"])]);
    check(history, (Place::Section(b"inner"), ""), &[(1, &["main>f 2+ 2b 4us"])]);
}

#[test]
fn a_section_is_of_its_thread() {
    let history = "
        1us T1 named audio
        1us T1 begin rt
        2us T2 named gui
        2us T2 +a malloc 1 main>f
        3us T1 +b malloc 2 main>g
        4us T2 begin rt
        5us T2 +c malloc 4 main>h";
    check(history, (Place::Section(b"rt"), ""), &[(2, &["main>g 1+ 2b 3us", "main>h 1+ 4b 5us"])]);
    check(history, (Place::Section(b"rt"), "audio"), &[(1, &["main>g 1+ 2b 3us"])]);
}

#[test]
fn how_long_calls_took_is_of_the_call_right_before() {
    let history = "
        1us T1 +a malloc 1 main>f
        1us T1 took 900
        2us T1 begin rt
        3us T1 +b malloc 1 main>f
        3us T1 took 5
        4us T1 +c malloc 1 main>f
        4us T1 took 7
        5us T1 +d malloc 1 main>g
        6us T1 end rt
        6us T1 took 800
        7us T1 -b
        7us T1 took 70";
    let inside = ["main>f 2+ 2b 3us worst 7us", "main>g 1+ 1b 5us"];
    check(history, (Place::Section(b"rt"), ""), &[(1, &inside)]);
    check(history, (Place::Anywhere, ""), &[(1, &["main>f 3+ 1- 3b 1us worst 900us", "main>g 1+ 1b 5us"])]);
    let answer = analyze(&parse(history), &Options::default());
    let worst: Vec<_> = answer.sections[0].calls_by_stack.iter().map(|stack| stack.worst_ns).collect();
    assert_eq!(worst, [Some(7000), None]);
}

#[test]
fn a_call_that_a_rule_stopped_the_process_at_is_one() {
    let mut recorded = parse(
        "1us T1 +a malloc 1 main
         2us T1 mark ready
         3us T1 begin rt",
    );
    let of = |why, name| RuleViolation {
        why,
        call: Call::Realloc,
        thread: ThreadId(1),
        name: NameId(name),
        stack: StackId(1),
        size_bytes: 64,
        ticks: BEGIN_TICKS + 4,
    };
    let mut check = |broke: RuleViolation, place: Place<'_>, expected: &[&str]| {
        recorded.stopped_at(0, broke);
        let found = calls(&recorded, &[Question { place, threads: &|_| true }]);
        let lines = found.processes[0][0].stacks.iter().map(|stack| line(&recorded, &found, stack));
        assert_eq!(lines.collect::<Vec<_>>(), expected, "{broke:?} {place:?}");
    };
    check(of(Why::Section, 2), Place::Section(b"rt"), &["main 1~ 0b 4us"]);
    check(of(Why::Section, 1), Place::Section(b"rt"), &[]);
    check(of(Why::Mark, 2), Place::Section(b"rt"), &[]);
    check(of(Why::Mark, 1), Place::After(b"ready"), &["main 1~ 0b 4us"]);
    check(of(Why::Thread, 0), Place::Anywhere, &["main 1+ 1~ 1b 1us"]);
    check(RuleViolation { ticks: 0, ..of(Why::Mark, 1) }, Place::After(b"ready"), &[]);
    // Of these ticks there is an event: it is that call, and not another one.
    let earlier = RuleViolation { ticks: BEGIN_TICKS + 1, ..of(Why::Thread, 0) };
    check(earlier, Place::Anywhere, &["main 1+ 1b 1us"]);
}

#[test]
fn after_a_mark_all_threads_count_in_each_process_by_itself() {
    let history = "
        process 10 exited
        1us T1 named audio
        1us T1 +a malloc 1 main>f
        2us T2 +b malloc 1 main>f
        3us T1 mark ready
        4us T2 +c malloc 2 main>g
        5us T1 mark ready
        6us T1 -a
        process 11 exited
        2us T1 +a malloc 8 main>f";
    let after = [(2, ["main>f 1- 0b 6us", "main>g 1+ 2b 4us"].as_slice()), (0, &[])];
    check(history, (Place::After(b"ready"), ""), &after);
    check(history, (Place::After(b"ready"), "audio"), &[(2, &["main>f 1- 0b 6us"]), (0, &[])]);
    check(history, (Place::After(b"never"), ""), &[(0, &[]), (0, &[])]);
}

#[test]
fn anywhere_and_at_a_time() {
    let history = "
        1us T1 named audio
        1us T1 +a malloc 1 main>f
        2us T2 +b malloc 2 main>g
        3us T1 +c malloc 4 main>f";
    check(history, (Place::Anywhere, ""), &[(2, &["main>f 2+ 5b 1us", "main>g 1+ 2b 2us"])]);
    check(history, (Place::Anywhere, "audio"), &[(1, &["main>f 2+ 5b 1us"])]);
    check(history, (Place::Anywhere, "nobody"), &[(0, &[])]);
    let during = Place::During(BEGIN_NS + 2000, BEGIN_NS + 3000);
    check(history, (during, ""), &[(1, &["main>g 1+ 2b 2us"])]);
}

#[test]
fn a_report_has_the_calls_of_sections_too() {
    let recorded = parse(EVERY_KIND);
    let answer = analyze(&recorded, &Options::default());
    let found = calls(&recorded, &[Question { place: Place::Section(b"rt"), threads: &|_| true }]);
    let section = &answer.sections[0];
    let lines = |of: &CallsByProcess, stacks: &[StackCalls]| {
        let mut lines: Vec<_> = stacks.iter().map(|stack| line(&recorded, of, stack)).collect();
        lines.sort();
        lines
    };
    let of_answer = CallsByProcess { tree: answer.tree.clone(), ..CallsByProcess::default() };
    assert_eq!(lines(&of_answer, &section.calls_by_stack), lines(&found, &found.processes[0][0].stacks));
    assert_eq!(section.calls, CallCounts { allocations: 1, reallocs: 1, frees: 2, failed: 1 });
    assert_eq!((section.allocated.blocks, section.allocated.bytes), (2, 40));
}

#[test]
fn the_busiest_second() {
    let at = |ms: u64, count: usize, name: char| -> String {
        (0..count).map(|n| format!("{}us T1 +{name}{n} malloc 1 main>f\n", ms * 1000 + n as u64)).collect()
    };
    let recorded = parse(&[at(1, 5, 'a'), at(900, 5, 'b'), at(1500, 7, 'c')].concat());
    let found = busiest(&recorded);
    assert_eq!(found.allocations.value, 12.0);
    assert_eq!(found.from_ns, BEGIN_NS + 900_000_000);
}

#[test]
fn a_process_alone_is_what_it_is_among_others() {
    let one = "1ms T1 +a malloc 100 main>f\n 2ms T1 +b malloc 50 main>g\n 3ms T1 -a\n";
    let two = "1ms T1 +a malloc 7 main>h\n";
    let both = parse(&format!("process 10 exited\n{one} process 11 exited\n{two}"));
    let split = Split::new(&both);
    let options = Options::default();
    let whole = analyze(&both, &options);
    for number in [0, 1] {
        let alone = analyze(&split.only(&[number]), &options);
        let among = &whole.processes[number];
        assert_eq!(alone.totals, among.totals);
        assert_eq!((alone.peak.bytes, alone.leaked), (among.peak.bytes, among.leaked));
        assert_eq!(alone.processes.len(), 1);
    }
    assert_eq!(analyze(&split.only(&[0, 1]), &options), whole);
}

proptest! {
    /// Each call counts for exactly the sections around it, wherever chunks begin.
    #[test]
    fn calls_in_sections_are_those_that_a_list_of_them_gives(
        steps in prop::collection::vec(0u8..6, 0..80)
    ) {
        let (mut history, mut open, mut inside, mut begun) = (String::new(), Vec::new(), [0u64; 2], [0u64; 2]);
        for (n, step) in steps.iter().enumerate() {
            let us = n * 20 + 1;
            history += &match step {
                0 | 1 if open.len() < 8 => {
                    open.push(*step);
                    begun[usize::from(*step)] += 1;
                    format!("{us}us T1 begin s{step}\n")
                }
                2 | 3 => {
                    if let Some(at) = open.iter().rposition(|name| *name == step - 2) {
                        open.truncate(at);
                    }
                    format!("{us}us T1 end s{}\n", step - 2)
                }
                4 => format!("{us}us T1 border\n"),
                _ => {
                    (0..2).for_each(|name| inside[usize::from(name)] += u64::from(open.contains(&name)));
                    format!("{us}us T1 +b{n} malloc 1 main>f\n")
                }
            };
        }
        let recorded = parse(&history);
        let question = |name: &'static [u8]| Question { place: Place::Section(name), threads: &|_| true };
        let found = calls(&recorded, &[question(b"s0"), question(b"s1")]);
        if let Some(answers) = found.processes.first() {
            let counts = [0, 1].map(|n| (answers[n].entered, answers[n].kinds().all()));
            prop_assert_eq!(counts, [(begun[0], inside[0]), (begun[1], inside[1])]);
        }
    }
}
