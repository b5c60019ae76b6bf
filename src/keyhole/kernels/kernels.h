/* The innermost loops, in C.
 *
 * Each kernel does what some lines of numpy do, which stand next to where it is called and run where there is no
 * compiler; tests hold the one against the other, and fail where a constant differs. Kernels work on arrays that Python
 * owns, read them through the buffer protocol and keep nothing, so that neither headers of numpy nor its version matter,
 * and one build serves every Python from 3.11 on.
 *
 * Loops over long arrays are written so that a compiler can vectorise them; `omp simd` allows it to add up in any order.
 */
#ifndef KEYHOLE_KERNELS_H
#define KEYHOLE_KERNELS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Where the loader can choose, versions for processors with AVX2 and AVX-512 are compiled as well. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

/* A function that Python calls; nobody else sees it. */
#ifdef __GNUC__
#define HIDDEN __attribute__((visibility("hidden")))
#else
#define HIDDEN
#endif
#define KERNEL(name) HIDDEN PyObject *kernel_##name(PyObject *self, PyObject *const *args, Py_ssize_t n_args)

/* As in pursuit/constants.py. */
#define TINY 1e-300
#define VISIBLE_T2 16.0
#define COPY 0.03

/* The rows of the table of sums, in the order of `Sums` in pursuit/scores.py, and its tables with a row for each seat. */
enum { LOOKS, INFORMATION, NOISE, SQUARES, WEIGHTED_SQUARES, WITH_TARGET, EE_XX, E_XXX, XXXX, N_SUMS };
enum { PRODUCTS, BOTH, TOGETHER, RESIDUAL, N_TABLES };

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

/* Where the numbers of an array are, of which there must be so many, one after the other; NULL with an error set if not.
 * The buffer may be released at once: the caller holds the array, and nobody else runs meanwhile. */
static inline void *numbers(PyObject *array, Py_ssize_t wanted, int flags)
{
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, flags | PyBUF_C_CONTIGUOUS) < 0) return NULL;
    void *at = view.buf;
    Py_ssize_t size = view.len / 8;
    int fits = view.itemsize == 8 && size == wanted;
    PyBuffer_Release(&view);
    if (!fits) {
        PyErr_Format(PyExc_ValueError, "an array of %zd numbers is needed, not %zd.", wanted, size);
        return NULL;
    }
    return at;
}

static inline const double *in(PyObject *array, Py_ssize_t size) { return numbers(array, size, 0); }
static inline double *out(PyObject *array, Py_ssize_t size) { return numbers(array, size, PyBUF_WRITABLE); }
static inline const int64_t *whole(PyObject *array, Py_ssize_t size) { return numbers(array, size, 0); }

static inline Py_ssize_t size_of(PyObject *array)
{
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS) < 0) return -1;
    Py_ssize_t size = view.len / 8;
    PyBuffer_Release(&view);
    return size;
}

/* Whether all these numbers of attributes, or of rows, are less than `end`. */
static inline int within(const int64_t *numbers, Py_ssize_t n, Py_ssize_t end)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (numbers[i] < 0 || numbers[i] >= end) {
            PyErr_Format(PyExc_ValueError, "there are only %zd.", end);
            return 0;
        }
    return 1;
}

/* What is known of k seats: who they are, where the tables have them, and what correlation is usual. */
typedef struct {
    Py_ssize_t k, d, table;
    const int64_t *seats, *rows;
    double usual;
    const double *sums, *pairs;
} Seated;

/* From the arguments (seats, rows, usual, sums, pairs); whether they fit. */
static inline int seated(PyObject *const *args, Seated *s)
{
    *s = (Seated){.k = size_of(args[0]), .d = size_of(args[3]) / N_SUMS, .table = size_of(args[4]) / N_TABLES};
    s->usual = PyFloat_AsDouble(args[2]);
    if (PyErr_Occurred()) return 0;
    s->seats = whole(args[0], s->k), s->rows = whole(args[1], s->k);
    s->sums = in(args[3], N_SUMS * s->d), s->pairs = in(args[4], N_TABLES * s->table);
    if (!s->seats || !s->rows || !s->sums || !s->pairs) return 0;
    return within(s->seats, s->k, s->d) && within(s->rows, s->k, s->d ? s->table / s->d : 0);
}

/* `Evidence.equations`, in evidence.c; there must be room for k numbers more. */
HIDDEN void find_equations(const Seated *s, double *A, double *b, double *room);

/* `Evidence.information_about`, in scores.c. */
HIDDEN void find_information(const Seated *s, const double *A, const double *b, const double *coef, double *information);

/* Truth values, a byte each. */
static inline char *truths(PyObject *array, Py_ssize_t least)
{
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) return NULL;
    char *at = view.buf;
    int fits = view.itemsize == 1 && view.len >= least;
    PyBuffer_Release(&view);
    if (!fits) PyErr_Format(PyExc_ValueError, "an array of at least %zd truth values is needed.", least);
    return fits ? at : NULL;
}

/* A block of values, examples by attributes, and its targets. */
typedef struct {
    const double *at, *y;
    Py_ssize_t n, p;
    int by_column; /* in Fortran order */
} Values;

/* Whether they lie as they must, one after the other in either order; if not, numpy has to do. */
static inline int lie_well(PyObject *values, PyObject *targets, Values *block)
{
    Py_buffer x, y;
    if (PyObject_GetBuffer(values, &x, PyBUF_STRIDES | PyBUF_FORMAT) < 0) return 0;
    if (PyObject_GetBuffer(targets, &y, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
        PyBuffer_Release(&x);
        return 0;
    }
    int fits = x.ndim == 2 && y.ndim == 1 && x.shape[0] == y.shape[0] && !strcmp(x.format, "d") && !strcmp(y.format, "d");
    fits = fits && PyBuffer_IsContiguous(&x, 'A') && PyBuffer_IsContiguous(&y, 'C');
    if (fits) *block = (Values){x.buf, y.buf, x.shape[0], x.shape[1], !PyBuffer_IsContiguous(&x, 'C')};
    PyBuffer_Release(&x);
    PyBuffer_Release(&y);
    return fits;
}

/* Solve A x = b in place, by elimination with pivots; both are used up, and b becomes x. */
HIDDEN void solve(double *A, double *b, Py_ssize_t q);

static inline int enough(Py_ssize_t given, Py_ssize_t wanted)
{
    if (given != wanted) PyErr_Format(PyExc_TypeError, "%zd arguments are needed, not %zd.", wanted, given);
    return given == wanted;
}

#endif
