//! What outlives a session: children that have been forked and have called the heap in no way yet, so that they have
//! none of their own. While their parent lives it is waited for anyway. After its end they are known by its head,
//! which they have mapped until they map their own, exec or end. Until then they may also note something in it.

use std::fs::File;

use heapscribe_session::{Unrecorded, is_mapped, unrecorded};

/// The heads of sessions that have ended, as long as children have them mapped.
#[derive(Default)]
pub(super) struct Forked {
    heads: Vec<File>,
    unrecorded: Unrecorded,
}

impl Forked {
    /// The process of this head has ended, or has exec'd.
    pub(super) fn parent_has_ended(&mut self, head: File) {
        self.heads.push(head);
        self.exist();
    }

    /// Whether there are any children.
    pub(super) fn exist(&mut self) -> bool {
        for head in self.heads.extract_if(.., |head| !is_mapped(head)) {
            self.unrecorded.add(unrecorded(&head));
        }
        !self.heads.is_empty()
    }

    /// Programs that were started and could not be recorded.
    pub(super) fn unrecorded(self) -> Unrecorded {
        let mut all = self.unrecorded;
        self.heads.iter().for_each(|head| all.add(unrecorded(head)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_that_nobody_has_mapped_is_not_kept() {
        let mut forked = Forked::default();
        forked.parent_has_ended(tempfile::tempfile().unwrap());
        assert!(!forked.exist());
    }
}
