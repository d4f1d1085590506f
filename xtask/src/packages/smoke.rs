//! Each package as somebody installs it who has nothing of ours: in a Debian that was just made by
//! `debootstrap`, with the network away, README's first commands are typed. The root folder is in a name space
//! of its own (`unshare`), so that nothing stays mounted. As that needs root, it is said to be skipped otherwise.

use std::fs;
use std::path::{Path, PathBuf};

use super::tool::{self, target};
use crate::skipped;

/// What is typed once the program is there: README's first command, and a report that counts its blocks. An
/// error of any line ends it.
const FIRST_COMMANDS: &str = "\
cd \"$DOC/docs/programs\"
heapscribe --version
heapscribe record -q -o /tmp/words.hst -- perl count.pl /usr/share/common-licenses/GPL-3
heapscribe report /tmp/words.hst | grep -q 'Heap of: perl count.pl'
heapscribe report /tmp/words.hst | grep '^Peak: '
heapscribe check /tmp/words.hst --max-peak 1GiB | tail -n 1
rm /tmp/words.hst
";

/// A package, the packages of Debian that it is installed with, and how.
struct Trial {
    what: &'static str,
    ends_with: &'static str,
    install: &'static str,
}

const TRIALS: &[Trial] = &[
    Trial {
        what: "Debian package",
        ends_with: ".deb",
        install: "\
dpkg -i /packages/heapscribe_*_amd64.deb
cargo-heapscribe heapscribe --version
test -s /usr/share/man/man1/heapscribe-record.1.gz
DOC=/usr/share/doc/heapscribe
",
    },
    Trial {
        what: "tarball",
        ends_with: ".tar.gz",
        install: "\
(cd /packages && sha256sum --check --quiet SHA256SUMS)
mkdir -p /opt && tar -xzf /packages/heapscribe-*-x86_64-linux.tar.gz -C /opt
PATH=$(echo /opt/heapscribe-*/bin):$PATH
DOC=$(echo /opt/heapscribe-*/share/doc/heapscribe)
",
    },
    Trial {
        what: "Python wheel",
        ends_with: ".whl",
        install: "\
python3 -m venv /opt/venv
/opt/venv/bin/pip install --quiet --no-index /packages/heapscribe-*.whl
PATH=/opt/venv/bin:$PATH
python3 -m heapscribe --version
DOC=/opt/venv/share/doc/heapscribe
",
    },
];

/// Installs each.
pub(super) fn all(packages: &Path) -> Result<(), String> {
    if let Some(why) = lacking() {
        skipped::note("packages --smoke", &why);
        return Ok(());
    }
    let root = clean_root()?;
    for trial in TRIALS {
        one(trial, &root, packages).map_err(|e| format!("{}: {e}", trial.what))?;
    }
    container(packages)
}

/// Why no clean root can be made here.
fn lacking() -> Option<String> {
    let is_root = tool::output(tool::command("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !is_root {
        return Some("not root, who alone can make a clean root".to_owned());
    }
    let missing =
        ["debootstrap", "unshare", "chroot"].into_iter().find(|name| !tool::exists(name) && !in_sbin(name));
    missing.map(|name| format!("{name} is not there"))
}

fn in_sbin(name: &str) -> bool {
    Path::new("/usr/sbin").join(name).is_file()
}

/// A Debian with nothing but its essential packages and Python, which is made once and copied for each.
fn clean_root() -> Result<PathBuf, String> {
    let root =
        std::env::var_os("HEAPSCRIBE_CLEAN_ROOT").map_or_else(|| target().join("clean-root"), PathBuf::from);
    if root.join("usr/bin/python3").exists() {
        return Ok(root);
    }
    println!("making a clean root in {}", root.display());
    let partial = root.with_extension("partial");
    let _ = fs::remove_dir_all(&partial);
    let mut make = tool::command("debootstrap");
    make.args(["--variant=minbase", "--include=python3,python3-venv", "bookworm"]).arg(&partial);
    tool::output(make.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"))?;
    fs::rename(&partial, &root).map_err(|e| format!("{}: {e}", root.display()))?;
    Ok(root)
}

fn one(trial: &Trial, clean: &Path, packages: &Path) -> Result<(), String> {
    let root = target().join("smoke-root");
    let _ = fs::remove_dir_all(&root);
    tool::output(tool::command("cp").args(["-a", "--reflink=auto"]).arg(clean).arg(&root))?;
    let inside = root.join("packages");
    fs::create_dir(&inside).map_err(|e| format!("{}: {e}", inside.display()))?;
    tool::output(tool::command("cp").arg("-a").arg(packages.join(".")).arg(&inside))?;
    let script = format!("set -eu\n{}export PATH DOC\n{FIRST_COMMANDS}", trial.install);
    let printed = enter(&root, &script);
    let _ = fs::remove_dir_all(&root);
    println!("{} ({}): installed in a clean root", trial.what, trial.ends_with);
    printed?.lines().for_each(|line| println!("    {line}"));
    Ok(())
}

/// Runs a script in a root of its own, without a network, without what we have in the environment.
fn enter(root: &Path, script: &str) -> Result<String, String> {
    let mount = "mount -t proc proc \"$0/proc\" && mount -t tmpfs tmpfs \"$0/tmp\" && exec chroot \"$0\" /bin/sh -c \"$1\"";
    let mut shell = tool::command("unshare");
    shell.args(["--mount", "--net", "--pid", "--fork", "sh", "-c", mount]).arg(root).arg(script).env_clear();
    shell.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root");
    tool::output(&mut shell)
}

/// The container's recipe, where there is somebody who builds containers.
fn container(packages: &Path) -> Result<(), String> {
    if tool::output(tool::command("docker").arg("info")).is_err() {
        skipped::note("packages --smoke: container", "no docker that answers");
        return Ok(());
    }
    let tag = "heapscribe:smoke";
    tool::output(
        tool::command("docker").args(["build", "--quiet", "--tag", tag, "."]).current_dir(packages),
    )?;
    let record = ["run", "--rm", tag, "record", "-q", "-o", "/tmp/ls.hst", "--", "ls", "-l", "/usr"];
    tool::output(tool::command("docker").args(record))?;
    println!("container: built, and records");
    Ok(())
}
