/* SPDX-License-Identifier: MIT */
/* Rates, and debts of what was promised. Boards are written by programs: nothing of them is more than a number here. */
#include "daemon/rate.h"

#define LEAST_LAUNCH_NS 50 /* no GPU ends launches of a stream faster */
#define MOST_NS 1e15       /* eleven days: goals may be any numbers */

void rate_begin(struct rate *rate, const struct rate_alone *known)
{
    *rate = (struct rate){.goal = CORUN_GOAL_NONE, .idle_ns = UINT64_MAX};
    if (known)
        rate->alone = *known;
}

void rate_promise(struct rate *rate, enum corun_goal_kind goal, double value)
{
    rate->goal = goal;
    rate->goal_value = value;
    rate->debt_ns = 0;
    rate->overdue = false;
    rate->overdue_ns = rate->hopeless_ns = 0;
}

bool rate_alone_known(const struct rate_alone *alone)
{
    return alone->wanted_ns >= RATE_ALONE_NS && alone->ended >= RATE_ALONE_LAUNCHES;
}

double rate_alone_per_second(const struct rate_alone *alone)
{
    return rate_alone_known(alone) ? (double)alone->ended * 1e9 / (double)alone->wanted_ns : 0;
}

double rate_alone_blocks(const struct rate_alone *alone)
{
    return rate_alone_known(alone) ? (double)alone->blocks / (double)alone->wanted_ns : 0;
}

double rate_per_second(const struct rate *rate)
{
    return rate->wanted_ns && rate->ended > 0 ? (double)rate->ended * 1e9 / (double)rate->wanted_ns : 0;
}

bool rate_is_behind(const struct rate *rate)
{
    bool fraction = rate->goal == CORUN_GOAL_FRACTION;
    return rate->goal != CORUN_GOAL_NONE && (rate->debt_ns > 0 || (fraction && !rate_alone_known(&rate->alone)));
}

bool rate_is_overdue(const struct rate *rate, uint64_t window_ns)
{
    return rate->overdue && rate->idle_ns < window_ns;
}

/* What `count` launches or runs may take by the goal. */
static int64_t may_take(const struct rate *rate, int64_t count)
{
    double each = 0;
    if (rate->goal == CORUN_GOAL_FRACTION)
        each = (double)rate->alone.wanted_ns / (double)rate->alone.ended / rate->goal_value;
    else if (rate->goal == CORUN_GOAL_MILLISECONDS)
        each = rate->goal_value * 1e6;
    else if (rate->goal == CORUN_GOAL_FRAMES_PER_SECOND)
        each = 1e9 / rate->goal_value;
    double all = count ? each * (double)count : 0;
    if (all < MOST_NS && all > -MOST_NS)
        return (int64_t)all;
    return (int64_t)(all > 0 ? MOST_NS : -MOST_NS);
}

static void owe(struct rate *rate, int64_t took_ns, int64_t count, uint64_t window_ns)
{
    int64_t window = window_ns < (uint64_t)INT64_MAX / 4 ? (int64_t)window_ns : INT64_MAX / 4;
    rate->debt_ns += took_ns - may_take(rate, count);
    if (rate->debt_ns > window)
        rate->debt_ns = window;
    if (rate->debt_ns < -window)
        rate->debt_ns = -window;
}

/* Launches that have ended since: of all lanes, less the slices that only were parts of one. More than a GPU can do are none. */
static int64_t take_ended(struct rate *rate, const struct board *board, uint64_t passed_ns)
{
    uint32_t ended = 0, parts = atomic_load(&board->parts);
    for (uint32_t i = 0; i < BOARD_LANES; i++)
        ended += atomic_load_explicit(&board->lanes[i].ended, memory_order_acquire);
    uint32_t ends = ended - rate->last_ended, pieces = parts - rate->last_parts;
    uint64_t most = passed_ns / LEAST_LAUNCH_NS + BOARD_LANES;
    rate->last_ended = ended;
    rate->last_parts = parts;
    return ends <= most && pieces <= most ? (int64_t)ends - (int64_t)pieces : 0;
}

/* Runs that have ended since, and what they took together. */
static void take_runs(struct rate *rate, const struct board *board, const struct rate_look *look)
{
    uint64_t runs = atomic_load(&board->runs), run_ns = atomic_load(&board->run_ns);
    uint64_t count = runs - rate->last_runs, took = run_ns - rate->last_run_ns;
    rate->last_runs = runs;
    rate->last_run_ns = run_ns;
    if (count > look->passed_ns / LEAST_LAUNCH_NS + BOARD_LANES || took > (uint64_t)MOST_NS)
        count = took = 0;
    rate->runs += count;
    if (rate->goal == CORUN_GOAL_MILLISECONDS)
        owe(rate, (int64_t)took, (int64_t)count, look->window_ns);
    else if (rate->goal == CORUN_GOAL_FRAMES_PER_SECOND)
        owe(rate, (int64_t)look->passed_ns, (int64_t)count, look->window_ns);
}

