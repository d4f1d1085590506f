//! Whose sessions an agent drains: two that drain the same ones would each have a part of the figures, and nobody all.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use heapscribe_collect::Origin;
use heapscribe_diagnostics::Problem;
use heapscribe_session::always::{self, Draining};
use heapscribe_session::{Base, base_directory};
use heapscribe_wire::plan::Plan;

use super::unfinished;
use crate::agent::windows::Windows;
use crate::cli::AgentArgs;
use crate::message;

/// The directory of the sessions, which nobody else drains as long as this lives.
pub(super) struct Sessions {
    pub(super) base: Base,
    draining: Draining,
    /// Of all services of this user: where they were asked for.
    of_all: Option<Option<PathBuf>>,
}

impl Sessions {
    /// Those that were asked for, those of an agent that was killed, or new ones.
    pub(super) fn take(args: &AgentArgs, windows: &mut Windows, plan: &Plan) -> Result<Sessions> {
        let left = windows.state().base.clone();
        let base = match &args.session {
            _ if args.all => always::base(args.session_dir.as_deref(), plan)?,
            Some(path) => existing(path)?,
            None if base_directory::has_sessions(&left) => Base::existing(&left)?,
            None => Base::create(args.session_dir.as_deref())?,
        };
        windows.state().base = base.path().to_owned();
        let draining = drain_alone(base.path())?;
        Ok(Sessions { base, draining, of_all: args.all.then(|| args.session_dir.clone()) })
    }

    /// Makes the directory of all services anew where somebody removed it: others will look for it.
    pub(super) fn renew(&mut self, plan: &Plan) -> Result<()> {
        let Some(asked) = self.of_all.as_ref().filter(|_| !self.draining.is_current()) else { return Ok(()) };
        let base = always::base(asked.as_deref(), plan)?;
        message::warning(&format!("{} was removed; it is made anew", self.base.path().display()));
        self.draining = drain_alone(base.path())?;
        base.write_plan(plan, &[])?;
        self.base = base;
        Ok(())
    }

    /// Removes the directory, if it was for this recording alone.
    pub(super) fn remove(&self) {
        if self.of_all.is_none() {
            self.base.remove();
        }
    }
}

/// What `record` left, or an agent.
fn existing(path: &Path) -> Result<Base> {
    let taken = || format!("cannot take the sessions of {}", path.display());
    let base = Base::existing(path).with_context(taken)?;
    let began = Origin::of(path).map(|origin| origin.info.started_mono_ns);
    if let Some(pid) = began.and_then(|began| unfinished::drainer(path, began)) {
        let what = format!("process {pid} records into {}", path.display());
        return Err(Problem::new(what, "wait until it has ended, or take other sessions").into());
    }
    Ok(base)
}

/// Drains the sessions of a directory, alone.
///
/// # Errors
/// When somebody else does.
pub(super) fn drain_alone(base: &Path) -> Result<Draining> {
    let shown = base.display();
    let begun = Draining::begin(base).with_context(|| format!("cannot read {shown}"))?;
    begun.ok_or_else(|| {
        Problem::new(format!("another process takes the sessions out of {shown}"), "stop that agent first")
            .into()
    })
}
