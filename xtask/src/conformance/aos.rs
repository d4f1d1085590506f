//! AOS's message logs: what `flatc` says of every record of the real packers, parts through the real encoders,
//! and the same records written by us, to the byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::check::{Check, Place};
use super::run::{Ran, run};

const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn check(place: &Place<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for year in ["2022", "2024"] {
        match Year::read(place, year) {
            Ok(of_year) => of_year.check(&mut checks),
            Err(why) => checks.push(Check::new(format!("layout {year}"), Err(why))),
        }
    }
    checks
}

/// Everything of one layout.
struct Year<'a> {
    place: &'a Place<'a>,
    year: &'static str,
    /// What flatc reads in each record, by its name.
    expected: BTreeMap<String, Value>,
    scratch: Scratch,
}

/// A folder that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Scratch, String> {
        let path = std::env::temp_dir().join(format!("heapscribe-conformance.{}.{name}", std::process::id()));
        fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Scratch(path))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

impl<'a> Year<'a> {
    fn read(place: &'a Place<'a>, year: &'static str) -> Result<Year<'a>, String> {
        let scratch = Scratch::new(year)?;
        let archive = place.folder.join(format!("json-{year}.tar.xz"));
        let ran = run(Path::new("tar"), &["-xJf", text(&archive), "-C", text(&scratch.0)], LIMIT)?;
        if ran.code != Some(0) {
            return Err(format!("tar -xJf {}: {}", archive.display(), ran.stderr.trim()));
        }
        let folder = scratch.path(&format!("json-{year}"));
        let mut expected = BTreeMap::new();
        for entry in fs::read_dir(&folder).map_err(|e| e.to_string())?.flatten() {
            let name = entry.file_name().to_string_lossy().trim_end_matches(".json").to_owned();
            let json = fs::read(entry.path()).map_err(|e| e.to_string())?;
            expected.insert(name, serde_json::from_slice(&json).map_err(|e| e.to_string())?);
        }
        Ok(Year { place, year, expected, scratch })
    }

    fn check(&self, checks: &mut Vec<Check>) {
        let mut push = |name: String, outcome| checks.push(Check::new(name, outcome));
        let layout = self.place.folder.join(format!("layout-{}", self.year));
        for vector in vectors(&layout) {
            let name = vector.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let expected = self.expected.get(&name).ok_or_else(|| "no JSON of it".to_owned());
            let alike =
                expected.and_then(|expected| self.reads_alike(&vector, std::slice::from_ref(expected)));
            push(format!("{} {name} read", self.year), alike);
            push(format!("{} {name} written", self.year), self.writes_alike(&vector));
        }
        match self.typical() {
            Ok(typical) => {
                for file in self.parts() {
                    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    push(format!("{} {name} read", self.year), self.reads_alike(&file, &typical));
                    push(format!("{} {name} written", self.year), self.writes_part_alike(&file));
                }
            }
            Err(why) => push(format!("{} parts", self.year), Err(why)),
        }
    }

    /// What flatc says of the records that are in the parts, in their order.
    fn typical(&self) -> Result<Vec<Value>, String> {
        let path = self.place.folder.join(format!("layout-{}/manifest.tsv", self.year));
        let manifest = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let names = manifest.lines().filter_map(|line| line.split('\t').next()?.strip_suffix(".bin"));
        let typical = names.filter(|name| name.contains(".typical"));
        typical.map(|name| self.expected.get(name).cloned().ok_or(format!("no JSON of {name}"))).collect()
    }

    fn parts(&self) -> Vec<PathBuf> {
        let mut parts = vec![self.place.folder.join(format!("layout-{}/all_typical.stream", self.year))];
        for folder in ["parts", "encoded"] {
            let entries = fs::read_dir(self.place.folder.join(folder)).into_iter().flatten().flatten();
            let begins = format!("part0.{}.bfbs", self.year);
            let of_year = |path: &PathBuf| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begins))
            };
            parts.extend(entries.map(|entry| entry.path()).filter(of_year));
        }
        parts.sort();
        parts
    }

    fn run(&self, args: &[&str]) -> Result<Ran, String> {
        let ran = run(self.place.program, args, LIMIT)?;
        match ran.code {
            Some(0) => Ok(ran),
            code => Err(format!("exit code {code:?}: {}", ran.stderr.trim())),
        }
    }

    fn dump(&self, file: &Path) -> Result<Vec<u8>, String> {
        Ok(self.run(&["dump", "--json", "--layout", self.year, text(file)])?.stdout)
    }

    fn reads_alike(&self, file: &Path, expected: &[Value]) -> Result<(), String> {
        let lines = self.dump(file)?;
        let lines: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        if lines.len() != expected.len() {
            return Err(format!("{} messages, should be {}", lines.len(), expected.len()));
        }
        for (n, (line, expected)) in lines.iter().zip(expected).enumerate() {
            let ours: Value = serde_json::from_slice(line).map_err(|e| e.to_string())?;
            if ours != *expected {
                return Err(format!("message {n} is {ours}, should be {expected}"));
            }
        }
        Ok(())
    }

    /// A record becomes the same bytes again; through lines too where these say what it was written for.
    fn writes_alike(&self, vector: &Path) -> Result<(), String> {
        let expected = fs::read(vector).map_err(|e| e.to_string())?;
        same_records(&self.convert(vector)?, &expected)?;
        let name = text(vector);
        if name.contains(".defaults.")
            && !name.contains("kLogMessage.")
            && !name.contains("kLogRemoteMessage.")
        {
            return Ok(());
        }
        let lines = self.scratch.path("lines.jsonl");
        fs::write(&lines, self.dump(vector)?).map_err(|e| e.to_string())?;
        same_records(&self.convert(&lines)?, &expected)
    }

    fn convert(&self, from: &Path) -> Result<Vec<u8>, String> {
        let to = self.scratch.path("written.bfbs");
        self.run(&["convert", "--to", "aos", "--layout", self.year, text(from), "-o", text(&to)])?;
        fs::read(&to).map_err(|e| e.to_string())
    }

    /// A part becomes the real one again, whatever it is compressed with, and what we compress of it too.
    fn writes_part_alike(&self, file: &Path) -> Result<(), String> {
        let real = self.place.folder.join(format!("layout-{}/all_typical.stream", self.year));
        let real = fs::read(real).map_err(|e| e.to_string())?;
        same_records(&self.convert(file)?, &real)?;
        for ending in ["sz", "xz", "zst"] {
            let packed = self.scratch.path(&format!("packed.bfbs.{ending}"));
            self.run(&["convert", "--to", "aos", text(file), "-o", text(&packed)])?;
            same_records(&self.convert(&packed)?, &real)
                .map_err(|why| format!("through .{ending}: {why}"))?;
        }
        Ok(())
    }
}

/// The records that have a file of their own. Of some there is what flatc says alone: the folder was thinned.
fn vectors(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut vectors: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "bin")).collect();
    vectors.sort();
    vectors
}

/// Whether a part's records, behind its header, are these.
fn same_records(part: &[u8], expected: &[u8]) -> Result<(), String> {
    let header = part.first_chunk().map_or(0, |len| u32::from_le_bytes(*len) as usize + 4);
    let records = part.get(header..).ok_or("the part has no header")?;
    if records == expected {
        return Ok(());
    }
    let at = records.iter().zip(expected).take_while(|(a, b)| a == b).count();
    Err(format!("{} bytes of records, should be {}; differ at byte {at}", records.len(), expected.len()))
}
