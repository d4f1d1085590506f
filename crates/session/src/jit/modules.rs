//! Which frames may be of code that a runtime has made: those in no file. Files come and go, and where one was, there may be
//! such code later.

use heapscribe_wire::definitions::{Definition, Definitions, Module, Position};
use heapscribe_wire::ids::StackId;

/// Finds nodes in no file, in definitions that come one after the other.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    /// Ranges of addresses of files, ascending, with no overlaps.
    files: Vec<(u64, u64)>,
    /// The one that the last address was in: mostly the next one is, too.
    last: (u64, u64),
}

impl Outside {
    /// Takes the next definition: the address of the call, if it is a node in no file.
    pub fn take(&mut self, definition: &Definition<'_>) -> Option<u64> {
        match definition {
            Definition::Module(Module { start, end, .. }) => self.file(*start, *end),
            Definition::Unmapped => {
                self.files.clear();
                self.last = (0, 0);
            }
            Definition::Node(node) => {
                let call = node.pc.0.wrapping_sub(u64::from(!node.exact));
                return (!self.is_in_file(call)).then_some(call);
            }
            _ => {}
        }
        None
    }

    fn file(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let first = self.files.partition_point(|file| file.1 < start);
        let last = self.files.partition_point(|file| file.0 <= end);
        let joined = &self.files[first..last.max(first)];
        let start = joined.first().map_or(start, |file| file.0.min(start));
        let end = joined.last().map_or(end, |file| file.1.max(end));
        self.files.splice(first..last.max(first), [(start, end)]);
    }

    fn is_in_file(&mut self, address: u64) -> bool {
        if (self.last.0..self.last.1).contains(&address) {
            return true;
        }
        let after = self.files.partition_point(|file| file.0 <= address);
        let file = after.checked_sub(1).map(|at| self.files[at]).filter(|file| address < file.1);
        self.last = file.unwrap_or(self.last);
        file.is_some()
    }
}

/// The addresses of calls in no file that these definitions have, and their nodes, in this order.
pub fn outside(definitions: &[u8]) -> Vec<(u64, StackId)> {
    let mut outside = Outside::default();
    let definitions = Definitions::new(definitions, Position::default()).map_while(Result::ok);
    let mut nodes: Vec<_> =
        definitions.filter_map(|(id, definition)| Some((outside.take(&definition)?, id))).collect();
    nodes.sort_unstable();
    nodes
}

#[cfg(test)]
mod tests {
    use heapscribe_wire::definitions::{DEFINITION_BYTES_MAX, Node};
    use heapscribe_wire::ids::CodeAddress;

    use super::*;

    /// `+` begins a file of two addresses, `.` a node whose call is at one, `-` unmaps all; which nodes are in no file.
    fn check(script: &[(char, u64)], expected: &[(u64, u32)]) {
        let (mut bytes, mut position) = (Vec::new(), Position::default());
        for (what, at) in script {
            let definition = match what {
                '+' => Definition::Module(Module { start: *at, end: at + 2, ..Module::default() }),
                '.' => Definition::Node(Node {
                    parent: StackId::UNKNOWN,
                    pc: CodeAddress(at + 1),
                    guesses: false,
                    exact: false,
                }),
                _ => Definition::Unmapped,
            };
            let mut room = [0; DEFINITION_BYTES_MAX];
            let n = definition.encode(&mut position, &mut room).unwrap();
            bytes.extend_from_slice(&room[..n]);
        }
        let found: Vec<_> = outside(&bytes).into_iter().map(|(address, id)| (address, id.0)).collect();
        assert_eq!(found, expected, "{script:?}");
    }

    #[test]
    fn frames_in_no_file_of_that_time() {
        check(&[('.', 5), ('+', 5), ('.', 5), ('.', 6), ('.', 7), ('.', 4)], &[(4, 5), (5, 1), (7, 4)]);
        check(&[('+', 5), ('-', 0), ('.', 5)], &[(5, 1)]);
        check(&[('+', 5), ('.', 5), ('-', 0), ('.', 5)], &[(5, 2)]);
        let files = [('+', 10), ('+', 4), ('+', 7), ('+', 6), ('+', 8)];
        let nodes = [('.', 3), ('.', 4), ('.', 9), ('.', 11), ('.', 12)];
        check(&[&files[..], &nodes].concat(), &[(3, 1), (12, 5)]);
    }
}
