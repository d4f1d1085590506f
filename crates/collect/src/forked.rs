//! Children that have been forked and have called the heap in no way yet, so that they have no session. While
//! their parent lives it is waited for anyway. After its end they are known by its head, which they have mapped
//! until they map their own, exec or end.

use std::fs::File;

use heapscribe_session::is_mapped;

/// The heads of sessions that have ended, as long as children have them mapped.
#[derive(Default)]
pub(super) struct Forked {
    heads: Vec<File>,
}

impl Forked {
    /// The process of this head has ended, or has exec'd.
    pub(super) fn parent_has_ended(&mut self, head: File) {
        if is_mapped(&head) {
            self.heads.push(head);
        }
    }

    /// Whether there are any.
    pub(super) fn exist(&mut self) -> bool {
        self.heads.retain(is_mapped);
        !self.heads.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{FlockOperation, fcntl_lock};

    use super::*;

    #[test]
    fn a_head_that_nobody_has_mapped_is_not_kept() {
        let head = tempfile::tempfile().unwrap();
        fcntl_lock(&head, FlockOperation::NonBlockingLockExclusive).unwrap(); // one's own lock is none of others
        let mut forked = Forked::default();
        forked.parent_has_ended(head);
        assert!(!forked.exist());
    }
}
