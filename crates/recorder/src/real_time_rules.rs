//! Whether a call breaks a rule of real time: then it is reported in the head, and the process stops. Looked
//! at only where `record --rt-abort` asked for it.
#![allow(unsafe_code)]

use core::sync::atomic::Ordering;

use heapscribe_nolibc::sys;
use heapscribe_wire::ids::NameId;
use heapscribe_wire::real_time_rules::{RuleKind, Rules, fits};
use heapscribe_wire::record::Call;
use heapscribe_wire::rule_violation::{RuleViolation, Why};

use crate::stack_ids;
use crate::state::{Session, Thread};
use crate::unwind::Registers;

/// The program has reached a mark: the rules of calls after it are in force.
pub(crate) fn mark(name: &[u8], session: &Session) {
    if Rules::new(session.rules).any(|rule| rule.kind == RuleKind::Mark && rule.name == name) {
        session.head.broke.past_mark.store(1, Ordering::Relaxed);
    }
}

/// The rule that a call of this thread breaks now.
fn broken(thread: &Thread, session: &Session) -> Option<(Why, NameId)> {
    let rules = || Rules::new(session.rules);
    let (mut of_places, mut of_threads) = (false, false);
    let mut found = None;
    for rule in rules() {
        match rule.kind {
            RuleKind::Section | RuleKind::Mark => of_places = true,
            RuleKind::Thread => of_threads = true,
        }
        found = found.or_else(|| match rule.kind {
            RuleKind::Section => {
                let name = session.names.find(rule.name)?;
                thread.sections.iter().any(|open| open.name == name).then_some((Why::Section, name))
            }
            RuleKind::Mark => {
                let is_past = session.head.broke.past_mark.load(Ordering::Relaxed) != 0;
                is_past.then(|| (Why::Mark, session.names.find(rule.name).unwrap_or_default()))
            }
            RuleKind::Thread => None,
        });
    }
    let found = if of_places { found? } else { (Why::Thread, NameId::default()) };
    if !of_threads {
        return of_places.then_some(found);
    }
    // Asked for each such call: threads are given their names when they run already.
    let name = sys::thread_name();
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    rules().any(|rule| rule.kind == RuleKind::Thread && fits(rule.name, name)).then_some(found)
}

/// Reports a call that breaks a rule. True when it does and is the first: then the process is to be
/// stopped.
///
/// # Safety
/// * `registers` are those of the hook's caller, which is still active.
#[cold]
pub(crate) unsafe fn report_broken(
    call: Call,
    size_bytes: u64,
    registers: Registers,
    thread: &Thread,
    session: &Session,
) -> bool {
    let Some((why, name)) = broken(thread, session) else { return false };
    // SAFETY: the registers are those of the hook's caller, which is active.
    let stack = unsafe { stack_ids::stack_id(registers, thread, session) };
    let ticks = thread.last_ticks.get();
    session.head.broke.report(&RuleViolation {
        why,
        call,
        thread: thread.id.get(),
        name,
        stack,
        size_bytes,
        ticks,
    })
}
