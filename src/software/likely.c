/* SPDX-License-Identifier: MIT */
/*
 * What thread blocks that run have likely done. A look tells those that have ended; of the others it is known for how long workers have been there. Long
 * thread blocks would seem to stand still, and then to have done everything at once.
 */
#include "software/state.h"

#include <math.h>

#define MOST 0.95       /* of a thread block, or of a launch, that has not ended */
#define LEAST_LOOKS 4.0 /* a launch that is measured by what looks find takes as long as so many */

static double least(double left, double right)
{
    return left < right ? left : right;
}

/* Workers of an application, by the last look; or by the one before. */
static uint64_t workers_of(const struct software *software, const struct application *a, bool before)
{
    uint64_t count = 0;
    for (uint32_t place = 0; place < software->places; place++)
        count += before ? software->resident_before[place * software->count + a->index]
                        : share_of(software, place, a->index)->resident;
    return count;
}

/* A launch has ended: how long a worker takes for one of its thread blocks. */
static void learn(const struct software *software, struct application *a)
{
    uint64_t n = a->worked_head;
    struct kind *kind = &a->kinds[n % a->launch_count];
    double worked = a->worked_ns - a->worked_before, workers = (double)workers_of(software, a, true);
    bool one = a->head == n + 1 && !order_at(a, n)->once && workers > 0;
    if (one && worked >= LEAST_LOOKS * (double)software->look_ns * workers)
        kind->tb_ns = worked / (double)kind->about.tbs;
    a->worked_before = a->worked_ns;
    a->worked_head = a->head;
}

/* Of a launch that goes as its program has it, by how long it takes alone, or the shortest one of its kind took. */
static double part_of_launch(const struct software *software, struct application *a)
{
    const struct kind *kind = kind_at(a, a->head);
    uint64_t began = orders_began(a, a->head), length = kind->alone_ns ? kind->alone_ns : kind->launch_ns;
    return length && software->now > began ? least((double)(software->now - began) / (double)length, MOST) : 0;
}

/* For a thread block, alone on the GPU, as many side by side as fit; 0: not known. */
static double tb_alone(const struct software *software, const struct kind *kind)
{
    uint64_t fit = (uint64_t)software->places * kind->about.tbs_per_sm, tbs = kind->about.tbs;
    return (double)kind->alone_ns * (double)(fit < tbs ? fit : tbs) / (double)tbs;
}

/*
 * Thread blocks' worth of work in those that run, where `done` have ended. The first ones began together, and are as old as workers have been there; later
 * ones began at any time, and have done half on average. A thread block is counted when its worker's elected warp has come to its end: where that warp has nothing to do, long before the
 * others. So of the first ones time is believed until half of them are counted, and how long they take alone before what was counted first; the result may be less than 0.
 */
static double parts_of_tbs(const struct software *software, struct application *a, uint64_t done)
{
    struct kind *kind = &a->kinds[a->head % a->launch_count];
    uint64_t left = kind->about.tbs - done, there = workers_of(software, a, false);
    double workers = (double)(there < left ? there : left), worked = a->worked_ns - a->worked_before;
    const struct order *order = order_at(a, a->head);
    if (done >= 2 * there)
        return workers / 2;
    const bool known = kind->tb_ns > 0 || kind->alone_ns;
    if (!known && done) /* the first ones have just ended: on which workers go on, unless all are drawn */
        kind->tb_ns = worked / (order->next < order->total ? workers : workers + (double)done);
    double tb_ns = kind->tb_ns > 0 ? kind->tb_ns : tb_alone(software, kind);
    double parts = tb_ns > 0 ? worked / tb_ns - (double)done : 0;
    return parts > 0 || done < there ? least(parts, MOST * workers) : 0;
}

void likely_note(struct software *software, struct application *a, uint64_t passed_ns)
{
    double workers = (double)(workers_of(software, a, true) + workers_of(software, a, false)) / 2;
    a->worked_ns += workers * (double)passed_ns;
    if (a->head != a->worked_head)
        learn(software, a);
    const struct kind *kind = kind_at(a, a->head);
    uint64_t done = a->done > a->skipped ? a->done - a->skipped : 0, likely;
    double part = 0;
    done = done < kind->about.tbs ? done : kind->about.tbs;
    if (a->head < a->given)
        part = order_at(a, a->head)->once ? part_of_launch(software, a)
                                          : ((double)done + parts_of_tbs(software, a, done)) / (double)kind->about.tbs;
    likely = (uint64_t)llround(a->worth_before + part * kind->worth);
    a->likely = likely > a->likely ? likely : a->likely;
}
