//! What a store reads, keeps and names.

use std::path::Path;
use std::process::Command;

use heapscribe_symbols::{Module, Resolver};

use super::*;

fn line(build_id: Option<&str>, offset: u64) -> Line {
    let mut line = Line { build_id: build_id.map(str::to_owned), call_bytes: 1, ..Line::default() };
    line.frame.offset = offset;
    line.frame.module = Some("/nowhere/app".to_owned());
    line
}

fn put(folder: &Path, stacks: &[(i64, Vec<Line>)]) {
    let facts = TableFacts { name: "stacks", ..TableFacts::default() };
    let mut file = TableFile::create(folder, TableFormat::Parquet, facts).unwrap();
    let rows: Vec<_> = stacks.iter().map(|(number, lines)| (*number, lines.iter().collect())).collect();
    file.write(&batch(&rows)).unwrap();
    file.close().unwrap();
}

fn written(store: &Store) -> Vec<(i64, Vec<String>)> {
    let (bytes, mut all) = (fs::read(store.own()).unwrap(), Vec::new());
    let table = StoredStacks::open(&bytes).unwrap();
    let name = |line: &super::super::read_stacks::StoredLine<'_>| {
        format!("{}@{:#x}{}", line.function.unwrap_or("?"), line.offset, if line.inlined { "i" } else { "" })
    };
    table.for_each(|number, lines| all.push((number, lines.iter().map(name).collect()))).unwrap();
    all
}

#[test]
fn tables_are_read_once_and_stacks_are_there_once() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("host=a/date=d"), dir.path().join("host=b/date=d"));
    put(&one, &[(1, vec![line(Some("ab"), 16), line(Some("ab"), 16)]), (2, vec![line(None, 32)])]);
    put(&dir.path().join("host=a/.hidden"), &[(9, vec![])]);
    let mut store = Store::open(dir.path()).unwrap();
    let added = store.read_tables();
    assert_eq!((added.tables, added.stacks, added.problems.len()), (1, 2, 0));
    store.write().unwrap();
    let expected = [(1, vec!["?@0x10".to_owned(); 2]), (2, vec!["?@0x20".to_owned()])];
    assert_eq!(written(&store), expected);
    // Of another host comes a stack that is known and one that is not, and something that is no table.
    put(&two, &[(1, vec![line(Some("ab"), 16); 2]), (-3, vec![])]);
    fs::write(two.join("x.stacks.parquet"), b"PAR1").unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let added = store.read_tables();
    assert_eq!((added.stacks, store.counts()), (1, (3, 2)));
    assert_eq!(added.problems, [(two.join("x.stacks.parquet"), "the file is cut, at byte 4".to_owned())]);
    // Long after it was read, a table is not read again; a new one in its folder is.
    let later = |ns: &mut u64| *ns += 2 * SLACK_NS;
    store.read_ns.values_mut().for_each(later);
    assert_eq!(store.read_tables(), Added::default());
    store.read_ns.remove("host=b/date=d");
    assert_eq!(store.read_tables().tables, 1);
}

/// A function that calls itself from one place, and one that is inlined into another, look alike but for what says so.
#[test]
fn names_are_looked_up_once_for_all_stacks() {
    let dir = tempfile::tempdir().unwrap();
    let source = "static inline __attribute__((always_inline)) int deep(int n) { __asm__(\"nop\"); return n * 2; }\n\
                  int outer(int n) { return deep(n) + 1; }\nint main(void) { return outer(1); }\n";
    let program = dir.path().join("app");
    fs::write(dir.path().join("app.c"), source).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-g", "-O1", "-Wl,--build-id", "-o"]).arg(&program).arg(dir.path().join("app.c"));
    assert!(cc.status().unwrap().success());
    let module = Module::of_file(&program).unwrap();
    let id: String = module.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let bytes = fs::read(&program).unwrap();
    let nop = nop_of_outer(&bytes, &program);
    let both = vec![line(Some(&id), nop + 1), line(Some(&id), nop + 1)];
    put(&dir.path().join("windows"), &[(1, both), (2, vec![line(Some("cd"), 5)])]);
    let mut store = Store::open(&dir.path().join("windows")).unwrap();
    store.read_tables();
    let unnamed = store.unnamed();
    assert_eq!(unnamed[&module.build_id].nameless, [nop].into());
    assert!(unnamed[&module.build_id].paths.contains("/nowhere/app"));
    let names = Resolver::new("").resolve(&[(module.clone(), vec![nop])]).remove(0);
    assert_eq!(store.name(&[(module.build_id.clone(), names)].into()), 1);
    store.write().unwrap();
    let place = format!("{:#x}", nop + 1);
    let expected = ["deep", "outer", "deep", "outer"].iter().enumerate();
    let expected: Vec<_> =
        expected.map(|(n, name)| format!("{name}@{place}{}", if n % 2 == 0 { "i" } else { "" })).collect();
    assert_eq!(written(&store), [(1, expected.clone()), (2, vec!["?@0x5".to_owned()])]);
    // What is named stays so, and is not looked up.
    let store = Store::open(&dir.path().join("windows")).unwrap();
    assert_eq!(store.unnamed().into_keys().collect::<Vec<_>>(), [vec![0xcd]]);
    assert_eq!(written(&store)[0].1, expected);
}

/// The address of the instruction of the function that is inlined.
fn nop_of_outer(bytes: &[u8], program: &Path) -> u64 {
    let output = Command::new("objdump").args(["-d", "--disassemble=outer"]).arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.trim_end().ends_with("nop")).expect("outer has its nop");
    let address = u64::from_str_radix(line.trim_start().split(':').next().unwrap(), 16).unwrap();
    assert!((address as usize) < bytes.len());
    address
}

#[test]
fn what_it_wrote_itself_must_be_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    store.write().unwrap();
    assert_eq!(Store::open(dir.path()).unwrap().counts(), (0, 0));
    let bytes = fs::read(store.own()).unwrap();
    fs::write(store.own(), &bytes[..bytes.len() - 1]).unwrap();
    let wrong = Store::open(dir.path()).err().unwrap().to_string();
    assert!(
        wrong.ends_with(&format!("stacks.parquet: the file is cut, at byte {}", bytes.len() - 1)),
        "{wrong}"
    );
}
