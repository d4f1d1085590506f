//! `interpreters`: what it costs to have the frames of Python and PHP in stacks. Each program runs alone, recorded
//! with native stacks only (`--no-interpreter-frames`) and recorded as usual; the difference of the last two is what
//! the frames cost, in the target and in `record`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::cli::InterpretersArgs;
use crate::manifest;
use crate::places::{Places, root};
use crate::report::Part;
use crate::rounds::{Measured, all_cpu, interleave};
use crate::statistics::Factor;
use crate::table::{Table, cell, thousands};
use crate::tool::{self, Tool};

/// In this order in each round, beginning with another one each time.
const TOOLS: [Tool; 4] = [Tool::Bare, Tool::Count, NATIVE, WITH_FRAMES];
const NATIVE: Tool = Tool::HeapscribeNative;
const WITH_FRAMES: Tool = Tool::Heapscribe;

/// The budget of the frames: CPU over recording without them, and ns of a call.
const FACTOR_MOST: f64 = 1.05;
const NS_MOST: f64 = 40.0;

const EXPLANATION: &str = "CPU is user and system time of everything that was started, `record` and its helpers included; medians of \
the rounds. native x and with frames x: recorded with --no-interpreter-frames and as usual, divided by the program alone in the same \
round. frames x: with frames divided by native, from - to over the rounds; frames, of alone: the same CPU as a share of that of the \
program alone. A call is one of malloc's family or free of a block, as `count` counts them. frames read: what the last trace says of \
its interpreter, and the stacks whose frames it could not read. Budget: frames x at most 1.05, frames at most 40 ns a call.";

/// Measures each program.
pub(crate) fn measure(args: &InterpretersArgs, places: &Places) -> Result<Part> {
    let (tools, _) = tool::chosen(&TOOLS, &[], places)?;
    let directory = root().join("bench/interpreters");
    let programs = manifest::chosen(&directory, &args.programs)?;
    let inputs = prepared(&directory, places)?;
    let values = [("dir", &*directory.to_string_lossy()), ("inputs", &*inputs.to_string_lossy())];
    let mut table = Table::new(&[
        "<program",
        "calls",
        "alone CPU s",
        "native x",
        "with frames x",
        "frames x",
        "from - to",
        "frames, of alone",
        "frames, ns/call",
        "<budget",
        "<frames read",
        "<output",
    ]);
    let mut data = Vec::new();
    for program in programs {
        let job = program.job(&directory, &values, args.timeout);
        let measured = interleave(&program.name, &job, &tools, args.rounds, places)?;
        let frames = Frames::of(&measured);
        table.row(row(&measured, &frames));
        data.push(json!({"frames": frames.json(), "measured": measured.json()}));
    }
    let title = format!("Frames of interpreters, {} rounds", args.rounds);
    let notes = vec![EXPLANATION.to_owned()];
    Ok(Part { key: "interpreters", title, notes, table, data: data.into() })
}

/// Where the Python environment and the inputs of the programs lie; made when they are not there.
fn prepared(directory: &Path, places: &Places) -> Result<PathBuf> {
    let inputs = places.built.join("interpreters");
    let script = directory.join("prepare.sh");
    let status = Command::new(&script).arg(&inputs).stdout(Stdio::null()).status();
    if !status.with_context(|| format!("{} can not be started", script.display()))?.success() {
        bail!("{} has failed (apt-get install python3-venv; pip must reach its packages)", script.display());
    }
    Ok(inputs)
}

/// What the frames cost in one program.
struct Frames {
    /// CPU with them, divided by that without.
    factor: Option<Factor>,
    /// The same, as a share of the CPU of the program alone.
    of_alone: Option<f64>,
    ns_per_call: Option<f64>,
    /// Whether they are in the trace.
    are_read: String,
}

impl Frames {
    fn of(measured: &Measured) -> Frames {
        let added_s = measured.added_over(NATIVE, WITH_FRAMES, all_cpu);
        let alone_s = measured.median(Tool::Bare, all_cpu);
        let calls = measured.calls.filter(|&calls| calls > 0);
        Frames {
            factor: measured.factor_over(NATIVE, WITH_FRAMES, all_cpu),
            of_alone: added_s.zip(alone_s).map(|(added, alone)| added / alone),
            ns_per_call: added_s.zip(calls).map(|(added, calls)| added * 1e9 / calls as f64),
            are_read: measured.report.as_ref().map_or("no trace".to_owned(), are_read),
        }
    }

