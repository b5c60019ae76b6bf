/* What is believed of seats about which there is doubt: `pursuit/belief.py`. */
#include "kernels.h"

/* As there. */
#define SWEEPS 30
#define STILL 1e-4

/* believe(A, b, information, free, log_odds, effect, coef, likely) -> whether it comes to rest
 *
 * `weigh`: some of the k coefficients are `free`, and move along with how likely they are; the others stay. */
KERNEL(believe)
{
    (void)self;
    if (!enough(n_args, 8)) return NULL;
    Py_ssize_t k = size_of(args[1]), m = size_of(args[3]);
    if (k < 0 || m < 0) return NULL;
    const double *A = in(args[0], k * k), *b = in(args[1], k), *information = in(args[2], k);
    const int64_t *free = whole(args[3], m);
    double log_odds = PyFloat_AsDouble(args[4]), effect = PyFloat_AsDouble(args[5]);
    double *coef = out(args[6], k), *likely = out(args[7], k);
    if (!A || !b || !information || !free || !coef || !likely || PyErr_Occurred() || !within(free, m, k)) return NULL;
    double *left = PyMem_Malloc(((size_t)k + 1) * sizeof(double));
    if (!left) return PyErr_NoMemory();
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
    PyMem_Free(left);
    return PyBool_FromLong(still);
}
