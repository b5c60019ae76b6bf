/* The most likely covariance of data that are missing in steps: `pursuit/completion.py`. */
#include "kernels.h"

/* extend(q, n, ridge, wilder, M, mean_here, told, told_by, beyond, looks, C, beta, mean, behind)
 *
 * `Completion.extend`: those after the first q columns of M are new. `behind` has, for them, how many examples show
 * them; what they were told is added to it. */
KERNEL(extend)
{
    (void)self;
    if (!enough(n_args, 14)) return NULL;
    Py_ssize_t q = PyLong_AsSsize_t(args[0]), p = size_of(args[5]), size = size_of(args[12]);
    double n = PyFloat_AsDouble(args[1]), ridge = PyFloat_AsDouble(args[2]), wilder = PyFloat_AsDouble(args[3]);
    if (p < 0 || size < 0 || PyErr_Occurred()) return NULL;
    if (q < 1 || q >= p || p > size) return PyErr_Format(PyExc_ValueError, "%zd, %zd, %zd do not ascend.", q, p, size);
    const double *M = in(args[4], p * p), *here = in(args[5], p);
    const double *told = in(args[6], (size - 1) * size), *told_by = in(args[7], (size - 1) * size);
    const double *beyond_told = in(args[8], size - 1), *looks = in(args[9], size - 1);
    double *C = out(args[10], size * size), *beta = out(args[11], size - 1), *mean = out(args[12], size);
    double *behind = out(args[13], size);
    if (!M || !here || !told || !told_by || !beyond_told || !looks || !C || !beta || !mean || !behind) return NULL;
    Py_ssize_t r = p - q;
    double *old = PyMem_Malloc((size_t)(q * p + q * q + 3 * q * r + 2 * r * r + 3 * r + q) * sizeof(double));
    if (!old) return PyErr_NoMemory();
    double *left = old + q * p, *B = left + q * q, *cross = B + q * r, *rest = cross + q * r;
    double *own = rest + q * r, *beyond = own + r * r, *gamma = beyond + r * r, *told_weight = gamma + r;
    double *spread = told_weight + r, *step = spread + r;
    /* With the residual in the place of the target; `old` has q rows, the newcomers' columns last. */
    memcpy(old, M, (size_t)(q * p) * sizeof(double));
    for (Py_ssize_t i = 1; i < q; i++)
        for (Py_ssize_t j = 0; j < p; j++) old[j] -= beta[i - 1] * old[i * p + j];
    for (Py_ssize_t i = 0; i < q; i++)
        for (Py_ssize_t j = 1; j < q; j++) old[i * p] -= old[i * p + j] * beta[j - 1];
    for (Py_ssize_t g = 0; g < r; g++) { /* B has a row for each newcomer here */
        const double *say = told + (q - 1 + g) * size, *by = told_by + (q - 1 + g) * size;
        spread[g] = beyond_told[q - 1 + g];
        int is_wilder = spread[g] * larger(n - 1.0, 1.0) > wilder * M[(q + g) * p + q + g];
        if (is_wilder) spread[g] = larger(spread[g] - say[0] * say[0] / larger(C[0], TINY), COPY * spread[g]);
        for (Py_ssize_t i = 0; i < q; i++) {
            double weight = smaller(smaller(by[i], n), larger(2.0 * by[i] - n, 0.0));
            if (i == 0) behind[q + g] += weight;
            if (is_wilder) weight = by[i] * (looks[q - 1 + g] / larger(by[0], TINY));
            for (Py_ssize_t j = 0; j < q; j++) left[i * q + j] = C[i * size + j] * weight + old[i * p + j];
            left[i * q + i] += ridge * C[i * size + i] * (i ? 1.0 : 1e-9) + TINY;
            B[g * q + i] = old[i * p + q + g] + weight * say[i];
            if (i == 0) told_weight[g] = weight;
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
            if (g == h) left_over += told_weight[g] * spread[g];
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
