//! Reads the text of `/proc/PID/smaps`: for each mapping a line as in `maps`, then lines of a name and KiB. Other lines,
//! and those of later kernels, are passed over.

use heapscribe_formats::model::{Access, Mapping};

/// A mapping.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Entry {
    pub(super) mapping: Mapping,
    /// Whether core dumps leave it out.
    pub(super) is_undumped: bool,
}

/// All mappings, in the order of the text.
pub(super) fn parse(text: &[u8]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        if let Some(mapping) = first_line(line) {
            entries.push(Entry { mapping, is_undumped: false });
        } else if let Some(Entry { mapping, is_undumped }) = entries.last_mut() {
            match line.strip_prefix(b"VmFlags:") {
                Some(flags) => *is_undumped = flags.split(|byte| *byte == b' ').any(|flag| flag == b"dd"),
                None => figure(line, mapping),
            }
        }
    }
    entries
}

/// `7f00-7f10 rw-p 00000000 00:00 0     [heap]`.
fn first_line(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let range = std::str::from_utf8(fields.next()?).ok()?;
    let (start, end) = range.split_once('-')?;
    let address = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = (address(start)?, address(end)?);
    let letters = fields.next().filter(|letters| letters.len() == 4)?;
    let has = |at: usize, letter: u8| letters[at] == letter;
    let access =
        Access { read: has(0, b'r'), write: has(1, b'w'), execute: has(2, b'x'), shared: has(3, b's') };
    let path = fields.nth(3).unwrap_or_default().trim_ascii_start().to_vec();
    (start < end).then(|| Mapping { start, end, access, path, ..Mapping::default() })
}

/// `Rss:        132 kB`.
fn figure(line: &[u8], of: &mut Mapping) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
    let to = match &line[..colon] {
        b"Rss" => &mut of.resident_bytes,
        b"Anonymous" => &mut of.anonymous_bytes,
        b"Swap" => &mut of.swapped_bytes,
        b"AnonHugePages" => &mut of.huge_bytes,
        _ => return,
    };
    let number =
        std::str::from_utf8(&line[colon + 1..]).ok().and_then(|rest| rest.trim().strip_suffix(" kB"));
    *to = number.and_then(|kib| kib.parse::<u64>().ok()).map_or(0, |kib| kib << 10);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
5581e3a1f000-5581e3a21000 r-xp 00002000 fe:00 3015                       /usr/bin/a b (deleted)
Size:                  8 kB
Rss:                   8 kB
Pss:                   4 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me dw
5581e4000000-5581e4200000 rw-p 00000000 00:00 0                          [heap]
Size:               2048 kB
KernelPageSize:        4 kB
Rss:                1024 kB
Anonymous:          1020 kB
VmFlags: rd wr mr mw me ac dd sd
AnonHugePages:       512 kB
Swap:                 16 kB
ProtectionKey:         0
7f0000000000-7f0000001000 ---p 00000000 00:00 0 
Rss:                   0 kB
";

    #[test]
    fn mappings_have_their_figures() {
        let entries = parse(TEXT.as_bytes());
        let undumped: Vec<_> = entries.iter().map(|entry| entry.is_undumped).collect();
        assert_eq!(undumped, [false, true, false]);
        let mappings: Vec<_> = entries.into_iter().map(|entry| entry.mapping).collect();
        let path = |at: usize| String::from_utf8_lossy(&mappings[at].path).into_owned();
        assert_eq!([path(0), path(1), path(2)], ["/usr/bin/a b (deleted)", "[heap]", ""]);
        let heap = &mappings[1];
        assert_eq!((heap.start, heap.end), (0x5581_e400_0000, 0x5581_e420_0000));
        let sizes = [heap.resident_bytes, heap.anonymous_bytes, heap.huge_bytes, heap.swapped_bytes];
        assert_eq!(sizes, [1 << 20, 1020 << 10, 512 << 10, 16 << 10]);
        assert_eq!(mappings[0].access, Access { read: true, execute: true, ..Access::default() });
        assert_eq!((mappings[2].access, mappings[2].resident_bytes), (Access::default(), 0));
        assert_eq!(mappings.len(), 3);
    }

    #[test]
    fn what_is_no_mapping_is_passed_over() {
        assert_eq!(parse(b"Rss: 5 kB\n\xff\xfe: 3\nnonsense\n10-0 rw-p 0 0 0\n"), []);
        assert_eq!(parse(b""), []);
    }
}
