//! The Python wheel: `pip install` puts the program where Python's programs are, and a module
//! that finds it beside. A wheel is a zip file with a list of its files and their sums; the format is that of
//! <https://packaging.python.org/en/latest/specifications/binary-distribution-format/>.

use std::path::Path;

use super::made::Made;
use super::tool::{self, read};
use super::zip::Zip;
use crate::sources::root;

/// The modules of `python/heapscribe`.
const MODULES: &[&str] =
    &["__init__.py", "__main__.py", "answers.py", "limits.py", "pytest_plugin.py", "recorded.py"];

/// Who finds the plugin: pytest, by this list.
const ENTRY_POINTS: &str = "[pytest11]\nheapscribe = heapscribe.pytest_plugin\n";

/// A file of the wheel.
struct Member {
    name: String,
    bytes: Vec<u8>,
    mode: u32,
}

/// Writes it.
pub(super) fn write(made: &Made, folder: &Path) -> Result<(), String> {
    let platform = made.requires.platform()?;
    let stem = format!("heapscribe-{}", made.version);
    let mut members = members(made, &stem, &platform)?;
    let record = format!("{stem}.dist-info/RECORD");
    let list = record_of(&members, folder)? + &format!("{record},,\n");
    members.push(Member { name: record, bytes: list.into_bytes(), mode: 0o644 });
    let mut zip = Zip::new(made.epoch);
    for member in &members {
        zip.add(&member.name, &member.bytes, member.mode)?;
    }
    tool::write(&folder.join(format!("{stem}-py3-none-{platform}.whl")), &zip.finish()?)
}

fn members(made: &Made, stem: &str, platform: &str) -> Result<Vec<Member>, String> {
    let member = |name: String, bytes: Vec<u8>| Member { name, bytes, mode: 0o644 };
    let mut members = Vec::new();
    for module in MODULES {
        let bytes = read(&root().join("python/heapscribe").join(module))?;
        members.push(member(format!("heapscribe/{module}"), bytes));
    }
    for file in &made.content.files {
        let place = if file.is_program {
            format!("{stem}.data/scripts/{}", file.path.trim_start_matches("bin/"))
        } else {
            format!("{stem}.data/data/{}", file.path)
        };
        let mode = if file.is_program { 0o755 } else { 0o644 };
        members.push(Member { name: place, bytes: file.bytes.clone(), mode });
    }
    let info = |name: &str| format!("{stem}.dist-info/{name}");
    members.push(member(info("METADATA"), metadata(made)?.into_bytes()));
    members.push(member(info("entry_points.txt"), ENTRY_POINTS.as_bytes().to_vec()));
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: heapscribe xtask\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n"
    );
    members.push(member(info("WHEEL"), wheel.into_bytes()));
    Ok(members)
}

fn metadata(made: &Made) -> Result<String, String> {
    let readme = String::from_utf8_lossy(&read(&root().join("python/README.md"))?).into_owned();
    Ok(format!(
        "Metadata-Version: 2.1\n\
         Name: heapscribe\n\
         Version: {}\n\
         Summary: A flight recorder for the heap of Linux programs\n\
         License: MIT OR Apache-2.0\n\
         Project-URL: Homepage, https://github.com/heapscribe/heapscribe\n\
         Classifier: Operating System :: POSIX :: Linux\n\
         Classifier: Topic :: Software Development :: Testing\n\
         Classifier: Framework :: Pytest\n\
         Requires-Python: >=3.8\n\
         Description-Content-Type: text/markdown\n\n{readme}",
        made.version
    ))
}

/// A line for each file: name, sum, length.
fn record_of(members: &[Member], folder: &Path) -> Result<String, String> {
    let scratch = folder.join("wheel-member");
    let mut lines = String::new();
    for member in members {
        tool::write(&scratch, &member.bytes)?;
        let printed = tool::output(tool::command("sha256sum").arg(&scratch))?;
        let sum = base64(&digest(&printed).ok_or_else(|| format!("sha256sum printed {printed:?}"))?);
        lines.push_str(&format!("{},sha256={sum},{}\n", member.name, member.bytes.len()));
    }
    std::fs::remove_file(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    Ok(lines)
}

/// The bytes of a sum that is printed in hexadecimal digits.
fn digest(printed: &str) -> Option<Vec<u8>> {
    let digits = printed.get(..64)?;
    (0..32).map(|i| u8::from_str_radix(digits.get(2 * i..2 * i + 2)?, 16).ok()).collect()
}

/// Base64 for URLs, without padding, as RECORD has it.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for part in bytes.chunks(3) {
        let word =
            part.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        for letter in 0..=part.len() {
            out.push(char::from(LETTERS[(word >> (18 - 6 * letter) & 63) as usize]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_each_length() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(base64(bytes), expected);
        check(b"", "");
        check(b"f", "Zg");
        check(b"fo", "Zm8");
        check(b"foo", "Zm9v");
        check(&[0xfb, 0xff, 0xfe, 0xff], "-__-_w");
    }

    #[test]
    fn digests_are_read() {
        let printed = format!("{}  file\n", "0f".repeat(32));
        assert_eq!(digest(&printed), Some(vec![15; 32]));
        assert_eq!(digest("sha256sum: no"), None);
    }

    /// A module that is not on the list would be missing only where somebody installs the wheel.
    #[test]
    fn every_module_is_in_the_wheel() {
        let mut there: Vec<String> = std::fs::read_dir(root().join("python/heapscribe"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".py"))
            .collect();
        let mut listed = MODULES.to_vec();
        there.sort();
        listed.sort_unstable();
        assert_eq!(there, listed);
    }
}
