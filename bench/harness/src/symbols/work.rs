//! `symbol-work`: heapscribe's symbolizer as a process of its own. Reads addresses from standard input and prints what is
//! there as `addr2line -a -f -i -C` does.

use std::io::{BufWriter, Write as _};

use anyhow::{Context, Result};
use heapscribe_symbols::{Module, Resolver};

use crate::cli::SymbolWorkArgs;

pub(crate) fn run(args: &SymbolWorkArgs) -> Result<()> {
    let text = std::io::read_to_string(std::io::stdin()).context("standard input")?;
    let address = |line: &str| u64::from_str_radix(line.trim_start_matches("0x"), 16);
    let addresses: Vec<u64> = text.lines().map(address).collect::<Result<_, _>>()?;
    let module = Module::of_file(&args.file).with_context(|| args.file.display().to_string())?;
    let names = Resolver::new("/usr/lib/debug").resolve(&[(module, addresses.clone())]).remove(0);
    let mut out = BufWriter::new(std::io::stdout().lock());
    for address in addresses {
        writeln!(out, "{address:#x}")?;
        let frames = names.at(address);
        if frames.is_empty() {
            writeln!(out, "??\n??:0")?;
        }
        for frame in frames {
            let function = frame.function.as_deref().unwrap_or("??");
            let file = frame.file.as_deref().unwrap_or("??");
            writeln!(out, "{function}\n{file}:{}", frame.line.unwrap_or(0))?;
        }
    }
    Ok(out.flush()?)
}
