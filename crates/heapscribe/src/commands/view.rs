//! `heapscribe view`: serves a page to the browser on this machine, until it is interrupted.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use anyhow::{Context, Result};
use heapscribe_analyze::snapshot;
use heapscribe_convert::{Input, Opened};
use heapscribe_diagnostics::Problem;
use heapscribe_session::inspect::{self, SearchPath, SessionPath};
use heapscribe_units::bytes;
use heapscribe_viewer::{Server, SingleFile, Token, Viewer};
use heapscribe_views::messages::correlation::{self, EachMessage};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::report::warn_of_messages;
use super::resolver::resolver;
use super::{output, view_live};
use crate::background::in_background;
use crate::cli::{ViewArgs, ViewMessagesArgs};
use crate::message;
use crate::progress::IndexBar;

/// Runs the command.
pub(crate) fn run(args: &ViewArgs) -> Result<ExitCode> {
    if let Some(output) = &args.output {
        output::reject_existing(output, args.force)?;
    }
    if let Some((found, place)) = running(args)? {
        if args.output.is_some() {
            let pid = found.pid;
            let hint = format!(
                "`heapscribe snapshot {pid} -o live.hst` writes what is live, `heapscribe view live.hst -o FILE` its page"
            );
            return Err(
                Problem::new(format!("process {pid} is running, which a file cannot show"), hint).into()
            );
        }
        reject_messages(args)?;
        let server = listen(args)?;
        return view_live::run(args, &found, place, &server);
    }
    let open = |path: &PathBuf| Input::open(path)?.into_seen(args.salvage.into());
    let traces = args.traces.iter().map(open).collect::<Result<Vec<_>>>()?;
    let recordings: Vec<_> = traces.iter().map(Opened::recording).collect();
    let resolvers = traces.iter().map(|trace| resolver(&args.symbols, &[trace]));
    let resolvers = resolvers.collect::<Result<Vec<_>>>()?;
    let viewers = resolvers.into_iter().enumerate().map(|(n, resolver)| {
        let bar = IndexBar::new();
        let set = &mut |done, of| bar.set(done, of);
        let viewer = Viewer::open(&traces[n], &recordings[n], &args.traces[n], resolver, &args.index(), set);
        bar.finish();
        viewer
    });
    // Of two the second is looked at.
    let compared = viewers.reduce(|before, after| after.compared_with(before));
    let Some(viewer) = compared else { return Ok(ExitCode::SUCCESS) };
    let viewer = match traces.last().filter(|_| !args.messages.messages.is_empty()) {
        Some(trace) => viewer.with_messages(&messages(args, trace)?),
        None => viewer,
    };
    if let Some(output) = &args.output {
        return write_file(&viewer, output);
    }
    let server = listen(args)?;
    thread::scope(|scope| {
        scope.spawn(|| {
            // A page is drawn by then, and reading all events does not take its cores.
            viewer.prepare();
            in_background(|| viewer.analyze());
        });
        server.serve(&|asked| viewer.answer(asked));
    });
    Ok(ExitCode::SUCCESS)
}

/// Writes the page as one file, and says what is not in it.
fn write_file(viewer: &Viewer<'_>, output: &Path) -> Result<ExitCode> {
    viewer.analyze();
    let token = Token::random().context("cannot make a token")?;
    let Some(SingleFile { html, left_out }) = viewer.to_single_file(&token) else {
        let what = format!("{} would be larger than 10 MB", output.display());
        return Err(
            Problem::new(what, "`heapscribe view` without -o shows the trace, however large it is").into()
        );
    };
    fs::write(output, &html).with_context(|| format!("cannot write {}", output.display()))?;
    message::note(&format!("{} written to {}", bytes(html.len() as u64), output.display()));
    left_out.iter().for_each(|text| message::note(text));
    Ok(ExitCode::SUCCESS)
}

/// The messages that are shown on the timeline.
fn messages(args: &ViewArgs, trace: &Opened) -> Result<EachMessage> {
    if snapshot::is_one(&**trace) {
        reject_messages(args)?;
    }
    let ViewMessagesArgs { messages, reading } = &args.messages;
    let (each, problems) = correlation::each(trace, messages, reading.on_damage.into())?;
    for (path, what) in problems {
        message::warning(&format!("{}: {}", path.display(), what.join("; ")));
    }
    let apart_ns = each.clocks_apart_ns.filter(|_| !each.clocks_agree);
    warn_of_messages(apart_ns, each.messages.is_empty());
    Ok(each)
}

/// `--messages` needs events, which what is live does not have.
fn reject_messages(args: &ViewArgs) -> Result<(), Problem> {
    let Some(part) = args.messages.messages.first() else { return Ok(()) };
    let what = format!("{} cannot be shown with what is live: --messages needs a recording", part.display());
    Err(Problem::new(what, "record the program with `heapscribe record` while it handles messages"))
}

/// The process that is asked for, where no trace is.
fn running(args: &ViewArgs) -> Result<Option<(SessionPath, SearchPath)>> {
    let [one] = &args.traces[..] else { return Ok(None) };
    let name = one.to_string_lossy();
    if name.contains('/') || Input::is_named(one) {
        return Ok(None);
    }
    let place = inspect::places(args.session_dir.as_deref());
    match inspect::one(&name, &place) {
        Ok(found) => Ok(Some((found, place))),
        // Of no process, it is the name of a file: one that is no trace, or is not there.
        Err(_) if one.exists() => Ok(None),
        Err(_) if name.parse::<u32>().is_err() && inspect::matching(&name, &place).is_err() => Ok(None),
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
