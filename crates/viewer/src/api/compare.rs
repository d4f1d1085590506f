//! The figures of a question, and those that they are compared with, on calls that both share.

use std::borrow::Cow;
use std::sync::Arc;

use super::answered::{Answered, NoAnswer};
use super::ask::{Ask, At, Base, Blocks, Show};
use super::viewer::Viewer;
use crate::model::{Calls, Figures, Merged, Own, own_label};

/// What a view is made of.
pub(super) struct Shown<'a> {
    pub(super) calls: &'a Calls,
    pub(super) figures: Figures<'a>,
}

impl Viewer<'_> {
    /// Finds the figures, and has something made of them.
    pub(super) fn shown<T>(
        &self,
        ask: &Ask,
        make: impl FnOnce(&Answered, Shown<'_>) -> Result<T, NoAnswer>,
    ) -> Result<T, NoAnswer> {
        let answered = self.answered(&ask.blocks)?;
        let before = self.before(ask)?;
        let merged = if ask.base == Base::Trace { Some(self.merged()?) } else { None };
        let mut own = match merged {
            Some(merged) => Cow::Owned(merged.after(&answered.own)),
            None => Cow::Borrowed(&answered.own),
        };
        let mut before = before.as_deref().map(|before| match merged {
            Some(merged) => Cow::Owned(merged.before(&before.own)),
            None => Cow::Borrowed(&before.own),
        });
        let calls = self.calls(ask)?;
        let shaped = self.shaped(ask)?;
        if let Some(shaped) = &shaped {
            let reshaped = |own: &Own| Cow::Owned(own.reshaped(shaped));
            own = reshaped(&own);
            before = before.map(|before| reshaped(&before));
        }
        let calls = shaped.as_deref().map_or(calls, |shaped| &shaped.calls);
        let label = ask.blocks.process.and_then(|process| own_label(&self.processes, process as usize));
        let renamed = label.map(|(shared, own)| calls.renamed(&shared, &own));
        let calls = renamed.as_ref().unwrap_or(calls);
        make(&answered, Shown { calls, figures: Figures { own: &own, before: before.as_deref() } })
    }

    /// The calls that a question is about, as they were made.
    pub(super) fn calls(&self, ask: &Ask) -> Result<&Calls, NoAnswer> {
        match ask.base {
            Base::Trace => Ok(&self.merged()?.calls),
            _ => Ok(&self.stacks()?.calls),
        }
    }

    fn merged(&self) -> Result<&Merged, NoAnswer> {
        let baseline = self.baseline()?;
        let (before, after) = (&baseline.stacks()?.calls, &self.stacks()?.calls);
        Ok(self.merged.get_or_init(|| Merged::new(before, after)))
    }

    fn baseline(&self) -> Result<&Viewer<'_>, NoAnswer> {
        let none = || NoAnswer::Refused("there is no other recording to compare with".to_owned());
        self.baseline.as_deref().ok_or_else(none)
    }

    /// What the figures are compared with, if they are.
    fn before(&self, ask: &Ask) -> Result<Option<Arc<Answered>>, NoAnswer> {
        let blocks = &ask.blocks;
        match ask.base {
            Base::Nothing => Ok(None),
            Base::Trace if blocks.process.is_some() => {
                Err(NoAnswer::Refused("processes of two recordings are not the same ones".to_owned()))
            }
            Base::Trace => self.baseline()?.answered(blocks).map(Some),
            Base::Range(from_ns, to_ns) => self.answered(&of_range(blocks, from_ns, to_ns)).map(Some),
            Base::At(ns) if blocks.show == Show::Live => {
                self.answered(&Blocks { at: At::Ns(ns), ..blocks.clone() }).map(Some)
            }
            Base::At(_) => Err(NoAnswer::Refused("a range is compared with a range".to_owned())),
        }
    }
}

/// The same question about another range: live blocks are those at its end.
fn of_range(blocks: &Blocks, from_ns: u64, to_ns: u64) -> Blocks {
    match blocks.show {
        Show::Live => Blocks { at: At::Ns(to_ns), from_ns: None, to_ns: None, ..blocks.clone() },
        _ => Blocks { from_ns: Some(from_ns), to_ns: Some(to_ns), ..blocks.clone() },
    }
}
