//! The heap of each process in the steps of a timeline.

use super::grid::Grid;
use super::heap_steps::at_least_0;
use super::segment::Segment;

/// A step of a timeline in which a process did something or ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessStep {
    /// Number of the step.
    pub step: u32,
    /// Index of the process.
    pub process: u32,
    /// Its heap at the end of the step, bytes: what it is until its next step, and 0 when it has ended.
    pub heap_end_bytes: u64,
    /// Its allocations in the step.
    pub allocations: u64,
    /// Their bytes.
    pub allocated_bytes: u64,
    /// Its frees in the step.
    pub frees: u64,
    /// Their bytes.
    pub freed_bytes: u64,
}

/// The steps of each of so many processes, by step and process; segments are sorted, and so many steps of the grid
/// are one.
pub(crate) fn process_steps(
    segments: &[Segment],
    grid: &Grid,
    finer: u32,
    processes: usize,
) -> Vec<ProcessStep> {
    let mut levels = vec![0i64; processes];
    let mut steps = Vec::new();
    for of_step in segments.chunk_by(|a, b| a.step / finer == b.step / finer) {
        let step = of_step[0].step.min(grid.steps - 1) / finer;
        let mut by_process: Vec<&Segment> = of_step.iter().collect();
        by_process.sort_by_key(|segment| segment.process);
        for of_process in by_process.chunk_by(|a, b| a.process == b.process) {
            let process = of_process[0].process;
            let Some(level) = levels.get_mut(process as usize) else { continue };
            let mut row = ProcessStep { step, process, ..ProcessStep::default() };
            for segment in of_process {
                *level = level.wrapping_add(segment.net_bytes);
                row.allocations += segment.allocations;
                row.allocated_bytes = row.allocated_bytes.wrapping_add(segment.allocated_bytes);
                row.frees += segment.frees;
                row.freed_bytes = row.freed_bytes.wrapping_add(segment.freed_bytes());
            }
            steps.push(ProcessStep { heap_end_bytes: at_least_0(*level), ..row });
        }
    }
    steps
}
