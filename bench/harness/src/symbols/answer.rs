//! What a tool prints, in the form of `addr2line -a -f -i`, which llvm-symbolizer has too: a line with the address, then
//! two for each function there, the innermost first: its name, and FILE:LINE.

/// What is known of an address.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Place {
    pub(crate) address: u64,
    has_name: bool,
    /// File without its folders and line, of the innermost function.
    line: Option<String>,
    functions: usize,
}

/// How many addresses have what.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) asked: usize,
    pub(crate) with_name: usize,
    pub(crate) with_line: usize,
    /// Functions in all, inlined ones included.
    pub(crate) functions: usize,
}

/// Reads it.
pub(crate) fn places(text: &str) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(address) = line.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok()) {
            places.push(Place { address, ..Place::default() });
        } else if let (Some(place), Some(source)) = (places.last_mut(), lines.next()) {
            if place.functions == 0 {
                place.has_name = line != "??";
                place.line = known_line(source);
            }
            place.functions += 1;
        }
    }
    places
}

/// `a/b.c:7 (discriminator 2)` is `b.c:7`; without a file or a line nothing is known.
fn known_line(source: &str) -> Option<String> {
    let source = source.split(" (discriminator").next()?;
    let (file, line) = source.rsplit_once(':')?;
    let is_known = line.parse::<u32>().is_ok_and(|line| line > 0) && !file.starts_with("??");
    is_known.then(|| format!("{}:{line}", file.rsplit('/').next().unwrap_or(file)))
}

impl Counts {
    pub(crate) fn of(places: &[Place]) -> Counts {
        Counts {
            asked: places.len(),
            with_name: places.iter().filter(|place| place.has_name).count(),
            with_line: places.iter().filter(|place| place.line.is_some()).count(),
            functions: places.iter().map(|place| place.functions).sum(),
        }
    }
}

/// Of how many addresses both say the same line.
pub(crate) fn same_lines(one: &[Place], other: &[Place]) -> usize {
    one.iter().zip(other).filter(|(a, b)| a.address == b.address && a.line == b.line).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tools_are_read_alike() {
        let addr2line = "0x0000000000001139\ninner\n/src/a/b.c:7 (discriminator 2)\nmain\n/src/a/b.c:20\n\
                         0x0000000000002000\n??\n??:0\n0x0000000000002010\nwide\n??:?\n";
        let llvm = "0x1139\ninner\n/elsewhere/b.c:7\nmain\nb.c:20\n0x2000\n??\n??:0:0\n0x2010\nwide\nx.c:0\n";
        let (one, other) = (places(addr2line), places(llvm));
        assert_eq!(Counts::of(&one), Counts { asked: 3, with_name: 2, with_line: 1, functions: 4 });
        assert_eq!(Counts::of(&other), Counts::of(&one));
        assert_eq!(same_lines(&one, &other), 3);
        assert_eq!(same_lines(&one, &places(&llvm.replace(":7", ":8"))), 2);
    }
}
