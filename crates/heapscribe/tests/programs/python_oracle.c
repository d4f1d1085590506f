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

static const char *text(PyObject *code, const char *name, PyObject **kept) {
    *kept = PyObject_GetAttrString(code, name);
    if (*kept == NULL) {
        PyErr_Clear();
        return NULL;
    }
    return PyUnicode_AsUTF8(*kept);
}

static void say(size_t size) {
    fprintf(out, "%ld %zu", (long)syscall(SYS_gettid), size);
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame != NULL) {
        PyObject *code = (PyObject *)PyFrame_GetCode(frame), *kept = NULL, *file = NULL;
        const char *name = text(code, "co_qualname", &kept);
        if (name == NULL)
            name = text(code, "co_name", &kept);
        fprintf(out, "\t%s\x1f%s\x1f%d", name, text(code, "co_filename", &file), PyFrame_GetLineNumber(frame));
        Py_XDECREF(kept);
        Py_XDECREF(file);
        Py_DECREF(code);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    fputc('\n', out);
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

/* The same without the interpreter's lock, as a library does that takes its time. */
static PyObject *tag_unlocked(PyObject *self, PyObject *arg) {
    size_t size = PyLong_AsSize_t(arg);
    Py_BEGIN_ALLOW_THREADS
    volatile char *block = malloc(size);
    block[0] = 1;
    free((void *)block);
    Py_END_ALLOW_THREADS
    say(size);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"tag", tag, METH_O, ""}, {"tag_unlocked", tag_unlocked, METH_O, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "oracle", "", -1, methods};

PyMODINIT_FUNC PyInit_oracle(void) {
    out = fopen(getenv("ORACLE"), "w");
    return PyModule_Create(&module);
}
