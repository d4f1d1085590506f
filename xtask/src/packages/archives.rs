//! The tarball and the Debian package, written by `tar` and `dpkg-deb`. Owner, order and times are fixed: the
//! same sources and compiler give the same bytes.

use std::fs;
use std::path::Path;

use super::made::Made;
use super::tool::{self, write};

/// `heapscribe-VERSION-x86_64-linux.tar.gz`: one folder, to be unpacked anywhere.
pub(super) fn tarball(made: &Made, folder: &Path) -> Result<(), String> {
    let name = format!("heapscribe-{}-x86_64-linux", made.version);
    let stage = folder.join(&name);
    made.content.stage(&stage)?;
    let mut tar = tool::command("tar");
    tar.args([
        "--create",
        "--gzip",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--format=gnu",
    ]);
    tar.arg(format!("--mtime=@{}", made.epoch)).arg("--file").arg(format!("{name}.tar.gz")).arg(&name);
    // gzip's own time and name would differ.
    tool::output(tar.env("GZIP", "-9n").current_dir(folder))?;
    fs::remove_dir_all(&stage).map_err(|e| format!("{}: {e}", stage.display()))
}

/// `heapscribe_VERSION_amd64.deb`.
pub(super) fn deb(made: &Made, folder: &Path) -> Result<(), String> {
    let stage = folder.join("deb");
    made.content.stage(&stage.join("usr"))?;
    let control = stage.join("DEBIAN");
    fs::create_dir_all(&control).map_err(|e| format!("{}: {e}", control.display()))?;
    write(&control.join("control"), control_file(made).as_bytes())?;
    let mut paths: Vec<&str> = made.content.files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    let sums = tool::output(
        tool::command("md5sum").args(paths.iter().map(|path| format!("usr/{path}"))).current_dir(&stage),
    )?;
    write(&control.join("md5sums"), sums.as_bytes())?;
    let name = format!("heapscribe_{}_amd64.deb", made.version);
    let mut build = tool::command("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "--build", "deb", &name]).current_dir(folder);
    tool::output(build.env("SOURCE_DATE_EPOCH", made.epoch.to_string()))?;
    fs::remove_dir_all(&stage).map_err(|e| format!("{}: {e}", stage.display()))
}

fn control_file(made: &Made) -> String {
    let bytes: usize = made.content.files.iter().map(|file| file.bytes.len()).sum();
    format!(
        "Package: heapscribe\n\
         Version: {}\n\
         Architecture: amd64\n\
         Maintainer: The heapscribe developers <heapscribe@users.noreply.github.com>\n\
         Installed-Size: {}\n\
         Depends: {}\n\
         Section: devel\n\
         Priority: optional\n\
         Homepage: https://github.com/heapscribe/heapscribe\n\
         Description: flight recorder for the heap of Linux programs\n \
         heapscribe records every heap allocation of a program, with its call\n \
         stack, size, time and age, and says what made the peak, what leaked and\n \
         what lived only for a moment. Programs run unchanged.\n",
        made.version,
        bytes.div_ceil(1024),
        made.requires.debian(),
    )
}
