//! Traces as text, from which the writer makes bytes: what tests and comparisons with memtrace's own
//! writer are written in.
//!
//! ```text
//!   chunk N                                                   object numbers that a domain takes at once
//!   info RATE WORD_BITS EXE HOST PARAMS PID DOMAIN START_US CONTEXT    rate as 0x1.8p-3, context - for none
//!   loc CODE N  then N times FILE LINE START END FUNCTION     outermost first
//!   a TIME_US DOMAIN WORDS SAMPLES HEAP 0 CODE...             innermost first; heap 0 minor 1 major 2 external
//!   p TIME_US DOMAIN ORD   c TIME_US DOMAIN ORD               promote, collect the object of the ORD-th a
//!   f DOMAIN                                                  write out, with [`Order::Direct`] only
//! ```
//! Fields are separated by tabs.

use std::str::FromStr;

use super::event::{Alloc, Heap, Info, ObjectId};
use super::locations::{Location, LocationCode, Locations};
use super::write::{Order, WriteOptions, Writer};

/// A script that cannot be followed: in which line, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadScript {
    /// The line, from 1 on.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

impl std::fmt::Display for BadScript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for BadScript {}

/// The file that the writer makes of a script.
///
/// # Errors
/// When a line makes no sense.
pub fn run(script: &str, order: Order) -> Result<Vec<u8>, BadScript> {
    let mut player = Player::new(order);
    for (number, line) in script.lines().enumerate() {
        player.line(line).map_err(|why| BadScript { line: number + 1, why })?;
    }
    let end = script.lines().count();
    let writer = player.writer.ok_or(BadScript { line: end, why: "no info".to_owned() })?;
    writer.finish(&player.locations).map_err(|e| BadScript { line: end, why: e.to_string() })
}

struct Player {
    options: WriteOptions,
    locations: Locations,
    writer: Option<Writer<Vec<u8>>>,
    objects: Vec<ObjectId>,
}

/// The fields of a line.
type Fields<'a> = std::str::Split<'a, char>;

fn text<'a>(fields: &mut Fields<'a>) -> Result<&'a str, String> {
    fields.next().ok_or_else(|| "a field is missing".to_owned())
}

fn number<T: FromStr>(fields: &mut Fields<'_>) -> Result<T, String> {
    let field = text(fields)?;
    field.parse().map_err(|_| format!("`{field}` is no number that fits here"))
}

impl Player {
    fn new(order: Order) -> Player {
        let options = WriteOptions { order, ..WriteOptions::default() };
        Player { options, locations: Locations::default(), writer: None, objects: Vec::new() }
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let mut fields = line.split('\t');
        match text(&mut fields)? {
            "" => Ok(()),
            "chunk" => number(&mut fields).map(|n| self.options.ids_per_chunk = n),
            "info" => self.info(&mut fields),
            "loc" => self.location(&mut fields),
            "a" => self.alloc(&mut fields),
            "p" => self.object(&mut fields, true),
            "c" => self.object(&mut fields, false),
            "f" => self.flush(&mut fields),
            other => Err(format!("`{other}` is no command")),
        }
    }

    fn info(&mut self, fields: &mut Fields<'_>) -> Result<(), String> {
        let info = Info {
            sample_rate: hex_float(text(fields)?).ok_or("the rate is not like 0x1.8p-3")?,
            word_bits: number(fields)?,
            executable: text(fields)?.into(),
            host: text(fields)?.into(),
            runtime_params: text(fields)?.into(),
            pid: number(fields)?,
            domain: number(fields)?,
            start_us: number(fields)?,
            context: Some(text(fields)?).filter(|context| *context != "-").unwrap_or_default().into(),
        };
        let writer = Writer::create(Vec::new(), &info, self.options);
        self.writer = Some(writer.map_err(|e| e.to_string())?);
        Ok(())
    }

    fn location(&mut self, fields: &mut Fields<'_>) -> Result<(), String> {
        let (code, n): (i64, usize) = (number(fields)?, number(fields)?);
        let mut frames = Vec::new();
        for _ in 0..n {
            let file = self.locations.name(text(fields)?.as_bytes());
            let (line, start, end) = (number(fields)?, number(fields)?, number(fields)?);
            let function = self.locations.name(text(fields)?.as_bytes());
            frames.push(Location::clamped(file, function, line, start, end));
        }
        self.locations.set(LocationCode(code), &frames);
        Ok(())
    }

    fn alloc(&mut self, fields: &mut Fields<'_>) -> Result<(), String> {
        let (time_us, domain) = (number(fields)?, number(fields)?);
        let (length_words, samples) = (number(fields)?, number(fields)?);
        let heap: usize = number(fields)?;
        let heap = *Heap::ALL.get(heap).ok_or("no such heap")?;
        if text(fields)? != "0" {
            return Err("stacks with dropped frames cannot be written".to_owned());
        }
        let codes: Result<Vec<i64>, _> = fields.map(str::parse).collect();
        let codes = codes.map_err(|e| format!("a code is no number: {e}"))?;
        let stack: Vec<_> = codes.into_iter().rev().map(LocationCode).collect();
        let alloc = Alloc {
            id: ObjectId(0),
            length_words,
            samples,
            heap,
            common: 0,
            reused_frames: 0,
            stack: &stack,
        };
        let writer = self.writer.as_mut().ok_or("no info before it")?;
        let id = writer.alloc(domain, time_us, &alloc, &self.locations).map_err(|e| e.to_string())?;
        self.objects.push(id);
        Ok(())
    }

    fn object(&mut self, fields: &mut Fields<'_>, is_promotion: bool) -> Result<(), String> {
        let (time_us, domain, ord): (i64, u16, usize) = (number(fields)?, number(fields)?, number(fields)?);
        let id = *self.objects.get(ord).ok_or("no such allocation before it")?;
        let writer = self.writer.as_mut().ok_or("no info before it")?;
        let written = if is_promotion {
            writer.promote(domain, time_us, id, &self.locations)
        } else {
            writer.collect(domain, time_us, id, &self.locations)
        };
        written.map_err(|e| e.to_string())
    }

    fn flush(&mut self, fields: &mut Fields<'_>) -> Result<(), String> {
        let domain = number(fields)?;
        let writer = self.writer.as_mut().ok_or("no info before it")?;
        if self.options.order == Order::Multiplexed {
            return Ok(());
        }
        writer.flush(domain, &self.locations).map_err(|e| e.to_string())
    }
}

/// Reads 0x1.8p-3; `None` for what is none, or not finite.
fn hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.strip_prefix("0x")?.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let exponent = exponent.parse::<i32>().ok()?.checked_sub(4 * i32::try_from(fraction.len()).ok()?)?;
    let value = digits as f64 * 2f64.powi(exponent);
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_exactly() {
        assert_eq!(hex_float("0x1.47ae147ae147bp-7"), Some(0.01));
        assert_eq!(hex_float("0x1p+0"), Some(1.0));
        assert_eq!(hex_float("0x1.8p-3"), Some(0.1875));
        assert_eq!(hex_float("1.5"), None);
    }
}
