//! Runs the program in a directory of its own and shows what a user would see.

use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

/// A directory with files in it, in which the program is run.
pub(crate) struct Place {
    dir: TempDir,
}

impl Place {
    /// With these bytes as `run.hst`.
    pub(crate) fn with_trace(bytes: &[u8]) -> Place {
        let place = Place { dir: tempfile::tempdir().unwrap() };
        std::fs::write(place.path("run.hst"), bytes).unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn run(&self, arguments: &str) -> std::process::Output {
        self.run_in([("LC_ALL", "C.UTF-8"), ("COLUMNS", "100")], arguments)
    }

    /// Standard output in a locale.
    pub(crate) fn stdout_in(&self, locale: &str, arguments: &str) -> String {
        let output = self.run_in([("LC_ALL", locale), ("COLUMNS", "100")], arguments);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The lines of standard output where there are so many columns.
    pub(crate) fn lines_of(&self, columns: &str, arguments: &str) -> Vec<String> {
        let output = self.run_in([("LC_ALL", "C.UTF-8"), ("COLUMNS", columns)], arguments);
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    fn run_in(&self, environment: [(&str, &str); 2], arguments: &str) -> std::process::Output {
        let mut command = Command::cargo_bin("heapscribe").unwrap();
        command.current_dir(self.dir.path()).envs(environment).env_remove("RUST_BACKTRACE");
        command.args(arguments.split_whitespace()).output().unwrap()
    }

    /// Standard output of a run that ends well.
    pub(crate) fn stdout(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stderr.is_empty(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Exit code and standard error.
    pub(crate) fn failure(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let code = output.status.code().unwrap();
        format!("{}exit code {code}", String::from_utf8(output.stderr).unwrap())
    }

    /// Everything, of a run that may end in any way.
    pub(crate) fn all(&self, arguments: &str) -> (Option<i32>, String, String) {
        let output = self.run(arguments);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }
}

/// The text of a file that the program wrote.
pub(crate) fn file(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
