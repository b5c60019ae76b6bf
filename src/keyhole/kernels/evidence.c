/* What every attribute has shown so far: `pursuit/evidence.py`. */
#include "kernels.h"

/* add_block(attributes, mean, products, powers, e, n, weight, seats, before, target_mean, examples, means, sums, pairs)
 *
 * `Evidence.add`, where no value is missing. `seats` are the places of the seats among the attributes; `powers` are
 * rows as `fit_sums` leaves them; `before` is how many examples there were, and `target_mean` their mean. */
KERNEL(add_block)
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

/* recall(attributes, mean, products, n, weight, counted, newcomers, first, examples, means, counts, pairs)
 *
 * `Evidence._recall` of one block in which no value is missing; the newcomers' rows begin with the `first`. */
KERNEL(recall)
{
    (void)self;
    if (!enough(n_args, 12)) return NULL;
    Py_ssize_t p = size_of(args[0]), k = size_of(args[6]), first = PyLong_AsSsize_t(args[7]), d = size_of(args[8]);
    Py_ssize_t table = size_of(args[11]) / N_TABLES;
    double n = PyFloat_AsDouble(args[3]), weight = PyFloat_AsDouble(args[4]);
    if (PyErr_Occurred()) return NULL;
    const int64_t *a = whole(args[0], p), *newcomers = whole(args[6], k);
    if (!a || !newcomers) return NULL;
    int there = 0;
    for (Py_ssize_t i = 0; i < k; i++)
        for (Py_ssize_t j = 0; j < p; j++) there |= a[j] == newcomers[i];
    if (!there) Py_RETURN_NONE; /* most blocks show none of them, and to look at the other arguments takes longer */
    const double *mean = in(args[1], p + 1), *products = in(args[2], (p + 1) * (p + 1)), *counted = in(args[5], p);
    const double *examples = in(args[8], d), *means = in(args[9], d), *counts = in(args[10], d);
    double *pairs = out(args[11], N_TABLES * table);
    if (!mean || !products || !counted || !examples || !means || !counts || !pairs) return NULL;
    if (!within(a, p, d)) return NULL;
    if (first < 0 || (first + k) * d > table) return PyErr_Format(PyExc_ValueError, "there are only %zd rows.", table / d);
    for (Py_ssize_t i = 0; i < k; i++) {
        Py_ssize_t o = 0;
        while (o < p && a[o] < newcomers[i]) o++;
        if (o == p || a[o] != newcomers[i]) continue;
        const double *with = products + o * (p + 1);
        double *row = pairs + (first + i) * d, far = n * (mean[o] - means[a[o]]);
        for (Py_ssize_t j = 0; j < p; j++) {
            double *cell = row + a[j], together = n * (1.0 - 1.0 / larger(examples[a[j]], 1.0));
            double by = weight * counts[a[j]] / counted[j];
            cell[PRODUCTS * table] += by * (with[j] + far * (mean[j] - means[a[j]]));
            cell[BOTH * table] += by * together;
            cell[TOGETHER * table] += together;
        }
    }
    Py_RETURN_NONE;
}

/* The standard deviation of an attribute; `own` is where its sums are, which are `d` apart. */
static inline double spread_of(const double *own, Py_ssize_t d)
{
    return sqrt(own[SQUARES * d] / larger(own[LOOKS * d], 1.0));
}

/* usual_correlation(every, seats, sums, pairs, largest) -> (mean, examples) or None
 *
 * `Evidence.learn_prior`, from every so many-th attribute; None where there are too few to tell. */
KERNEL(usual_correlation)
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
    double *r = PyMem_Malloc((size_t)((2 * k + 1) * m + 1) * sizeof(double)), *n = r + k * m, *spread = n + k * m;
    if (!r) return PyErr_NoMemory();
    for (Py_ssize_t j = 0; j < d; j += every) spread[j / every] = spread_of(sums + j, d);
    double looks = 0.0, along = 0.0, apart = 0.0;
    for (Py_ssize_t i = 0; i < k; i++) {
        Py_ssize_t seat = (Py_ssize_t)seats[i];
        double of_seat = spread_of(sums + seat, d);
        for (Py_ssize_t j = 0, at = 0; j < d; j += every, at++) {
            const double *cell = pairs + i * d + j;
            double together = cell[TOGETHER * table];
            if (together < 10.0 || !(spread[at] > 0.0) || j == seat) continue;
            double unit = of_seat * spread[at] * cell[BOTH * table] + TINY;
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

HIDDEN void find_equations(const Seated *s, double *A, double *b, double *room)
{
    Py_ssize_t k = s->k, d = s->d, table = s->table;
    for (Py_ssize_t i = 0; i < k; i++) room[i] = spread_of(s->sums + s->seats[i], d);
    for (Py_ssize_t i = 0; i < k; i++) {
        const double *own = s->sums + s->seats[i];
        double information = larger(own[INFORMATION * d], TINY);
        for (Py_ssize_t o = 0; o < k; o++) {
            const double *cell = s->pairs + s->rows[o] * d + s->seats[i];
            double products = cell[PRODUCTS * table], both = cell[BOTH * table];
            double unit = room[i] * room[o] + TINY;
            double c = products / (both + TINY), usual = s->usual * unit, r = (c - usual) / unit;
            if (!(cell[TOGETHER * table] * r * r > VISIBLE_T2)) c = usual;
            A[i * k + o] = (products + larger(information - both, 0.0) * c) / information;
        }
        A[i * k + i] = own[WEIGHTED_SQUARES * d] / larger(own[NOISE * d], TINY);
        b[i] = own[WITH_TARGET * d] / information;
    }
}

/* equations(seats, rows, usual, sums, pairs, A, b)
 *
 * `Evidence.equations`. `rows` are those of the seats in the tables `pairs`. */
KERNEL(equations)
{
    (void)self;
    Seated s;
    if (!enough(n_args, 7) || !seated(args, &s)) return NULL;
    double *A = out(args[5], s.k * s.k), *b = out(args[6], s.k);
    if (!A || !b) return NULL;
    double *room = PyMem_Malloc((size_t)(s.k + 1) * sizeof(double));
    if (!room) return PyErr_NoMemory();
    find_equations(&s, A, b, room);
    PyMem_Free(room);
    Py_RETURN_NONE;
}
