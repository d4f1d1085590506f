//! How files of further processes are called: `run.ctf` is that of the program that was started, in what it
//! became last; `run.4711.ctf` that of process 4711, and `run.4711.2.ctf` a second one that it was.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A name in the directory of the output for the file of a process, that no file of this recording has.
pub(super) fn other(output: &Path, pid: u32, used: &HashSet<PathBuf>) -> PathBuf {
    let stem = output.file_stem().unwrap_or_default().to_string_lossy();
    let ending = output.extension().map(|e| format!(".{}", e.to_string_lossy())).unwrap_or_default();
    let name = |number: u64| match number {
        1 => output.with_file_name(format!("{stem}.{pid}{ending}")),
        number => output.with_file_name(format!("{stem}.{pid}.{number}{ending}")),
    };
    (1..).map(name).find(|path| !used.contains(path)).unwrap_or_else(|| name(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_a_name() {
        let mut used = HashSet::new();
        for (output, name) in [
            ("out/run.ctf", "out/run.7.ctf"),
            ("out/run.ctf", "out/run.7.2.ctf"),
            ("out/run.ctf", "out/run.7.3.ctf"),
            ("run", "run.7"),
            ("a.b.ctf", "a.b.7.ctf"),
        ] {
            let path = other(Path::new(output), 7, &used);
            assert_eq!(path, Path::new(name));
            used.insert(path);
        }
    }
}