static void note_alone(struct rate *rate, int64_t ended, const struct rate_look *look)
{
    struct rate_alone *alone = &rate->alone;
    if (look->others || !look->noted) {
        rate->quiet = RATE_DISTURBED;
        return;
    }
    if (rate->quiet == RATE_QUIET) {
        alone->wanted_ns += look->wanted ? look->passed_ns : 0;
        alone->ended += ended > 0 ? (uint64_t)ended : 0;
        alone->blocks += look->blocks;
        if (alone->wanted_ns > 2 * RATE_SETTLED_NS && alone->ended > 4 * RATE_ALONE_LAUNCHES) {
            alone->wanted_ns /= 2;
            alone->ended /= 2;
            alone->blocks /= 2;
        }
    } else if (rate->quiet == RATE_DISTURBED) {
        rate->quiet = RATE_SETTLES;
    } else if (ended > 0 || !look->wanted) {
        rate->quiet = RATE_QUIET; /* from the end of a launch on, or from where nothing was under way */
    }
}

static void note_blocks(struct rate *rate, const struct rate_look *look)
{
    double idle = rate->wanted_ns && !look->wanted ? (double)rate->blocks / (double)rate->wanted_ns : 0;
    rate->blocks += look->blocks;
    rate->progress += (double)look->blocks;
    if (rate->goal != CORUN_GOAL_FRAMES_PER_SECOND) /* that is promised of all time */
        rate->progress += idle * (double)look->passed_ns;
}

static void note_duty(struct rate *rate, const struct rate_look *look)
{
    double part = (double)look->passed_ns / ((double)look->window_ns * RATE_DUTY_WINDOWS);
    rate->duty += ((look->wanted ? 1 : 0) - rate->duty) * (part < 1 ? part : 1);
}

/*
 * From which debt on others are held back. It is paid while the program wants the GPU: one that does so for a hundredth of the time would pay a debt of
 * the whole window for a hundred times as long, and nobody else would have the GPU meanwhile.
 */
static int64_t overdue_from(const struct rate *rate, const struct rate_look *look)
{
    double most = (double)look->window_ns / 4, due = rate->goal == CORUN_GOAL_FRACTION ? most * rate->duty : most;
    due = due < RATE_LEAST_DEBT_NS ? RATE_LEAST_DEBT_NS : due;
    return (int64_t)(due < most ? due : most);
}

/*
 * A part of the rate alone can be reached with the GPU for itself. A time of runs may be out of reach: after a second in which others were held back for it
 * in vain, they are not for a while.
 */
static void dun(struct rate *rate, const struct rate_look *look)
{
    bool of_runs = rate->goal == CORUN_GOAL_MILLISECONDS || rate->goal == CORUN_GOAL_FRAMES_PER_SECOND;
    if (rate->goal != CORUN_GOAL_FRACTION && !of_runs)
        return;
    if (rate->goal == CORUN_GOAL_FRACTION && !rate_alone_known(&rate->alone))
        return;
    rate->overdue = rate->debt_ns > overdue_from(rate, look) || (rate->overdue && rate->debt_ns > 0);
    rate->overdue_ns = rate->overdue ? rate->overdue_ns + look->passed_ns : 0;
    if (of_runs && rate->overdue_ns > RATE_PATIENCE_NS)
        rate->hopeless_ns = RATE_HOPELESS_NS;
    if (rate->hopeless_ns) {
        rate->hopeless_ns -= look->passed_ns < rate->hopeless_ns ? look->passed_ns : rate->hopeless_ns;
        rate->overdue = false;
        rate->overdue_ns = 0;
    }
}

void rate_note(struct rate *rate, const struct board *board, const struct rate_look *look)
{
    int64_t ended = take_ended(rate, board, look->passed_ns);
    note_alone(rate, ended, look);
    take_runs(rate, board, look);
    if (!look->noted)
        return;
    note_blocks(rate, look);
    rate->ended += ended;
    if (look->wanted)
        rate->wanted_ns += look->passed_ns;
    if (look->wanted)
        rate->idle_ns = 0;
    else if (rate->idle_ns < UINT64_MAX - look->passed_ns)
        rate->idle_ns += look->passed_ns;
    if (rate->goal == CORUN_GOAL_FRACTION && rate_alone_known(&rate->alone))
        owe(rate, look->wanted ? (int64_t)look->passed_ns : 0, ended, look->window_ns);
    note_duty(rate, look);
    dun(rate, look);
}
