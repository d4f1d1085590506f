//! DHAT's files: JSON, of which `pps` has a point for each stack and `ftbl` the texts of frames.

use serde::Deserialize;

use super::frame::frame;
use crate::profile::{
    Builder, CallNumber, FrameNumber, Known, Origin, Place, Profile, ProfileError, Rate, StackSums, Sum, Unit,
};

/// The file, of which other keys are passed over.
#[derive(Deserialize)]
struct File {
    #[serde(rename = "dhatFileVersion")]
    version: u64,
    mode: String,
    #[serde(default)]
    cmd: String,
    /// Whether it has how long blocks lived, and in which unit.
    #[serde(default)]
    bklt: bool,
    #[serde(default)]
    tu: String,
    #[serde(rename = "pps")]
    points: Vec<Point>,
    #[serde(rename = "ftbl")]
    frames: Vec<String>,
}

/// What one stack did: blocks have a `k` behind, `tl` is how long all of them lived, `g` is at the peak and `e` at the end.
#[derive(Deserialize)]
struct Point {
    tb: u64,
    tbk: u64,
    #[serde(default)]
    tl: u64,
    gb: Option<u64>,
    gbk: Option<u64>,
    eb: Option<u64>,
    ebk: Option<u64>,
    #[serde(rename = "fs")]
    frames: Vec<u32>,
}

/// Whether a file that begins with these bytes is one.
pub fn is_begin(first: &[u8]) -> bool {
    let rest = first.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    rest.trim_ascii_start().starts_with(b"\"dhatFileVersion\"")
}

/// Reads a file.
///
/// # Errors
/// When it is damaged, of another version, or not of a heap.
pub fn read(bytes: &[u8]) -> Result<Profile, ProfileError> {
    let file: File = serde_json::from_slice(bytes).map_err(|e| {
        let what = e.to_string();
        let what = what.split(" at line ").next().unwrap_or_default().to_owned();
        ProfileError { what, place: Place::Line(e.line() as u64) }
    })?;
    let refused = |what: String| ProfileError::in_line(1, what);
    if file.version != 2 {
        return Err(refused(format!("a file of DHAT's version {}, where 2 is known,", file.version)));
    }
    if !file.mode.ends_with("heap") {
        return Err(refused(format!("a profile of mode {:?}, not of a heap,", file.mode)));
    }
    let mut to = Builder::new(Origin::Dhat);
    to.profile.about.command = file.cmd;
    if file.bklt {
        to.profile.about.lived_unit = file.tu;
    }
    to.profile.about.rate = Rate::Exact;
    let unit = |is_known: bool| Unit { blocks: is_known, bytes: is_known };
    let has = |of: fn(&Point) -> bool| unit(file.points.iter().all(of));
    to.profile.about.known = Known {
        allocated: Unit::BOTH,
        at_peak: has(|point| point.gb.is_some() && point.gbk.is_some()),
        live: has(|point| point.eb.is_some() && point.ebk.is_some()),
    };
    let frames: Vec<FrameNumber> = file.frames.iter().map(|text| to.frame(frame(text))).collect();
    for (number, point) in (1..).zip(&file.points) {
        let at = |what: String| refused(format!("{what} (point {number})"));
        add(&mut to, point, &frames).map_err(at)?;
    }
    Ok(to.finish())
}

fn add(to: &mut Builder, point: &Point, frames: &[FrameNumber]) -> Result<(), String> {
    let mut call = CallNumber::ROOT;
    for number in point.frames.iter().rev() {
        let frame = frames.get(*number as usize).ok_or_else(|| format!("no frame {number}"))?;
        call = to.call(call, *frame)?;
    }
    let sum = |blocks: Option<u64>, bytes: Option<u64>| Sum {
        blocks: blocks.unwrap_or(0),
        bytes: bytes.unwrap_or(0),
    };
    let allocated = Sum { blocks: point.tbk, bytes: point.tb };
    let (at_peak, live) = (sum(point.gbk, point.gb), sum(point.ebk, point.eb));
    to.add(&StackSums { call, allocated, live, at_peak, lived: point.tl })
}
