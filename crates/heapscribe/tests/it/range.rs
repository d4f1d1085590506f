//! `--from`, `--to`, `--live-at`, `--born-in` and `--freed-in`: figures against sums over the lines of a dump, with an index and
//! without.

use std::ops::Range;

use heapscribe_formats::RealTimeRules;
use serde_json::Value;

use crate::sample;
use crate::see::Place;

/// A block: when it was allocated, when it was freed, its bytes.
type Life = (u64, Option<u64>, u64);

/// The blocks of a trace, of its dump. A free is one block and its allocation another: neither knows the other.
fn lives(place: &Place) -> (Vec<(u64, u64)>, Vec<Life>) {
    let (mut allocated, mut freed) = (Vec::new(), Vec::new());
    for line in place.all("dump run.hst --json").1.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let number = |key: &str| event[key].as_u64().unwrap_or_else(|| panic!("no {key} in {line}"));
        let is =
            |kind: &str| event["type"] == kind && !event["call"].as_str().is_some_and(|c| c.contains("pool"));
        if is("alloc") || is("realloc") {
            allocated.push((number("time"), number("size")));
        }
        if is("free") || is("realloc") {
            let size = event["old"]["size"].as_u64().unwrap_or_else(|| number("size"));
            freed.push((number("time") - number("age"), Some(number("time")), size));
        }
    }
    (allocated, freed)
}

fn sum(sizes: impl Iterator<Item = u64>) -> (u64, u64) {
    sizes.fold((0, 0), |(blocks, bytes), size| (blocks + 1, bytes + size))
}

/// What the report of a range says: allocated, freed, not freed, live at its end or at its moment.
fn figures(place: &Place, flags: &str) -> [(u64, u64); 4] {
    let (code, out, err) = place.all(&format!("report run.hst --json {flags}"));
    let json: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{flags}: {code:?} {e}: {err}"));
    let number = |of: &Value| of.as_u64().unwrap_or_else(|| panic!("{flags}: {json}"));
    let pair = |blocks: &Value, bytes: &Value| (number(blocks), number(bytes));
    let blocks = |of: &Value| pair(&of["blocks"], &of["bytes"]);
    [
        pair(&json["allocations"], &json["bytes_allocated"]),
        pair(&json["frees"], &json["bytes_freed"]),
        blocks(&json["not_freed"]),
        blocks(&json["live"]),
    ]
}

/// The same by a look at every block; live at the first moment in `live_at`, or at the last one of the range.
fn expected(
    (allocated, freed): &(Vec<(u64, u64)>, Vec<Life>),
    time: &Range<u64>,
    born: &Range<u64>,
    live_at: Option<u64>,
) -> [(u64, u64); 4] {
    let both = time.start.max(born.start)..time.end.min(born.end);
    let of_allocated =
        |born: Range<u64>| sum(allocated.iter().filter(|(at, _)| born.contains(at)).map(|(_, size)| *size));
    let of_freed = |born: Range<u64>, died: Range<u64>| {
        let is_in = |(birth, death, _): &&Life| born.contains(birth) && died.contains(&death.unwrap());
        sum(freed.iter().filter(is_in).map(|(_, _, size)| *size))
    };
    let less = |(a, b): (u64, u64), (c, d): (u64, u64)| (a - c, b - d);
    let live = |born: &Range<u64>, at: u64| {
        let born = born.start..born.end.min(at.saturating_add(1));
        less(of_allocated(born.clone()), of_freed(born, 0..at.saturating_add(1)))
    };
    [
        of_allocated(both.clone()),
        of_freed(born.clone(), time.clone()),
        less(of_allocated(both.clone()), of_freed(both.clone(), 0..time.end)),
        live_at.map_or_else(|| live(born, time.end - 1), |at| live(&both, at)),
    ]
}

