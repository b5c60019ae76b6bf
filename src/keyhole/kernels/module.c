/* The module: what Python sees of the kernels. */
#include "kernels.h"

KERNEL(read_columns);
KERNEL(sum_of_squares);
KERNEL(fit_sums);
KERNEL(residual_squares);
KERNEL(join);
KERNEL(squared_error);
KERNEL(add_block);
KERNEL(recall);
KERNEL(scores);
KERNEL(stand);
KERNEL(tails);
KERNEL(usual_correlation);
KERNEL(equations);
KERNEL(sweep);
KERNEL(settle);
KERNEL(t_values);
KERNEL(extend);
KERNEL(solved);
KERNEL(believe);

#define ENTRY(name) {#name, (PyCFunction)(void (*)(void))kernel_##name, METH_FASTCALL, NULL}

static PyMethodDef methods[] = {
    ENTRY(read_columns),
    ENTRY(sum_of_squares),
    ENTRY(fit_sums),
    ENTRY(residual_squares),
    ENTRY(join),
    ENTRY(squared_error),
    ENTRY(add_block),
    ENTRY(recall),
    ENTRY(scores),
    ENTRY(stand),
    ENTRY(tails),
    ENTRY(usual_correlation),
    ENTRY(equations),
    ENTRY(sweep),
    ENTRY(settle),
    ENTRY(t_values),
    ENTRY(extend),
    ENTRY(solved),
    ENTRY(believe),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_compiled", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModuleDef_Init(&module); }
