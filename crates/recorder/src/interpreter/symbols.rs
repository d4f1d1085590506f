//! Functions by which an interpreter is recognized in a module, and its version where it does not say it itself.

use heapscribe_wire::language::Language;

/// Interpreters whose frames are not read yet, by what programs embed them with, or debuggers know them by.
pub(super) const OTHERS: [(Language, &[u8]); 5] = [
    (Language::PYTHON, b"pypy_main_startup"),
    (Language::JAVA, b"JNI_CreateJavaVM"),
    (Language::RUBY, b"ruby_run_node"),
    (Language::PERL, b"Perl_runops_standard"),
    (Language::LUA, b"lua_pcallk"),
];

/// Functions that a version was the first to have, from the newest on; later ones say their version.
pub(super) const FIRST_WITH: [(&[u8], u32); 5] = [
    (b"Py_Is", 0x30a),
    (b"PyObject_GC_IsTracked", 0x309),
    (b"PyCode_NewWithPosOnlyArgs", 0x308),
    (b"PyImport_GetModule", 0x307),
    (b"PyOS_FSPath", 0x306),
];
