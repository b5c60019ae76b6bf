/* How attributes stand beside the core: `pursuit/scores.py`. */
#include "kernels.h"

/* So many attributes are scored at a time. */
#define TILE 32

/* So many numbers of a row, and four rows, stay in the processor's registers. */
#define STRIP 8

/* dest = A src, where A is k x k and a row of src and dest has TILE numbers. */
WIDE static void multiply(const double *A, Py_ssize_t k, const double *restrict src, double *restrict dest)
{
    for (Py_ssize_t i = 0; i < k; i += 4) {
        const double *a[4];
        for (Py_ssize_t r = 0; r < 4; r++) a[r] = A + (i + r < k ? i + r : k - 1) * k;
        for (Py_ssize_t start = 0; start < TILE; start += STRIP) {
            double s[4][STRIP] = {{0.0}};
            for (Py_ssize_t o = 0; o < k; o++) {
                const double *x = src + o * TILE + start;
                for (Py_ssize_t r = 0; r < 4; r++) {
                    double by = a[r][o];
#pragma omp simd
                    for (Py_ssize_t t = 0; t < STRIP; t++) s[r][t] += by * x[t];
                }
            }
            for (Py_ssize_t r = 0; r < 4 && i + r < k; r++) memcpy(dest + (i + r) * TILE + start, s[r], sizeof s[r]);
        }
    }
}

/* What has been seen of the attributes of a tile, by the names of `Sums`. */
typedef struct {
    double sums[N_SUMS][TILE], variance[TILE], spread[TILE], weight[TILE], *pairs[N_TABLES];
} Tile;

