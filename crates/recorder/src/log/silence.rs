//! How long a thread waits for a drainer that gives no sign of life: by the clock, because naps take as long as the
//! kernel and the machine let them. A clock that stands still, as in a sandbox without clocks, is not waited by.

pub(super) const NAP_NS: u64 = 100_000;
const NAP_NS_MAX: u64 = 50_000_000;
/// Without a sign of life for so long nobody waits any more.
const LONGEST_NS: u64 = 10_000_000_000;
/// The kernel is asked so often whether the drainer is there at all. Not at once: a sandbox may kill a program that
/// calls `kill` (sshd's).
pub(super) const LOOK_EACH_NS: u64 = 200_000_000;

/// What a thread that waits does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Go on.
    Wait,
    /// Ask whether the drainer's process is there, and go on if it is.
    Look,
    /// Wait no more.
    GiveUp,
}

/// The time since the last sign of life.
#[derive(Debug)]
pub(super) struct Silence {
    heartbeat: u32,
    since_ns: u64,
    looked_ns: u64,
    naps: u64,
}

impl Silence {
    /// From now on.
    pub(super) fn begin(heartbeat: u32, now_ns: u64) -> Silence {
        Silence { heartbeat, since_ns: now_ns, looked_ns: now_ns, naps: 0 }
    }

    /// How long the next nap is, of a thread that has waited so long in all: a thirty-second of that, so that
    /// thousands that wait do not take the processors from the drainer, and none sleeps much longer than it must.
    pub(super) fn nap_ns(waited_ns: u64) -> u64 {
        (waited_ns / 32).clamp(NAP_NS, NAP_NS_MAX)
    }

    /// After another nap.
    pub(super) fn go_on(&mut self, heartbeat: u32, now_ns: u64) -> Next {
        if heartbeat != self.heartbeat {
            *self = Silence::begin(heartbeat, now_ns);
        }
        self.naps += 1;
        if now_ns.saturating_sub(self.since_ns) >= LONGEST_NS || self.naps >= LONGEST_NS / NAP_NS {
            return Next::GiveUp;
        }
        if now_ns.saturating_sub(self.looked_ns) >= LOOK_EACH_NS {
            self.looked_ns = now_ns;
            return Next::Look;
        }
        Next::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of a wait whose naps take so long, and after how many ns.
    fn check(nap_ns: u64, heartbeat_at: u64, expected: (Next, u64, u64)) {
        let mut silence = Silence::begin(0, 1000);
        let (mut now, mut looks) = (1000, 0);
        loop {
            now += nap_ns;
            match silence.go_on(u32::from(now >= 1000 + heartbeat_at), now) {
                Next::Wait => {}
                Next::Look => looks += 1,
                Next::GiveUp => break,
            }
        }
        assert_eq!((Next::GiveUp, now - 1000, looks), expected, "naps of {nap_ns} ns");
    }

    #[test]
    fn naps_are_a_part_of_the_wait() {
        let ms = 1_000_000;
        for (waited, expected) in
            [(0, NAP_NS), (3 * ms, NAP_NS), (32 * ms, ms), (1_600 * ms, 50 * ms), (u64::MAX, 50 * ms)]
        {
            assert_eq!(Silence::nap_ns(waited), expected);
        }
    }

    #[test]
    fn ten_seconds_of_the_clock_however_long_naps_take() {
        let never = u64::MAX - 1000;
        check(NAP_NS, never, (Next::GiveUp, LONGEST_NS, 49));
        check(2 * NAP_NS, never, (Next::GiveUp, LONGEST_NS, 49));
        check(1_000_000_000, never, (Next::GiveUp, LONGEST_NS, 9));
        check(NAP_NS, 5_000_000_000, (Next::GiveUp, 15_000_000_000 - NAP_NS, 73));
        check(0, never, (Next::GiveUp, 0, 0));
    }
}
