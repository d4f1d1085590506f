/* A module in C for extension.py: `parse` takes memory for each row and never gives it back, `widest` takes 40 MB
 * for a moment. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) char *keep_row(const char *text, Py_ssize_t length) {
    char *row = malloc((size_t)length); /* LEAK */
    if (row != NULL) memset(row, text[0], (size_t)length);
    return row;
}

static PyObject *parse(PyObject *self, PyObject *args) {
    const char *text;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "s#", &text, &length)) return NULL;
    char *row = keep_row(text, length);
    return row == NULL ? PyErr_NoMemory() : PyLong_FromLong(row[0]);
}

static __attribute__((noinline)) char *take_columns(size_t size) {
    char *columns = malloc(size); /* PEAK */
    if (columns != NULL) memset(columns, 1, size);
    return columns;
}

static PyObject *widest(PyObject *self, PyObject *args) {
    char *columns = take_columns(40000000);
    long first = columns == NULL ? 0 : columns[0];
    free(columns);
    return PyLong_FromLong(first);
}

static PyMethodDef methods[] = {{"parse", parse, METH_VARARGS, NULL}, {"widest", widest, METH_NOARGS, NULL}, {NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fastrow", NULL, -1, methods};

PyMODINIT_FUNC PyInit_fastrow(void) { return PyModule_Create(&module); }
