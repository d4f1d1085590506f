//! Definitions: `definitions.rs`.

use heapscribe_wire::definitions::{
    BadDefinition, Code, DEFINITION_BYTES_MAX, Definition, Definitions, Function, InterpretedNode,
    Interpreter, Module, NODE_BYTES_MAX, Node, Position,
};
use heapscribe_wire::frames_read::FramesRead;
use heapscribe_wire::ids::{CodeAddress, FunctionId, NameId, RateId, StackId, ThreadId};
use heapscribe_wire::language::Language;
use heapscribe_wire::limits::{
    BUILD_ID_BYTES_MAX, FUNCTION_NAME_BYTES_MAX, MARK_NAME_BYTES_MAX, NAME_BYTES_MAX, SOURCE_FILE_BYTES_MAX,
};
use heapscribe_wire::object_allocator::ObjectAllocator;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{holds_up_to, number};

fn name(max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![9 => vec(any::<u8>(), 0..20), 1 => vec(any::<u8>(), 0..max + 20)]
}

/// A definition that owns its names; of a node, the parent is one of those before it.
#[derive(Clone, Debug)]
enum Owned {
    Node { parent: u32, pc: u64, guesses: bool, exact: bool },
    Cut(u8, u32),
    Thread(u32, u32, u64, Vec<u8>),
    Module(u64, u64, u64, Vec<u8>, Vec<u8>),
    Unmapped,
    Rate(u8, u64),
    Name(u32, Vec<u8>),
    Function(u32, u8, u32, Vec<u8>, Vec<u8>),
    Interpreted(u32, u32, u32),
    Code(u64, u32, u32, u32, u32),
    Interpreter(u8, u32, u8, u8),
}

impl Owned {
    /// As a definition when `next` is the next node's number; names are cut where encoding cuts them.
    fn definition(&self, next: u32) -> Definition<'_> {
        fn cut(bytes: &[u8], max: usize) -> &[u8] {
            &bytes[..bytes.len().min(max)]
        }
        match self {
            Owned::Node { parent, pc, guesses, exact } => Definition::Node(Node {
                parent: StackId(parent % next),
                pc: CodeAddress(*pc),
                guesses: *guesses,
                exact: *exact,
            }),
            Owned::Cut(reason, parent) => Definition::Cut { reason: *reason, parent: StackId(parent % next) },
            Owned::Thread(id, tid, born_ticks, name) => Definition::Thread {
                id: ThreadId(*id),
                tid: *tid,
                born_ticks: *born_ticks,
                name: cut(name, NAME_BYTES_MAX),
            },
            Owned::Module(start, end, bias, name, build_id) => Definition::Module(Module {
                start: *start,
                end: *end,
                bias: *bias,
                name: cut(name, NAME_BYTES_MAX),
                build_id: cut(build_id, BUILD_ID_BYTES_MAX),
            }),
            Owned::Unmapped => Definition::Unmapped,
            Owned::Name(id, name) => {
                Definition::Name { id: NameId(*id), name: cut(name, MARK_NAME_BYTES_MAX) }
            }
            Owned::Rate(id, mean_bytes) => Definition::Rate { id: RateId(*id), mean_bytes: *mean_bytes },
            Owned::Function(id, language, first_line, name, file) => Definition::Function(Function {
                id: FunctionId(*id),
                language: Language(*language),
                first_line: *first_line,
                name: cut(name, FUNCTION_NAME_BYTES_MAX),
                file: cut(file, SOURCE_FILE_BYTES_MAX),
            }),
            Owned::Code(start, bytes, function, line, first_node) => Definition::Code(Code {
                start: start >> 1,
                end: (start >> 1) + u64::from(*bytes),
                function: FunctionId(*function),
                line: *line,
                first_node: StackId(*first_node),
            }),
            Owned::Interpreter(language, version, frames, objects) => Definition::Interpreter(Interpreter {
                language: Language(*language),
                version: *version,
                frames: FramesRead(*frames),
                objects: ObjectAllocator(*objects),
            }),
            Owned::Interpreted(parent, function, line) => Definition::Interpreted(InterpretedNode {
                parent: StackId(parent % next),
                function: FunctionId(*function),
                line: *line,
            }),
        }
    }
}