#[test]
fn a_range_is_what_a_look_at_every_block_finds() {
    let place = Place::with_trace(&sample::sectioned(RealTimeRules::default()));
    let lives = lives(&place);
    assert!(lives.0.len() == 4 && lives.1.len() == 2, "{lives:?}");
    let all = 0..u64::MAX;
    let [first, last] =
        [lives.0.iter().map(|a| a.0).min().unwrap(), lives.0.iter().map(|a| a.0).max().unwrap()];
    let (died, ns) = (lives.1[0].1.unwrap(), |n: u64| format!("{n}ns"));
    for (flags, time, born, live_at) in [
        (format!("--to {}", ns(last)), 0..last, all.clone(), None),
        (format!("--from {} --to {}", ns(first), ns(last + 1)), first..last + 1, all.clone(), None),
        (format!("--from {} --to {}", ns(first + 1), ns(died)), first + 1..died, all.clone(), None),
        (format!("--live-at {}", ns(died)), all.clone(), all.clone(), Some(died)),
        (
            format!("--live-at {} --born-in {}..{}", ns(died), ns(first), ns(first + 1)),
            all.clone(),
            first..first + 1,
            Some(died),
        ),
        (
            format!("--to {} --born-in {}..{}", ns(last + 1), ns(first), ns(last)),
            0..last + 1,
            first..last,
            None,
        ),
    ] {
        let expected = expected(&lives, &time, &born, live_at);
        for index in ["", " --no-index"] {
            assert_eq!(figures(&place, &format!("{flags}{index}")), expected, "{flags}{index}");
        }
    }
}

/// Births and frees in times of their own: each pair of moments against a look at every block.
#[test]
fn what_was_born_and_freed_in_two_times_is_what_a_look_at_every_block_finds() {
    let place = Place::with_trace(&sample::sectioned(RealTimeRules::default()));
    let lives = lives(&place);
    let mut moments: Vec<u64> = lives.0.iter().map(|(at, _)| *at).collect();
    moments.extend(lives.1.iter().filter_map(|(_, death, _)| *death));
    moments.sort_unstable();
    let times = [(0, moments[1]), (moments[0], moments[2] + 1), (moments[1], moments[4]), (0, u64::MAX)];
    let flag = |(from, to): (u64, u64)| match to {
        u64::MAX => format!("{from}ns..100%"),
        to => format!("{from}ns..{to}ns"),
    };
    let mut found = 0;
    for born in times {
        for freed in times {
            let is_in = |(birth, death, _): &&Life| {
                (born.0..born.1).contains(birth) && (freed.0..freed.1).contains(&death.unwrap())
            };
            let expected = sum(lives.1.iter().filter(is_in).map(|(_, _, size)| *size));
            found += expected.0;
            for index in ["", " --no-index"] {
                let flags = format!("--born-in {} --freed-in {}{index}", flag(born), flag(freed));
                assert_eq!(figures(&place, &flags), [expected, expected, (0, 0), (0, 0)], "{flags}");
            }
        }
    }
    assert!(found > 2, "{lives:?}");
    let text = place.stdout_in("C.UTF-8", "report run.hst --freed-in 0%..100%");
    assert!(text.contains("; only blocks freed from 0 ns to the end."), "{text}");
    assert!(text.contains("Stacks with the most bytes of such blocks"), "{text}");
    let refused = place.failure("flame run.hst -o x.svg --freed-in 0%..50% --metric leaked");
    assert!(refused.contains("what was freed is not leaked"), "{refused}");
}

#[test]
fn a_range_without_ends_is_the_whole_report() {
    let place = Place::with_trace(&sample::trace());
    let whole: Value = serde_json::from_str(&place.all("report run.hst --json").1).unwrap();
    let [allocated, freed, not_freed, _] = figures(&place, "--from 0%");
    assert_eq!(
        allocated,
        (whole["allocations"].as_u64().unwrap(), whole["bytes_allocated"].as_u64().unwrap())
    );
    assert_eq!(freed, (whole["frees"].as_u64().unwrap(), whole["bytes_freed"].as_u64().unwrap()));
    let of = |figure: &Value| (figure["blocks"].as_u64().unwrap(), figure["bytes"].as_u64().unwrap());
    assert_eq!(not_freed, of(&whole["leaked"]));
    assert_eq!(figures(&place, "--live-at peak")[3], of(&whole["peak"]));
}

/// With a process go its blocks. What is asked for at the end is what was live right before.
#[test]
fn at_the_end_is_what_was_never_freed() {
    let place = Place::with_trace(&sample::trace());
    let whole: Value = serde_json::from_str(&place.all("report run.hst --json").1).unwrap();
    let of = |figure: &Value| (figure["blocks"].as_u64().unwrap(), figure["bytes"].as_u64().unwrap());
    let leaked = of(&whole["leaked"]);
    assert_ne!(leaked, (0, 0));
    for flags in ["--live-at 100%", "--live-at 1h", "--live-at 100% --no-index"] {
        assert_eq!(figures(&place, flags)[3], leaked, "{flags}");
    }
    let [_, _, not_freed, _] = figures(&place, "--from 50%");
    assert_eq!(figures(&place, "--live-at 100% --born-in 50%..100%")[3], not_freed);
    let text = place.stdout_in("C.UTF-8", "report run.hst --live-at 100%");
    assert!(text.contains("only blocks live at the end, which were never freed"), "{text}");
    place.all("flame run.hst -o end.folded --live-at 100%");
    let folded = crate::see::file(&place.path("end.folded"));
    let width: u64 =
        folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(width, leaked.1, "{folded}");
}

