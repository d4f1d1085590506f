//! The bill of materials: every crate that is in the program, with version, license and sum, as CycloneDX JSON.
//! It comes from cargo's own resolution of `Cargo.lock`, for the one target that is built, without what only
//! tests and build scripts use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::tool::{self, read};
use crate::sources::root;

/// The program, and the libraries that its build script puts inside.
const ROOTS: &[&str] = &["heapscribe", "heapscribe-preload", "heapscribe-heap-libs"];

/// A crate.
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    /// SPDX, as the crate gives it.
    pub(super) license: String,
    /// Where its sources are.
    pub(super) folder: PathBuf,
    is_ours: bool,
    uses: Vec<String>,
}

/// All crates in the program, by cargo's name of them.
pub(super) struct Graph {
    pub(super) crates: BTreeMap<String, Crate>,
}

/// Asks cargo.
pub(super) fn graph() -> Result<Graph, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = tool::command(cargo);
    cargo.args(["metadata", "--format-version", "1", "--locked"]);
    cargo.args(["--filter-platform", "x86_64-unknown-linux-gnu"]).current_dir(root());
    let metadata: Value =
        serde_json::from_str(&tool::output(&mut cargo)?).map_err(|e| format!("cargo metadata: {e}"))?;
    let crates = reached(&metadata);
    if crates.values().filter(|one| ROOTS.contains(&one.name.as_str())).count() != ROOTS.len() {
        return Err(format!("cargo metadata does not have all of {}", ROOTS.join(", ")));
    }
    Ok(Graph { crates })
}

/// The crates that the roots use, and what these use.
fn reached(metadata: &Value) -> BTreeMap<String, Crate> {
    let packages: BTreeMap<&str, &Value> = by_id(&metadata["packages"]);
    let nodes: BTreeMap<&str, &Value> = by_id(&metadata["resolve"]["nodes"]);
    let is_root = |id: &&str| packages[id]["name"].as_str().is_some_and(|name| ROOTS.contains(&name));
    let mut open: Vec<&str> = packages.keys().copied().filter(is_root).collect();
    let mut crates = BTreeMap::new();
    while let Some(id) = open.pop() {
        let (Some(package), false) = (packages.get(id), crates.contains_key(id)) else { continue };
        if is_macro(package) {
            continue;
        }
        let uses = nodes.get(id).map_or(Vec::new(), |node| used(node));
        open.extend(&uses);
        crates.insert(id.to_owned(), one(package, &uses));
    }
    crates
}

fn by_id(list: &Value) -> BTreeMap<&str, &Value> {
    let entries = list.as_array().into_iter().flatten();
    entries.filter_map(|entry| Some((entry["id"].as_str()?, entry))).collect()
}

/// Whether it runs in the compiler, as derives do: it and what it uses are in no program.
fn is_macro(package: &Value) -> bool {
    let targets = package["targets"].as_array().into_iter().flatten();
    targets
        .flat_map(|target| target["kind"].as_array().into_iter().flatten())
        .any(|kind| kind == "proc-macro")
}

/// What a crate links: not what its tests and its build script use.
fn used(node: &Value) -> Vec<&str> {
    let is_linked =
        |dep: &&Value| dep["dep_kinds"].as_array().is_some_and(|k| k.iter().any(|k| k["kind"].is_null()));
    let deps = node["deps"].as_array().into_iter().flatten();
    deps.filter(is_linked).filter_map(|dep| dep["pkg"].as_str()).collect()
}

fn one(package: &Value, uses: &[&str]) -> Crate {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    Crate {
        name: text("name"),
        version: text("version"),
        license: text("license"),
        folder: PathBuf::from(text("manifest_path")).parent().map(PathBuf::from).unwrap_or_default(),
        is_ours: package["source"].is_null(),
        uses: uses.iter().map(|&id| id.to_owned()).collect(),
    }
}

