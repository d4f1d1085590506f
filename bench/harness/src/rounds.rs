//! Runs in turn: in each round every tool once, beginning with another one each time, so that nothing which
//! happens on the machine meanwhile falls on one tool only.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use crate::places::Places;
use crate::run::{self, Job, Run};
use crate::statistics::{Factor, added, factor, median};
use crate::tool::Tool;

/// A program under several tools, the same number of runs under each.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) tools: Vec<(Tool, Vec<Run>)>,
    /// Calls of the heap in one run, as counted or as the manifest says.
    pub(crate) calls: Option<u64>,
    /// What `heapscribe report` says of the trace of `heapscribe record`, in the last round.
    pub(crate) report: Option<Value>,
}

/// Runs `job` under each tool, `rounds` times.
pub(crate) fn interleave(
    name: &str,
    job: &Job,
    tools: &[Tool],
    rounds: u32,
    places: &Places,
) -> Result<Measured> {
    let mut runs: Vec<(Tool, Vec<Run>)> = tools.iter().map(|&tool| (tool, Vec::new())).collect();
    let mut report = None;
    for round in 0..rounds as usize {
        for i in 0..tools.len() {
            let (tool, runs) = &mut runs[(round + i) % tools.len()];
            let (run, traces) = run::run(job, *tool, places)?;
            let failure = run.failure.as_deref().unwrap_or("");
            eprintln!(
                "{name:<18} {:<18} {:7.3} s of CPU, {:7.3} with all {failure}",
                tool.name(),
                run.program.cpu_s,
                run.all.cpu_s
            );
            if *tool == Tool::Heapscribe && round + 1 == rounds as usize {
                report = report_of(places, &traces.join("trace.hst"));
            }
            runs.push(run);
        }
    }
    let counted = runs.iter().find(|(tool, _)| *tool == Tool::Count).and_then(|(_, runs)| runs.last()?.calls);
    Ok(Measured { name: name.to_owned(), tools: runs, calls: counted, report })
}