    /// Which of the budgets are kept.
    fn verdict(&self) -> &'static str {
        let is_within = |value: Option<f64>, most: f64| value.is_some_and(|value| value <= most);
        let kept = (
            is_within(self.factor.map(|factor| factor.median), FACTOR_MOST),
            is_within(self.ns_per_call, NS_MOST),
        );
        match kept {
            (true, true) => "kept",
            (true, false) => "over 40 ns",
            (false, true) => "over 5 %",
            (false, false) => "over 5 %, over 40 ns",
        }
    }

    fn json(&self) -> Value {
        let factor = self.factor.map(|f| json!({"median": f.median, "least": f.least, "most": f.most}));
        json!({
            "factor": factor,
            "of_alone": self.of_alone,
            "ns_per_call": self.ns_per_call,
            "budget": self.verdict(),
            "are_read": self.are_read,
        })
    }
}

/// What a report says of the frames of each interpreter: a program whose frames are not read is cheap for nothing.
fn are_read(report: &Value) -> String {
    let interpreters = report["interpreters"].as_array().into_iter().flatten();
    let words: Vec<String> = interpreters
        .map(|of| {
            let text = |key: &str| of[key].as_str().unwrap_or("?").to_owned();
            format!("{} {}: {}", text("language"), text("version"), text("frames_read"))
        })
        .collect();
    let unread = report["dropped"]["interpreted_frames"].as_u64().unwrap_or(0);
    let but = if unread > 0 { format!(", but {} stacks", thousands(unread)) } else { String::new() };
    if words.is_empty() { "no interpreter".to_owned() } else { words.join("; ") + &but }
}

fn row(measured: &Measured, frames: &Frames) -> Vec<String> {
    let over_alone = |tool| cell(measured.factor(tool, all_cpu).map(|factor| factor.median), 2);
    let verdicts = TOOLS.map(|tool| measured.verdict(tool));
    let different = verdicts.iter().find(|verdict| !verdict.starts_with("same"));
    vec![
        measured.name.clone(),
        measured.calls.map(thousands).unwrap_or_default(),
        cell(measured.median(Tool::Bare, all_cpu), 3),
        over_alone(NATIVE),
        over_alone(WITH_FRAMES),
        cell(frames.factor.map(|factor| factor.median), 3),
        frames.factor.map(|f| format!("{:.3} - {:.3}", f.least, f.most)).unwrap_or_default(),
        frames.of_alone.map(|share| format!("{:.1} %", 100.0 * share)).unwrap_or_default(),
        cell(frames.ns_per_call, 1),
        frames.verdict().to_owned(),
        frames.are_read.clone(),
        different.unwrap_or(&verdicts[0]).clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Cost, Run};

    /// A program of a million calls that took so many seconds in each round.
    fn measured(alone_s: [f64; 3], native_s: [f64; 3], with_frames_s: [f64; 3]) -> Measured {
        let runs = |seconds: [f64; 3]| {
            let run = |cpu_s| Run { all: Cost { cpu_s, ..Cost::default() }, ..Run::default() };
            seconds.map(run).to_vec()
        };
        let tools =
            vec![(Tool::Bare, runs(alone_s)), (NATIVE, runs(native_s)), (WITH_FRAMES, runs(with_frames_s))];
        Measured { name: "p".into(), tools, calls: Some(1_000_000), report: None }
    }

    #[test]
    fn frames_cost_what_recording_without_them_does_not() {
        let frames = Frames::of(&measured([1.0, 2.0, 1.0], [1.2, 2.4, 1.2], [1.25, 2.45, 1.25]));
        assert!((frames.ns_per_call.unwrap() - 50.0).abs() < 1e-6);
        assert!((frames.of_alone.unwrap() - 0.05).abs() < 1e-9);
        assert!((frames.factor.unwrap().median - 1.25 / 1.2).abs() < 1e-9);
    }

    #[test]
    fn what_is_over_its_budget_is_told() {
        let check = |with_frames_s: f64, calls: u64, expected: &str| {
            let mut measured = measured([1.0; 3], [1.0; 3], [with_frames_s; 3]);
            measured.calls = Some(calls);
            assert_eq!(Frames::of(&measured).verdict(), expected);
        };
        check(1.03, 1_000_000, "kept");
        check(1.03, 500_000, "over 40 ns");
        check(1.06, 2_000_000, "over 5 %");
        check(1.06, 1_000_000, "over 5 %, over 40 ns");
    }

    #[test]
    fn frames_that_were_not_read_are_told() {
        let check = |interpreters: Value, unread: u64, expected: &str| {
            let report = json!({"interpreters": interpreters, "dropped": {"interpreted_frames": unread}});
            assert_eq!(are_read(&report), expected);
        };
        let python = json!({"language": "python", "version": "3.11", "frames_read": "yes"});
        let php = json!({"language": "php", "version": null, "frames_read": "version"});
        check(json!([python]), 0, "python 3.11: yes");
        check(json!([python]), 1200, "python 3.11: yes, but 1,200 stacks");
        check(json!([php, python]), 0, "php ?: version; python 3.11: yes");
        check(Value::Null, 0, "no interpreter");
    }
}
