/* The innermost loops, in C.
 *
 * Each function does what some lines of numpy do, which stand next to where it is called and run where there is no
 * compiler; tests hold the one against the other. It works on arrays that Python owns, reads them through the buffer
 * protocol and keeps nothing, so that neither headers of numpy nor its version matter, and one build serves every
 * Python from 3.11 on.
 *
 * Loops over long arrays are written so that a compiler can vectorise them; `omp simd` allows it to add up in any order.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Where the loader can choose, a version for processors with AVX2 is compiled as well. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))
#elif defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

#define TINY 1e-300

/* ---- Arrays ---- */

/* Where the numbers of an array are, of which there must be so many, one after the other; NULL with an error set if not.
 * The buffer may be released at once: the caller holds the array, and nobody else runs meanwhile. */
static void *numbers(PyObject *array, Py_ssize_t wanted, int flags)
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

static const double *in(PyObject *array, Py_ssize_t size) { return numbers(array, size, 0); }
static double *out(PyObject *array, Py_ssize_t size) { return numbers(array, size, PyBUF_WRITABLE); }
static const int64_t *whole(PyObject *array, Py_ssize_t size) { return numbers(array, size, 0); }

static Py_ssize_t size_of(PyObject *array)
{
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS) < 0) return -1;
    Py_ssize_t size = view.len / 8;
    PyBuffer_Release(&view);
    return size;
}

/* Whether all these numbers of attributes, or of rows, are less than `end`. */
static int within(const int64_t *numbers, Py_ssize_t n, Py_ssize_t end)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (numbers[i] < 0 || numbers[i] >= end) {
            PyErr_Format(PyExc_ValueError, "there are only %zd.", end);
            return 0;
        }
    return 1;
}

/* Truth values, a byte each. */
static char *truths(PyObject *array, Py_ssize_t least)
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
static int lie_well(PyObject *values, PyObject *targets, Values *block)
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

static int enough(Py_ssize_t given, Py_ssize_t wanted)
{
    if (given != wanted) PyErr_Format(PyExc_TypeError, "%zd arguments are needed, not %zd.", wanted, given);
    return given == wanted;
}