/// What a trace says of its program.
fn report_of(places: &Places, trace: &Path) -> Option<Value> {
    let mut command = Command::new(places.heapscribe.as_ref()?);
    let output = command.args(["report", "--json", "--top", "1"]).arg(trace).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// CPU of the program and its children, without the tool.
pub(crate) fn program_cpu(run: &Run) -> f64 {
    run.program.cpu_s
}

/// CPU of everything.
pub(crate) fn all_cpu(run: &Run) -> f64 {
    run.all.cpu_s
}

/// Time that its user waits.
pub(crate) fn all_wall(run: &Run) -> f64 {
    run.all.wall_s
}

/// Largest resident size of a process of the program.
pub(crate) fn peak_rss(run: &Run) -> f64 {
    run.program.peak_rss_kib as f64
}

impl Measured {
    fn runs(&self, tool: Tool) -> &[Run] {
        self.tools.iter().find(|(other, _)| *other == tool).map_or(&[], |(_, runs)| runs)
    }

    fn values(&self, tool: Tool, of: fn(&Run) -> f64) -> Vec<f64> {
        self.runs(tool).iter().map(of).collect()
    }

    /// The median over the rounds.
    pub(crate) fn median(&self, tool: Tool, of: fn(&Run) -> f64) -> Option<f64> {
        median(&self.values(tool, of))
    }

    /// How many times that of the bare program.
    pub(crate) fn factor(&self, tool: Tool, of: fn(&Run) -> f64) -> Option<Factor> {
        self.factor_over(Tool::Bare, tool, of)
    }

    /// How many times that under another tool.
    pub(crate) fn factor_over(&self, base: Tool, tool: Tool, of: fn(&Run) -> f64) -> Option<Factor> {
        factor(&self.values(tool, of), &self.values(base, of))
    }

    /// How much more than under another tool.
    pub(crate) fn added_over(&self, base: Tool, tool: Tool, of: fn(&Run) -> f64) -> Option<f64> {
        added(&self.values(tool, of), &self.values(base, of))
    }

    /// Calls that are in the trace of `heapscribe record`.
    pub(crate) fn recorded_calls(&self) -> Option<u64> {
        self.report.as_ref()?["calls"]["total"].as_u64()
    }

    /// ns that a call takes more than in the bare program.
    pub(crate) fn ns_per_call(&self, tool: Tool, of: fn(&Run) -> f64) -> Option<f64> {
        let calls = self.calls.filter(|&calls| calls > 0)? as f64;
        Some(self.added_over(Tool::Bare, tool, of)? * 1e9 / calls)
    }

    /// Bytes of trace for each call.
    pub(crate) fn bytes_per_call(&self, tool: Tool) -> Option<f64> {
        let calls = self.calls.filter(|&calls| calls > 0)? as f64;
        let bytes = self.median(tool, |run| run.trace_bytes as f64)?;
        tool.writes_traces().then_some(bytes / calls)
    }

    /// Whether the program did what it does without a tool.
    pub(crate) fn verdict(&self, tool: Tool) -> String {
        let Some(bare) = self.runs(Tool::Bare).first() else { return "not run alone".to_owned() };
        for run in self.runs(tool) {
            if let Some(failure) = &run.failure {
                return format!("FAILED: {failure}");
            }
            if run.program.exit_code != bare.program.exit_code {
                let last = run::last_line(&run.stderr);
                return format!("EXIT {}, alone {}: {last}", run.program.exit_code, bare.program.exit_code);
            }
            if run.output != bare.output {
                return "OUTPUT DIFFERS".to_owned();
            }
        }
        if bare.program.exit_code == 0 {
            "same".to_owned()
        } else {
            format!("same, exit {}", bare.program.exit_code)
        }
    }

    /// Everything, for programs.
    pub(crate) fn json(&self) -> Value {
        let runs = |runs: &[Run]| runs.iter().map(run_json).collect::<Vec<_>>();
        let tools: Vec<Value> = self
            .tools
            .iter()
            .map(|(tool, list)| {
                let factors = |of: fn(&Run) -> f64| {
                    self.factor(*tool, of)
                        .map(|f| json!({"median": f.median, "least": f.least, "most": f.most}))
                };
                json!({
                    "tool": tool.name(),
                    "cpu_s": self.median(*tool, program_cpu),
                    "program_factor": factors(program_cpu),
                    "all_factor": factors(all_cpu),
                    "wall_factor": factors(all_wall),
                    "peak_rss_factor": factors(peak_rss),
                    "ns_per_call": self.ns_per_call(*tool, program_cpu),
                    "all_ns_per_call": self.ns_per_call(*tool, all_cpu),
                    "trace_bytes_per_call": self.bytes_per_call(*tool),
                    "output": self.verdict(*tool),
                    "runs": runs(list),
                })
            })
            .collect();
        json!({"name": self.name, "calls": self.calls, "recorded_calls": self.recorded_calls(), "tools": tools})
    }
}

fn run_json(run: &Run) -> Value {
    json!({
        "program_cpu_s": run.program.cpu_s,
        "all_cpu_s": run.all.cpu_s,
        "program_wall_s": run.program.wall_s,
        "all_wall_s": run.all.wall_s,
        "peak_rss_kib": run.program.peak_rss_kib,
        "exit_code": run.program.exit_code,
        "trace_bytes": run.trace_bytes,
        "output": format!("{:016x}", run.output),
        "failure": run.failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Cost;

    fn measured() -> Measured {
        let run = |cpu_s: f64| Run {
            program: Cost { cpu_s, wall_s: cpu_s, peak_rss_kib: 1000, exit_code: 0 },
            all: Cost { cpu_s: cpu_s + 0.5, ..Cost::default() },
            output: 7,
            trace_bytes: 5000,
            ..Run::default()
        };
        let tools = vec![
            (Tool::Bare, vec![run(1.0), run(2.0), run(1.0)]),
            (Tool::Heapscribe, vec![run(1.5), run(3.0), run(1.2)]),
        ];
        Measured { name: "p".into(), tools, calls: Some(1_000_000), report: None }
    }

    #[test]
    fn figures_of_a_program() {
        let measured = measured();
        assert_eq!(measured.factor(Tool::Heapscribe, program_cpu).map(|f| f.median), Some(1.5));
        assert!((measured.ns_per_call(Tool::Heapscribe, program_cpu).unwrap() - 500.0).abs() < 1e-6);
        assert_eq!(measured.bytes_per_call(Tool::Heapscribe), Some(0.005));
        assert_eq!(measured.bytes_per_call(Tool::Bare), None);
        assert_eq!(measured.factor(Tool::Heaptrack, program_cpu), None);
    }

    #[test]
    fn a_program_that_is_disturbed_is_told() {
        let check = |change: fn(&mut Run), expected: &str| {
            let mut measured = measured();
            change(&mut measured.tools[1].1[1]);
            assert_eq!(measured.verdict(Tool::Heapscribe), expected);
        };
        check(|_| {}, "same");
        check(|run| run.output = 8, "OUTPUT DIFFERS");
        check(|run| run.program.exit_code = 139, "EXIT 139, alone 0: (nothing said)");
        check(|run| run.failure = Some("stopped after 9 s".into()), "FAILED: stopped after 9 s");
    }
}
