//! Addresses to look up: drawn from the code of a file's functions, a large one as often as its bytes say, the same
//! ones each time.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::inputs::Random;

/// A function as `nm` prints it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Function {
    address: u64,
    size_bytes: u64,
}

/// So many addresses of the file.
pub(crate) fn addresses(file: &Path, count: usize) -> Result<Vec<u64>> {
    let mut functions = functions(&nm(file, &[])?);
    if functions.is_empty() {
        functions = self::functions(&nm(file, &["-D"])?);
    }
    if functions.is_empty() {
        bail!("{} has no functions with a name and a size", file.display());
    }
    Ok(drawn(&functions, count))
}

fn nm(file: &Path, options: &[&str]) -> Result<String> {
    let output = Command::new("nm").args(["--defined-only", "-S"]).args(options).arg(file).output();
    let output = output.context("nm can not be started (apt-get install binutils)")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Lines such as `0000000000001139 0000000000000016 T main`.
fn functions(nm: &str) -> Vec<Function> {
    let hexadecimal = |word: Option<&str>| u64::from_str_radix(word?, 16).ok();
    let function = |line: &str| {
        let mut words = line.split_whitespace();
        let (address, size_bytes) = (hexadecimal(words.next())?, hexadecimal(words.next())?);
        let is_code = matches!(words.next()?, "t" | "T" | "w" | "W" | "i");
        (is_code && size_bytes > 0).then_some(Function { address, size_bytes })
    };
    let mut functions: Vec<Function> = nm.lines().filter_map(function).collect();
    functions.sort_by_key(|function| function.address);
    // Names for the same code.
    functions.dedup_by_key(|function| function.address);
    functions
}

fn drawn(functions: &[Function], count: usize) -> Vec<u64> {
    let mut ends = Vec::new();
    let mut all_bytes = 0;
    for function in functions {
        all_bytes += function.size_bytes;
        ends.push(all_bytes);
    }
    let mut random = Random::new(1);
    let one = |byte: u64| {
        let i = ends.partition_point(|&end| end <= byte);
        functions[i].address + functions[i].size_bytes - (ends[i] - byte)
    };
    (0..count).map(|_| one(random.below(all_bytes))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NM: &str = "0000000000001000 0000000000000010 T main\n\
                      0000000000002000 0000000000000030 t helper(int, char)\n\
                      0000000000002000 0000000000000030 W helper_too\n\
                      0000000000003000 0000000000000008 D data\n\
                      0000000000004000 T begin\n";

    #[test]
    fn addresses_are_those_of_functions() {
        let functions = functions(NM);
        let expected = [(0x1000, 0x10), (0x2000, 0x30)];
        assert_eq!(functions, expected.map(|(address, size_bytes)| Function { address, size_bytes }));
        let drawn = drawn(&functions, 4000);
        let of_main = drawn.iter().filter(|address| (0x1000..0x1010).contains(*address)).count();
        let of_helper = drawn.iter().filter(|address| (0x2000..0x2030).contains(*address)).count();
        assert_eq!(of_main + of_helper, 4000);
        assert!((800..1200).contains(&of_main), "a quarter of the code is main's, but not of {of_main}");
    }
}