impl Crate {
    /// The package's URL, which names it for scanners of advisories.
    fn purl(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

/// The document.
pub(super) fn document(graph: &Graph, version: &str) -> Result<Vec<u8>, String> {
    let lock = String::from_utf8_lossy(&read(&root().join("Cargo.lock"))?).into_owned();
    let sums = sums(&lock);
    let is_program = |one: &&Crate| one.name == "heapscribe" && one.is_ours;
    let others = graph.crates.values().filter(|one| !is_program(one));
    let components: Vec<Value> = others.map(|one| component(one, &sums)).collect();
    let dependencies: Vec<Value> = graph.crates.values().map(|one| dependency(one, graph)).collect();
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": format!("pkg:cargo/heapscribe@{}", version),
            "name": "heapscribe",
            "version": version,
            "purl": format!("pkg:cargo/heapscribe@{}", version),
            "licenses": [{ "expression": "MIT OR Apache-2.0" }],
        }},
        "components": components,
        "dependencies": dependencies,
    });
    let mut bytes = serde_json::to_vec_pretty(&document).map_err(|e| e.to_string())?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn component(one: &Crate, sums: &BTreeMap<(String, String), String>) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": one.purl(),
        "name": one.name,
        "version": one.version,
        "purl": one.purl(),
    });
    if !one.license.is_empty() {
        // What crates wrote before SPDX had expressions.
        component["licenses"] = json!([{ "expression": one.license.replace('/', " OR ") }]);
    }
    if let Some(sum) = sums.get(&(one.name.clone(), one.version.clone())) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    component
}

fn dependency(one: &Crate, graph: &Graph) -> Value {
    let uses: BTreeSet<String> =
        one.uses.iter().filter_map(|id| graph.crates.get(id)).map(Crate::purl).collect();
    json!({ "ref": one.purl(), "dependsOn": uses })
}

/// Sums of the crates' files, by name and version, as `Cargo.lock` has them.
fn sums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut sums = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let field = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            line.and_then(|rest| rest.strip_suffix('"')).map(str::to_owned)
        };
        if let (Some(name), Some(version), Some(sum)) = (field("name"), field("version"), field("checksum")) {
            sums.insert((name, version), sum);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_a_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.2.0\"\nsource = \"r\"\nchecksum = \"00ff\"\n\n\
                    [[package]]\nname = \"ours\"\nversion = \"0.1.0\"\ndependencies = [\n \"a\",\n]\n";
        let expected = BTreeMap::from([(("a".to_owned(), "1.2.0".to_owned()), "00ff".to_owned())]);
        assert_eq!(sums(lock), expected);
    }

    #[test]
    fn what_only_tests_and_build_scripts_use_is_left_out() {
        let dep = |name: &str, kinds: &[Value]| {
            let kinds: Vec<Value> = kinds.iter().map(|kind| json!({ "kind": kind })).collect();
            json!({ "pkg": name, "dep_kinds": kinds })
        };
        let node = json!({ "deps": [
            dep("linked", &[Value::Null]),
            dep("both", &[json!("build"), Value::Null]),
            dep("build", &[json!("build")]),
            dep("dev", &[json!("dev")]),
        ]});
        assert_eq!(used(&node), ["linked", "both"]);
    }

    #[test]
    fn the_program_is_made_of_crates_with_licenses() {
        let graph = graph().unwrap();
        let names: BTreeSet<&str> = graph.crates.values().map(|one| one.name.as_str()).collect();
        for name in ["heapscribe", "heapscribe-recorder", "clap", "zstd-sys"] {
            assert!(names.contains(name), "{name} is not in {names:?}");
        }
        for name in ["insta", "proptest", "xtask", "syn"] {
            assert!(!names.contains(name), "{name} is in no program");
        }
        let without: Vec<&Crate> = graph.crates.values().filter(|one| one.license.is_empty()).collect();
        assert!(
            without.is_empty(),
            "no license: {:?}",
            without.iter().map(|one| &one.name).collect::<Vec<_>>()
        );
    }
}
