//! Reads data files line by line: what heaptrack recorded (raw) as well as what `heaptrack_interpret` made of it.

use std::io::{self, BufRead, Read as _};

/// A line is this long at most; a longer one is skipped.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// What a line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// The version of the format.
    Version(u64),
    /// The command line.
    Command(String),
    /// The program's file, in raw files only.
    Program(String),
    /// All modules are gone, as others follow; in raw files only.
    Unmapped,
    /// A module: its path (`x` is the program), where it lies, and its segments from there with their lengths; raw.
    Module(String, u64, Vec<(u64, u64)>),
    /// A text.
    Text(String),
    /// An instruction: address, number of its module, and function, file and line of what is there, innermost first.
    Instruction(u64, u64, Vec<(u64, u64, u64)>),
    /// A stack: its instruction (in raw files the address), and the stack of its caller.
    Stack(u64, u64),
    /// A kind of blocks: size and stack.
    Kind(u64, u64),
    /// A block of this kind was allocated.
    Allocated(u64),
    /// A block of this kind was freed; in raw files, that of this address.
    Freed(u64),
    /// A block was allocated: size, stack and address; in raw files only.
    AllocatedRaw(u64, u64, u64),
    /// Milliseconds since the start.
    Time(u64),
    /// The resident set, pages.
    Resident(u64),
    /// What says nothing of blocks: comments, the machine, suppressions.
    Other,
}

/// Reads a file that is not compressed.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    line: Vec<u8>,
    version: u64,
    number: u64,
    /// The first line that made no sense, and how many did not.
    bad: Option<(u64, u64)>,
}

impl<R: BufRead> Reader<R> {
    /// From its beginning.
    pub fn new(from: R) -> Reader<R> {
        Reader { from, line: Vec::new(), version: 0, number: 0, bad: None }
    }

    /// The number of the line that was read last, from 1.
    pub fn line_number(&self) -> u64 {
        self.number
    }

    /// The next line that says something; none at the end.
    ///
    /// # Errors
    /// Those of the medium, and of compressed data that is damaged.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        while self.next_line()? {
            match parse(&self.line, self.version) {
                Some(Record::Other) => {}
                Some(record) => {
                    if let Record::Version(version) = record {
                        self.version = version;
                    }
                    return Ok(Some(record));
                }
                None => self.note_bad(),
            }
        }
        Ok(None)
    }

    /// The line that was read last makes no sense here.
    pub fn note_bad(&mut self) {
        self.bad.get_or_insert((self.number, 0)).1 += 1;
    }

    /// The lines that made no sense, in words.
    pub fn problem(&self) -> Option<String> {
        let (first, count) = self.bad?;
        let lines = if count == 1 { "line makes" } else { "lines make" };
        Some(format!("{count} {lines} no sense and cannot be read, the first is line {first}"))
    }

    /// Whether there is another line; one that is too long is skipped, and bad.
    fn next_line(&mut self) -> io::Result<bool> {
        loop {
            self.line.clear();
            let n = (&mut self.from).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.line)?;
            if n == 0 {
                return Ok(false);
            }
            self.number += 1;
            if self.line.last() == Some(&b'\n') {
                self.line.pop();
                return Ok(true);
            }
            if (n as u64) < LINE_BYTES_MAX {
                return Ok(true);
            }
            self.note_bad();
            while self.line.last() != Some(&b'\n') {
                self.line.clear();
                if (&mut self.from).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.line)? == 0 {
                    return Ok(false);
                }
            }
        }
    }
}

/// Whether a file that is not compressed begins like one of these.
pub fn is_begin(first: &[u8]) -> bool {
    let line = first.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut fields = line.strip_prefix(b"v ").unwrap_or_default().split(|byte| *byte == b' ');
    let is_hex = |field: &[u8]| !field.is_empty() && field.iter().all(u8::is_ascii_hexdigit);
    // heaptrack's own version has five digits and more: 10100 for 1.1.0.
    fields.next().is_some_and(|version| version.len() >= 5 && is_hex(version)) && fields.all(is_hex)
}

/// What a line says; none when it makes no sense.
fn parse(line: &[u8], version: u64) -> Option<Record> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (letter, rest) = line.split_first().map_or((b'#', line), |(letter, rest)| (*letter, rest));
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let mut fields = Fields(rest);
    let record = match letter {
        b'v' => {
            fields.number()?;
            Record::Version(fields.number().unwrap_or(1))
        }
        b'X' => Record::Command(text(rest)),
        b'x' => Record::Program(fields.text(version)?),
        b's' if version >= 3 => Record::Text(fields.text(version)?),
        b's' => Record::Text(text(rest)),
        b'm' => {
            let name = fields.text(version)?;
            if name == "-" {
                return Some(Record::Unmapped);
            }
            Record::Module(name, fields.number()?, std::iter::from_fn(|| fields.pair()).collect())
        }
        b'i' => {
            let (address, module) = fields.pair()?;
            let frame = || {
                let function = fields.number()?;
                Some((function, fields.number().unwrap_or(0), fields.number().unwrap_or(0)))
            };
            Record::Instruction(address, module, std::iter::from_fn(frame).collect())
        }
        b't' => fields.pair().map(|(instruction, caller)| Record::Stack(instruction, caller))?,
        b'a' => fields.pair().map(|(size_bytes, stack)| Record::Kind(size_bytes, stack))?,
        b'+' => {
            let first = fields.number()?;
            match fields.pair() {
                Some((stack, address)) => Record::AllocatedRaw(first, stack, address),
                None => Record::Allocated(first),
            }
        }
        b'-' => Record::Freed(fields.number()?),
        b'c' => Record::Time(fields.number()?),
        b'R' => Record::Resident(fields.number()?),
        b'#' | b'I' | b'S' | b'A' => Record::Other,
        _ => return None,
    };
    Some(record)
}

/// The rest of a line: hexadecimal numbers and texts, with spaces between them.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn word(&mut self) -> Option<&[u8]> {
        let end = self.0.iter().position(|byte| *byte == b' ').unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest.strip_prefix(b" ").unwrap_or(rest);
        (!word.is_empty()).then_some(word)
    }

    fn number(&mut self) -> Option<u64> {
        let before = self.0;
        let word = std::str::from_utf8(self.word()?).ok();
        let number =
            word.filter(|word| !word.starts_with('+')).and_then(|word| u64::from_str_radix(word, 16).ok());
        if number.is_none() {
            self.0 = before;
        }
        number
    }

    fn pair(&mut self) -> Option<(u64, u64)> {
        Some((self.number()?, self.number()?))
    }

    /// A text: from version 3 on with its length before it, else a word.
    fn text(&mut self, version: u64) -> Option<String> {
        let bytes = if version >= 3 {
            let length = usize::try_from(self.number()?).ok()?;
            let (bytes, rest) = self.0.split_at_checked(length)?;
            self.0 = rest.strip_prefix(b" ").unwrap_or(rest);
            bytes
        } else {
            self.word()?
        };
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}
