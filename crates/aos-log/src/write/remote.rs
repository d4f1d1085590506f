//! The state of the other nodes, as the header of a part has it: the boot of each, and when its oldest message was
//! sent and received. Readers align the clocks of nodes by it, so it has to be in a header before the messages
//! that it is about.

use uuid::Uuid;

use crate::layout::{NO_TIME, NOTHING_SEEN};
use crate::pack::NodeTimes;

/// What a message shows of the node that sent it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoteUpdate {
    /// Which node, by its index.
    pub node: usize,
    /// In which boot it was.
    pub boot: Uuid,
    /// When the message was sent, by its clock.
    pub monotonic_remote_time: i64,
    /// When it was transmitted, by its clock; [`NO_TIME`] if that is not known.
    pub monotonic_remote_transmit_time: i64,
    /// When the message arrived, by the clock of the node that the file is about.
    pub monotonic_event_time: i64,
    /// Whether it is sent until it arrives.
    pub is_reliable: bool,
    /// When the timestamp was returned to the logger; [`NO_TIME`] where none was.
    pub monotonic_timestamp_time: i64,
}

/// Boots and oldest times, by node.
#[derive(Clone, Debug)]
pub(super) struct Remotes {
    pub(super) boots: Vec<Option<Uuid>>,
    pub(super) oldest: Vec<NodeTimes>,
}

impl Remotes {
    pub(super) fn new(nodes: usize) -> Self {
        Self { boots: vec![None; nodes], oldest: vec![NodeTimes::default(); nodes] }
    }

    /// Resets the times of all nodes; their boots are still known.
    pub(super) fn reset_times(&mut self) {
        self.oldest.fill(NodeTimes::default());
    }

    /// Sets the boot of a node; whether it changed. The times of that node are then reset.
    pub(super) fn set_boot(&mut self, node: usize, boot: Uuid) -> bool {
        let Some(known) = self.boots.get_mut(node) else { return false };
        if known.replace(boot) == Some(boot) {
            return false;
        }
        self.oldest[node] = NodeTimes::default();
        true
    }

    /// Applies an update; whether the header has changed.
    pub(super) fn update(&mut self, update: &RemoteUpdate) -> bool {
        let is_other_boot = self.set_boot(update.node, update.boot);
        let Some(times) = self.oldest.get_mut(update.node) else { return false };
        let (remote, local) = (update.monotonic_remote_time, update.monotonic_event_time);
        let mut is_older = lower(&mut times.remote, &mut times.local, remote, local);
        if update.is_reliable {
            is_older |= lower(&mut times.remote_reliable, &mut times.local_reliable, remote, local);
            let (remote_transmit, local_transmit) =
                (&mut times.remote_reliable_transmit, &mut times.local_reliable_transmit);
            is_older |= lower(remote_transmit, local_transmit, update.monotonic_remote_transmit_time, local);
        } else {
            is_older |= lower(&mut times.remote_unreliable, &mut times.local_unreliable, remote, local);
        }
        if update.monotonic_timestamp_time != NO_TIME {
            let back = update.monotonic_timestamp_time;
            let (remote, local) = (&mut times.logger_remote_unreliable, &mut times.logger_local_unreliable);
            is_older |= lower(remote, local, update.monotonic_event_time, back);
        }
        is_other_boot | is_older
    }
}

/// Keeps the older of two pairs of times; whether that is the new one.
fn lower(remote: &mut i64, local: &mut i64, new_remote: i64, new_local: i64) -> bool {
    if new_remote == NO_TIME || (*remote != NOTHING_SEEN && *remote <= new_remote) {
        return false;
    }
    (*remote, *local) = (new_remote, new_local);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(remote: i64, local: i64, is_reliable: bool) -> RemoteUpdate {
        RemoteUpdate {
            node: 1,
            boot: Uuid::from_u128(7),
            monotonic_remote_time: remote,
            monotonic_remote_transmit_time: NO_TIME,
            monotonic_event_time: local,
            is_reliable,
            monotonic_timestamp_time: NO_TIME,
        }
    }

    #[test]
    fn the_oldest_times_of_each_kind_are_kept() {
        let mut remotes = Remotes::new(2);
        assert!(remotes.update(&update(100, 1100, true)));
        assert!(!remotes.update(&update(101, 1101, true)));
        assert!(remotes.update(&update(101, 1101, false)), "the first that is not reliable");
        assert!(remotes.update(&update(90, 1090, false)));
        let transmitted = RemoteUpdate { monotonic_remote_transmit_time: 95, ..update(300, 1300, true) };
        assert!(remotes.update(&transmitted));
        let back = RemoteUpdate { monotonic_timestamp_time: 2000, ..update(400, 1400, true) };
        assert!(remotes.update(&back));
        let expected = NodeTimes {
            remote: 90,
            local: 1090,
            remote_reliable: 100,
            local_reliable: 1100,
            remote_unreliable: 90,
            local_unreliable: 1090,
            remote_reliable_transmit: 95,
            local_reliable_transmit: 1300,
            logger_remote_unreliable: 1400,
            logger_local_unreliable: 2000,
        };
        assert_eq!(remotes.oldest, [NodeTimes::default(), expected]);
    }

    #[test]
    fn another_boot_resets_the_times() {
        let mut remotes = Remotes::new(2);
        assert!(remotes.update(&update(100, 1100, true)));
        let rebooted = RemoteUpdate { boot: Uuid::from_u128(8), ..update(5, 2000, false) };
        assert!(remotes.update(&rebooted));
        assert_eq!(remotes.boots, [None, Some(Uuid::from_u128(8))]);
        assert_eq!(remotes.oldest[1].remote_reliable, NOTHING_SEEN);
        assert!(!remotes.update(&RemoteUpdate { node: 2, ..rebooted }), "there is no such node");
    }
}
