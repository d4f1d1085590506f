//! The texts that the licenses of all crates in the program want beside a binary: Debian's `copyright`. A text
//! that many crates share stands there once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::sbom::{Crate, Graph};

/// How files with such texts begin.
const NAMES: &[&str] = &["license", "licence", "copying", "copyright", "notice", "unlicense", "ofl"];

/// All of them.
pub(super) fn text(graph: &Graph) -> Result<String, String> {
    let mut crates: Vec<&Crate> = graph.crates.values().collect();
    crates.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    let mut out = String::from(
        "heapscribe is under MIT or Apache-2.0, as you choose: see LICENSE-MIT and LICENSE-APACHE.\n\n\
         The program also has in it, each under its own license:\n\n",
    );
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in crates.iter().filter(|one| !one.name.starts_with("heapscribe")) {
        let name = format!("{} {}", one.name, one.version);
        out.push_str(&format!("  {name}: {}\n", one.license));
        for text in texts_in(&one.folder, 0).map_err(|e| format!("{}: {e}", one.folder.display()))? {
            let names = texts.entry(text).or_default();
            if !names.contains(&name) {
                names.push(name.clone());
            }
        }
    }
    for (text, names) in &texts {
        out.push_str(&format!("\n{}\n{}\n\n{text}\n", "-".repeat(72), names.join(", ")));
    }
    Ok(out)
}

/// The texts in a folder, and in those right below it: fonts and C sources have their own.
fn texts_in(folder: &Path, depth: u32) -> std::io::Result<Vec<String>> {
    let mut texts = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().to_lowercase());
        let is_source = [".rs", ".c", ".h", ".py"].iter().any(|end| name.ends_with(end));
        if path.is_dir() && depth < 1 && name != "target" {
            texts.extend(texts_in(&path, depth + 1)?);
        } else if path.is_file() && !is_source && NAMES.iter().any(|start| name.starts_with(start)) {
            let text = String::from_utf8_lossy(&fs::read(&path)?).replace("\r\n", "\n");
            texts.push(text.trim_end().to_owned());
        }
    }
    Ok(texts)
}
