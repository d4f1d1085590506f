//! `heapscribe ctl`: controls the recording of a running process.

use std::process::ExitCode;

use anyhow::Result;
use heapscribe_wire::mode::Mode;

use crate::cli::{CtlArgs, CtlVerb};
use crate::message;
use heapscribe_session::control::Controlled;
use heapscribe_session::inspect::{self, SessionPath, Snapshot};
use heapscribe_units::short_bytes;

/// Runs the command.
pub(crate) fn run(args: &CtlArgs) -> Result<ExitCode> {
    let places = inspect::places(args.session_dir.as_deref());
    let session = inspect::one(&args.process, &places)?;
    let process = Controlled::of(&session)?;
    let who = format!("process {} ({})", process.pid, process.exe);
    let wanted = match &args.verb {
        CtlVerb::Mode { mode } => *mode,
        CtlVerb::Start => process.first_mode()?,
        CtlVerb::Stop => Mode::Off,
        CtlVerb::Snapshot { name } => return snapshot(&session, process.pid, name, &who),
        CtlVerb::Mark { name } => {
            process.mark(name.as_bytes())?;
            message::note(&format!("set the mark in {who}"));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let mode = process.nearest(wanted);
    if mode != wanted {
        let (wanted, nearest) = (describe(wanted), describe(mode));
        message::note(&format!(
            "{who} has used as many rates as a process can: instead of {wanted} it gets the nearest, {nearest}"
        ));
    }
    if mode == process.mode {
        message::note(&format!("{who} already records {}", describe(mode)));
    } else {
        process.set_mode(mode)?;
        message::note(&format!("{who} now records {1}, before: {0}", describe(process.mode), describe(mode)));
    }
    Ok(ExitCode::SUCCESS)
}

fn snapshot(session: &SessionPath, pid: u32, name: &str, who: &str) -> Result<ExitCode> {
    let session = session.open()?;
    let id = inspect::save_named(&Snapshot::take(&session)?, &session, name)?;
    message::note(&format!(
        "took snapshot {id} ({name}) of {who}; get it with: heapscribe snapshot {pid} --download {id}"
    ));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn describe(mode: Mode) -> String {
    match mode {
        Mode::Off => "no new blocks".to_owned(),
        Mode::Full => "every block".to_owned(),
        Mode::Sampled { mean_bytes } => format!("one sample per {}", short_bytes(mean_bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_words() {
        let sampled = Mode::Sampled { mean_bytes: 512 << 10 };
        assert_eq!(
            [Mode::Off, Mode::Full, sampled].map(describe),
            ["no new blocks", "every block", "one sample per 512 KiB"]
        );
    }
}
