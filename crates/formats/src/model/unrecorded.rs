//! Programs that were started while it was recorded and that are not in the trace.

pub use heapscribe_wire::unrecorded::UnrecordedReason;

/// A program that was not recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnrecordedProgram {
    /// Its process, as that counts itself.
    pub pid: u32,
    /// When it was started, CLOCK_MONOTONIC ns; 0 when that is not known.
    pub mono_ns: u64,
    /// Why it was not recorded.
    pub reason: UnrecordedReason,
    /// Its file, as it was started; empty when that is not known.
    pub name: Vec<u8>,
}

impl UnrecordedProgram {
    /// The name of its file without directories.
    pub fn file_name(&self) -> &[u8] {
        self.name.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }
}

/// The programs that were not recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Unrecorded {
    /// Those that are known one by one, by the time of their start.
    pub programs: Vec<UnrecordedProgram>,
    /// How many more there are, by reason.
    pub others: Vec<(UnrecordedReason, u64)>,
}

impl Unrecorded {
    /// How many there are.
    pub fn count(&self) -> u64 {
        let others = self.others.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
        others.saturating_add(self.programs.len() as u64)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty() && self.others.is_empty()
    }

    /// Counts others that are not known one by one.
    pub fn add_others(&mut self, reason: UnrecordedReason, count: u64) {
        match self.others.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, sum)) => *sum = sum.saturating_add(count),
            None if count > 0 => self.others.push((reason, count)),
            None => {}
        }
    }

    /// Those that are for the reader, the others no more: of all only the first `most` one by one.
    pub fn truncate(&mut self, most: usize) {
        self.programs.sort_by_key(|program| (program.mono_ns, program.pid));
        for program in self.programs.split_off(most.min(self.programs.len())) {
            self.add_others(program.reason, 1);
        }
    }
}
