//! Which programs get the heap: preloaded libraries are loaded into all that a program starts, and a prefaulted pool
//! of 64 MiB costs each of them 20 to 50 ms (heaphook zeroed 100 MB in every child).

use heapscribe_nolibc::sys;

use crate::setting;

const PATH_BYTES_MAX: usize = 4096;

/// Whether this program is one of those that `HEAPSCRIBE_HEAP_ONLY` names, separated by colons; all are when it
/// names none, or when this one's name is not to be had.
pub(crate) fn is_wanted() -> bool {
    let listed = |list: &[u8]| {
        let mut room = [0; PATH_BYTES_MAX];
        match sys::readlink(c"/proc/self/exe", &mut room) {
            Ok(len) => names(list, room.get(..len).unwrap_or_default()),
            Err(_) => true,
        }
    };
    setting::with(c"HEAPSCRIBE_HEAP_ONLY", listed).unwrap_or(true)
}

/// Whether a list names the program at `path`, by the last part of its path or the whole of it.
fn names(list: &[u8], path: &[u8]) -> bool {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
    let mut wanted = list.split(|&b| b == b':').filter(|entry| !entry.is_empty()).peekable();
    wanted.peek().is_none() || wanted.any(|entry| entry == name || entry == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_named_by_their_file_or_their_path() {
        for (list, path, expected) in [
            ("", "/bin/ls", true),
            (":", "/bin/ls", true),
            ("ls", "/bin/ls", true),
            ("sh:ls", "/bin/ls", true),
            ("/bin/ls", "/bin/ls", true),
            ("/usr/bin/ls", "/bin/ls", false),
            ("l", "/bin/ls", false),
            ("bin", "/bin/ls", false),
        ] {
            assert_eq!(names(list.as_bytes(), path.as_bytes()), expected, "{list} {path}");
        }
    }
}
