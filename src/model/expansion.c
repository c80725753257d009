/* SPDX-License-Identifier: MIT */
/*
 * If warps came and went one at a time, the chain would be a closed network of two stations, a processor that the ready warps share and a
 * memory that delays the others, with a product form for its steady state (Baskett, Chandy, Muntz and Palacios, JACM 22, 1975): what flows
 * from state to state balances. In a round several warps come and go at once. What that changes is smooth: the steady state is sought as the
 * product form times a polynomial of the third degree in the numbers of waiting warps, such that no polynomial of that degree drifts (a
 * Petrov-Galerkin method). Ten coefficients take the place of the states, and the first three cumulants of binomials that of the transition matrix.
 */
#include "model/expansion.h"

#include "model/chances.h"

#include <math.h>
#include <string.h>

#define DEGREE 3u
#define TERMS 10u        /* monomials of two variables up to that degree */
#define LOWER_TERMS 6u   /* up to one less */
#define NEGLIGIBLE 1e-11 /* weight of a state, beside the largest */
#define SETTLED 1e-3     /* relative difference of an IPC between both degrees; of the waiting warps ten times that */

/* u^i v^j, by degree. */
static const uint8_t powers_of[TERMS][CHAIN_KERNELS] = {{0, 0}, {1, 0}, {0, 1}, {2, 0}, {1, 1},
                                                        {0, 2}, {3, 0}, {2, 1}, {1, 2}, {0, 3}};

#define MOST (CHAIN_MAX_WARPS + 1) /* values of a variable */

typedef double double2 __attribute__((vector_size(16)));

/* The number of waiting warps of one kernel, n, as u = (n − centre) · scale. */
struct variable {
    uint32_t warps, most; /* most: that ever wait */
    uint32_t start;       /* near the mean */
    double wait, centre, scale;
    double powers[DEGREE + 1][MOST]; /* [i][n]: u^i */
    double2 twos[MOST][2];           /* the same, two and two */
    /* [n]: of the ready warps that begin to wait the mean (from the centre), variance and third cumulant, in units of u */
    double begin[DEGREE][MOST];
    /* [n]: how many begin to wait with n - 1 over n, and the reverse */
    double begin_flow[MOST], end_flow[MOST];
};

/* The states in which n warps of the first kernel wait, by the number of those of the second. */
struct row {
    double chances[CHAIN_KERNELS][MOST], weights[MOST];
    double flows[MOST];                            /* [n]: between the weights with n - 1 and n, away from the start */
    double after[CHAIN_KERNELS][DEGREE + 1][MOST]; /* means of the powers of the variables after the round */
};

struct expansion {
    const struct chain *chain;
    struct variable variables[CHAIN_KERNELS];
    struct row row;
    double largest; /* weight */
    uint32_t states;
    double sums[TERMS][TERMS];          /* [f][g]: weight · drift of f · g over all states; of f = 0: weight · g */
    double means[CHAIN_KERNELS][TERMS]; /* [k][g]: weight · g · the variable of k */
    double corner;                      /* weight of the state in which no warp is ready */
};

static void prepare(const struct chain_kernel *kernel, double waits, struct variable *variable)
{
    double deviation = sqrt(kernel->warps * waits * (1 - waits)), m = kernel->wait;
    variable->warps = kernel->warps;
    variable->most = m > 0 ? kernel->warps : 0;
    variable->wait = m;
    variable->centre = variable->most * waits;
    variable->start = (uint32_t)(variable->centre + 0.5);
    variable->scale = 1 / (deviation > 0.5 ? deviation : 0.5);
    double scale = variable->scale;
    for (uint32_t n = 0; n <= variable->most; n++) {
        double u = (n - variable->centre) * scale, ready = kernel->warps - n,
               spread = ready * m * (1 - m) * scale * scale;
        const double2 low = {1, u}, high = low * (u * u);
        for (uint32_t i = 0; i <= DEGREE; i++)
            variable->powers[i][n] = i < 2 ? low[i] : high[i - 2];
        variable->twos[n][0] = low;
        variable->twos[n][1] = high;
        variable->begin[0][n] = (ready * m - variable->centre) * scale;
        variable->begin[1][n] = spread;
        variable->begin[2][n] = spread * (1 - 2 * m) * scale;
        variable->begin_flow[n] = n ? (ready + 1) * m / n : 0;
        variable->end_flow[n] = n ? n / ((ready + 1) * m) : 0;
    }
}

