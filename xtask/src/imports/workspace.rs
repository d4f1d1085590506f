//! Which packages of the workspace use which, as Cargo says.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A package and what it needs to be built and run, ours or not; what its tests need does not count.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) uses: Vec<String>,
}

/// The workspace's packages; `None` when Cargo gives no answer.
pub(crate) fn members(repository: &Path) -> Option<Vec<Member>> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let arguments = ["metadata", "--format-version", "1", "--no-deps"];
    let output = Command::new(cargo).args(arguments).current_dir(repository).output().ok()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).ok()?;
    metadata["packages"].as_array()?.iter().map(member).collect()
}

fn member(value: &Value) -> Option<Member> {
    let dependencies = value["dependencies"].as_array()?;
    let used = dependencies.iter().filter(|d| d["kind"].as_str() != Some("dev"));
    let uses = used.filter_map(|d| Some(d["name"].as_str()?.to_owned())).collect();
    Some(Member { name: value["name"].as_str()?.to_owned(), uses })
}
