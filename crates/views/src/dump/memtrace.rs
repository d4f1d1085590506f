//! A memtrace file as memtrace's own tools print it, to the byte, so that the two can be compared.
//!
//! ```text
//!   # sample_rate=0x1.47ae147ae147bp-7 (0.01) word_size=64 pid=42 domain=0 start_time=23897423
//!   # executable="exec" host="host" params="r" context=None
//!   0000000004 0000000000 alloc 1 len=3 dom=0    0: f@a.ml:1:44-311
//!   0000000009 0000000000 promote dom=0
//!   # end
//! ```

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Write};

use heapscribe_formats::memtrace::{Alloc, Event, Heap, Info, LocationCode, Locations, Moment};

/// A code in a stack that the trace says nothing of, and where the stack stands in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownCode {
    code: LocationCode,
    offset: u64,
}

impl std::fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "invalid location code {:08x} in the stack at byte {}", self.code.0, self.offset)
    }
}

/// Prints events; frames are put into words once.
pub struct Lines<W> {
    out: W,
    frames: HashMap<LocationCode, Vec<u8>>,
    /// What to print for frames that are not known; `None` refuses them.
    unknown: Option<&'static str>,
    line: Vec<u8>,
}

impl<W: Write> Lines<W> {
    /// Prints to `out`. Frames that are not known are an error, or a question mark.
    pub fn new(out: W, takes_unknown: bool) -> Self {
        let unknown = takes_unknown.then_some("?");
        Lines { out, frames: HashMap::new(), unknown, line: Vec::new() }
    }

    /// Prints the header of the file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn begin(&mut self, info: &Info) -> io::Result<()> {
        let Info { word_bits, pid, domain, start_us, .. } = info;
        writeln!(
            self.out,
            "# sample_rate={} ({}) word_size={word_bits} pid={pid} domain={domain} start_time={start_us}",
            hex_float(info.sample_rate),
            short_float(info.sample_rate)
        )?;
        let context = if info.context.is_empty() {
            "None".to_owned()
        } else {
            format!("Some {}", quoted(&info.context))
        };
        let [exe, host, params] = [&info.executable, &info.host, &info.runtime_params].map(|t| quoted(t));
        writeln!(self.out, "# executable={exe} host={host} params={params} context={context}")
    }

    /// Prints the line after the last event.
    ///
    /// # Errors
    /// Those of the output.
    pub fn end(&mut self) -> io::Result<()> {
        writeln!(self.out, "# end")
    }

    /// Prints an event; `Err` within is a frame that is not known, of which nothing was printed.
    pub fn event(&mut self, moment: &Moment<'_>, event: &Event<'_>) -> io::Result<Result<(), UnknownCode>> {
        match event {
            Event::Alloc(alloc) => {
                if let Err(unknown) = self.alloc(moment, alloc)? {
                    return Ok(Err(unknown));
                }
                self.out.write_all(&self.line)?;
            }
            Event::Promote(id) => {
                writeln!(self.out, "{:010} {:010} promote dom={}", moment.time_us, id.0, moment.domain)?;
            }
            Event::Collect(id) => {
                writeln!(self.out, "{:010} {:010} collect dom={}", moment.time_us, id.0, moment.domain)?;
            }
        }
        Ok(Ok(()))
    }

    fn alloc(&mut self, moment: &Moment<'_>, alloc: &Alloc<'_>) -> io::Result<Result<(), UnknownCode>> {
        let word = match alloc.heap {
            Heap::Minor => "alloc",
            Heap::Major => "alloc_major",
            Heap::External => "alloc_ext",
        };
        self.line.clear();
        write!(
            self.line,
            "{:010} {:010} {word} {} len={} dom={} {:>4}:",
            moment.time_us,
            alloc.id.0,
            alloc.samples,
            alloc.length_words,
            moment.domain,
            spaced(alloc.common),
        )?;
        for &code in alloc.stack {
            let frames = match self.frames.entry(code) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => match words(code, moment.locations) {
                    Some(words) => new.insert(words),
                    None => match self.unknown {
                        Some(unknown) => new.insert(unknown.as_bytes().to_vec()),
                        None => return Ok(Err(UnknownCode { code, offset: moment.offset })),
                    },
                },
            };
            self.line.push(b' ');
            self.line.extend_from_slice(frames);
        }
        self.line.extend_from_slice(if alloc.stack.is_empty() { b" \n" } else { b"\n" });
        Ok(Ok(()))
    }
}

/// `% d` of printf: a space where a minus would be.
fn spaced(n: i64) -> String {
    if n < 0 { n.to_string() } else { format!(" {n}") }
}

fn words(code: LocationCode, locations: &Locations) -> Option<Vec<u8>> {
    let frames = locations.get(code)?;
    if frames.is_empty() {
        return Some(format!("${}", code.0).into_bytes());
    }
    let mut out = Vec::new();
    for frame in frames {
        if !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(locations.text(frame.function));
        out.push(b'@');
        out.extend_from_slice(locations.text(frame.file));
        out.extend_from_slice(format!(":{}:{}-{}", frame.line, frame.start_char, frame.end_char).as_bytes());
    }
    Some(out)
}

/// `%S` of OCaml.
fn quoted(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in text {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            8 => out.push_str("\\b"),
            b' '..=b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("\\{other:03}")),
        }
    }
    out.push('"');
    out
}

/// `%h` of OCaml: hexadecimal, exact.
fn hex_float(value: f64) -> String {
    const FRACTION_BITS: u32 = 52;
    if !value.is_finite() {
        return if value.is_nan() {
            "nan"
        } else if value < 0.0 {
            "-infinity"
        } else {
            "infinity"
        }
        .to_owned();
    }
    let bits = value.to_bits();
    let sign = if bits >> 63 == 1 { "-" } else { "" };
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let exponent = (bits >> FRACTION_BITS & 0x7ff) as i64;
    let (lead, exponent) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        (biased, _) => (1, biased - 1023),
    };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x{lead}{point}{digits}p{exponent:+}")
}

/// `%g` of printf: six digits that count.
fn short_float(value: f64) -> String {
    const DIGITS: i32 = 6;
    if value == 0.0 || !value.is_finite() {
        return if value.is_nan() {
            "nan"
        } else if value == 0.0 {
            "0"
        } else {
            "inf"
        }
        .to_owned();
    }
    let scientific = format!("{:.*e}", DIGITS as usize - 1, value);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..DIGITS).contains(&exponent) {
        trim(&format!("{:.*}", (DIGITS - 1 - exponent) as usize, value))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim(mantissa), exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_printed_as_printf_does() {
        let check = |value: f64, hex: &str, short: &str| {
            assert_eq!((hex_float(value).as_str(), short_float(value).as_str()), (hex, short));
        };
        check(0.01, "0x1.47ae147ae147bp-7", "0.01");
        check(1.0, "0x1p+0", "1");
        check(0.0, "0x0p+0", "0");
        check(0.5, "0x1p-1", "0.5");
        check(1e-6, "0x1.0c6f7a0b5ed8dp-20", "1e-06");
        check(1e-5, "0x1.4f8b588e368f1p-17", "1e-05");
        check(0.0001, "0x1.a36e2eb1c432dp-14", "0.0001");
        check(123456789.0, "0x1.d6f3454p+26", "1.23457e+08");
        check(f64::INFINITY, "infinity", "inf");
    }

    #[test]
    fn texts_are_quoted_as_in_ocaml() {
        assert_eq!(quoted("a\"\\\n\u{7f}é".as_bytes()), r#""a\"\\\n\127\195\169""#);
    }
}