/* Means of the powers of a variable after the round, where n warps wait of which each becomes ready with that chance. */
static inline void power_means(const struct variable *variable, uint32_t n, double chance,
                               double after[DEGREE + 1][MOST], uint32_t b)
{
    double scale = variable->scale, stay = n * (1 - chance) * scale, spread = stay * chance * scale;
    double mean = variable->begin[0][n] + stay, variance = variable->begin[1][n] + spread,
           third = variable->begin[2][n] + spread * (2 * chance - 1) * scale;
    after[1][b] = mean;
    after[2][b] = variance + mean * mean;
    after[3][b] = third + mean * (3 * variance + mean * mean);
}

/* Whether the variables have values enough for that term. */
static inline bool is_used(const struct variable variables[CHAIN_KERNELS], uint32_t term)
{
    return powers_of[term][0] <= variables[0].most && powers_of[term][1] <= variables[1].most;
}

/* The states first to last of row a go to the sums. */
static void add_states(struct expansion *expansion, uint32_t a, uint32_t first, uint32_t last)
{
    const struct variable *variables = expansion->variables;
    const double u[DEGREE + 1] = {1, variables[0].powers[1][a], variables[0].powers[2][a], variables[0].powers[3][a]};
    struct row *row = &expansion->row;
    double plain[DEGREE + 2] = {0};
    for (uint32_t b = first; b <= last; b++) {
        row->after[0][0][b] = row->after[1][0][b] = 1;
        power_means(&variables[0], a, row->chances[0][b], row->after[0], b);
        power_means(&variables[1], b, row->chances[1][b], row->after[1], b);
    }
    for (uint32_t b = first; b <= last; b++) {
        for (uint32_t j = 0; j <= DEGREE; j++)
            plain[j] += row->weights[b] * variables[1].powers[j][b];
        plain[DEGREE + 1] += row->weights[b] * variables[1].powers[2][b] * variables[1].powers[2][b];
    }
    for (uint32_t g = 0; g < TERMS; g++) {
        uint32_t i = powers_of[g][0], j = powers_of[g][1];
        expansion->sums[0][g] += plain[j] * u[i];
        expansion->means[0][g] += plain[j] * u[i] * u[1];
        expansion->means[1][g] += plain[j + 1] * u[i];
    }
    for (uint32_t f = 1; f < TERMS; f++) {
        uint32_t i = powers_of[f][0], j = powers_of[f][1];
        if (!is_used(variables, f))
            continue;
        const double *after_first = row->after[0][i], *after_second = row->after[1][j];
        double2 low = {0, 0}, high = {0, 0};
        for (uint32_t b = first; b <= last; b++) {
            const double2 *v = variables[1].twos[b];
            double drift = row->weights[b] * (after_first[b] * after_second[b] - u[i] * variables[1].powers[j][b]);
            low += drift * v[0];
            high += drift * v[1];
        }
        const double sums[DEGREE + 1] = {low[0], low[1], high[0], high[1]};
        for (uint32_t g = 0; g < TERMS; g++)
            expansion->sums[f][g] += sums[powers_of[g][1]] * u[powers_of[g][0]];
    }
    expansion->states += last - first + 1;
}

/* What flows between a row and its neighbours, where the weight at the second kernel's start is 1. */
struct flow {
    double waiting; /* weight of the row */
    double down;    /* of it, what leaves as warps of the first kernel become ready */
};

/* The weights of row a among each other: births over deaths of the second kernel. */
static struct flow balance_row(struct expansion *expansion, uint32_t a)
{
    const struct variable *second = &expansion->variables[1];
    struct row *row = &expansion->row;
    uint32_t start = second->start;
    double *weights = row->weights, *flows = row->flows;
    struct flow flow = {0, 0};
    chances_lumped(expansion->chain, a, row->chances);
    for (uint32_t b = start + 1; b <= second->most; b++)
        flows[b] = second->begin_flow[b] / row->chances[1][b];
    for (uint32_t b = 1; b <= start; b++)
        flows[b] = row->chances[1][b] * second->end_flow[b];
    weights[start] = 1;
    for (uint32_t b = start + 1; b <= second->most; b++)
        weights[b] = weights[b - 1] * flows[b];
    for (uint32_t b = start; b > 0; b--)
        weights[b - 1] = weights[b] * flows[b];
    for (uint32_t b = 0; b <= second->most; b++) {
        flow.waiting += weights[b];
        flow.down += weights[b] * row->chances[0][b] * a;
    }
    return flow;
}

