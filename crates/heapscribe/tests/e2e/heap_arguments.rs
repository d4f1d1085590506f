//! Every function of the heap with every odd argument, in one program: under a heap and recorded it prints what it
//! prints on its own - results, errno, alignment, room and contents.

use crate::support::{Place, Run, has, heaps, skip};

fn check(program: &str, place: &Place) {
    let run = Run::new(place, program);
    let plain = run.plain();
    assert_eq!((plain.code, plain.stdout.lines().count() > 1000), (0, true), "{}", plain.stderr);
    let recorded = run.clone().options(["-q"]);
    for (name, ended) in [
        ("tlsf", run.under("tlsf")),
        ("tlsf without caches", run.under_with("tlsf", &["--cache", "0"])),
        ("system", run.under("system")),
        ("C", run.under(heaps::in_c(place))),
        ("recorded", recorded.recorded()),
        ("recorded on tlsf", recorded.clone().options(["--heap", "tlsf"]).recorded()),
    ] {
        let differs = plain.stdout.lines().zip(ended.stdout.lines()).filter(|(plain, under)| plain != under);
        assert_eq!(differs.take(5).collect::<Vec<_>>(), [], "{name}");
        assert_eq!((ended.code, ended.stdout.lines().count()), (0, plain.stdout.lines().count()), "{name}");
    }
}

#[test]
fn as_glibc_does() {
    let place = Place::new();
    let program = place.compile("heap_arguments.c");
    check(program.to_str().unwrap(), &place);
}

#[test]
fn as_musl_does() {
    if !has("musl-gcc") {
        return skip("musl-gcc is not there");
    }
    let place = Place::new();
    let program = place.compile_with("musl-gcc", "heap_arguments.c", "heap_arguments", &[]);
    check(program.to_str().unwrap(), &place);
}
