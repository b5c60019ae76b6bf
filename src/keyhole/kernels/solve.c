/* Linear equations, a few dozen of them: for that, to call LAPACK by way of numpy takes longer than to solve them. */
#include "kernels.h"

WIDE HIDDEN void solve(double *A, double *b, Py_ssize_t q)
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

/* solved(at, matched, A, b, unit, correlation, theta) -> how far predictions by theta and by `matched` are apart
 *
 * `Stepwise._solved`: `at` are some of the k seats; A, b and the correlation are of all. */
KERNEL(solved)
{
    (void)self;
    if (!enough(n_args, 7)) return NULL;
    Py_ssize_t m = size_of(args[0]), k = size_of(args[3]);
    if (m < 0 || k < 0) return NULL;
    const int64_t *at = whole(args[0], m);
    const double *matched = in(args[1], m), *A = in(args[2], k * k), *b = in(args[3], k), *unit = in(args[4], k + 1);
    const double *correlation = in(args[5], k * k);
    double *theta = out(args[6], m);
    if (!at || !matched || !A || !b || !unit || !correlation || !theta || !within(at, m, k)) return NULL;
    double *left = PyMem_Malloc((size_t)(m * m + 1) * sizeof(double)), apart = 0.0;
    if (!left) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < m; i++) {
        for (Py_ssize_t j = 0; j < m; j++) left[i * m + j] = A[at[i] * k + at[j]] / (unit[at[i] + 1] * unit[at[j] + 1]);
        theta[i] = b[at[i]] / unit[at[i] + 1];
    }
    solve(left, theta, m);
    PyMem_Free(left);
    for (Py_ssize_t i = 0; i < m; i++)
        for (Py_ssize_t j = 0; j < m; j++)
            apart += (theta[i] - matched[i]) * correlation[at[i] * k + at[j]] * (theta[j] - matched[j]);
    return PyFloat_FromDouble(apart);
}
