//! Equal steps over the time of a recording.

/// Equal steps over a range of time, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grid {
    pub(crate) begin_ns: u64,
    /// First ns after the range.
    pub(crate) end_ns: u64,
    pub(crate) step_ns: u64,
    pub(crate) steps: u32,
    /// Whether there are events before it that have no place in it: not all of that time are there.
    pub(crate) is_window: bool,
}

impl Grid {
    /// At most `steps` steps over a range that is not empty.
    pub(crate) fn new(begin_ns: u64, end_ns: u64, steps: u32) -> Grid {
        let end_ns = end_ns.max(begin_ns.saturating_add(1));
        let length = end_ns - begin_ns;
        let step_ns = length.div_ceil(u64::from(steps.max(1)));
        Grid { begin_ns, end_ns, step_ns, steps: length.div_ceil(step_ns) as u32, is_window: false }
    }

    /// Whether a moment is before it, and has no place in it.
    pub(crate) fn is_before(&self, ns: u64) -> bool {
        self.is_window && ns < self.begin_ns
    }

    /// The step of a moment; the nearest one for moments outside.
    pub(crate) fn step_of(&self, ns: u64) -> u32 {
        (ns.saturating_sub(self.begin_ns) / self.step_ns).min(u64::from(self.steps - 1)) as u32
    }

    /// The first moment of a step.
    pub(crate) fn begin_of(&self, step: u32) -> u64 {
        self.begin_ns.saturating_add(self.step_ns.saturating_mul(u64::from(step)))
    }
}
