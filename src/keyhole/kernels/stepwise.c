/* Stepwise least squares among the seats: `pursuit/stepwise.py`. */
#include "kernels.h"

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
        double n = larger(fit->behind[i] - (double)members - 1.0 - !inside, 0.3 * fit->behind[i] + 1e-3);
        double t = (inside ? b : b / free) / sqrt(larger(variance * fit->inflation[i] / n, TINY));
        t = copysign(sqrt(fit->degrees[i] * log1p(t * t / fit->degrees[i])), t);
        fit->t[i] = inside || (fit->varies[i] && diagonal > COPY) ? t : 0.0;
    }
}

/* t_values(swept, inside, varies, behind, inflation, degrees, unseen, floor, t) */
KERNEL(t_values)
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

/* sweep(A, k): `sweep`, in place. */
KERNEL(sweep)
{
    (void)self;
    if (!enough(n_args, 2)) return NULL;
    Py_ssize_t k = PyLong_AsSsize_t(args[1]), p1 = (Py_ssize_t)sqrt((double)size_of(args[0]));
    double *A = out(args[0], p1 * p1), *column = A ? PyMem_Malloc((size_t)p1 * sizeof(double)) : NULL;
    if (!A || PyErr_Occurred()) return PyMem_Free(column), NULL;
    if (!column) return PyErr_NoMemory();
    if (k < 0 || k >= p1) return PyMem_Free(column), PyErr_Format(PyExc_ValueError, "there are only %zd.", p1);
    flip(A, p1, k - 1, column);
    PyMem_Free(column);
    Py_RETURN_NONE;
}

/* settle(places, drop, add, swept, inside, varies, behind, inflation, degrees, unseen, floor, t)
 *
 * `Stepwise.settle`, from the seats at `places`. */
KERNEL(settle)
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
