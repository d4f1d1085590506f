//! Names, inlined calls and lines at addresses all over a program, compared with what other readers of the same debug
//! information say: `addr2line` of binutils and `llvm-symbolizer`, which print them in one form.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use object::SectionKind;

use super::sources::skip;
use super::*;

/// What is said of one call: a function without its arguments, the end of its file's path, and its line.
type Step = (Option<String>, Option<String>, Option<u32>);
/// The innermost first.
type Steps = Vec<Step>;

/// Addresses that are asked for of each program.
const ADDRESSES: usize = 2_000;

const CPP: &str = include_str!("oracle.cpp");

/// Where code lies, at equal distances that are no length of an instruction.
fn addresses(program: &Program) -> Vec<u64> {
    let text = crate::elf::with_object(&program.path, |object| {
        let text = object
            .sections()
            .find(|section| section.kind() == SectionKind::Text && section.name() == Ok(".text"));
        text.map(|text| (text.address(), text.size()))
    });
    let (begin, size) = text.unwrap().unwrap();
    let step = (size / ADDRESSES as u64).max(1);
    (0..size).step_by(step as usize).map(|offset| begin + offset).collect()
}

/// What a program prints that is asked as `addr2line` is.
fn printed_by(command: &mut Command, addresses: &[u64]) -> BTreeMap<u64, Steps> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut asked = String::new();
    addresses.iter().for_each(|address| writeln!(asked, "{address:#x}").unwrap());
    let mut input = child.stdin.take().unwrap();
    let asks = std::thread::spawn(move || input.write_all(asked.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    asks.join().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (mut all, mut lines, mut at) = (BTreeMap::<u64, Steps>::new(), text.lines().peekable(), 0);
    while let Some(line) = lines.next() {
        if let Some(address) = line.strip_prefix("0x") {
            at = u64::from_str_radix(address, 16).unwrap();
            all.entry(at).or_default();
        } else if let Some(place) = lines.next() {
            all.entry(at).or_default().push(step(line, place));
        }
    }
    all
}

/// `?` is what is not known; which of several blocks on a line it is, only binutils say.
fn step(function: &str, place: &str) -> Step {
    let known = |text: &str| (!text.starts_with('?')).then(|| text.to_owned());
    let place = place.split(" (discriminator").next().unwrap_or_default();
    let (file, line) = place.rsplit_once(':').unwrap_or((place, "?"));
    let file = known(file).map(|file| end_of(&file));
    (known(function).map(|function| plain(&function)), file, line.parse().ok().filter(|line| *line != 0))
}

/// The last part of a path: how folders are put together is each reader's own.
fn end_of(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// A function's name without arguments, those of templates and what it returns, which demanglers write differently.
fn plain(function: &str) -> String {
    let function =
        function.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "operator{}");
    let (mut depth, mut name) = (0, String::new());
    for char in function.chars() {
        match char {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 => break,
            _ if depth == 0 => name.push(char),
            _ => {}
        }
    }
    if let Some((scope, _)) = name.split_once("'lambda") {
        return format!("{scope}{{lambda"); // of several in one function LLVM counts otherwise
    }
    // `std::ostream` has a mangled name of its own, which some write as what it stands for.
    name.rsplit(' ').next().unwrap_or_default().replace("__cxx11::", "").replace("basic_", "")
}

fn ours(program: &Program, addresses: &[u64]) -> BTreeMap<u64, Steps> {
    let names = program.names(program.module(), addresses);
    let step = |step: &SourceFrame| {
        (
            step.function.as_deref().map(plain),
            step.file.as_deref().map(end_of),
            step.line.filter(|line| *line != 0),
        )
    };
    addresses.iter().map(|address| (*address, names.at(*address).iter().map(step).collect())).collect()
}

/// Whether two names are of one function: a symbol has the names of what it is in, debug information need not, and a
/// part of a function that was moved elsewhere is called so by its symbol alone.
fn is_one(ours: Option<&str>, other: Option<&str>) -> bool {
    let (Some(ours), Some(other)) = (ours, other) else { return ours == other };
    let part = [".cold", ".part", ".isra", ".constprop", ".lto_priv"];
    let other = part.iter().fold(other, |name, part| name.split(part).next().unwrap_or(name));
    // LLVM 14 does not demangle the conditions of `std::swap`.
    let is_mangled = other.starts_with("_Z");
    // A constructor that is inherited has the name of the base in one demangler, and that of the class in another.
    let is_inherited = match (ours.rsplit_once("::"), other.rsplit_once("::")) {
        (Some((class, _)), Some((same, name))) => class == same && class.rsplit("::").next() == Some(name),
        _ => false,
    };
    let is_longer = |long: &str, short: &str| long.ends_with(&format!("::{short}"));
    ours == other || is_longer(ours, other) || is_longer(other, ours) || is_mangled || is_inherited
}

/// Whether all steps are the same. Of calls that are inlined, `addr2line` gives the innermost the name of the symbol that
/// all are in: so that one is compared with `llvm-symbolizer` alone.
fn agrees(ours: &Steps, other: &Steps, is_llvm: bool) -> bool {
    let is_same = |n: usize| {
        let ((name, file, line), (other_name, other_file, other_line)) = (&ours[n], &other[n]);
        // What fills the space between two functions is in neither; binutils take the one before.
        let is_compared = is_llvm || name.is_some() && (n > 0 || ours.len() == 1);
        (file, line) == (other_file, other_line)
            && (!is_compared || is_one(name.as_deref(), other_name.as_deref()))
    };
    ours.len() == other.len() && (0..ours.len()).all(is_same)
}

/// Compares a program with what a reader says of it.
fn check(program: &Program, reader: &str) {
    let is_llvm = reader == "llvm-symbolizer";
    let addresses = addresses(program);
    assert!(addresses.len() >= ADDRESSES, "{}", addresses.len());
    let found = ours(program, &addresses);
    let mut command = Command::new(reader);
    command.args(["-f", "-i", "-a", "-C", "-e"]).arg(&program.path);
    if is_llvm {
        command.arg("--output-style=GNU");
    }
    let printed = printed_by(&mut command, &addresses);
    // Of code without lines readers go by symbols, and take the nearest or none.
    let has_lines = |steps: &Steps| steps.iter().any(|(.., line)| line.is_some());
    let is_different = |(address, ours): &(&u64, &Steps)| {
        let other = &printed[*address];
        (has_lines(ours) || has_lines(other)) && !agrees(ours, other, is_llvm)
    };
    let different: Vec<_> = found.iter().filter(is_different).collect();
    let shown: Vec<_> =
        different.iter().take(4).map(|(at, ours)| (format!("{at:#x}"), ours, printed.get(at))).collect();
    assert!(different.is_empty(), "{reader}: {} of {} differ: {shown:#?}", different.len(), found.len());
}

/// With this compiler and these options; `addr2line` reads no split debug information.
fn check_all(compiler: &str, flags: &[&str], is_split: bool) {
    let program = Program::compile(CPP, "oracle.cpp", compiler, &[flags, &["-g", "-std=c++17"]].concat());
    if !is_split {
        check(&program, "addr2line");
    }
    if Command::new("llvm-symbolizer").arg("--version").output().is_ok() {
        check(&program, "llvm-symbolizer");
    } else {
        skip("there is no llvm-symbolizer (apt-get install llvm)");
    }
}

// 10,000 addresses, 2,000 of each program.

#[test]
fn other_readers_say_the_same_of_dwarf_5() {
    check_all("c++", &["-O2", "-gdwarf-5"], false);
}

#[test]
fn other_readers_say_the_same_of_dwarf_4() {
    check_all("c++", &["-O2", "-gdwarf-4"], false);
}

#[test]
fn other_readers_say_the_same_without_optimisation() {
    check_all("c++", &["-O0"], false);
}

#[test]
fn other_readers_say_the_same_of_sections_of_functions() {
    check_all("c++", &["-Os", "-ffunction-sections"], false);
}

#[test]
fn other_readers_say_the_same_of_split_information() {
    check_all("c++", &["-O2", "-gsplit-dwarf"], true);
}
