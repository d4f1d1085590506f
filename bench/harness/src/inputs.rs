//! What the programs of our own corpus read, made anew each time, always the same; and the manifest's places.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::places::Places;

/// The same numbers in each run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Writes the inputs; where they lie.
pub(crate) fn write(places: &Places) -> Result<PathBuf> {
    let directory = places.built.join("inputs");
    fs::create_dir_all(&directory)?;
    fs::write(directory.join("orders.sql"), orders())?;
    fs::write(directory.join("items.xml"), items())?;
    Ok(directory)
}

/// A script for sqlite3: many small statements, then queries that sort and join.
fn orders() -> String {
    let mut random = Random::new(1);
    let mut out =
        "CREATE TABLE orders(id INTEGER PRIMARY KEY, name TEXT, city TEXT, price REAL);\nBEGIN;\n".to_owned();
    for id in 0..60_000 {
        let (name, city, price) = (random.below(9000), random.below(200), random.below(100_000));
        let _ = writeln!(
            out,
            "INSERT INTO orders VALUES({id},'name {name}','city {city}',{}.{:02});",
            price / 100,
            price % 100
        );
    }
    out += "COMMIT;\nCREATE INDEX by_name ON orders(name);\n";
    for turn in 0..12 {
        let _ = writeln!(
            out,
            "SELECT city, count(*), round(sum(price), 2), max(upper(name) || '-' || id) FROM orders WHERE id % 12 <> {turn} \
             GROUP BY city ORDER BY 3 DESC LIMIT 3;\n\
             SELECT count(*), max(length(a.city || b.name)) FROM orders a JOIN orders b ON a.name = b.name WHERE a.id % 12 = {turn};"
        );
    }
    out
}

/// A document for xsltproc.
fn items() -> String {
    let mut random = Random::new(2);
    let mut out = "<?xml version=\"1.0\"?>\n<items>\n".to_owned();
    for id in 0..24_000 {
        let (kind, name, price) = (random.below(40), random.below(5000), random.below(100_000));
        let _ = write!(
            out,
            "<item id=\"{id}\" kind=\"kind {kind}\"><name>feed cab {name}</name><price>{price}</price>"
        );
        for _ in 0..random.below(4) {
            let _ = write!(out, "<tag>a{}-b{}</tag>", random.below(90), random.below(90));
        }
        out += "</item>\n";
    }
    out + "</items>\n"
}

/// Where gcc's C++ compiler proper lies.
pub(crate) fn cc1plus() -> Result<String> {
    let output = Command::new("g++").arg("-print-prog-name=cc1plus").output();
    let output = output.context("g++ can not be started (apt-get install g++)")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_the_same_each_time() {
        assert!(orders() == orders() && items() == items());
        assert!(orders().starts_with("CREATE TABLE") && items().ends_with("</item>\n</items>\n"));
    }
}