/* Row a, of which the weight at the second kernel's start is `scale`. Returns the largest weight in it. */
static double add_row(struct expansion *expansion, uint32_t a, double scale)
{
    const struct variable *second = &expansion->variables[1];
    double largest = 0, *weights = expansion->row.weights;
    for (uint32_t b = 0; b <= second->most; b++) {
        weights[b] *= scale;
        largest = weights[b] > largest ? weights[b] : largest;
    }
    expansion->largest = largest > expansion->largest ? largest : expansion->largest;
    uint32_t first = 0, last = second->most;
    while (first < last && weights[first] < NEGLIGIBLE * expansion->largest)
        first++;
    while (last > first && weights[last] < NEGLIGIBLE * expansion->largest)
        last--;
    add_states(expansion, a, first, last);
    if (a == expansion->variables[0].warps && second->most == second->warps)
        expansion->corner = weights[second->warps];
    return largest;
}

/* All rows that count, from near the middle outwards. Between rows what flows up flows down. */
static void add_rows(struct expansion *expansion)
{
    const struct variable *first = &expansion->variables[0];
    const struct flow middle = balance_row(expansion, first->start);
    double scale = 1, largest = add_row(expansion, first->start, scale);
    struct flow last = middle;
    for (uint32_t a = first->start + 1; a <= first->most && largest >= NEGLIGIBLE * expansion->largest; a++) {
        struct flow flow = balance_row(expansion, a);
        scale *= last.waiting * (first->warps - a + 1) * first->wait / flow.down;
        largest = add_row(expansion, a, scale);
        last = flow;
    }
    scale = 1;
    last = middle;
    largest = expansion->largest;
    for (uint32_t a = first->start; a > 0 && largest >= NEGLIGIBLE * expansion->largest; a--) {
        struct flow flow = balance_row(expansion, a - 1);
        scale *= last.down / (flow.waiting * (first->warps - a + 1) * first->wait);
        largest = add_row(expansion, a - 1, scale);
        last = flow;
    }
}

/* The first n of the rows, in which the columns from c on are 0 below the diagonal, with their right side in column TERMS. */
static void substitute(uint32_t n, double rows[TERMS][TERMS + 1], double solution[TERMS])
{
    for (uint32_t c = n; c-- > 0;) {
        double sum = rows[c][TERMS];
        for (uint32_t k = c + 1; k < n; k++)
            sum -= rows[c][k] * solution[k];
        solution[c] = sum / rows[c][c];
    }
}

/* Gauss's elimination of n equations, the first `lower` among themselves first; false: no single solution. */
static bool eliminate(uint32_t n, uint32_t lower, double rows[TERMS][TERMS + 1])
{
    for (uint32_t c = 0; c < n; c++) {
        uint32_t best = c;
        for (uint32_t r = c + 1; r < (c < lower ? lower : n); r++)
            if (fabs(rows[r][c]) > fabs(rows[best][c]))
                best = r;
        if (!(fabs(rows[best][c]) > 0))
            return false;
        for (uint32_t k = c; k <= TERMS && best != c; k++) {
            double swap = rows[best][k];
            rows[best][k] = rows[c][k];
            rows[c][k] = swap;
        }
        double pivot = 1 / rows[c][c];
        for (uint32_t r = c + 1; r < n; r++) {
            double factor = rows[r][c] * pivot;
            for (uint32_t k = c + 1; k <= TERMS; k++)
                rows[r][k] -= factor * rows[c][k];
        }
    }
    return true;
}

