//! Writes version 3 of the format, as heaptrack 1.3 and later have it.

use std::collections::HashMap;
use std::io::{self, Write};

/// A place in code, and the functions inlined there, innermost first: function, file and line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Instruction {
    /// Its address.
    pub address: u64,
    /// Path of the file that it lies in; empty when that is not known.
    pub module: String,
    /// What is there.
    pub frames: Vec<(String, String, u32)>,
}

/// Writes a file from its beginning.
pub struct Writer<W> {
    out: W,
    texts: HashMap<String, u64>,
    instructions: u64,
    stacks: u64,
    kinds: HashMap<(u64, u64), u64>,
    ms: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a file of a command.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(mut out: W, command: &str) -> io::Result<Writer<W>> {
        writeln!(out, "v 10400 3\nX {}\nI 1000 0", command.replace('\n', " "))?;
        let (texts, kinds) = (HashMap::new(), HashMap::new());
        Ok(Writer { out, texts, instructions: 0, stacks: 0, kinds, ms: 0 })
    }

    /// The number of a text; 0 for an empty one.
    fn text(&mut self, text: &str) -> io::Result<u64> {
        if text.is_empty() {
            return Ok(0);
        }
        if let Some(number) = self.texts.get(text) {
            return Ok(*number);
        }
        // heaptrack reads lines, whatever the length says.
        let line = text.replace('\n', " ");
        writeln!(self.out, "s {:x} {line}", line.len())?;
        let number = self.texts.len() as u64 + 1;
        self.texts.insert(text.to_owned(), number);
        Ok(number)
    }

    /// Writes an instruction; its number.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn instruction(&mut self, instruction: &Instruction) -> io::Result<u64> {
        let module = self.text(&instruction.module)?;
        let mut line = format!("i {:x} {module:x}", instruction.address);
        for (function, file, number) in &instruction.frames {
            let (function, file) = (self.text(function)?, self.text(file)?);
            line += &format!(" {function:x} {file:x} {number:x}");
        }
        writeln!(self.out, "{line}")?;
        self.instructions += 1;
        Ok(self.instructions)
    }

    /// Writes a stack: an instruction and the stack of its caller; its number.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn stack(&mut self, instruction: u64, caller: u64) -> io::Result<u64> {
        writeln!(self.out, "t {instruction:x} {caller:x}")?;
        self.stacks += 1;
        Ok(self.stacks)
    }

    /// Goes to a time, ms since the start; time never goes back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn time(&mut self, ms: u64) -> io::Result<()> {
        if ms > self.ms {
            self.ms = ms;
            writeln!(self.out, "c {ms:x}")?;
        }
        Ok(())
    }

    /// The resident set, in pages of 4096 bytes.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn resident(&mut self, pages: u64) -> io::Result<()> {
        writeln!(self.out, "R {pages:x}")
    }

    /// A block was allocated.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn allocated(&mut self, size_bytes: u64, stack: u64) -> io::Result<()> {
        let kind = self.kind(size_bytes, stack)?;
        writeln!(self.out, "+ {kind:x}")
    }

    /// A block was freed; one that was never allocated is left out.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn freed(&mut self, size_bytes: u64, stack: u64) -> io::Result<()> {
        match self.kinds.get(&(size_bytes, stack)) {
            Some(kind) => writeln!(self.out, "- {kind:x}"),
            None => Ok(()),
        }
    }

    fn kind(&mut self, size_bytes: u64, stack: u64) -> io::Result<u64> {
        if let Some(kind) = self.kinds.get(&(size_bytes, stack)) {
            return Ok(*kind);
        }
        writeln!(self.out, "a {size_bytes:x} {stack:x}")?;
        let kind = self.kinds.len() as u64;
        self.kinds.insert((size_bytes, stack), kind);
        Ok(kind)
    }

    /// All of it is written.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
