/* Reading a few columns of a large array. */
#include "kernels.h"

/* Each column is elsewhere in memory, and only its beginning is fetched ahead by itself: so the next ones are asked for
 * while one is copied. */
#define AHEAD 4

#ifdef __GNUC__
#define SOON(address) __builtin_prefetch(address)
#else
#define SOON(address) (void)(address)
#endif

#define COPY_COLUMNS(type)                                                                                       \
    static void copy_##type(                                                                                      \
        const type *cells, Py_ssize_t n, const int64_t *columns, Py_ssize_t p, Py_ssize_t m, double *to)          \
    {                                                                                                             \
        Py_ssize_t line = 64 / (Py_ssize_t)sizeof(type);                                                          \
        for (Py_ssize_t j = 0; j < p; j++, to += m) {                                                             \
            const type *from = cells + columns[j] * n, *soon = cells + columns[j + AHEAD < p ? j + AHEAD : j] * n; \
            for (Py_ssize_t i = 0; i < m && i < 512; i += line) SOON(soon + i);                                   \
            for (Py_ssize_t i = 0; i < m; i++) to[i] = (double)from[i];                                           \
        }                                                                                                         \
    }

COPY_COLUMNS(double)
COPY_COLUMNS(float)

/* read_columns(array, start, columns, cells)
 *
 * `ArrayTable.read`, where the array has doubles or floats in Fortran order: rows from `start` on. */
KERNEL(read_columns)
{
    (void)self;
    if (!enough(n_args, 4)) return NULL;
    Py_ssize_t start = PyLong_AsSsize_t(args[1]), p = size_of(args[2]);
    if (p < 0 || PyErr_Occurred()) return NULL;
    const int64_t *columns = whole(args[2], p);
    Py_buffer from, to;
    if (!columns || PyObject_GetBuffer(args[0], &from, PyBUF_F_CONTIGUOUS | PyBUF_FORMAT) < 0) return NULL;
    if (PyObject_GetBuffer(args[3], &to, PyBUF_F_CONTIGUOUS | PyBUF_WRITABLE) < 0) {
        PyBuffer_Release(&from);
        return NULL;
    }
    int doubles = !strcmp(from.format, "d"), known = doubles || !strcmp(from.format, "f");
    int fits = known && from.ndim == 2 && to.ndim == 2 && to.itemsize == 8 && to.shape[1] == p;
    fits = fits && start >= 0 && start + to.shape[0] <= from.shape[0];
    if (!fits) PyErr_SetString(PyExc_ValueError, "there are not as many rows and columns.");
    if (fits && within(columns, p, from.shape[1])) {
        if (doubles)
            copy_double((const double *)from.buf + start, from.shape[0], columns, p, to.shape[0], to.buf);
        else
            copy_float((const float *)from.buf + start, from.shape[0], columns, p, to.shape[0], to.buf);
    }
    PyBuffer_Release(&from);
    PyBuffer_Release(&to);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}