/* Equations 3 to 5 with a polynomial of so many of the used terms. */
static void sum_up(const struct expansion *expansion, uint32_t terms, const uint32_t used[TERMS],
                   const double solution[TERMS], struct chain_steady *steady)
{
    const struct variable *variables = expansion->variables;
    double means[CHAIN_KERNELS] = {0, 0}, corner = 0, time = 0, ready[CHAIN_KERNELS];
    for (uint32_t c = 0; c < terms; c++) {
        uint32_t i = powers_of[used[c]][0], j = powers_of[used[c]][1];
        for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
            means[k] += solution[c] * expansion->means[k][used[c]];
        corner += solution[c] * variables[0].powers[i][variables[0].most] * variables[1].powers[j][variables[1].most];
    }
    corner *= expansion->corner;
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++) {
        ready[k] = variables[k].warps - variables[k].centre - means[k] / variables[k].scale;
        time += ready[k];
    }
    steady->idle_warps = variables[0].warps + variables[1].warps - time;
    time += corner;
    steady->stalled = corner / time;
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
        steady->ipc[k] = ready[k] / time;
}

/* The polynomial, of those terms of which the variables have values enough; false: not the same as with one of a degree less. */
static bool find_steady(const struct expansion *expansion, struct chain_steady *steady)
{
    const struct variable *variables = expansion->variables;
    uint32_t n = 0, lower = 0, used[TERMS];
    double rows[TERMS][TERMS + 1], solution[TERMS];
    for (uint32_t f = 0; f < TERMS; f++) {
        if (is_used(variables, f))
            used[n++] = f;
        lower = f < LOWER_TERMS ? n : lower;
    }
    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t c = 0; c < TERMS; c++)
            rows[r][c] = c < n ? expansion->sums[used[r]][used[c]] : 0;
        rows[r][TERMS] = r == 0;
    }
    if (!eliminate(n, lower, rows))
        return false;
    struct chain_steady less = {0};
    substitute(lower, rows, solution);
    sum_up(expansion, lower, used, solution, &less);
    substitute(n, rows, solution);
    sum_up(expansion, n, used, solution, steady);
    bool settled = steady->stalled > -SETTLED &&
                   fabs(steady->idle_warps - less.idle_warps) <= 10 * SETTLED * (steady->idle_warps + SETTLED);
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
        settled = settled && fabs(steady->ipc[k] - less.ipc[k]) <= SETTLED * steady->ipc[k];
    return settled;
}

/* The chain as its first kernel is the one whose warps come and go more slowly: the other one is in balance in every row. */
static bool expand(const struct chain *chain, const double waits[CHAIN_KERNELS], struct chain_steady *steady)
{
    struct expansion expansion; /* of its arrays what counts is written before it is read */
    expansion.chain = chain;
    expansion.largest = expansion.corner = 0;
    expansion.states = 0;
    memset(expansion.sums, 0, sizeof expansion.sums);
    memset(expansion.means, 0, sizeof expansion.means);
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
        prepare(&chain->kernels[k], waits[k], &expansion.variables[k]);
    add_rows(&expansion);
    *steady = (struct chain_steady){.states = expansion.states};
    return find_steady(&expansion, steady);
}

/* Memory that answers within a round has chances of 1, which no polynomial follows. */
static bool answers_later(const struct chain *chain)
{
    double longest = chain->kernels[0].warps + (double)chain->kernels[1].warps;
    bool later = true;
    for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
        for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++)
            later = later && (chain->kernels[k].warps == 0 ||
                              chances_latency(chain, kind, chain->kernels[k].requests[kind]) >= longest);
    return later;
}

enum corun_status expansion_solve(const struct chain *chain, struct chain_steady *steady)
{
    double waits[CHAIN_KERNELS], uncoalesced[CHAIN_KERNELS];
    if (!chain_in_range(chain))
        return CORUN_ARGUMENT;
    if (!answers_later(chain))
        return chain_solve(chain, steady);
    chances_in_the_mean(chain, waits, uncoalesced);
    const struct chain_kernel *kernels = chain->kernels;
    struct chain turned = *chain;
    /* one kernel alone is one row; else a warp begins with R_m and ends with R_m (1 - waits) / waits: together R_m / waits */
    bool turn = kernels[1].warps == 0 || kernels[0].wait * waits[1] > kernels[1].wait * waits[0];
    for (uint32_t k = 0; k < CHAIN_KERNELS && turn; k++)
        turned.kernels[k] = kernels[1 - k];
    if (!expand(&turned, turn ? (const double[CHAIN_KERNELS]){waits[1], waits[0]} : waits, steady))
        return chain_solve(chain, steady);
    double first = steady->ipc[0];
    if (turn) {
        steady->ipc[0] = steady->ipc[1];
        steady->ipc[1] = first;
    }
    return CORUN_OK;
}
