//! `heapscribe view`: serves a page to the browser on this machine, until it is interrupted.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use anyhow::{Context, Result};
use heapscribe_convert::{Input, Opened};
use heapscribe_diagnostics::Problem;
use heapscribe_session::inspect::{self, SearchPath, SessionPath};
use heapscribe_viewer::{Server, Token, Viewer};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::view_live;
use crate::cli::ViewArgs;
use crate::message;
use crate::progress::IndexBar;

/// Runs the command.
pub(crate) fn run(args: &ViewArgs) -> Result<ExitCode> {
    if let Some((found, place)) = running(args)? {
        let server = listen(args)?;
        return view_live::run(args, &found, place, &server);
    }
    let open = |path: &PathBuf| Input::open(path)?.into_trace(args.salvage.into());
    let traces = args.traces.iter().map(open).collect::<Result<Vec<_>>>()?;
    let recordings: Vec<_> = traces.iter().map(Opened::recording).collect();
    let viewers = (0..traces.len()).map(|n| {
        let resolver = crate::progress::resolver(&args.symbols.debug_dir);
        let bar = IndexBar::new();
        let set = &mut |done, of| bar.set(done, of);
        let viewer = Viewer::open(&traces[n], &recordings[n], &args.traces[n], resolver, &args.index(), set);
        bar.finish();
        viewer
    });
    // Of two the second is looked at.
    let compared = viewers.reduce(|before, after| after.compared_with(before));
    let Some(viewer) = compared else { return Ok(ExitCode::SUCCESS) };
    let server = listen(args)?;
    thread::scope(|scope| {
        scope.spawn(|| viewer.analyze());
        server.serve(&|asked| viewer.answer(asked));
    });
    Ok(ExitCode::SUCCESS)
}

/// The process that is asked for, where no file is.
fn running(args: &ViewArgs) -> Result<Option<(SessionPath, SearchPath)>> {
    let [one] = &args.traces[..] else { return Ok(None) };
    let name = one.to_string_lossy();
    if one.exists() || name.contains('/') {
        return Ok(None);
    }
    let place = inspect::places(args.session_dir.as_deref());
    match inspect::one(&name, &place) {
        Ok(found) => Ok(Some((found, place))),
        // A name that is no number may be that of a file which is not there.
        Err(_) if name.parse::<u32>().is_err() => Ok(None),
        Err(e) => Err(e),
    }
}

/// Listens, and says where.
fn listen(args: &ViewArgs) -> Result<Server> {
    end_when_interrupted()?;
    let token = Token::random().context("cannot make a token")?;
    let server = Server::listen(args.port, token).map_err(|e| cannot_listen(args.port, &e))?;
    print_address(server.address())?;
    if !args.no_open {
        open_browser(server.address());
    }
    Ok(server)
}

fn cannot_listen(port: u16, e: &io::Error) -> Problem {
    let what = format!("cannot listen on port {port} of 127.0.0.1: {e}");
    Problem::new(what, "choose another --port, or 0 for any that is free")
}

/// A signal ends the process at once: what is being computed is for a page that is not looked at any more.
fn end_when_interrupted() -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot wait for signals")?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            std::process::exit(0);
        }
    });
    Ok(())
}

/// The only line on standard output, for programs that wait for it.
fn print_address(address: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{address}")?;
    out.flush()
}

/// Without a browser the address is enough.
fn open_browser(address: &str) {
    let quiet = || Stdio::null();
    let opened = Command::new("xdg-open").arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    if opened.is_err() {
        message::hint("open this address in a browser on this machine; Ctrl-C ends the server");
    }
}
