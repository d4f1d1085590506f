//! What is written is read, and what is none is refused.

use super::*;

fn node(parent: u32, pc: u64) -> Definition<'static> {
    Definition::Node(Node {
        parent: StackId(parent),
        pc: CodeAddress(pc),
        guesses: pc & 1 != 0,
        exact: pc & 0x10 != 0,
    })
}

fn code(first_node: StackId) -> Definition<'static> {
    let (start, end) = (0x7f00_0000, 0x7f00_0100);
    Definition::Code(Code { start, end, function: FunctionId(1), line: 3, first_node })
}

#[test]
fn a_stream_round_trips_and_any_cut_is_noticed() {
    let module =
        Module { start: 1 << 40, end: (1 << 40) + 4096, bias: u64::MAX, name: b"/x", build_id: &[7; 20] };
    let all = [
        Definition::Thread { id: ThreadId(1), tid: 77, born_ticks: 1 << 50, name: b"main" },
        Definition::Module(module),
        node(0, 0x5555_0000),
        node(1, 0x5555_0011),
        Definition::Cut { reason: 5, parent: StackId(0) },
        Definition::Cut { reason: 6, parent: StackId(2) },
        node(3, u64::MAX),
        Definition::Unmapped,
        Definition::Rate { id: RateId(2), mean_bytes: 512 << 10 },
        Definition::Name { id: NameId(300), name: b"snapshot-one" },
        node(0, 0),
        Definition::Function(Function {
            id: FunctionId(1),
            language: Language::PYTHON,
            first_line: 10,
            name: b"Shop.order",
            file: b"/srv/shop.py",
        }),
        Definition::Interpreted(InterpretedNode {
            parent: StackId(7 - 1),
            function: FunctionId(1),
            line: 12,
        }),
        node(7, 0x5555_0020),
        Definition::Interpreter(Interpreter {
            language: Language::PYTHON,
            version: 0x309,
            frames: FramesRead::VERSION,
            objects: ObjectAllocator::UNKNOWN,
        }),
        Definition::Interpreter(Interpreter {
            language: Language::PYTHON,
            version: 0x30b,
            frames: FramesRead::YES,
            objects: ObjectAllocator::MALLOC,
        }),
        code(StackId::UNKNOWN),
        code(StackId(7)),
    ];
    let mut bytes = vec![0; 512];
    let (mut position, mut len) = (Position::default(), 0);
    for d in &all {
        len += d.encode(&mut position, &mut bytes[len..]).unwrap();
    }
    let read: Vec<_> = Definitions::new(&bytes[..len], Position::default()).map(|r| r.unwrap().1).collect();
    assert_eq!(read, all);
    assert_eq!(position.next_node, 9);
    for cut in 0..len {
        let mut r = Definitions::new(&bytes[..cut], Position::default());
        let whole = r.by_ref().filter(Result::is_ok).count();
        assert!(whole < all.len());
        assert!(r.offset() <= cut);
    }
}

#[test]
fn no_room_moves_nothing() {
    let mut position = Position::default();
    for room in 0..3 {
        assert_eq!(node(0, 1 << 30).encode(&mut position, &mut vec![0; room]), None);
    }
    assert_eq!(position, Position::default());
}

#[test]
fn a_caller_from_the_future_is_refused() {
    for bytes in [
        &[NODE, 0, 0][..],
        &[NODE, 2, 0],
        &[CUT | CALLED, 5, 0],
        &[CUT | CALLED, 5, 2],
        &[INTERPRETED, 0, 1, 1],
    ] {
        let got = Definitions::new(bytes, Position::default()).next();
        assert!(matches!(got, Some(Err(BadDefinition { offset: 0, .. }))), "{got:?}");
    }
}