fn owned() -> impl Strategy<Value = Owned> {
    let node = (any::<u32>(), number(), any::<bool>(), any::<bool>());
    let module = (number(), number(), any::<u64>(), name(NAME_BYTES_MAX), name(BUILD_ID_BYTES_MAX));
    let function =
        (any::<u32>(), any::<u8>(), any::<u32>(), name(FUNCTION_NAME_BYTES_MAX), name(SOURCE_FILE_BYTES_MAX));
    prop_oneof![
        8 => node.prop_map(|(parent, pc, guesses, exact)| Owned::Node { parent, pc, guesses, exact }),
        1 => (any::<u8>(), any::<u32>()).prop_map(|(reason, parent)| Owned::Cut(reason, parent)),
        1 => (any::<u32>(), any::<u32>(), number(), name(NAME_BYTES_MAX))
            .prop_map(|(id, tid, born, name)| Owned::Thread(id, tid, born, name)),
        1 => module.prop_map(|(start, end, bias, name, id)| Owned::Module(start, end, bias, name, id)),
        1 => Just(Owned::Unmapped),
        1 => (any::<u32>(), name(MARK_NAME_BYTES_MAX)).prop_map(|(id, name)| Owned::Name(id, name)),
        1 => function.prop_map(|(id, of, line, name, file)| Owned::Function(id, of, line, name, file)),
        4 => (any::<u32>(), any::<u32>(), any::<u32>())
            .prop_map(|(parent, function, line)| Owned::Interpreted(parent, function, line)),
        1 => (number(), any::<u32>(), any::<u32>(), any::<u32>(), prop_oneof![Just(0), any::<u32>()])
            .prop_map(|(start, bytes, function, line, first)| Owned::Code(start, bytes, function, line, first)),
        1 => (any::<u8>(), any::<u32>(), any::<u8>(), 0..4u8)
            .prop_map(|(language, version, frames, objects)| Owned::Interpreter(language, version, frames, objects)),
        1 => (any::<u8>(), number()).prop_map(|(id, mean_bytes)| Owned::Rate(id, mean_bytes)),
    ]
}

/// Definitions with the numbers that they get, their bytes, and where each begins, with the end.
fn defined(all: &[Owned]) -> (Vec<(StackId, Definition<'_>)>, Vec<u8>, Vec<usize>) {
    let (mut definitions, mut bytes, mut starts) = (Vec::new(), Vec::new(), vec![0]);
    let mut position = Position::default();
    for owned in all {
        let definition = owned.definition(position.next_node);
        definitions.push((StackId(position.next_node), definition));
        let mut at = [0; DEFINITION_BYTES_MAX];
        let len = definition.encode(&mut position, &mut at).expect("room for the longest");
        assert!(!matches!(owned, Owned::Node { .. }) || len <= NODE_BYTES_MAX);
        bytes.extend(&at[..len]);
        starts.push(bytes.len());
    }
    (definitions, bytes, starts)
}

/// As [`read_events`]; a node's caller is always one before it.
fn read_definitions(bytes: &[u8]) -> (Vec<(StackId, Definition<'_>)>, Option<BadDefinition>) {
    let (mut definitions, mut read) = (Definitions::new(bytes, Position::default()), Vec::new());
    loop {
        let (before, position) = (definitions.offset(), definitions.position());
        match definitions.next() {
            None => return (read, None),
            Some(Ok((id, definition))) => {
                assert!(before < definitions.offset() && definitions.offset() <= bytes.len());
                assert!(!matches!(definition, Definition::Node(node) if node.parent >= id));
                assert!(!matches!(definition, Definition::Interpreted(node) if node.parent >= id));
                read.push((id, definition));
            }
            Some(Err(bad)) => {
                assert!(bad.offset == before && before < bytes.len());
                assert_eq!((definitions.offset(), definitions.position()), (before, position));
                assert!(definitions.next().is_none(), "after an error it ends");
                return (read, Some(bad));
            }
        }
    }
}

proptest! {
    #[test]
    fn definitions_round_trip(all in vec(owned(), 0..40)) {
        let (definitions, bytes, _) = defined(&all);
        prop_assert_eq!(read_definitions(&bytes), (definitions, None));
    }

    #[test]
    fn cut_definitions_are_those_before_the_cut(
        all in vec(owned(), 1..12), cut in any::<prop::sample::Index>()
    ) {
        let (definitions, bytes, starts) = defined(&all);
        let cut = cut.index(bytes.len());
        let (read, bad) = read_definitions(&bytes[..cut]);
        holds_up_to(cut, &starts, &definitions, &read);
        prop_assert_eq!(bad.map(|bad| bad.offset), (!starts.contains(&cut)).then(|| starts[read.len()]));
    }

    #[test]
    fn changed_definitions_do_no_harm(
        all in vec(owned(), 1..12), at in any::<prop::sample::Index>(), to in any::<u8>()
    ) {
        let (definitions, mut bytes, starts) = defined(&all);
        let at = at.index(bytes.len());
        bytes[at] = to;
        holds_up_to(at, &starts, &definitions, &read_definitions(&bytes).0);
    }

    #[test]
    fn any_bytes_are_definitions_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        read_definitions(&bytes);
    }

    #[test]
    fn a_definition_without_room_moves_nothing(owned in owned(), room in 0..DEFINITION_BYTES_MAX) {
        let (definitions, bytes, _) = defined(std::slice::from_ref(&owned));
        let mut position = Position::default();
        let len = definitions[0].1.encode(&mut position, &mut vec![0; room]);
        prop_assert_eq!(len, (room >= bytes.len()).then_some(bytes.len()));
        prop_assert!(len.is_some() || position == Position::default());
    }
}
