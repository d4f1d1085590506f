/* Says for each block that it makes which Python frames there are, as the interpreter itself tells. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#if PY_VERSION_HEX < 0x03090000
static PyCodeObject *PyFrame_GetCode(PyFrameObject *frame) {
    Py_INCREF(frame->f_code);
    return frame->f_code;
}
static PyFrameObject *PyFrame_GetBack(PyFrameObject *frame) {
    Py_XINCREF(frame->f_back);
    return frame->f_back;
}
#endif

static FILE *out;
/* What is called in place of the walk below. */
static PyObject *noter;

static const char *text(PyObject *code, const char *name, PyObject **kept) {
    *kept = PyObject_GetAttrString(code, name);
    if (*kept == NULL) {
        PyErr_Clear();
        return NULL;
    }
    return PyUnicode_AsUTF8(*kept);
}

static void say(size_t size) {
    long tid = syscall(SYS_gettid);
    if (noter != NULL) {
        Py_XDECREF(PyObject_CallFunction(noter, "ln", tid, (Py_ssize_t)size));
        return;
    }
    /* Interpreters with locks of their own write at the same time: each line at once. */
    char *line;
    size_t length;
    FILE *made = open_memstream(&line, &length);
    fprintf(made, "%ld %zu", tid, size);
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame != NULL) {
        PyObject *code = (PyObject *)PyFrame_GetCode(frame), *kept = NULL, *file = NULL;
        const char *name = text(code, "co_qualname", &kept);
        if (name == NULL)
            name = text(code, "co_name", &kept);
        fprintf(made, "\t%s\x1f%s\x1f%d", name, text(code, "co_filename", &file), PyFrame_GetLineNumber(frame));
        Py_XDECREF(kept);
        Py_XDECREF(file);
        Py_DECREF(code);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    fputc('\n', made);
    fclose(made);
    fwrite(line, 1, length, out);
    free(line);
}

/* tag(size): a block of this size, freed at once. */
static PyObject *tag(PyObject *self, PyObject *arg) {
    size_t size = PyLong_AsSize_t(arg);
    volatile char *block = malloc(size);
    block[0] = 1;
    free((void *)block);
    say(size);
    Py_RETURN_NONE;
}

static void make_unlocked(size_t size) {
    Py_BEGIN_ALLOW_THREADS
    volatile char *block = malloc(size);
    block[0] = 1;
    free((void *)block);
    Py_END_ALLOW_THREADS
}

/* The same without the interpreter's lock, as a library does that takes its time. */
static PyObject *tag_unlocked(PyObject *self, PyObject *arg) {
    size_t size = PyLong_AsSize_t(arg);
    make_unlocked(size);
    say(size);
    Py_RETURN_NONE;
}

/* tag_around(function, size): a block without the lock, then a call of the function, which has it, then a block without the
   lock again. */
static PyObject *tag_around(PyObject *self, PyObject *args) {
    PyObject *function, *result = NULL;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "On", &function, &size))
        return NULL;
    for (int i = 0; i < 2; i++) {
        make_unlocked((size_t)size);
        say(size);
        if (i == 0 && (result = PyObject_CallFunction(function, NULL)) == NULL)
            return NULL;
    }
    return result;
}

/* note_by(function): from now on it is called with the thread and the size, to write down the stack itself. */
static PyObject *note_by(PyObject *self, PyObject *function) {
    Py_INCREF(function);
    noter = function;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"tag", tag, METH_O, ""},
    {"tag_unlocked", tag_unlocked, METH_O, ""},
    {"tag_around", tag_around, METH_VARARGS, ""},
    {"note_by", note_by, METH_O, ""},
    {0},
};
/* Each interpreter of the process has a module of its own, and all write into one file. */
static PyModuleDef_Slot slots[] = {
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "oracle", "", 0, methods, slots};

PyMODINIT_FUNC PyInit_oracle(void) {
    if (out == NULL)
        out = fopen(getenv("ORACLE"), "w");
    return PyModuleDef_Init(&module);
}