/* ---- Reading ---- */

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
static PyObject *read_columns(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
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

/* ---- Sums over a block ---- */

/* So many examples at a time, that their deviations stay in the cache. */
#define PIECE 256

/* What is larger counts as this in third and fourth powers. */
#define LARGE 1e70

WIDE static double squares_of(const double *x, Py_ssize_t n)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (Py_ssize_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

/* sum_of_squares(values, targets) -> that of both, or None where they do not lie one after the other */
static PyObject *sum_of_squares(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    Values v;
    if (!enough(n_args, 2)) return NULL;
    if (!lie_well(args[0], args[1], &v)) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    return PyFloat_FromDouble(squares_of(v.at, v.n * v.p) + squares_of(v.y, v.n));
}

WIDE static void column_means(Values v, double *mean)
{
    for (Py_ssize_t j = 0; j < v.p; j++) mean[j] = 0.0;
    if (v.by_column) {
        for (Py_ssize_t j = 0; j < v.p; j++) {
            const double *x = v.at + j * v.n;
            double sum = 0.0;
#pragma omp simd reduction(+ : sum)
            for (Py_ssize_t i = 0; i < v.n; i++) sum += x[i];
            mean[j] = sum;
        }
    } else {
        for (Py_ssize_t i = 0; i < v.n; i++) {
            const double *x = v.at + i * v.p;
#pragma omp simd
            for (Py_ssize_t j = 0; j < v.p; j++) mean[j] += x[j];
        }
    }
    for (Py_ssize_t j = 0; j < v.p; j++) mean[j] /= (double)v.n;
}

/* Deviations of m examples from the mean, column by column, PIECE apart. */
WIDE static void deviations(Values v, Py_ssize_t start, Py_ssize_t m, const double *mean, double *x)
{
    if (v.by_column) {
        for (Py_ssize_t j = 0; j < v.p; j++) {
            const double *from = v.at + j * v.n + start;
            double *to = x + j * PIECE, centre = mean[j];
#pragma omp simd
            for (Py_ssize_t i = 0; i < m; i++) to[i] = from[i] - centre;
        }
        return;
    }
    for (Py_ssize_t i = 0; i < m; i += 8) { /* eight rows at a time fill whole cache lines of the columns */
        Py_ssize_t rows = m - i < 8 ? m - i : 8;
        const double *from = v.at + (start + i) * v.p;
        for (Py_ssize_t j = 0; j < v.p; j++)
            for (Py_ssize_t r = 0; r < rows; r++) x[j * PIECE + i + r] = from[r * v.p + j] - mean[j];
    }
}

/* Add the products of all pairs of columns, of which there are a multiple of four, to the lower triangle of G. */
WIDE static void add_products(const double *x, Py_ssize_t columns, Py_ssize_t m, double *G)
{
    for (Py_ssize_t j = 0; j < columns; j += 4) {
        const double *a0 = x + j * PIECE, *a1 = a0 + PIECE, *a2 = a1 + PIECE, *a3 = a2 + PIECE;
        for (Py_ssize_t k = 0; k < j + 4; k += 2) {
            const double *b0 = x + k * PIECE, *b1 = b0 + PIECE;
            double s00 = 0, s10 = 0, s20 = 0, s30 = 0, s01 = 0, s11 = 0, s21 = 0, s31 = 0;
#pragma omp simd reduction(+ : s00, s10, s20, s30, s01, s11, s21, s31)
            for (Py_ssize_t i = 0; i < m; i++) {
                s00 += a0[i] * b0[i], s10 += a1[i] * b0[i], s20 += a2[i] * b0[i], s30 += a3[i] * b0[i];
                s01 += a0[i] * b1[i], s11 += a1[i] * b1[i], s21 += a2[i] * b1[i], s31 += a3[i] * b1[i];
            }
            double *to = G + j * columns + k;
            to[0] += s00, to[1] += s01, to += columns;
            to[0] += s10, to[1] += s11, to += columns;
            to[0] += s20, to[1] += s21, to += columns;
            to[0] += s30, to[1] += s31;
        }
    }
}

/* Add, for one column: sums of e x, ee x, ee xx, e xx; */
WIDE static void add_low_powers(const double *x, const double *e, const double *ee, Py_ssize_t m, double *powers)
{
    double ex = 0, eex = 0, eexx = 0, exx = 0;
#pragma omp simd reduction(+ : ex, eex, eexx, exx)
    for (Py_ssize_t i = 0; i < m; i++) {
        double square = x[i] * x[i];
        ex += e[i] * x[i], eex += ee[i] * x[i], exx += e[i] * square, eexx += ee[i] * square;
    }
    powers[0] += ex, powers[1] += eex, powers[2] += eexx, powers[3] += exx;
}

/* and of e xxx, xxx, xxxx. */
WIDE static void add_high_powers(const double *x, const double *e, Py_ssize_t m, double *powers)
{
    double exxx = 0, xxx = 0, xxxx = 0;
#pragma omp simd reduction(+ : exxx, xxx, xxxx)
    for (Py_ssize_t i = 0; i < m; i++) {
        double square = x[i] * x[i], cube = square * x[i];
        exxx += e[i] * cube, xxx += cube, xxxx += square * square;
    }
    powers[4] += exxx, powers[5] += xxx, powers[6] += xxxx;
}

static inline void clip(double *x, Py_ssize_t m, double limit)
{
    for (Py_ssize_t i = 0; i < m; i++) x[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i];
}

WIDE static void residuals(
    const double *x, const double *direction, Py_ssize_t p1, Py_ssize_t m, double constant, double limit, double *e)
{
    for (Py_ssize_t i = 0; i < m; i++) e[i] = constant;
    for (Py_ssize_t j = 0; j < p1; j++) {
        const double *column = x + j * PIECE, by = direction[j];
        if (by == 0.0) continue;
#pragma omp simd
        for (Py_ssize_t i = 0; i < m; i++) e[i] += by * column[i];
    }
    clip(e, m, limit);
}

/* fit_sums(values, targets, direction, intercept, limit, usual, farthest, mean, products, powers) -> (e, ee) or None
 *
 * `FitMoments`: means (targets last), centred products, and seven rows of sums of powers, of e = direction.(x, y) -
 * intercept, at most `limit` in size. None where a value is missing or a target farther than `farthest` from `usual`,
 * or where values do not lie one after the other. */
static PyObject *fit_sums(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    Values v;
    if (!enough(n_args, 10)) return NULL;
    if (!lie_well(args[0], args[1], &v)) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    Py_ssize_t p = v.p, p1 = p + 1, columns = (p1 + 3) / 4 * 4;
    const double *y = v.y, *direction = in(args[2], p1);
    double intercept = PyFloat_AsDouble(args[3]), limit = PyFloat_AsDouble(args[4]);
    double usual = PyFloat_AsDouble(args[5]), farthest = PyFloat_AsDouble(args[6]);
    double *mean = out(args[7], p1), *products = out(args[8], p1 * p1), *powers = out(args[9], 7 * p);
    if (!direction || !mean || !products || !powers || PyErr_Occurred()) return NULL;
    column_means(v, mean);
    double sum = 0.0, all = 0.0;
    for (Py_ssize_t i = 0; i < v.n; i++) {
        if (fabs(y[i] - usual) > farthest) Py_RETURN_NONE;
        sum += y[i];
    }
    mean[p] = sum / (double)v.n;
    for (Py_ssize_t j = 0; j < p1; j++) all += mean[j];
    if (isnan(all)) Py_RETURN_NONE;
    size_t of_x = (size_t)columns * PIECE, of_sums = 7 * (size_t)p + (size_t)(columns * columns);
    double *x = PyMem_Malloc((of_x + 2 * PIECE + of_sums) * sizeof(double));
    if (!x) return PyErr_NoMemory();
    double *e = x + of_x, *squares = e + PIECE, *by_column = squares + PIECE, *G = by_column + 7 * p;
    memset(x + p1 * PIECE, 0, (size_t)(columns - p1) * PIECE * sizeof(double));
    memset(squares, 0, (PIECE + of_sums) * sizeof(double));
    double constant = -intercept, e1 = 0.0, ee = 0.0;
    for (Py_ssize_t j = 0; j < p1; j++) constant += direction[j] * mean[j];
    for (Py_ssize_t start = 0; start < v.n; start += PIECE) {
        Py_ssize_t m = v.n - start < PIECE ? v.n - start : PIECE, whole_m = (m + 7) / 8 * 8;
        deviations(v, start, m, mean, x);
        for (Py_ssize_t i = 0; i < m; i++) x[p * PIECE + i] = y[start + i] - mean[p];
        for (Py_ssize_t j = 0; j < p1; j++) /* so that loops have no odd ends */
            for (Py_ssize_t i = m; i < whole_m; i++) x[j * PIECE + i] = 0.0;
        residuals(x, direction, p1, whole_m, constant, limit, e);
        for (Py_ssize_t i = 0; i < m; i++) squares[i] = e[i] * e[i], e1 += e[i], ee += squares[i];
        add_products(x, columns, whole_m, G);
        for (Py_ssize_t j = 0; j < p; j++) {
            double *column = x + j * PIECE;
            add_low_powers(column, e, squares, whole_m, by_column + 7 * j);
            if (G[j * (columns + 1)] > LARGE * LARGE) clip(column, m, LARGE);
            add_high_powers(column, e, whole_m, by_column + 7 * j);
        }
    }
    for (Py_ssize_t j = 0; j < p1; j++)
        for (Py_ssize_t k = 0; k <= j; k++) products[k * p1 + j] = products[j * p1 + k] = G[j * columns + k];
    for (Py_ssize_t j = 0; j < p; j++)
        for (Py_ssize_t k = 0; k < 7; k++) powers[k * p + j] = by_column[7 * j + k];
    PyMem_Free(x);
    return Py_BuildValue("(dd)", e1, ee);
}

/* Sums over a block for a model without a constant: squares and products with r = theta.x - y, and along a probe. */
WIDE static void squares_by_row(
    Values v, const double *theta, const double *probe, double *squares, double *products, double *sums)
{
    const double *y = v.y;
    double rr = 0.0, yy = 0.0, aa = 0.0;
    for (Py_ssize_t i = 0; i < v.n; i++) {
        const double *x = v.at + i * v.p;
        double r = 0.0, along = 0.0;
#pragma omp simd reduction(+ : r, along)
        for (Py_ssize_t j = 0; j < v.p; j++) r += x[j] * theta[j], along += x[j] * probe[j];
        r -= y[i];
#pragma omp simd
        for (Py_ssize_t j = 0; j < v.p; j++) squares[j] += x[j] * x[j], products[j] += r * x[j];
        rr += r * r, yy += y[i] * y[i], aa += along * along;
    }
    sums[0] += rr, sums[1] += yy, sums[2] += aa;
}

WIDE static void squares_by_column(
    Values v, const double *theta, const double *probe, double *squares, double *products, double *sums)
{
    const double *y = v.y;
    double r[PIECE], along[PIECE], rr = 0.0, yy = 0.0, aa = 0.0;
    for (Py_ssize_t start = 0; start < v.n; start += PIECE) {
        Py_ssize_t m = v.n - start < PIECE ? v.n - start : PIECE;
        for (Py_ssize_t i = 0; i < m; i++) r[i] = -y[start + i], along[i] = 0.0;
        for (Py_ssize_t j = 0; j < v.p; j++) {
            const double *x = v.at + j * v.n + start, by = theta[j], to = probe[j];
            if (by == 0.0 && to == 0.0) continue;
#pragma omp simd
            for (Py_ssize_t i = 0; i < m; i++) r[i] += by * x[i], along[i] += to * x[i];
        }
#pragma omp simd reduction(+ : rr, yy, aa)
        for (Py_ssize_t i = 0; i < m; i++)
            rr += r[i] * r[i], yy += y[start + i] * y[start + i], aa += along[i] * along[i];
        for (Py_ssize_t j = 0; j < v.p; j++) {
            const double *x = v.at + j * v.n + start;
            double xx = 0.0, xr = 0.0;
#pragma omp simd reduction(+ : xx, xr)
            for (Py_ssize_t i = 0; i < m; i++) xx += x[i] * x[i], xr += r[i] * x[i];
            squares[j] += xx, products[j] += xr;
        }
    }
    sums[0] += rr, sums[1] += yy, sums[2] += aa;
}

/* residual_squares(values, targets, attributes, theta, probe, squares, products) -> (rr, yy, along^2) or None
 *
 * `ResidualSquares`: theta and probe have one number for each attribute of an example, those shown or not. */
static PyObject *residual_squares(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    Values v;
    if (!enough(n_args, 7)) return NULL;
    if (!lie_well(args[0], args[1], &v)) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    const int64_t *attributes = whole(args[2], v.p);
    if (!attributes) return NULL;
    Py_ssize_t d = size_of(args[3]);
    const double *theta = in(args[3], d), *probe = in(args[4], d);
    double *squares = out(args[5], v.p), *products = out(args[6], v.p), sums[3] = {0.0, 0.0, 0.0};
    if (!theta || !probe || !squares || !products || !within(attributes, v.p, d)) return NULL;
    double *shown = PyMem_Malloc((2 * (size_t)v.p + 1) * sizeof(double)), *along = shown + v.p;
    if (!shown) return PyErr_NoMemory();
    for (Py_ssize_t j = 0; j < v.p; j++)
        shown[j] = theta[attributes[j]], along[j] = probe[attributes[j]], squares[j] = products[j] = 0.0;
    (v.by_column ? squares_by_column : squares_by_row)(v, shown, along, squares, products, sums);
    PyMem_Free(shown);
    return Py_BuildValue("(ddd)", sums[0], sums[1], sums[2]);
}

/* join(n, mean, products, other_n, other_mean, other_products, places, joint_mean, joint_products)
 *
 * `MomentSums.__add__`: two sets of moments as one. `places` says where the other one has the columns of the first. */
static PyObject *join(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    if (!enough(n_args, 9)) return NULL;
    Py_ssize_t k = size_of(args[1]), p = size_of(args[4]);
    if (k < 0 || p < 0) return NULL;
    double n = PyFloat_AsDouble(args[0]), other_n = PyFloat_AsDouble(args[3]);
    const double *mean = in(args[1], k), *products = in(args[2], k * k);
    const double *other_mean = in(args[4], p), *other = in(args[5], p * p);
    const int64_t *places = whole(args[6], k);
    double *joint_mean = out(args[7], k), *joint = out(args[8], k * k);
    if (!mean || !products || !other_mean || !other || !places || !joint_mean || !joint || PyErr_Occurred()) return NULL;
    if (!within(places, k, p)) return NULL;
    double share = other_n / (n + other_n), lever = n * share;
    for (Py_ssize_t i = 0; i < k; i++) {
        double shift = other_mean[places[i]] - mean[i];
        const double *row = other + places[i] * p;
        for (Py_ssize_t j = 0; j < k; j++)
            joint[i * k + j] = products[i * k + j] + row[places[j]] + lever * shift * (other_mean[places[j]] - mean[j]);
        joint_mean[i] = mean[i] + share * shift;
    }
    Py_RETURN_NONE;
}

/* ---- What attributes have shown ---- */

/* The rows of the table of sums, in the order of `Sums` in pursuit/scores.py, and its tables with a row for each seat. */
enum { LOOKS, INFORMATION, NOISE, SQUARES, WEIGHTED_SQUARES, WITH_TARGET, EE_XX, E_XXX, XXXX, N_SUMS };
enum { PRODUCTS, BOTH, TOGETHER, RESIDUAL, N_TABLES };

/* add_block(attributes, mean, products, powers, e, n, weight, seats, before, target_mean, examples, means, sums, pairs)
 *
 * `Evidence.add`, where no value is missing. `seats` are the places of the seats among the attributes; `powers` are
 * rows as `fit_sums` leaves them; `before` is how many examples there were, and `target_mean` their mean. */
static PyObject *add_block(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    if (!enough(n_args, 14)) return NULL;
    Py_ssize_t p = size_of(args[0]), k = size_of(args[7]), d = size_of(args[10]);
    if (p < 0 || k < 0 || d < 0) return NULL;
    const int64_t *a = whole(args[0], p), *seats = whole(args[7], k);
    const double *mean = in(args[1], p + 1), *products = in(args[2], (p + 1) * (p + 1)), *powers = in(args[3], 7 * p);
    double e = PyFloat_AsDouble(args[4]), n = PyFloat_AsDouble(args[5]), weight = PyFloat_AsDouble(args[6]);
    double before = PyFloat_AsDouble(args[8]), target_mean = PyFloat_AsDouble(args[9]);
    double *examples = out(args[10], d), *means = out(args[11], d), *sums = out(args[12], N_SUMS * d);
    Py_ssize_t table = size_of(args[13]) / N_TABLES;
    double *pairs = out(args[13], N_TABLES * table);
    if (!a || !seats || !mean || !products || !powers || !examples || !means || !sums || !pairs || PyErr_Occurred())
        return NULL;
    if (!within(a, p, d) || !within(seats, k, p)) return NULL;
    if (k * d > table) return PyErr_Format(PyExc_ValueError, "there are only %zd rows.", table / d);
    double *gain = PyMem_Malloc(3 * ((size_t)p + 1) * sizeof(double)), *step = gain + p + 1, *degrees = step + p + 1;
    if (!gain) return PyErr_NoMemory();
    for (Py_ssize_t j = 0; j <= p; j++) {
        double had = j < p ? examples[a[j]] : before;
        step[j] = had > 0 ? mean[j] - (j < p ? means[a[j]] : target_mean) : 0.0;
        gain[j] = n * had / (had + n);
        degrees[j] = n - (had == 0); /* the mean takes one, once */
    }
    double twice = weight * weight;
    for (Py_ssize_t j = 0; j < p; j++) {
        Py_ssize_t at = (Py_ssize_t)a[j];
        double seen = examples[at] + n, square = products[j * (p + 1) + j] + gain[j] * step[j] * step[j];
        double lever = gain[j] < gain[p] ? gain[j] : gain[p];
        double with_target = products[p * (p + 1) + j] + lever * step[j] * step[p];
        examples[at] = seen;
        means[at] = mean[j] - step[j] * (1.0 - n / seen);
        sums[LOOKS * d + at] += degrees[j];
        sums[INFORMATION * d + at] += weight * degrees[j];
        sums[NOISE * d + at] += weight * degrees[j];
        sums[SQUARES * d + at] += square;
        sums[WEIGHTED_SQUARES * d + at] += weight * square;
        sums[WITH_TARGET * d + at] += weight * with_target;
        sums[EE_XX * d + at] += twice * powers[2 * p + j];
        sums[E_XXX * d + at] += twice * powers[4 * p + j];
        sums[XXXX * d + at] += twice * powers[6 * p + j];
    }
    for (Py_ssize_t i = 0; i < k; i++) {
        Py_ssize_t o = (Py_ssize_t)seats[i];
        const double *with = products + o * (p + 1);
        double *row = pairs + i * d, moved = weight * (powers[o] + step[o] * e);
        for (Py_ssize_t j = 0; j < p; j++) {
            double *cell = row + a[j], lever = gain[j] < gain[o] ? gain[j] : gain[o];
            cell[PRODUCTS * table] += weight * (with[j] + lever * step[j] * step[o]);
            cell[BOTH * table] += weight * degrees[j];
            cell[TOGETHER * table] += degrees[j];
            cell[RESIDUAL * table] += moved;
        }
    }
    PyMem_Free(gain);
    Py_RETURN_NONE;
}

/* ---- Scores ---- */

/* So many attributes are scored at a time. */
#define TILE 64

#define VISIBLE_T2 9.0
#define COPY 0.03

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

/* dest = A src, where A is k x k and a row of src and dest has TILE numbers; two by two, to load them half as often. */
WIDE static void multiply(const double *A, Py_ssize_t k, const double *restrict src, double *restrict dest)
{
    for (Py_ssize_t i = 0; i < k; i += 2) {
        const double *a = A + i * k, *b = i + 1 < k ? a + k : a;
        double s[TILE], r[TILE];
        for (Py_ssize_t t = 0; t < TILE; t++) s[t] = r[t] = 0.0;
        for (Py_ssize_t o = 0; o + 1 < k; o += 2) {
            const double *x = src + o * TILE, *y = x + TILE, a0 = a[o], a1 = a[o + 1], b0 = b[o], b1 = b[o + 1];
#pragma omp simd
            for (Py_ssize_t t = 0; t < TILE; t++) s[t] += a0 * x[t] + a1 * y[t], r[t] += b0 * x[t] + b1 * y[t];
        }
        if (k % 2) {
            const double *x = src + (k - 1) * TILE, a0 = a[k - 1], b0 = b[k - 1];
#pragma omp simd
            for (Py_ssize_t t = 0; t < TILE; t++) s[t] += a0 * x[t], r[t] += b0 * x[t];
        }
        memcpy(dest + i * TILE, s, sizeof s);
        if (i + 1 < k) memcpy(dest + (i + 1) * TILE, r, sizeof r);
    }
}

/* What has been seen of the attributes of a tile, by the names of `Sums`. */
typedef struct {
    double sums[N_SUMS][TILE], variance[TILE], spread[TILE], weight[TILE], *pairs[N_TABLES];
} Tile;

/* The core: its members' coefficients, variances (two of them), inverse covariance and regressions on each other. */
typedef struct {
    Py_ssize_t k;
    const double *theta, *spread, *inverse, *variance;
    double *on_others, usual, examples;
} Core;

/* `_covariance`: with the members, and the examples behind; `share` is left with what is made of expectations. */
WIDE static void covariances(const Tile *tile, const Core *core, double *c, double *behind, double *share, double *room)
{
    for (Py_ssize_t i = 0; i < core->k; i++) {
        const double *products = tile->pairs[PRODUCTS] + i * TILE, *both = tile->pairs[BOTH] + i * TILE;
        const double *together = tile->pairs[TOGETHER] + i * TILE;
        double root = sqrt(core->variance[i]);
#pragma omp simd
        for (Py_ssize_t t = 0; t < TILE; t++) {
            double unit = root * tile->spread[t];
            double unusual = products[t] / (both[t] + TINY) - core->usual * unit;
            double r = unusual / (unit + TINY);
            double pseudo = r * r * together[t] > VISIBLE_T2 ? 0.0 : core->examples;
            double of_seen = both[t] / (both[t] + pseudo * tile->weight[t] + TINY);
            behind[i * TILE + t] = together[t] + pseudo;
            c[i * TILE + t] = unusual * of_seen;
            share[i * TILE + t] = 1.0 - of_seen;
        }
    }
    multiply(core->on_others, core->k, c, room);
    for (Py_ssize_t i = 0; i < core->k; i++) {
        double by = core->usual * sqrt(core->variance[i]);
#pragma omp simd
        for (Py_ssize_t t = 0; t < TILE; t++)
            c[i * TILE + t] += room[i * TILE + t] * share[i * TILE + t] + by * tile->spread[t];
    }
}

/* `Sums.owed`: to how many examples an attribute owes its spread. `at` is that of its sums, which are `apart`. */
static inline double owed_to(const double *at, Py_ssize_t apart)
{
    double trust = at[INFORMATION * apart] / larger(at[NOISE * apart], TINY);
    double squares = larger(at[WEIGHTED_SQUARES * apart] * trust, TINY);
    return 1.0 / larger(at[XXXX * apart] / squares / squares, 1e-9);
}

/* `Sums.tails`: what heavy tails and unequal noise do to a score: the inflation, and its degrees of freedom. */
static double tail(const double *at, Py_ssize_t apart, double *degrees)
{
    double squares = larger(at[WEIGHTED_SQUARES * apart], TINY), ee_xx = at[EE_XX * apart], e_xxx = at[E_XXX * apart];
    double b = e_xxx / larger(at[XXXX * apart], TINY), beside = larger(ee_xx - b * e_xxx, 1e-9 * ee_xx);
    double owed = owed_to(at, apart), others = larger(1.0 - 1.0 / owed, 1e-12);
    double chance = 1.0 + 1.5 * sqrt(8.0 / larger(at[LOOKS * apart], 1.0));
    *degrees = larger(larger(owed - 1.0, 3.0 * owed - 20.0), 1e-3);
    return larger(1.0, beside / squares / (others * others) / chance);
}

/* `_robust`: the variance of a score as it is, and so that in units of its root it may be taken for a normal one. */
static double robust(const double *at, Py_ssize_t apart, double score, double noise)
{
    double degrees;
    noise *= tail(at, apart, &degrees);
    double t = score / sqrt(larger(noise, TINY)), x = larger(t * t / degrees, 1e-12);
    return noise * (x / log1p(x));
}

/* tails(attributes, sums, inflation, degrees) */
static PyObject *tails(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    if (!enough(n_args, 4)) return NULL;
    Py_ssize_t m = size_of(args[0]), d = size_of(args[1]) / N_SUMS;
    if (m < 0 || PyErr_Occurred()) return NULL;
    const int64_t *a = whole(args[0], m);
    const double *sums = in(args[1], N_SUMS * d);
    double *inflation = out(args[2], m), *degrees = out(args[3], m);
    if (!a || !sums || !inflation || !degrees || !within(a, m, d)) return NULL;
    for (Py_ssize_t t = 0; t < m; t++) inflation[t] = tail(sums + a[t], d, degrees + t);
    Py_RETURN_NONE;
}

/* Sums over the members that the scores of a tile are made of. */
typedef struct {
    double by_core[TILE], by_residual[TILE], explained[TILE], of_all[TILE], behind[TILE], shown[TILE], uncertain[TILE];
} Over;

WIDE static void over_members(
    const Tile *tile, const Core *core, const double *c, const double *behind, const double *gamma, Over *over)
{
    memset(over, 0, sizeof *over);
    for (Py_ssize_t i = 0; i < core->k; i++) {
        const double *products = tile->pairs[PRODUCTS] + i * TILE, *both = tile->pairs[BOTH] + i * TILE;
        const double *residual = tile->pairs[RESIDUAL] + i * TILE;
        const double *ci = c + i * TILE, *gi = gamma + i * TILE, *bi = behind + i * TILE;
        double theta = core->theta[i], spread = core->spread[i], effect = theta * theta * core->variance[i];
#pragma omp simd
        for (Py_ssize_t t = 0; t < TILE; t++) {
            double unseen = larger(tile->sums[INFORMATION][t] - both[t], 0.0), share = spread * gi[t] * gi[t];
            over->by_core[t] += theta * (unseen * ci[t] + products[t]);
            over->by_residual[t] += gi[t] * residual[t];
            over->explained[t] += gi[t] * ci[t];
            over->of_all[t] += share;
            over->behind[t] += share * bi[t];
            over->shown[t] += share * both[t];
            over->uncertain[t] += effect * (unseen * unseen / larger(bi[t], 1.0));
        }
    }
}

/* `partial` for the attributes of a tile, of which there are m. */
static void score_tile(
    const Tile *tile, const Over *over, Py_ssize_t m, double *score, double *noise, double *beyond, double *worth)
{
    for (Py_ssize_t t = 0; t < m; t++) {
        const double *at = &tile->sums[0][t];
        double variance = tile->variance[t], information = at[INFORMATION * TILE];
        double of_all = larger(over->of_all[t], TINY), known_by = smaller(over->behind[t] / of_all, owed_to(at, TILE));
        double shown = smaller(over->shown[t] / larger(of_all * information, TINY), 1.0);
        score[t] = at[WITH_TARGET * TILE] - over->by_core[t] - over->by_residual[t];
        beyond[t] = larger(variance - over->explained[t], COPY * variance);
        double common = 1.0 - beyond[t] / larger(variance, TINY), left = larger(1.0 - common * shown, COPY);
        double nominal = at[WEIGHTED_SQUARES * TILE] * left + over->uncertain[t] * variance;
        noise[t] = robust(at, TILE, score[t], nominal);
        common *= larger(1.0 - VISIBLE_T2 / larger(common * known_by, TINY), 0.0);
        worth[t] = (1.0 - common) * information / larger((1.0 - common * shown) * at[NOISE * TILE], TINY);
    }
}

/* scores(attributes, rows, theta, spread, inverse, variance, usual, examples, sums, pairs, result, covariance)
 *
 * `partial` in pursuit/scores.py. `rows` are those of the members in the tables `pairs`; `result` has rows for score,
 * noise, beyond and worth, and `covariance` one for each member. */
static PyObject *scores(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    if (!enough(n_args, 12)) return NULL;
    Py_ssize_t m = size_of(args[0]), k = size_of(args[1]), all = size_of(args[8]);
    if (m < 0 || k < 0 || all < 0) return NULL;
    Py_ssize_t d = all / N_SUMS, table = size_of(args[9]) / N_TABLES;
    const int64_t *a = whole(args[0], m), *rows = whole(args[1], k);
    Core core = {k, in(args[2], k), in(args[3], k), in(args[4], k * k), in(args[5], k), NULL, 0.0, 0.0};
    core.usual = PyFloat_AsDouble(args[6]), core.examples = PyFloat_AsDouble(args[7]);
    const double *sums = in(args[8], N_SUMS * d), *pairs = in(args[9], N_TABLES * table);
    double *result = out(args[10], 4 * m), *covariance = out(args[11], k * m);
    if (!a || !rows || !core.theta || !core.spread || !core.inverse || !core.variance || !sums || !pairs || !result
        || !covariance || PyErr_Occurred())
        return NULL;
    if (!within(a, m, d) || !within(rows, k, d ? table / d : 0)) return NULL;
    size_t cells = (size_t)k * TILE;
    double *room = PyMem_Malloc((8 * cells + (size_t)(k * k)) * sizeof(double));
    if (!room) return PyErr_NoMemory();
    double *c = room + 4 * cells, *behind = c + cells, *share = behind + cells, *gamma = share + cells;
    core.on_others = gamma + cells;
    for (Py_ssize_t i = 0; i < k; i++) /* a regression of one on the others has the coefficients -P_io / P_ii */
        for (Py_ssize_t o = 0; o < k; o++)
            core.on_others[i * k + o] = i == o ? 0.0 : -core.inverse[i * k + o] / core.inverse[i * k + i];
    Tile tile;
    Over over;
    for (Py_ssize_t which = 0; which < N_TABLES; which++) tile.pairs[which] = room + which * (Py_ssize_t)cells;
    for (Py_ssize_t start = 0; start < m; start += TILE) {
        Py_ssize_t here = m - start < TILE ? m - start : TILE;
        for (Py_ssize_t t = 0; t < TILE; t++) { /* what is left of the last tile is filled with its last attribute */
            Py_ssize_t j = (Py_ssize_t)a[start + (t < here ? t : here - 1)];
            for (Py_ssize_t s = 0; s < N_SUMS; s++) tile.sums[s][t] = sums[s * d + j];
            double looks = larger(tile.sums[LOOKS][t], 1.0);
            tile.variance[t] = tile.sums[SQUARES][t] / looks;
            tile.spread[t] = sqrt(tile.variance[t]);
            tile.weight[t] = tile.sums[INFORMATION][t] / looks;
        }
        int in_a_row = here == TILE;
        for (Py_ssize_t t = 1; t < here; t++) in_a_row &= a[start + t] == a[start] + t;
        for (Py_ssize_t which = 0; which < N_TABLES; which++)
            for (Py_ssize_t i = 0; i < k; i++) {
                const double *from = pairs + which * table + rows[i] * d;
                double *to = tile.pairs[which] + i * TILE;
                if (in_a_row)
                    memcpy(to, from + a[start], TILE * sizeof(double));
                else
                    for (Py_ssize_t t = 0; t < TILE; t++) to[t] = from[a[start + (t < here ? t : here - 1)]];
            }
        covariances(&tile, &core, c, behind, share, gamma);
        multiply(core.inverse, k, c, gamma);
        over_members(&tile, &core, c, behind, gamma, &over);
        double *score = result + start;
        score_tile(&tile, &over, here, score, score + m, score + 2 * m, score + 3 * m);
        for (Py_ssize_t i = 0; i < k; i++) memcpy(covariance + i * m + start, c + i * TILE, (size_t)here * sizeof(double));
    }
    PyMem_Free(room);
    Py_RETURN_NONE;
}

/* usual_correlation(every, seats, sums, pairs, largest) -> (mean, examples) or None
 *
 * `Evidence.learn_prior`, from every so many-th attribute; None where there are too few to tell. */
static PyObject *usual_correlation(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    if (!enough(n_args, 5)) return NULL;
    Py_ssize_t every = PyLong_AsSsize_t(args[0]), k = size_of(args[1]), d = size_of(args[2]) / N_SUMS;
    Py_ssize_t table = size_of(args[3]) / N_TABLES;
    double largest = PyFloat_AsDouble(args[4]);
    if (PyErr_Occurred()) return NULL;
    const int64_t *seats = whole(args[1], k);
    const double *sums = in(args[2], N_SUMS * d), *pairs = in(args[3], N_TABLES * table);
    if (!seats || !sums || !pairs) return NULL;
    if (every < 1 || k * d > table) return PyErr_Format(PyExc_ValueError, "there are only %zd rows.", table / d);
    if (!within(seats, k, d)) return NULL;
    Py_ssize_t m = (d + every - 1) / every, used = 0, n_usual = 0;
    double *r = PyMem_Malloc((size_t)(2 * k * m + 1) * sizeof(double)), *n = r + k * m;
    if (!r) return PyErr_NoMemory();
    double looks = 0.0, along = 0.0, apart = 0.0;
    for (Py_ssize_t i = 0; i < k; i++) {
        Py_ssize_t seat = (Py_ssize_t)seats[i];
        double of_seat = sums[SQUARES * d + seat] / larger(sums[LOOKS * d + seat], 1.0);
        for (Py_ssize_t j = 0; j < d; j += every) {
            const double *cell = pairs + i * d + j;
            double together = cell[TOGETHER * table], squares = sums[SQUARES * d + j];
            if (together < 10.0 || !(squares > 0.0) || j == seat) continue;
            double unit = sqrt(of_seat * (squares / larger(sums[LOOKS * d + j], 1.0))) * cell[BOTH * table] + TINY;
            n[used] = together, r[used] = cell[PRODUCTS * table] / unit;
            looks += together, along += together * r[used];
            used++;
        }
    }
    double mean = along / larger(looks, 1.0);
    for (Py_ssize_t i = 0; i < used; i++) apart += n[i] * (r[i] - mean) * (r[i] - mean);
    /* Unless they go along with each other more than they differ in it, nothing is usual. */
    if (mean * mean <= larger(apart - (double)used, VISIBLE_T2) / larger(looks, 1.0)) mean = 0.0;
    double squared_t = 0.0, of_usual = 0.0;
    for (Py_ssize_t i = 0; i < used; i++) {
        double t2 = n[i] * (r[i] - mean) * (r[i] - mean);
        if (t2 <= VISIBLE_T2) n_usual++, squared_t += t2, of_usual += n[i];
    }
    PyMem_Free(r);
    if (n_usual <= 50) Py_RETURN_NONE;
    double excess = (squared_t - (double)n_usual) / of_usual;
    return Py_BuildValue("(dd)", mean, smaller(1.0 / larger(excess, TINY), largest));
}

/* ---- Data missing in steps ---- */

/* Solve A x = b in place, by elimination with pivots; both are used up, and b becomes x. */
WIDE static void solve(double *A, double *b, Py_ssize_t q)
{
    for (Py_ssize_t k = 0; k < q; k++) {
        Py_ssize_t pivot = k;
        for (Py_ssize_t i = k + 1; i < q; i++)
            if (fabs(A[i * q + k]) > fabs(A[pivot * q + k])) pivot = i;
        if (pivot != k) {
            for (Py_ssize_t j = k; j < q; j++) {
                double held = A[k * q + j];
                A[k * q + j] = A[pivot * q + j], A[pivot * q + j] = held;
            }
            double held = b[k];
            b[k] = b[pivot], b[pivot] = held;
        }
        for (Py_ssize_t i = k + 1; i < q; i++) {
            double by = A[i * q + k] / A[k * q + k];
            if (by == 0.0) continue;
#pragma omp simd
            for (Py_ssize_t j = k + 1; j < q; j++) A[i * q + j] -= by * A[k * q + j];
            b[i] -= by * b[k];
        }
    }
    for (Py_ssize_t i = q - 1; i >= 0; i--) {
        for (Py_ssize_t j = i + 1; j < q; j++) b[i] -= A[i * q + j] * b[j];
        b[i] /= A[i * q + i];
    }
}

/* extend(q, n, ridge, M, mean_here, told, told_by, beyond, C, beta, mean, behind)
 *
 * `Completion.extend`: those after the first q columns of M are new. `behind` has, for them, how many examples show
 * them; what they were told is added to it. */
static PyObject *extend(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    if (!enough(n_args, 12)) return NULL;
    Py_ssize_t q = PyLong_AsSsize_t(args[0]), p = size_of(args[4]), size = size_of(args[10]);
    double n = PyFloat_AsDouble(args[1]), ridge = PyFloat_AsDouble(args[2]);
    if (p < 0 || size < 0 || PyErr_Occurred()) return NULL;
    if (q < 1 || q >= p || p > size) return PyErr_Format(PyExc_ValueError, "%zd, %zd, %zd do not ascend.", q, p, size);
    const double *M = in(args[3], p * p), *here = in(args[4], p);
    const double *told = in(args[5], (size - 1) * size), *told_by = in(args[6], (size - 1) * size);
    const double *beyond_told = in(args[7], size - 1);
    double *C = out(args[8], size * size), *beta = out(args[9], size - 1), *mean = out(args[10], size);
    double *behind = out(args[11], size);
    if (!M || !here || !told || !told_by || !beyond_told || !C || !beta || !mean || !behind) return NULL;
    Py_ssize_t r = p - q;
    double *old = PyMem_Malloc((size_t)(q * p + q * q + 3 * q * r + 2 * r * r + 2 * r + q) * sizeof(double));
    if (!old) return PyErr_NoMemory();
    double *left = old + q * p, *B = left + q * q, *cross = B + q * r, *rest = cross + q * r;
    double *own = rest + q * r, *beyond = own + r * r, *gamma = beyond + r * r, *told_weight = gamma + r;
    double *step = told_weight + r;
    /* With the residual in the place of the target; `old` has q rows, the newcomers' columns last. */
    memcpy(old, M, (size_t)(q * p) * sizeof(double));
    for (Py_ssize_t i = 1; i < q; i++)
        for (Py_ssize_t j = 0; j < p; j++) old[j] -= beta[i - 1] * old[i * p + j];
    for (Py_ssize_t i = 0; i < q; i++)
        for (Py_ssize_t j = 1; j < q; j++) old[i * p] -= old[i * p + j] * beta[j - 1];
    for (Py_ssize_t g = 0; g < r; g++) { /* B has a row for each newcomer here */
        const double *say = told + (q - 1 + g) * size, *by = told_by + (q - 1 + g) * size;
        for (Py_ssize_t i = 0; i < q; i++) {
            double weight = smaller(smaller(by[i], n), larger(2.0 * by[i] - n, 0.0));
            for (Py_ssize_t j = 0; j < q; j++) left[i * q + j] = C[i * size + j] * weight + old[i * p + j];
            left[i * q + i] += ridge * C[i * size + i] * (i ? 1.0 : 1e-9) + TINY;
            B[g * q + i] = old[i * p + q + g] + weight * say[i];
            if (i == 0) told_weight[g] = weight, behind[q + g] += weight;
        }
        solve(left, B + g * q, q);
    }
    double degrees = larger(n - 2.0, 1.0);
    for (Py_ssize_t g = 0; g < r; g++)
        for (Py_ssize_t i = 0; i < q; i++) {
            double with = 0.0, M_with = 0.0;
            for (Py_ssize_t j = 0; j < q; j++) with += C[i * size + j] * B[g * q + j], M_with += old[i * p + j] * B[g * q + j];
            cross[g * q + i] = with;
            rest[g * q + i] = M_with - old[i * p + q + g];
        }
    for (Py_ssize_t g = 0; g < r; g++)
        for (Py_ssize_t h = 0; h < r; h++) {
            double left_over = M[(q + g) * p + q + h], explained = 0.0;
            for (Py_ssize_t i = 0; i < q; i++) {
                left_over += B[g * q + i] * rest[h * q + i] - old[i * p + q + g] * B[h * q + i];
                explained += B[g * q + i] * cross[h * q + i];
            }
            if (g == h) left_over += told_weight[g] * beyond_told[q - 1 + g];
            left_over /= sqrt((degrees + told_weight[g]) * (degrees + told_weight[h]));
            own[g * r + h] = explained + left_over;
            beyond[g * r + h] = B[g * q] * cross[h * q] + left_over; /* beyond the earlier seats, not the residual */
        }
    for (Py_ssize_t i = 0; i < q; i++) step[i] = mean[i] - here[i];
    for (Py_ssize_t i = 1; i < q; i++) step[0] -= beta[i - 1] * step[i];
    for (Py_ssize_t g = 0; g < r; g++) {
        double moved = here[q + g];
        for (Py_ssize_t i = 0; i < q; i++) moved += step[i] * B[g * q + i];
        mean[q + g] = moved;
        beyond[g * r + g] += 1e-9 * own[g * r + g] + TINY;
        gamma[g] = cross[g * q];
    }
    solve(beyond, gamma, r); /* what the newcomers have beyond the earlier seats takes its share of the residual */
    double taken = 0.0;
    for (Py_ssize_t g = 0; g < r; g++) {
        for (Py_ssize_t i = 1; i < q; i++) {
            beta[i - 1] -= B[g * q + i] * gamma[g];
            C[i * size + q + g] = C[(q + g) * size + i] = cross[g * q + i];
        }
        for (Py_ssize_t h = 0; h < r; h++) C[(q + g) * size + q + h] = own[g * r + h];
        taken += cross[g * q] * gamma[g];
    }
    for (Py_ssize_t g = 0; g < r; g++) beta[q - 1 + g] = gamma[g];
    C[0] = larger(C[0] - taken, 0.0);
    PyMem_Free(old);
    Py_RETURN_NONE;
}

/* ---- Stepwise least squares ---- */

/* A regression of the target (first) on some of k seats, by the names of `Stepwise`. */
typedef struct {
    Py_ssize_t k;
    double *swept, *t, unseen, floor;
    char *inside;
    const char *varies;
    const double *behind, *inflation, *degrees;
} Regression;

/* From (swept, inside, varies, behind, inflation, degrees, unseen, floor, t); false with an error set if they do not fit. */
static int regression(PyObject *const *args, Regression *fit)
{
    Py_ssize_t k = size_of(args[3]);
    if (k < 0) return 0;
    *fit = (Regression){
        k, out(args[0], (k + 1) * (k + 1)), out(args[8], k), PyFloat_AsDouble(args[6]), PyFloat_AsDouble(args[7]),
        truths(args[1], k), truths(args[2], k), in(args[3], k), in(args[4], k), in(args[5], k),
    };
    return !PyErr_Occurred();
}

/* `Stepwise.t`, of members and of those who might join. */
static void find_t(Regression *fit)
{
    Py_ssize_t k = fit->k, members = 0;
    double r = larger(fit->swept[0], fit->floor);
    for (Py_ssize_t i = 0; i < k; i++) members += fit->inside[i];
    for (Py_ssize_t i = 0; i < k; i++) {
        int inside = fit->inside[i];
        double b = fit->swept[(i + 1) * (k + 1)], diagonal = fit->swept[(i + 1) * (k + 2)], free = larger(diagonal, COPY);
        double left = larger(r - b * b / free, 1e-3 * r); /* of the target's variance, if it joined */
        double variance = inside ? -diagonal * (r + fit->unseen) : (left + fit->unseen) / free;
        double n = larger(fit->behind[i] - (double)members - 1.0 - !inside, 0.3 * fit->behind[i]);
        double t = (inside ? b : b / free) / sqrt(larger(variance * fit->inflation[i] / n, TINY));
        t = copysign(sqrt(fit->degrees[i] * log1p(t * t / fit->degrees[i])), t);
        fit->t[i] = inside || (fit->varies[i] && diagonal > COPY) ? t : 0.0;
    }
}

/* t_values(swept, inside, varies, behind, inflation, degrees, unseen, floor, t) */
static PyObject *t_values(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    Regression fit;
    if (!enough(n_args, 9) || !regression(args, &fit)) return NULL;
    find_t(&fit);
    Py_RETURN_NONE;
}

/* `Stepwise.flip`: let the i-th seat join or leave, by the sweep operator. */
WIDE static void flip(double *swept, Py_ssize_t p1, Py_ssize_t i, double *column)
{
    Py_ssize_t at = i + 1;
    double pivot = swept[at * p1 + at], size = fabs(pivot);
    for (Py_ssize_t j = 0; j < p1; j++) column[j] = swept[j * p1 + at];
    for (Py_ssize_t j = 0; j < p1; j++) {
        double by = column[j] / pivot, *row = swept + j * p1;
#pragma omp simd
        for (Py_ssize_t l = 0; l < p1; l++) row[l] -= by * column[l];
    }
    for (Py_ssize_t j = 0; j < p1; j++) swept[j * p1 + at] = swept[at * p1 + j] = column[j] / size;
    swept[at * p1 + at] = -1.0 / pivot;
}

/* settle(places, drop, add, swept, inside, varies, behind, inflation, degrees, unseen, floor, t)
 *
 * `Stepwise.settle`, from the seats at `places`. */
static PyObject *settle(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    Regression fit;
    if (!enough(n_args, 12) || !regression(args + 3, &fit)) return NULL;
    Py_ssize_t n_places = size_of(args[0]), k = fit.k, p1 = k + 1;
    const int64_t *places = whole(args[0], n_places);
    double drop = PyFloat_AsDouble(args[1]), add = PyFloat_AsDouble(args[2]);
    if (!places || !within(places, n_places, k) || PyErr_Occurred()) return NULL;
    double *column = PyMem_Malloc((size_t)p1 * sizeof(double));
    if (!column) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n_places; i++) {
        Py_ssize_t at = (Py_ssize_t)places[i];
        if (fit.swept[(at + 1) * (p1 + 1)] > COPY) flip(fit.swept, p1, at, column), fit.inside[at] = 1;
    }
    for (Py_ssize_t step = 0; step < 4 * k + 8; step++) { /* enough to drop and add everything twice */
        Py_ssize_t weakest = -1, best = -1;
        double least = INFINITY, most = add;
        find_t(&fit);
        for (Py_ssize_t i = 0; i < k; i++) {
            double t = -fit.swept[(i + 1) * (p1 + 1)] * COPY > 1.0 ? 0.0 : fabs(fit.t[i]); /* explained by the others */
            if (fit.inside[i] && t < least) weakest = i, least = t;
            if (!fit.inside[i] && t > most) best = i, most = t;
        }
        Py_ssize_t mover = weakest >= 0 && least < drop ? weakest : best;
        if (mover < 0) break;
        flip(fit.swept, p1, mover, column);
        fit.inside[mover] = !fit.inside[mover];
    }
    PyMem_Free(column);
    Py_RETURN_NONE;
}

/* ---- The module ---- */

static PyMethodDef methods[] = {
    {"read_columns", (PyCFunction)(void (*)(void))read_columns, METH_FASTCALL, NULL},
    {"sum_of_squares", (PyCFunction)(void (*)(void))sum_of_squares, METH_FASTCALL, NULL},
    {"fit_sums", (PyCFunction)(void (*)(void))fit_sums, METH_FASTCALL, NULL},
    {"residual_squares", (PyCFunction)(void (*)(void))residual_squares, METH_FASTCALL, NULL},
    {"join", (PyCFunction)(void (*)(void))join, METH_FASTCALL, NULL},
    {"add_block", (PyCFunction)(void (*)(void))add_block, METH_FASTCALL, NULL},
    {"scores", (PyCFunction)(void (*)(void))scores, METH_FASTCALL, NULL},
    {"tails", (PyCFunction)(void (*)(void))tails, METH_FASTCALL, NULL},
    {"usual_correlation", (PyCFunction)(void (*)(void))usual_correlation, METH_FASTCALL, NULL},
    {"settle", (PyCFunction)(void (*)(void))settle, METH_FASTCALL, NULL},
    {"t_values", (PyCFunction)(void (*)(void))t_values, METH_FASTCALL, NULL},
    {"extend", (PyCFunction)(void (*)(void))extend, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_compiled", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModuleDef_Init(&module); }
