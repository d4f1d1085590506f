//! What a trace says of the recording: that frames of Python were read is what the campaign is about.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Of a recorded module.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Trace {
    /// Recorded allocations, of children, too.
    pub(super) allocations: u64,
    /// Stacks whose frames could not be read.
    pub(super) native: u64,
    /// Whether frames were read, as `report` says.
    pub(super) frames: String,
}

impl Trace {
    /// Asks the report.
    pub(super) fn of(heapscribe: &Path, trace: &Path) -> Trace {
        let report = Command::new(heapscribe).args(["report", "--json"]).arg(trace).output();
        let report = report.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok());
        report.as_ref().map_or_else(Trace::default, Trace::from_json)
    }

    /// Whether frames were read in any process: a child may run another interpreter, or be gone at once.
    pub(super) fn has_frames(&self) -> bool {
        self.frames.split(", ").any(|frames| frames == "yes")
    }

    fn from_json(report: &Value) -> Trace {
        let interpreters = report["interpreters"].as_array().into_iter().flatten();
        let mut frames: Vec<&str> = interpreters
            .filter(|interpreter| interpreter["language"] == "python")
            .filter_map(|interpreter| interpreter["frames_read"].as_str())
            .collect();
        frames.sort_unstable();
        frames.dedup();
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        Trace {
            allocations: number(&report["allocations"]),
            native: number(&report["dropped"]["interpreted_frames"]),
            frames: frames.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_may_have_other_interpreters() {
        let report = serde_json::json!({
            "allocations": 7,
            "dropped": {"interpreted_frames": 2},
            "interpreters": [
                {"language": "python", "frames_read": "yes"},
                {"language": "perl", "frames_read": "language"},
                {"language": "python", "frames_read": "layout"},
            ],
        });
        let expected = Trace { allocations: 7, native: 2, frames: "layout, yes".to_owned() };
        assert_eq!(Trace::from_json(&report), expected);
        assert!(expected.has_frames() && !Trace::default().has_frames());
    }
}
