//! `heapscribe convert --to pprof` and `--to otlp`: what each thread allocated from each stack, and what of it is live.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use heapscribe_analyze::answer::{Amount, Answer};
use heapscribe_analyze::input::{Choice, History as _};
use heapscribe_analyze::measure::Measure;
use heapscribe_analyze::{Options, snapshot};
use heapscribe_convert::otlp::post::{Endpoint, Patience, post};
use heapscribe_convert::ranges::{StackSample, StackSamples};
use heapscribe_convert::recorded::About;
use heapscribe_convert::{Opened, otlp, pprof};
use heapscribe_diagnostics::Problem;
use heapscribe_views::process_labels;

use super::partial;
use super::range_samples::{Sampled, samples_of};
use super::resolver::resolver;
use crate::cli::{ConvertArgs, ConvertTo};
use crate::message;

/// Profiles of a series; more are a wrong unit rather than a wish.
const SERIES_MAX: u64 = 9999;

/// Runs the command.
pub(super) fn run(args: &ConvertArgs, trace: &Opened) -> Result<ExitCode> {
    let endpoint = args.endpoint.as_deref().map(Endpoint::parse).transpose()?;
    let about = About::of(trace);
    let resolver = resolver(&args.symbols, &[trace])?;
    let (mut number, mut last) = (0, Answer::default());
    let mut each = |sampled: Sampled| {
        number += 1;
        let about = about.of_part(sampled.begin_ns, sampled.duration_ns);
        let profile = match args.to {
            ConvertTo::Otlp => otlp::of_samples(&sampled.samples, &about, &resolver),
            _ => pprof::of_samples(&sampled.samples, &about, &resolver),
        };
        let end = sent(endpoint.as_ref(), &profile);
        if !args.has_output() {
            last = sampled.missing;
            return end;
        }
        let path = args.every.map_or_else(|| args.output().to_owned(), |_| numbered(args.output(), number));
        last = sampled.missing;
        write(&path, &profile).with_context(|| format!("cannot write {}", path.display()))?;
        end
    };
    match without_threads(args, trace)? {
        Some(_) if args.every.is_some() => return Err(no_series(args).into()),
        Some(sampled) => each(sampled)?,
        None => {
            let part = args.part.range();
            let too_short = |step: &u64| about.duration_ns / step.max(&1) > SERIES_MAX;
            if args.every.as_ref().is_some_and(too_short) {
                let what = format!("--every would give more than {SERIES_MAX} profiles");
                return Err(Problem::new(what, "give a longer time, such as --every 1s").into());
            }
            samples_of(trace, &args.trace, &choice(args), &part, args.every, &mut each)?;
        }
    }
    Ok(partial::exit_code_of(&args.trace, &last, trace.is_complete()))
}

/// Sends a profile where one is to be sent, and says what was not taken of it.
fn sent(endpoint: Option<&Endpoint>, profile: &[u8]) -> Result<()> {
    let Some(endpoint) = endpoint else { return Ok(()) };
    let posted = post(endpoint, profile, Patience::default())?;
    if let Some(rejected) = posted.rejected {
        message::warning(&format!("{endpoint}: profiles {rejected}"));
    }
    Ok(())
}

/// `run.0001.pb.gz` for `run.pb.gz`.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, extensions) =
        name.split_once('.').map_or((&*name, String::new()), |(stem, rest)| (stem, format!(".{rest}")));
    path.with_file_name(format!("{stem}.{number:04}{extensions}"))
}

fn no_series(args: &ConvertArgs) -> Problem {
    let what = format!("{} has no moments to choose: it is a snapshot or a ring", args.trace.display());
    Problem::new(what, "remove --every")
}

fn choice(args: &ConvertArgs) -> Choice {
    let (pids, programs) = (args.pid.into_iter().collect(), args.process.iter().cloned().collect());
    Choice { pids, programs, ..Choice::default() }
}

fn write(path: &Path, profile: &[u8]) -> std::io::Result<()> {
    if path.extension().is_none_or(|extension| extension != "gz") {
        return std::fs::write(path, profile);
    }
    let mut packed = GzEncoder::new(File::create(path)?, Compression::default());
    packed.write_all(profile)?;
    packed.finish()?.flush()
}

/// A profile does not say which process did what.
pub(super) fn reject_choice(args: &ConvertArgs) -> Result<(), Problem> {
    if args.pid.is_none() && args.process.is_none() {
        return Ok(());
    }
    let what = format!("{} is a profile, which keeps no processes apart", args.trace.display());
    Err(Problem::new(what, "remove --pid and --process"))
}

/// A ring and a snapshot have sums of stacks only; other traces can be asked for more.
fn without_threads(args: &ConvertArgs, trace: &Opened) -> Result<Option<Sampled>> {
    let part = args.part.range();
    if let Some(sums) = &trace.profile {
        part.reject(&args.trace, "a profile")?;
        reject_choice(args)?;
        if !sums.knows(Measure::Allocated) && !sums.knows(Measure::Leaked) {
            let what = format!("{} has only who held the heap at its peak", args.trace.display());
            let hint =
                "pprof and otlp have what was allocated and what is live: use --to folded or speedscope";
            return Err(Problem::new(what, hint).into());
        }
        return Ok(Some(of_answer(sums.answer.clone())));
    }
    let of_snapshot = snapshot::is_one(&**trace).then(|| snapshot::analyze(&**trace).into_iter().next());
    if let Some(snapshot) = of_snapshot.flatten() {
        part.reject(&args.trace, "a snapshot")?;
        return Ok(Some(of_answer(snapshot.to_answer())));
    }
    let session = trace.recording().session();
    if session.window_mono_ns > session.begin_mono_ns && !part.is_any() {
        let options = Options { splits_processes: true, ..Options::default() };
        return Ok(Some(of_answer(trace.analyze_with(&choice(args), &options)?)));
    }
    Ok(None)
}

fn of_answer(answer: Answer) -> Sampled {
    let sample = |stack: &heapscribe_analyze::answer::Stack| StackSample {
        process: process_labels::process(&answer.tree, stack.node).unwrap_or(0),
        thread: None,
        node: stack.node,
        allocated: stack.allocated,
        live: stack.leaked,
    };
    let none = [Amount::default(); 2];
    let samples = answer.stacks.iter().map(sample).filter(|of| [of.allocated, of.live] != none);
    let mut samples: Vec<_> = samples.collect();
    samples.sort_by_key(|sample| (sample.process, sample.node));
    let samples = StackSamples { tree: answer.tree.clone(), samples, problems: Vec::new() };
    Sampled { samples, begin_ns: 0, duration_ns: answer.duration_ns, missing: answer }
}
