/* What is believed of seats about which there is doubt: `pursuit/belief.py`. */
#include "kernels.h"

/* As there. */
#define SWEEPS 30
#define STILL 1e-4

/* believe(seats, rows, usual, sums, pairs, free, log_odds, effect, coef, likely) -> whether it comes to rest
 *
 * `Belief._weighed`: of the coefficients of the seats those that are `free` move along with how likely they are. */
KERNEL(believe)
{
    (void)self;
    Seated s;
    if (!enough(n_args, 10) || !seated(args, &s)) return NULL;
    Py_ssize_t k = s.k, m = size_of(args[5]);
    if (m < 0) return NULL;
    const int64_t *free = whole(args[5], m);
    double log_odds = PyFloat_AsDouble(args[6]), effect = PyFloat_AsDouble(args[7]);
    double *coef = out(args[8], k), *likely = out(args[9], k);
    if (!free || !coef || !likely || PyErr_Occurred() || !within(free, m, k)) return NULL;
    double *A = PyMem_Malloc(((size_t)(k * k + 3 * k) + 1) * sizeof(double));
    if (!A) return PyErr_NoMemory();
    double *b = A + k * k, *information = b + k, *left = information + k;
    find_equations(&s, A, b, left);
    find_information(&s, A, b, coef, information);
    for (Py_ssize_t i = 0; i < k; i++) {
        left[i] = b[i];
        for (Py_ssize_t j = 0; j < k; j++) left[i] -= A[i * k + j] * coef[j];
    }
    int still = 0;
    for (int sweep = 0; sweep < SWEEPS && !still; sweep++) {
        double farthest = 0.0;
        for (Py_ssize_t f = 0; f < m; f++) {
            Py_ssize_t j = (Py_ssize_t)free[f];
            double square = A[j * k + j];
            if (!(square > TINY) || !(information[j] > TINY)) {
                likely[j] = 0.0;
                continue;
            }
            double size = effect / square, variance = 1.0 / (information[j] * square + 1.0 / size);
            double score = information[j] * (left[j] + square * coef[j]);
            double odds = log_odds + log(variance / size) / 2.0 + score * score * variance / 2.0;
            likely[j] = 1.0 / (1.0 + exp(-smaller(odds, 30.0)));
            double step = likely[j] * score * variance - coef[j];
            coef[j] += step;
            for (Py_ssize_t i = 0; i < k; i++) left[i] -= A[i * k + j] * step;
            farthest = larger(farthest, fabs(step) * sqrt(square));
            if (!isfinite(step)) farthest = INFINITY;
        }
        still = farthest <= STILL * sqrt(effect);
    }
    PyMem_Free(A);
    return PyBool_FromLong(still);
}
