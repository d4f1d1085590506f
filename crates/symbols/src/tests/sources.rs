//! Debug information wherever it may be: inside a stripped file, split by the compiler, shared by `dwz`, at debuginfod.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use super::*;
use crate::Debuginfod;
use crate::debuginfod::of_client;

/// Whether a tool is there; what needs it is skipped otherwise.
fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        skip(&format!("{tool} is not installed"));
    }
    found
}

/// Reports that a test is skipped and why, also in the log that CI lists at its end.
pub(super) fn skip(why: &str) {
    println!("skipped: {why}");
    let Some(log) = std::env::var_os("HEAPSCRIBE_SKIPPED_LOG") else { return };
    let test = std::thread::current().name().unwrap_or("a thread of a test").to_owned();
    let log = std::fs::File::options().append(true).create(true).open(log);
    let line = format!("heapscribe_symbols::{test}: {why}\n");
    log.and_then(|mut log| log.write_all(line.as_bytes())).expect("the log of skipped tests can be written");
}

fn function_at(names: &Names, address: u64) -> Option<&str> {
    names.at(address).last().and_then(|frame| frame.function.as_deref())
}

impl Program {
    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn names_by(&self, debuginfod: Debuginfod, addresses: &[u64]) -> Names {
        let resolver = Resolver::new(self.file("debug")).with_debuginfod(debuginfod);
        resolver.resolve(&[(self.module(), addresses.to_vec())]).remove(0)
    }

    /// A client of debuginfod that does this.
    fn client(&self, script: &str) -> Debuginfod {
        let path = self.file("debuginfod-find");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        of_client(path, self.file("cache"), Duration::from_secs(2))
    }

    /// Moves the debug information away; where it is then.
    fn move_debug_info(&self) -> PathBuf {
        self.split_debug("moved");
        self.objcopy(&["--strip-all", "program"]);
        self.file("moved")
    }
}

#[test]
fn functions_of_mini_debug_info() {
    if !has("xz") {
        return;
    }
    let program = Program::c();
    let range = program.function("outer");
    program.split_debug("mini");
    program.objcopy(&["--strip-debug", "mini"]);
    run(Command::new("xz").arg(program.file("mini")));
    program.objcopy(&["--strip-all", "program"]);
    assert_eq!(program.names(program.module(), &all(range)).frames.len(), 0);
    program.objcopy(&["--add-section", ".gnu_debugdata=mini.xz", "program"]);
    let names = program.names(program.module(), &all(range));
    assert_eq!(names.failure, Some(LookupFailure::NoDebugInfo));
    assert_eq!(function_at(&names, range.0 + 1), Some("outer"));
}

#[test]
fn split_debug_information_in_objects_and_in_a_package() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let flags = ["-g", version, "-gsplit-dwarf", "-O1", "-Wl,--build-id"];
        let program = Program::compile(C, "program.c", "cc", &flags);
        check_c(&program, program.function("outer"));
        // That of binutils 2.40 dies of the newer version.
        let packer = if version == "-gdwarf-5" { "llvm-dwp" } else { "dwp" };
        if !has(packer) {
            continue;
        }
        run(Command::new(packer)
            .args(["-e", "program", "-o", "program.dwp"])
            .current_dir(program.dir.path()));
        for entry in std::fs::read_dir(program.dir.path()).unwrap().map(Result::unwrap) {
            if entry.path().extension().is_some_and(|extension| extension == "dwo") {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        check_c(&program, program.function("outer"));
    }
}

/// Who opens one waits for a writer that never comes.
#[test]
fn pipes_in_place_of_split_debug_information() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let flags = ["-g", version, "-gsplit-dwarf", "-O1", "-Wl,--build-id"];
        let program = Program::compile(C, "program.c", "cc", &flags);
        let objects: Vec<_> = std::fs::read_dir(program.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "dwo"))
            .collect();
        assert_eq!(objects.len(), 1);
        for pipe in [&objects[0], &program.file("program.dwp")] {
            let _ = std::fs::remove_file(pipe);
            run(Command::new("mkfifo").arg(pipe));
            let names = program.names(program.module(), &all(program.function("outer")));
            assert_eq!(function_at(&names, program.function("outer").0 + 1), Some("outer"));
            std::fs::remove_file(pipe).unwrap();
        }
    }
}

#[test]
fn what_dwz_shares_between_files() {
    if !has("dwz") {
        return;
    }
    let program = Program::c();
    let range = program.function("outer");
    std::fs::copy(&program.path, program.file("other")).unwrap();
    let common = ["-m", "common", "-M", "common", "program", "other"];
    let shared = Command::new("dwz").args(common).current_dir(program.dir.path()).output().unwrap();
    assert!(shared.status.success(), "{shared:?}");
    if !program.file("common").exists() {
        skip("dwz found nothing to share");
        return;
    }
    check_c(&program, range);
    // A pipe in its place is not waited for: names that are not in it are still there.
    std::fs::remove_file(program.file("common")).unwrap();
    run(Command::new("mkfifo").arg(program.file("common")));
    let names = program.names(program.module(), &all(range));
    assert_eq!(names.frames.len(), all(range).len());
}

#[test]
fn what_debuginfod_has_fetched_before() {
    let program = Program::c();
    let range = program.function("outer");
    let moved = program.move_debug_info();
    let hex: String = program.module().build_id.iter().map(|b| format!("{b:02x}")).collect();
    let cached = program.file("cache").join(hex);
    std::fs::create_dir_all(&cached).unwrap();
    std::fs::copy(moved, cached.join("debuginfo")).unwrap();
    let names = program.names_by(program.client("exit 1"), &all(range));
    assert_eq!((names.failure.as_ref(), function_at(&names, range.0 + 1)), (None, Some("outer")));
}

#[test]
fn what_debuginfod_fetches_when_it_is_asked() {
    let program = Program::c();
    let range = program.function("outer");
    let moved = program.move_debug_info();
    let client = format!("[ $1 = debuginfo ] && echo $2 > {0}.asked && echo {0}", moved.display());
    let names = program.names_by(program.client(&client), &all(range));
    assert_eq!((names.failure.as_ref(), function_at(&names, range.0 + 1)), (None, Some("outer")));
    let hex: String = program.module().build_id.iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(std::fs::read_to_string(program.file("moved.asked")).unwrap().trim(), hex);
    // Another program's debug information is none, and no server is none.
    for script in ["echo /bin/true", "echo nothing", "exit 1", "kill -9 $$"] {
        let names = program.names_by(program.client(script), &all(range));
        assert_eq!((names.failure, names.frames.len()), (Some(LookupFailure::NoDebugInfo), 0), "{script}");
    }
}

#[test]
fn a_server_that_never_answers_is_asked_once() {
    let program = Program::c();
    let range = program.function("outer");
    program.move_debug_info();
    // The output stays open in a child of the client's, too.
    let asked = program.file("asked");
    let client = program.client(&format!("echo >> {}; sleep 20 & sleep 20", asked.display()));
    let resolver = Resolver::new(program.file("debug")).with_debuginfod(client);
    for _ in 0..3 {
        let names = resolver.resolve(&[(program.module(), all(range))]).remove(0);
        assert_eq!(names.failure, Some(LookupFailure::NoDebugInfo));
    }
    assert_eq!(std::fs::read_to_string(asked).unwrap(), "\n");
}
