//! Programs that were compiled already in this run of the tests: a hundred of them are of the same source and flags as
//! another test's, and compiling those took half a minute of CPU.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use super::sources;

/// Compiler, source and flags.
type Key = (String, String, Vec<String>);

/// Where it was compiled to, once it was; the name of the file is its number.
struct Compiled {
    number: usize,
    program: OnceLock<PathBuf>,
}

static COMPILED: LazyLock<Mutex<HashMap<Key, Arc<Compiled>>>> = LazyLock::new(Mutex::default);

/// Compiles a source to this file, or copies what was compiled before.
pub(super) fn compile(compiler: &str, source: &str, flags: &[&str], output: &Path) {
    let key = (compiler.to_owned(), source.to_owned(), flags.iter().map(|flag| (*flag).to_owned()).collect());
    let compiled = {
        let mut all = COMPILED.lock().unwrap();
        let number = all.len();
        all.entry(key).or_insert_with(|| Arc::new(Compiled { number, program: OnceLock::new() })).clone()
    };
    let program = compiled.program.get_or_init(|| {
        let program = directory().join(compiled.number.to_string());
        let mut command = Command::new(compiler);
        command.args(["-O1", "-g", "-w", "-fno-builtin", "-pthread", "-o"]).arg(&program).args(flags);
        let status = command.arg(sources().join(source)).status().unwrap();
        assert!(status.success(), "{source} can not be compiled");
        program
    });
    // By another program: one that this process has open for writing cannot be started, and children that other
    // threads start have it open, too, for a moment.
    let status = Command::new("cp").arg(program).arg(output).status().unwrap();
    assert!(status.success(), "{} can not be copied", program.display());
}

/// Where they are. What runs that have ended have left goes.
fn directory() -> &'static Path {
    static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
        fs::create_dir_all(&all).unwrap();
        let is_left = |path: &PathBuf| !Path::new("/proc").join(path.file_name().unwrap()).exists();
        let runs = fs::read_dir(&all).unwrap().flatten().map(|run| run.path());
        for left in runs.filter(is_left) {
            let _ = fs::remove_dir_all(left);
        }
        let own = all.join(std::process::id().to_string());
        let _ = fs::create_dir(&own);
        own
    });
    &DIRECTORY
}