/// The blocks of a span of time are those that were allocated in it: the free of an older one took from its stack
/// what that never had, and leaks and peak were too small.
#[test]
fn a_part_of_a_trace_has_the_figures_of_its_range() {
    let place = Place::with_trace(&sample::replaced());
    let lives = lives(&place);
    let mut moments: Vec<u64> =
        lives.0.iter().map(|a| a.0).chain(lives.1.iter().map(|a| a.1.unwrap())).collect();
    moments.sort_unstable();
    moments.dedup();
    let mut has_older = false;
    for (at, from) in moments.iter().enumerate().step_by(11) {
        for to in moments[at + 1..].iter().step_by(13).chain([&u64::MAX]) {
            let end = if *to == u64::MAX { String::new() } else { format!(" --to {to}ns") };
            place.all(&format!("subsample run.hst --from {from}ns{end} -o part.hst --force"));
            let part: Value = serde_json::from_str(&place.all("report part.hst --json").1).unwrap();
            let number = |of: &Value| of.as_u64().unwrap();
            let born = format!(" --born-in {from}ns..{}", end.strip_prefix(" --to ").unwrap_or("100%"));
            let [allocated, freed, not_freed, _] = figures(&place, &format!("--from {from}ns{end}{born}"));
            let of_part = [
                (number(&part["allocations"]), number(&part["bytes_allocated"])),
                (number(&part["frees"]), number(&part["bytes_freed"])),
                (number(&part["leaked"]["blocks"]), number(&part["leaked"]["bytes"])),
            ];
            assert_eq!(of_part, [allocated, freed, not_freed], "{from} to {to}");
            has_older |= figures(&place, &format!("--from {from}ns{end}"))[1] != freed;
        }
    }
    assert!(has_older, "no free of an older block was in any range");
}

#[test]
fn moments_have_names() {
    let place = Place::with_trace(&sample::sectioned(RealTimeRules::default()));
    let whole: Value = serde_json::from_str(&place.all("report run.hst --json").1).unwrap();
    let mark = whole["marks"][0]["first_ns"].as_u64().unwrap();
    assert_eq!(figures(&place, "--from mark:ready"), figures(&place, &format!("--from {mark}ns")));
    for named in ["--from mark:ready", "--born-in section:rt#2", "--live-at peak", "--to peak"] {
        assert_eq!(figures(&place, named), figures(&place, &format!("{named} --no-index")), "{named}");
    }
    let section = whole["sections"].as_array().unwrap().iter().find(|s| s["name"] == "rt").unwrap();
    let [inside, ..] = figures(&place, "--born-in section:rt#2");
    assert_eq!(inside, figures(&place, "--from section:rt#2 --to section:rt#2")[0]);
    assert_eq!(inside.1, section["allocated"]["bytes"].as_u64().unwrap(), "only its thread is at work then");
    for (flags, expected) in [
        ("--from mark:x", "the trace has no mark `x`"),
        ("--from mark:ready#2", "the trace has no mark `ready` number 2"),
        ("--from 2s --to 1s", "the range from --from to --to ends before it begins"),
        (
            "--from 10s",
            "the range from --from to --to begins 10.0 s after the start, and the trace ends after 9.00 ms",
        ),
        ("--from peak --to peak", "see what is live at that moment with --live-at"),
        ("--to yesterday", "`yesterday` is not a moment"),
    ] {
        let shown = place.failure(&format!("report run.hst {flags}"));
        assert!(shown.contains(expected), "{flags}: {shown}");
    }
}

