/* SPDX-License-Identifier: MIT */
/*
 * Programs that use corun/split.h, divided by StarPU 1.3 as well, on the CPU's threads: wall time. Loaded before a program:
 *
 *     LD_PRELOAD=libbench_starpu_programs.so CORUN_SPLIT=threads=2,gpus=0 ./mm
 *
 * Each run of the program's task is made RUNS times by each side, in turns: with corun/split.h, and with StarPU's tasks of 4 and of 32 blocks for each
 * worker, which the scheduler of STARPU_SCHED (its default is lws) gives out. The task's function for the CPU is the same. At the end there is a row of a table:
 * milliseconds of all runs (medians), and the median ratio of StarPU's time to ours in the same turn. StarPU's workers are paused while the others compute: they poll.
 */
#include "corun/split.h"
#include "medians.h"
#include "split/clock.h"

#include <dlfcn.h>
#include <starpu.h>
#include <stdio.h>

#define RUNS 15

enum { OURS, FEW, MANY, SIDES };

struct peer {
    struct corun_split_task task;
    bool started;
    unsigned workers, runs;
    double seconds[SIDES], ratio[SIDES]; /* sums of medians; ratios weighed by our time */
};

static struct peer peer; /* of the one task of the program */

static void compute_block(void *buffers[], void *argument)
{
    uint64_t begin, end;
    (void)buffers;
    starpu_codelet_unpack_args(argument, &begin, &end);
    if (peer.task.cpu(peer.task.user, begin, end, 0) != CORUN_OK)
        abort();
}

/* Blocks of whole granules, `blocks` of them or fewer. */
static double run_theirs(uint64_t iterations, unsigned blocks)
{
    static struct starpu_codelet codelet = {.cpu_funcs = {compute_block}};
    uint64_t granules = (iterations + peer.task.granularity - 1) / peer.task.granularity;
    starpu_resume();
    double before = clock_seconds();
    for (unsigned b = 0; b < blocks; b++) {
        uint64_t begin = granules * b / blocks * peer.task.granularity;
        uint64_t end = granules * (b + 1) / blocks * peer.task.granularity;
        end = end < iterations ? end : iterations;
        if (begin < end &&
            starpu_task_insert(&codelet, STARPU_VALUE, &begin, sizeof begin, STARPU_VALUE, &end, sizeof end, 0))
            abort();
    }
    starpu_task_wait_for_all();
    double seconds = clock_seconds() - before;
    starpu_pause();
    return seconds;
}

enum corun_status corun_split_create(const struct corun_split_task *task, const struct corun_split_options *options,
                                     struct corun_split **split, struct corun_diagnostics *diagnostics)
{
    enum corun_status (*create)(const struct corun_split_task *, const struct corun_split_options *,
                                struct corun_split **, struct corun_diagnostics *);
    *(void **)&create = dlsym(RTLD_NEXT, "corun_split_create");
    enum corun_status status = create(task, options, split, diagnostics);
    struct starpu_conf conf;
    if (status != CORUN_OK || starpu_conf_init(&conf))
        return status;
    peer.task = *task;
    peer.task.granularity = task->granularity ? task->granularity : 1;
    peer.workers = corun_split_threads(*split);
    conf.ncpus = (int)peer.workers;
    conf.ncuda = conf.nopencl = 0;
    peer.started = !starpu_init(&conf);
    if (peer.started)
        starpu_pause();
    return status;
}

enum corun_status corun_split_run(struct corun_split *split, struct corun_diagnostics *diagnostics)
{
    enum corun_status (*run)(struct corun_split *, struct corun_diagnostics *);
    double seconds[SIDES][RUNS], ratios[SIDES][RUNS];
    *(void **)&run = dlsym(RTLD_NEXT, "corun_split_run");
    for (int i = 0; i < RUNS; i++) {
        double before = clock_seconds();
        enum corun_status status = run(split, diagnostics);
        seconds[OURS][i] = clock_seconds() - before;
        if (status != CORUN_OK || !peer.started)
            return status;
        uint64_t iterations = corun_split_result(split)->iterations;
        for (int side = FEW; side <= MANY; side++) {
            seconds[side][i] = run_theirs(iterations, (side == FEW ? 4 : 32) * peer.workers);
            ratios[side][i] = seconds[side][i] / seconds[OURS][i];
        }
    }
    double ours = median(seconds[OURS], RUNS);
    for (int side = 0; side < SIDES; side++) {
        peer.seconds[side] += median(seconds[side], RUNS);
        peer.ratio[side] += side ? median(ratios[side], RUNS) * ours : ours;
    }
    peer.runs++;
    return CORUN_OK;
}

void corun_split_destroy(struct corun_split *split)
{
    void (*destroy)(struct corun_split *);
    *(void **)&destroy = dlsym(RTLD_NEXT, "corun_split_destroy");
    if (peer.started && peer.runs) {
        printf("| `%s`, %u threads, %u runs | %.3f | %.3f | %.3f | %.2f | %.2f |\n", peer.task.name, peer.workers,
               peer.runs, 1e3 * peer.seconds[OURS], 1e3 * peer.seconds[FEW], 1e3 * peer.seconds[MANY],
               peer.ratio[FEW] / peer.ratio[OURS], peer.ratio[MANY] / peer.ratio[OURS]);
        starpu_resume();
        starpu_shutdown();
    }
    peer.started = false;
    destroy(split);
}
