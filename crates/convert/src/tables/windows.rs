//! The windows of time that samples are of: one after the other, of one length.

use heapscribe_index::Span;

/// Windows, CLOCK_MONOTONIC ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windows {
    begin_ns: u64,
    /// The end of the last; [`u64::MAX`] where it ends with the recording.
    end_ns: u64,
    step_ns: u64,
    /// The end of the recording.
    last_ns: u64,
}

impl Windows {
    /// Of a recording that begins then and takes so long: a part of it, ns after its begin, in steps or as one window.
    pub fn new(begin_ns: u64, duration_ns: u64, part: std::ops::Range<u64>, step_ns: Option<u64>) -> Windows {
        let last_ns = begin_ns.saturating_add(duration_ns);
        let is_to_end = part.end >= duration_ns;
        Windows {
            begin_ns: begin_ns.saturating_add(part.start.min(duration_ns)),
            end_ns: if is_to_end { u64::MAX } else { begin_ns.saturating_add(part.end) },
            step_ns: step_ns.unwrap_or(u64::MAX).max(1),
            last_ns,
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.shown_end_ns().saturating_sub(self.begin_ns).div_ceil(self.step_ns).max(1)
    }

    fn shown_end_ns(&self) -> u64 {
        self.end_ns.min(self.last_ns)
    }

    /// The window that a moment lies in, from 1; 0 stands for all before the first.
    pub fn number(&self, ns: u64) -> Option<u64> {
        if ns >= self.end_ns {
            return None;
        }
        Some(match ns.checked_sub(self.begin_ns) {
            None => 0,
            Some(since) => (since / self.step_ns).min(self.count() - 1) + 1,
        })
    }

    /// From when to when a window is shown.
    pub fn shown(&self, number: u64) -> Span {
        let begin = |number: u64| self.begin_ns.saturating_add((number - 1).saturating_mul(self.step_ns));
        let end_ns = if number == self.count() { u64::MAX } else { begin(number + 1) };
        Span { from_ns: begin(number), to_ns: end_ns.min(self.shown_end_ns()) }
    }

    /// Whether what is live at the end of a window is what was never freed at all: with the end of the recording its
    /// processes have ended, and what they never freed counts.
    pub fn is_last_of_all(&self, number: u64) -> bool {
        number == self.count() && self.end_ns == u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_lie_in_windows() {
        let all = Windows::new(100, 50, 0..u64::MAX, None);
        assert_eq!(
            (all.count(), all.number(99), all.number(100), all.number(999)),
            (1, Some(0), Some(1), Some(1))
        );
        assert_eq!(all.shown(1), Span { from_ns: 100, to_ns: 150 });
        let steps = Windows::new(100, 50, 0..u64::MAX, Some(20));
        assert_eq!((steps.count(), steps.number(119), steps.number(120)), (3, Some(1), Some(2)));
        assert_eq!((steps.shown(3), steps.is_last_of_all(3)), (Span { from_ns: 140, to_ns: 150 }, true));
        let part = Windows::new(100, 50, 10..30, Some(15));
        assert_eq!(
            (part.count(), part.number(109), part.number(129), part.number(130)),
            (2, Some(0), Some(2), None)
        );
        assert_eq!((part.shown(2), part.is_last_of_all(2)), (Span { from_ns: 125, to_ns: 130 }, false));
    }
}