/* The core: its members' coefficients, variances (two of them), inverse covariance and regressions on each other. */
typedef struct {
    Py_ssize_t k;
    const double *theta, *spread, *inverse;
    double *variance, *on_others, usual, examples;
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
        const double *together = tile->pairs[TOGETHER] + i * TILE;
        double root = sqrt(core->variance[i]);
#pragma omp simd
        for (Py_ssize_t t = 0; t < TILE; t++) {
            double unit = root * tile->spread[t], suggested = room[i * TILE + t] * share[i * TILE + t];
            double r = suggested / (unit + TINY);
            c[i * TILE + t] += suggested + core->usual * unit;
            behind[i * TILE + t] = smaller(behind[i * TILE + t], together[t] + 1.0 / (r * r + TINY));
        }
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
KERNEL(tails)
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

HIDDEN void find_information(const Seated *s, const double *A, const double *b, const double *coef, double *information)
{
    Py_ssize_t k = s->k, d = s->d;
    for (Py_ssize_t i = 0; i < k; i++) {
        const double *own = s->sums + s->seats[i];
        double square = larger(A[i * k + i], TINY), score = b[i] + square * coef[i], degrees;
        for (Py_ssize_t o = 0; o < k; o++) score -= A[i * k + o] * coef[o];
        double inflation = tail(own, d, &degrees);
        double x = larger(own[INFORMATION * d] * score * score / (square * inflation * degrees), 1e-12);
        information[i] = own[INFORMATION * d] / (inflation * x / log1p(x));
    }
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

/* scores(attributes, members, rows, theta, spread, inverse, usual, examples, sums, pairs, result, covariance)
 *
 * `partial` in pursuit/scores.py. `rows` are those of the members in the tables `pairs`; `result` has rows for score,
 * noise, beyond and worth, and `covariance` one for each member. */
KERNEL(scores)
{
    (void)self;
    if (!enough(n_args, 12)) return NULL;
    Py_ssize_t m = size_of(args[0]), k = size_of(args[1]), all = size_of(args[8]);
    if (m < 0 || k < 0 || all < 0) return NULL;
    Py_ssize_t d = all / N_SUMS, table = size_of(args[9]) / N_TABLES;
    const int64_t *a = whole(args[0], m), *members = whole(args[1], k), *rows = whole(args[2], k);
    Core core = {k, in(args[3], k), in(args[4], k), in(args[5], k * k), NULL, NULL, 0.0, 0.0};
    core.usual = PyFloat_AsDouble(args[6]), core.examples = PyFloat_AsDouble(args[7]);
    const double *sums = in(args[8], N_SUMS * d), *pairs = in(args[9], N_TABLES * table);
    double *result = out(args[10], 4 * m), *covariance = out(args[11], k * m);
    if (!a || !members || !rows || !core.theta || !core.spread || !core.inverse || !sums || !pairs || !result
        || !covariance || PyErr_Occurred())
        return NULL;
    if (!within(a, m, d) || !within(members, k, d) || !within(rows, k, d ? table / d : 0)) return NULL;
    size_t cells = (size_t)k * TILE;
    double *room = PyMem_Malloc((8 * cells + (size_t)(k * k + k)) * sizeof(double));
    if (!room) return PyErr_NoMemory();
    double *c = room + 4 * cells, *behind = c + cells, *share = behind + cells, *gamma = share + cells;
    core.on_others = gamma + cells, core.variance = core.on_others + k * k;
    for (Py_ssize_t i = 0; i < k; i++) {
        const double *own = sums + members[i];
        core.variance[i] = own[SQUARES * d] / larger(own[LOOKS * d], 1.0);
    }
    for (Py_ssize_t i = 0; i < k; i++) { /* a regression of one on the others has the coefficients -P_io / P_ii */
        double by = -1.0 / core.inverse[i * k + i];
        for (Py_ssize_t o = 0; o < k; o++) core.on_others[i * k + o] = core.inverse[i * k + o] * by;
        core.on_others[i * k + i] = 0.0;
    }
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

/* `doubt_about`, of one attribute. */
static double doubt_about(double z, double error, double share, double unit)
{
    double r = smaller(larger(error / unit, 1e-100), 1e100), slab = 1.0 / (1.0 + r * r);
    z = smaller(larger(z, -1e100), 1e100);
    double variance = r * r * slab, mean = z * r * slab;
    double odds = share / (1.0 - share) * sqrt(variance) * exp(smaller(0.5 * z * z * slab, 300.0));
    double likely = odds / (1.0 + odds), unlikely = 1.0 / (1.0 + odds);
    return unit * sqrt(likely * (variance + unlikely * mean * mean));
}

/* stand(attributes, score, noise, beyond, information, examples, means, share, effect, rounding, explains, z, error,
 *       doubt)
 *
 * `Standings._update`. The first four are of the same attributes, what follows is of all. */
KERNEL(stand)
{
    (void)self;
    if (!enough(n_args, 14)) return NULL;
    Py_ssize_t m = size_of(args[0]), d = size_of(args[4]);
    if (m < 0 || d < 0) return NULL;
    const int64_t *a = whole(args[0], m);
    const double *score = in(args[1], m), *noise = in(args[2], m), *beyond = in(args[3], m);
    const double *information = in(args[4], d), *examples = in(args[5], d), *means = in(args[6], d);
    double share = PyFloat_AsDouble(args[7]), unit_of_effects = larger(sqrt(PyFloat_AsDouble(args[8])), 1e-150);
    double rounding = PyFloat_AsDouble(args[9]), explains = PyFloat_AsDouble(args[10]);
    double *z = out(args[11], d), *error = out(args[12], d), *doubt = out(args[13], d);
    if (!a || !score || !noise || !beyond || !information || !examples || !means || !z || !error || !doubt
        || PyErr_Occurred() || !within(a, m, d))
        return NULL;
    for (Py_ssize_t t = 0; t < m; t++) {
        Py_ssize_t j = (Py_ssize_t)a[t];
        double root = sqrt(noise[t]), unit = larger(information[j] * sqrt(beyond[t]), TINY), least = rounding * means[j];
        z[j] = score[t] / larger(root, TINY);
        error[j] = root / unit;
        doubt[j] = doubt_about(z[j], error[j], share, unit_of_effects);
        if (unit <= TINY || beyond[t] <= least * least) {
            z[j] = error[j] = 0.0;
            doubt[j] = explains / larger(examples[j], 1.0);
        }
        if (information[j] <= 0) doubt[j] = INFINITY;
    }
    Py_RETURN_NONE;
}
