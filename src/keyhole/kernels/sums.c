/* Sums over a block of examples, and sums of sums. */
#include "kernels.h"

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
KERNEL(sum_of_squares)
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
    for (Py_ssize_t j = 0; j < columns; j += 4)
        for (Py_ssize_t k = 0; k <= j; k += 4) {
            const double *a0 = x + j * PIECE, *a1 = a0 + PIECE, *a2 = a1 + PIECE, *a3 = a2 + PIECE;
            const double *b0 = x + k * PIECE, *b1 = b0 + PIECE, *b2 = b1 + PIECE, *b3 = b2 + PIECE;
            double s00 = 0, s10 = 0, s20 = 0, s30 = 0, s01 = 0, s11 = 0, s21 = 0, s31 = 0;
            double s02 = 0, s12 = 0, s22 = 0, s32 = 0, s03 = 0, s13 = 0, s23 = 0, s33 = 0;
#pragma omp simd reduction(+ : s00, s10, s20, s30, s01, s11, s21, s31, s02, s12, s22, s32, s03, s13, s23, s33)
            for (Py_ssize_t i = 0; i < m; i++) {
                s00 += a0[i] * b0[i], s10 += a1[i] * b0[i], s20 += a2[i] * b0[i], s30 += a3[i] * b0[i];
                s01 += a0[i] * b1[i], s11 += a1[i] * b1[i], s21 += a2[i] * b1[i], s31 += a3[i] * b1[i];
                s02 += a0[i] * b2[i], s12 += a1[i] * b2[i], s22 += a2[i] * b2[i], s32 += a3[i] * b2[i];
                s03 += a0[i] * b3[i], s13 += a1[i] * b3[i], s23 += a2[i] * b3[i], s33 += a3[i] * b3[i];
            }
            double *to = G + j * columns + k;
            to[0] += s00, to[1] += s01, to[2] += s02, to[3] += s03, to += columns;
            to[0] += s10, to[1] += s11, to[2] += s12, to[3] += s13, to += columns;
            to[0] += s20, to[1] += s21, to[2] += s22, to[3] += s23, to += columns;
            to[0] += s30, to[1] += s31, to[2] += s32, to[3] += s33;
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

/* What turns an example of a block, its target last, into y - coef.x; whether all k that are `needed` are there. */
static int residual_of(
    const int64_t *a, Py_ssize_t p, const int64_t *needed, const double *coef, Py_ssize_t k, double *direction)
{
    memset(direction, 0, (size_t)p * sizeof(double));
    direction[p] = 1.0;
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; i < k; i++) {
        while (at < p && a[at] < needed[i]) at++;
        if (at == p || a[at] != needed[i]) {
            PyErr_Format(PyExc_ValueError, "there is no attribute %lld in the block.", (long long)needed[i]);
            return 0;
        }
        direction[at] = -coef[i];
    }
    return 1;
}

/* fit_sums(values, targets, attributes, needed, coef, intercept, fill, limit, farthest, mean, products, powers)
 * -> (e, ee, lowest target, highest) or None
 *
 * `FitMoments`: means (targets last), centred products, and seven rows of sums of powers, of the residual e of the
 * predictor with these `coef` of the attributes `needed`, at most `limit` in size. None where a value is missing or a
 * target farther than `farthest` from what is predicted at `fill`, or where values do not lie one after the other. */
KERNEL(fit_sums)
{
    (void)self;
    Values v;
    if (!enough(n_args, 12)) return NULL;
    if (!lie_well(args[0], args[1], &v)) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    Py_ssize_t p = v.p, p1 = p + 1, columns = (p1 + 3) / 4 * 4, k = size_of(args[3]);
    if (k < 0) return NULL;
    const int64_t *a = whole(args[2], p), *needed = whole(args[3], k);
    const double *y = v.y, *coef = in(args[4], k), *fill = in(args[6], p);
    double intercept = PyFloat_AsDouble(args[5]), usual = intercept;
    double limit = PyFloat_AsDouble(args[7]), farthest = PyFloat_AsDouble(args[8]);
    double *mean = out(args[9], p1), *products = out(args[10], p1 * p1), *powers = out(args[11], 7 * p);
    if (!a || !needed || !coef || !fill || !mean || !products || !powers || PyErr_Occurred()) return NULL;
    size_t of_x = (size_t)columns * PIECE, of_sums = 7 * (size_t)p + (size_t)(columns * columns);
    double *x = PyMem_Malloc((of_x + 2 * PIECE + of_sums + (size_t)p1) * sizeof(double));
    if (!x) return PyErr_NoMemory();
    double *e = x + of_x, *squares = e + PIECE, *by_column = squares + PIECE, *G = by_column + 7 * p;
    double *direction = G + columns * columns;
    if (!residual_of(a, p, needed, coef, k, direction)) {
        PyMem_Free(x);
        return NULL;
    }
    for (Py_ssize_t j = 0; j < p; j++) if (direction[j] != 0.0) usual -= direction[j] * fill[j];
    column_means(v, mean);
    double sum = 0.0, all = 0.0, low = INFINITY, high = -INFINITY;
    for (Py_ssize_t i = 0; i < v.n; i++) low = smaller(low, y[i]), high = larger(high, y[i]), sum += y[i];
    mean[p] = sum / (double)v.n;
    for (Py_ssize_t j = 0; j < p1; j++) all += mean[j];
    if (isnan(all) || high - usual > farthest || usual - low > farthest) {
        PyMem_Free(x);
        Py_RETURN_NONE;
    }
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
        for (Py_ssize_t i = m; i < whole_m; i++) e[i] = squares[i] = 0.0;
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
    return Py_BuildValue("(dddd)", e1, ee, low, high);
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
KERNEL(residual_squares)
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
KERNEL(join)
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

/* squared_error(attributes, needed, coef, intercept, n, mean, products) -> the sum over n examples
 *
 * `squared_error` in `pursuit/publication.py`, of a predictor that needs some of the attributes of a block. */
KERNEL(squared_error)
{
    (void)self;
    if (!enough(n_args, 7)) return NULL;
    Py_ssize_t p = size_of(args[0]), k = size_of(args[1]);
    if (p < 0 || k < 0) return NULL;
    const int64_t *a = whole(args[0], p), *needed = whole(args[1], k);
    const double *coef = in(args[2], k), *mean = in(args[5], p + 1), *products = in(args[6], (p + 1) * (p + 1));
    double intercept = PyFloat_AsDouble(args[3]), n = PyFloat_AsDouble(args[4]);
    if (!a || !needed || !coef || !mean || !products || PyErr_Occurred()) return NULL;
    double *direction = PyMem_Malloc((size_t)(p + 1) * sizeof(double)), bias = -intercept, total = 0.0;
    if (!direction) return PyErr_NoMemory();
    if (!residual_of(a, p, needed, coef, k, direction)) {
        PyMem_Free(direction);
        return NULL;
    }
    for (Py_ssize_t i = 0; i <= p; i++) {
        if (direction[i] == 0.0) continue;
        double along = 0.0;
        for (Py_ssize_t j = 0; j <= p; j++) along += products[i * (p + 1) + j] * direction[j];
        total += direction[i] * along;
        bias += direction[i] * mean[i];
    }
    PyMem_Free(direction);
    return PyFloat_FromDouble(total + n * bias * bias);
}
