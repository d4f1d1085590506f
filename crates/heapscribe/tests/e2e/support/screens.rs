//! What a person sees of a trace first: what `report` prints, and a flame graph.

use std::fs;

use super::{Run, heapscribe};

impl Run<'_> {
    /// What `report` prints of its trace, with options.
    pub fn report(&self, options: &[&str]) -> String {
        let printed = heapscribe().arg("report").arg(self.trace()).args(options).output().unwrap();
        String::from_utf8(printed.stdout).unwrap()
    }

    /// The flame graph of its trace, a picture.
    pub fn flame_graph(&self, metric: &str) -> String {
        let picture = self.trace().with_extension("svg");
        let mut command = heapscribe();
        command.arg("flame").arg(self.trace()).args(["--metric", metric, "-o"]).arg(&picture);
        let drawn = command.output().unwrap();
        assert!(drawn.status.success(), "{drawn:?}");
        fs::read_to_string(picture).unwrap()
    }
}

/// The row of who holds most on a first screen.
pub fn holds_most(first: &str) -> &str {
    let row = first.lines().find(|line| line.trim_start().starts_with("1. ") && line.contains('%'));
    row.unwrap_or_else(|| panic!("nobody holds anything: {first}"))
}
