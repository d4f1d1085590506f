//! A place where programs run, each time the same: an empty directory with what was prepared, a small
//! environment, streams into files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::answer::{self, Answer};
use super::list::Program;
use super::process;

/// What all programs have in their environment: what depends on hash seeds, clocks or the terminal is the same.
const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games:/usr/lib/postgresql/15/bin",
    ),
    ("LC_ALL", "C.UTF-8"),
    ("TZ", "UTC"),
    ("TERM", "dumb"),
    ("COLUMNS", "100"),
    ("USER", "root"),
    ("LOGNAME", "root"),
    ("PYTHONHASHSEED", "0"),
    ("PERL_HASH_SEED", "0"),
    ("SOURCE_DATE_EPOCH", "1700000000"),
];

/// How long preparations may take.
const PREPARATION: Duration = Duration::from_secs(120);

/// The place. It is removed in the end.
pub(super) struct Scratch {
    place: PathBuf,
    sources: PathBuf,
    heapscribe: PathBuf,
}

/// What stands before a program's command.
pub(super) enum Before<'a> {
    Nothing,
    /// `heapscribe` and these arguments. `{trace}` is where the trace belongs.
    Heapscribe(&'a [&'a str]),
}

impl Scratch {
    pub(super) fn new(place: &Path, sources: &Path, heapscribe: PathBuf) -> Result<Scratch, String> {
        let scratch = Scratch { place: place.to_owned(), sources: sources.to_owned(), heapscribe };
        fs::create_dir_all(place).map_err(|e| format!("{}: {e}", place.display()))?;
        Ok(scratch)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    pub(super) fn trace(&self) -> PathBuf {
        self.path("trace.hst")
    }

    pub(super) fn heapscribe(&self) -> Command {
        Command::new(&self.heapscribe)
    }

    /// Makes what the program needs, once for all its runs.
    pub(super) fn prepare(&self, program: &Program) -> Result<(), String> {
        let prepared = self.path("prepared");
        self.compile_and_prepare(program, &prepared).map_err(|e| format!("it can not be prepared: {e}"))
    }

    fn compile_and_prepare(&self, program: &Program, prepared: &Path) -> io::Result<()> {
        let _ = fs::remove_dir_all(prepared);
        fs::create_dir_all(prepared)?;
        if let Some(source) = &program.source {
            let mut compiler = Command::new(if source.ends_with(".cpp") { "c++" } else { "cc" });
            compiler.args(["-O1", "-g", "-pthread", "-o", "p"]).arg(self.sources.join(source));
            self.prepared(compiler.args(&program.flags).current_dir(prepared))?;
        }
        if let Some(line) = &program.prepare {
            let mut shell = Command::new("sh");
            shell.args(["-ec", line]).env("SPECIAL", &self.sources);
            self.set_up(&mut shell, program, prepared);
            self.prepared(&mut shell)?;
        }
        process::end_survivors(&self.place);
        Ok(())
    }

    /// Runs a step of the preparation.
    fn prepared(&self, command: &mut Command) -> io::Result<()> {
        let (out, err) = (File::create(self.path("out"))?, File::create(self.path("err"))?);
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        match process::run(command, PREPARATION)? {
            answer::End::Code(0) => Ok(()),
            end => {
                let said = fs::read(self.path("err"))?;
                let said = String::from_utf8_lossy(&said);
                Err(io::Error::other(format!("{end:?}: {}", said.lines().last().unwrap_or("no word"))))
            }
        }
    }

    fn set_up(&self, command: &mut Command, program: &Program, directory: &Path) {
        command.env_clear().envs(ENVIRONMENT.iter().copied()).current_dir(directory);
        command.env("HOME", directory).env("TMPDIR", directory).env(process::MARK, &self.place);
        command.env("SPECIAL", &self.sources);
        command.envs(program.environment.iter().map(|(name, value)| (name, value)));
    }

    /// Runs the program once.
    pub(super) fn run(&self, program: &Program, before: &Before<'_>, limit: Duration) -> io::Result<Answer> {
        let work = self.path("work");
        let _ = fs::remove_dir_all(&work);
        let mut copy = Command::new("cp");
        if !copy.arg("-a").arg(self.path("prepared")).arg(&work).status()?.success() {
            return Err(io::Error::other("what was prepared can not be copied"));
        }
        let mut command = self.command(program, before);
        self.set_up(&mut command, program, &work);
        let stdin = program.stdin.as_ref().map_or_else(|| "/dev/null".into(), |file| work.join(file));
        command.stdin(File::open(stdin)?);
        command.stdout(File::create(self.path("out"))?).stderr(File::create(self.path("err"))?);
        let begin = Instant::now();
        let end = process::run(&mut command, limit)?;
        let took = begin.elapsed();
        process::end_survivors(&self.place);
        let (stdout, stderr) = (fs::read(self.path("out"))?, fs::read(self.path("err"))?);
        Ok(Answer { end, took, stdout, stderr, files: answer::files(&work)? })
    }

    fn command(&self, program: &Program, before: &Before<'_>) -> Command {
        let Before::Heapscribe(arguments) = before else {
            let mut command = Command::new(&program.command[0]);
            command.args(&program.command[1..]);
            return command;
        };
        let trace = self.trace();
        let _ = fs::remove_file(&trace);
        let _ = fs::remove_dir_all(self.path("trace.hst.ring"));
        let mut command = self.heapscribe();
        for &argument in *arguments {
            if argument == "{trace}" {
                command.arg(&trace)
            } else {
                command.arg(argument)
            };
        }
        command.arg("--").args(&program.command);
        command
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        process::end_survivors(&self.place);
        let _ = fs::remove_dir_all(&self.place);
    }
}
