//! What outlives a session: children that have been forked and have called the heap in no way yet, so that they have
//! none of their own. While their parent lives it is waited for anyway. After its end they are known by its head,
//! which they have mapped until they map their own, exec or end. Until then they may also note something in it.

use std::fs::File;
use std::rc::Rc;

use heapscribe_session::is_mapped;

use crate::unrecorded::Escapes;

/// The heads of sessions that have ended, as long as children have them mapped.
#[derive(Default)]
pub(super) struct Forked {
    heads: Vec<Rc<File>>,
    escapes: Escapes,
}

impl Forked {
    /// The process of this head has ended, or has exec'd.
    pub(super) fn parent_has_ended(&mut self, head: Rc<File>) {
        self.heads.push(head);
        self.exist();
    }

    /// Whether there are any children.
    pub(super) fn exist(&mut self) -> bool {
        for head in self.heads.extract_if(.., |head| !is_mapped(head)) {
            self.escapes.take(&head);
        }
        !self.heads.is_empty()
    }

    /// Programs that could not be recorded.
    pub(super) fn escapes(&mut self) -> &mut Escapes {
        &mut self.escapes
    }

    /// The same, and what the heads say that children still have mapped.
    pub(super) fn into_escapes(mut self) -> Escapes {
        self.heads.iter().for_each(|head| self.escapes.take(head));
        self.escapes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_that_nobody_has_mapped_is_not_kept() {
        let mut forked = Forked::default();
        forked.parent_has_ended(Rc::new(tempfile::tempfile().unwrap()));
        assert!(!forked.exist());
    }
}
