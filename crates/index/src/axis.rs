//! Time, cut into leaves of about equally many events. All figures of a leaf can be had without its events; only a
//! moment inside of a leaf needs the events of that one.

/// How many leaves one step of the coarse axis has at least.
const LEAVES_PER_STEP_MIN: u32 = 64;
/// Up to so many leaves, each has [`EVENTS_PER_LEAF`]; from there on both grow alike. More leaves have more blocks that
/// outlive them, which the index lists one by one; longer ones take longer to decode.
const SHORT_LEAVES_MAX: u64 = 1 << 12;
/// At most so many leaves.
pub const LEAVES_MAX: u32 = 1 << 14;
/// Events of a leaf, where there are enough to fill several: some 10 ms of decoding.
pub const EVENTS_PER_LEAF: u64 = 1 << 17;

/// The time that some events lie in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// First moment, ns.
    pub begin_ns: u64,
    /// Last moment, ns.
    pub last_ns: u64,
    /// How many events.
    pub events: u64,
}

/// The leaves. The first one has all that is before it too, the last one all that is after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// First moment of each leaf, ns, strictly rising; that of the first leaf is 0.
    begins_ns: Vec<u64>,
}

impl Axis {
    /// Leaves that begin at these moments; the first one begins at 0, whatever is said of it.
    pub fn new(mut begins_ns: Vec<u64>) -> Axis {
        begins_ns.push(0);
        begins_ns.sort_unstable();
        begins_ns.dedup();
        Axis { begins_ns }
    }

    /// How many leaves so many events have, of which `per_leaf` are to be in one.
    pub fn leaves_of(events: u64, per_leaf: u64) -> u32 {
        let wanted = events.div_ceil(per_leaf.max(1)).max(1);
        let leaves = wanted.min(wanted.saturating_mul(SHORT_LEAVES_MAX).isqrt());
        leaves.min(u64::from(LEAVES_MAX)) as u32
    }

    /// At most `leaves` leaves over these events, each with about as many of them. The events of a chunk are taken to
    /// lie evenly in its time.
    pub fn by_events(extents: &[Extent], leaves: u32) -> Axis {
        let total: u64 = extents.iter().map(|extent| extent.events).sum();
        let leaves = u64::from(leaves.max(1)).min(total.max(1));
        let per_leaf = total as f64 / leaves as f64;
        let mut begins = Vec::with_capacity(leaves as usize);
        let (mut events, mut rate, mut before_ns) = (0.0, 0.0, 0);
        for (ns, change) in changes(extents) {
            let more = rate * (ns - before_ns) as f64;
            while begins.len() as u64 + 1 < leaves && events + more >= per_leaf * (begins.len() + 1) as f64 {
                let part = (per_leaf * (begins.len() + 1) as f64 - events) / more;
                begins.push(before_ns + ((ns - before_ns) as f64 * part) as u64);
            }
            (events, rate, before_ns) = (events + more, rate + change, ns);
        }
        Axis::new(begins)
    }

    /// How many leaves there are.
    pub fn leaves(&self) -> u32 {
        self.begins_ns.len() as u32
    }

    /// How many leaves one step of the coarse axis has: about as many as there are steps, as a question reads leaves of
    /// a few steps and all steps between them.
    pub fn leaves_per_step(&self) -> u32 {
        self.leaves().isqrt().max(LEAVES_PER_STEP_MIN)
    }

    /// How many steps the coarse axis has.
    pub fn steps(&self) -> u32 {
        self.leaves().div_ceil(self.leaves_per_step())
    }

    /// The leaf of a moment.
    pub fn leaf(&self, ns: u64) -> u32 {
        self.begins_ns.partition_point(|begin| *begin <= ns).saturating_sub(1) as u32
    }

    /// The first moment of a leaf, ns.
    pub fn begin_ns(&self, leaf: u32) -> u64 {
        self.begins_ns[leaf as usize]
    }

    /// The first moment after a leaf, ns; none for the last one.
    pub fn end_ns(&self, leaf: u32) -> Option<u64> {
        self.begins_ns.get(leaf as usize + 1).copied()
    }

    /// All first moments, ns.
    pub fn begins_ns(&self) -> &[u64] {
        &self.begins_ns
    }
}

/// When the number of events per ns changes, and by how much, by time.
fn changes(extents: &[Extent]) -> Vec<(u64, f64)> {
    let of_one = |extent: &Extent| {
        let end_ns = extent.last_ns.max(extent.begin_ns).saturating_add(1);
        let rate = extent.events as f64 / (end_ns - extent.begin_ns) as f64;
        [(extent.begin_ns, rate), (end_ns, -rate)]
    };
    let mut changes: Vec<_> = extents.iter().flat_map(of_one).collect();
    changes.sort_by_key(|(ns, _)| *ns);
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(begin_ns: u64, last_ns: u64, events: u64) -> Extent {
        Extent { begin_ns, last_ns, events }
    }

    #[test]
    fn leaves_have_about_as_many_events() {
        for (extents, leaves, expected) in [
            (vec![extent(0, 99, 100)], 4, vec![0, 25, 50, 75]),
            (vec![extent(0, 99, 300), extent(100, 199, 100)], 4, vec![0, 33, 66, 100]),
            (vec![extent(1_000, 1_099, 100), extent(9_000, 9_099, 100)], 2, vec![0, 1_100]),
            (vec![extent(7, 7, 1_000)], 8, vec![0, 7]),
            (vec![], 8, vec![0]),
            (vec![extent(5, 5, 0)], 8, vec![0]),
        ] {
            assert_eq!(Axis::by_events(&extents, leaves).begins_ns(), expected, "{extents:?}");
        }
    }

    #[test]
    fn leaves_of_many_events_are_longer() {
        for (events, leaves, per_step) in [
            (0, 1, 64),
            (1, 1, 64),
            (200_000_000, 1_526, 64),
            (1 << 29, 4_096, 64),
            (1_000_000_000, 5_590, 74),
            (12_000_000_000, 16_384, 128),
            (u64::MAX, 16_384, 128),
        ] {
            assert_eq!(Axis::leaves_of(events, EVENTS_PER_LEAF), leaves, "{events}");
            let axis = Axis::new((0..u64::from(leaves)).collect());
            assert_eq!((axis.leaves(), axis.leaves_per_step()), (leaves, per_step), "{events}");
            assert_eq!(axis.steps(), leaves.div_ceil(per_step), "{events}");
        }
    }

    #[test]
    fn each_moment_has_one_leaf() {
        let axis = Axis::new(vec![10, 20, 20]);
        assert_eq!(axis.begins_ns(), [0, 10, 20]);
        for (ns, leaf) in [(0, 0), (9, 0), (10, 1), (19, 1), (20, 2), (u64::MAX, 2)] {
            assert_eq!(axis.leaf(ns), leaf, "{ns}");
        }
        assert_eq!((axis.end_ns(0), axis.end_ns(2)), (Some(10), None));
    }
}