#[test]
fn an_index_is_made_once_and_again_when_it_does_not_fit() {
    let place = Place::with_trace(&sample::trace());
    let index = place.path("run.hst.idx");
    let flags = "--from 10% --to 90%";
    let expected = figures(&place, &format!("{flags} --no-index"));
    assert!(!index.exists());
    assert_eq!(figures(&place, flags), expected);
    let made = std::fs::read(&index).unwrap();
    for damaged in [&made[..made.len() / 2], b"", b"something else"] {
        std::fs::write(&index, damaged).unwrap();
        assert_eq!(figures(&place, flags), expected);
        assert_ne!(std::fs::read(&index).unwrap(), damaged, "it was made again");
    }
    // Another trace by the same name.
    std::fs::write(place.path("run.hst"), sample::sectioned(RealTimeRules::default())).unwrap();
    let other = figures(&place, flags);
    assert_ne!(std::fs::read(&index).unwrap(), made);
    assert_eq!(other, figures(&place, &format!("{flags} --no-index")));
    let names: Vec<_> = std::fs::read_dir(place.path("")).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn other_commands_take_the_same_ranges() {
    let place = Place::with_trace(&sample::trace());
    let [allocated, _, not_freed, _] = figures(&place, "--to 50%");
    let total = |command: &str| {
        place
            .stdout_in("C.UTF-8", &format!("hotspots run.hst {command}"))
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let bytes = |n: u64| heapscribe_units::bytes(n);
    assert!(total("--to 50%").contains(&bytes(allocated.1)), "{}", total("--to 50%"));
    assert!(
        total("--to 50% --metric leaked").contains(&bytes(not_freed.1)),
        "{}",
        total("--to 50% --metric leaked")
    );
    place.all("flame run.hst -o range.folded --to 50%");
    let folded = crate::see::file(&place.path("range.folded"));
    let width: u64 =
        folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(width, allocated.1, "{folded}");
    let diff: Value = serde_json::from_str(&place.all("diff run.hst run.hst --to 50% --json").1).unwrap();
    assert_eq!(diff["before"], diff["after"], "{diff}");
    let refused = place.failure("flame run.hst -o x.svg --to 50% --metric peak");
    assert!(refused.contains("use --live-at peak"), "{refused}");
}

#[test]
fn two_ranges_of_a_trace_are_compared() {
    let place = Place::with_trace(&sample::trace());
    let check = |flags: &str, figure: usize, before: &str, after: &str| {
        let diff: Value =
            serde_json::from_str(&place.all(&format!("diff run.hst {flags} --json")).1).unwrap();
        let side = |of: &str| (diff[of]["blocks"].as_u64().unwrap(), diff[of]["bytes"].as_u64().unwrap());
        assert_eq!(side("before"), figures(&place, before)[figure], "{flags}: {diff}");
        assert_eq!(side("after"), figures(&place, after)[figure], "{flags}: {diff}");
    };
    check("--baseline-to 50% --from 50%", 0, "--to 50%", "--from 50%");
    check("run.hst --baseline-to 50% --from 0%", 0, "--to 50%", "--from 0%");
    check("--baseline-live-at 30% --live-at peak", 3, "--live-at 30%", "--live-at peak");
    check(
        "--baseline-born-in 0%..50% --baseline-live-at 60% --live-at 60%",
        3,
        "--born-in 0%..50% --live-at 60%",
        "--live-at 60%",
    );
    let text = place.stdout_in("C.UTF-8", "diff run.hst --baseline-live-at 30% --live-at peak");
    for expected in ["Compared: live bytes\n", ", live at 30 %\n", ", live at peak\n"] {
        assert!(text.contains(expected), "{text}");
    }
    for (flags, expected) in [
        ("", "run.hst is the only trace, so there is nothing to compare it with"),
        ("--live-at peak --baseline-to 50%", "one side is what was live at a moment, the other is not"),
    ] {
        let shown = place.failure(&format!("diff run.hst {flags}"));
        assert!(shown.contains(expected), "{flags}: {shown}");
    }
}

#[test]
fn losses_are_reported_for_ranges_as_for_the_whole() {
    let place = Place::with_trace(&sample::trace());
    for command in ["hotspots run.hst", "flame run.hst -o x.folded", "diff run.hst run.hst", "report run.hst"]
    {
        let (code, _, whole) = place.all(command);
        assert!(whole.contains("3 events are missing"), "{whole}");
        for flags in ["--to 50%", "--to 50% --no-index"] {
            let (of_range, _, shown) = place.all(&format!("{command} {flags}"));
            assert_eq!((of_range, shown), (code, whole.clone()), "{command} {flags}");
        }
    }
    let text = place.stdout_in("C.UTF-8", "report run.hst --from 10%");
    assert!(text.contains("Not known exactly: 3 events are missing.\n"), "{text}");
}
