//! Scripts that have no name of their own, as `eval` or `new Function` has made them of text.

use super::super::function::Function;
use super::{LAYOUT, SCRIPT, heap, object, smi, string};
use crate::platform::lock::Lock;

/// A script with this name, evaluated by the function that has this.
fn script(name: usize, by: usize) -> usize {
    object(SCRIPT, &[string("x"), name, smi(0), 0, 0, 0, 0, 0, by, smi(0)])
}

/// What a function of a script shares with its closures.
fn shared_of(script: usize) -> usize {
    object(LAYOUT.types.shared, &[0, smi(0), 0, script])
}

fn check_file(script: usize, expected: &str) {
    let (heap, lock) = (heap(&LAYOUT), Lock::default());
    let held = lock.hold().unwrap();
    let function = Function::of_shared(&heap, shared_of(script)).unwrap();
    let names = function.names(&heap, 1, &held).unwrap();
    assert_eq!(std::str::from_utf8(names.file).unwrap(), expected);
}

#[test]
fn a_script_that_was_evaluated_has_the_file_of_the_code_that_did_so() {
    let none = object(131, &[]);
    let file = script(string("file:///srv/a.js"), none);
    check_file(file, "/srv/a.js");
    let inner = script(none, shared_of(file));
    check_file(inner, "/srv/a.js (eval)");
    check_file(script(none, shared_of(inner)), "/srv/a.js (eval)");
    check_file(script(string("named.js"), shared_of(file)), "named.js");
    check_file(script(none, none), "");
    check_file(script(none, smi(0)), "");
    check_file(script(none, shared_of(smi(3))), "");
    let long = "x".repeat(heapscribe_wire::limits::SOURCE_FILE_BYTES_MAX);
    check_file(script(none, shared_of(script(string(&long), none))), &long);
}
