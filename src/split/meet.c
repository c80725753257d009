/* SPDX-License-Identifier: MIT */
/*
 * Both sides begin at once at their end of the range and compute until they meet. No step is made for the sake of a measurement, and nobody
 * waits for anybody: the CPU owns everything that no GPU has been given, a GPU is fed part by part from the CPU's far end, and what is
 * under way on a GPU when the CPU has nothing else to do is computed by the CPU as well; who is first has done it. So a task takes
 * hardly longer than on its faster side alone, whatever the ratio.
 *
 *     CPU ──────────►                    ◄── fed ── under way ── GPU
 *     |  done  |  not begun            |  computed, not needed twice  |
 *
 * What a GPU is given before anything of it is known: everything, where that is at most a wave of thread blocks, which occupies the GPU
 * (parts would take as long as the whole); otherwise two waves, or an eighth of the task, a quarter where parts read bytes. After that, as much as makes both sides end
 * together, half of it at a time, as long as it will be back before the CPU alone would have done what is left. That comes in pieces, as many
 * as occupy the GPU: the first thread blocks of one run beside the last of another, and its bytes move while others compute.
 */
#include "split/extrapolate.h"
#include "split/strategy.h"

#include <math.h>
#include <string.h>

#define CPU 0u

enum { LATE = 2 };          /* who needs so many times what an earlier run, or the shortest part, has taken is late */
enum { WAVES = 2 };         /* times what occupies a GPU: what is computed, and as much behind it */
enum { SHORT = 64 };        /* what takes so small a fraction of the time that has passed may be lost */
enum { MOST_PIECES = 256 }; /* of what a GPU is to get yet */
enum {
    COMPUTING = 8,
    READING = 4
}; /* such a fraction of a task is a GPU's first; more where the line to it would be idle until a part has ended */
enum { GROWTH = 4 }; /* times what a GPU has done is the most that it is given next, for what comes may be heavier */
static const double UNEVEN = 1.5; /* rates so many times apart are of iterations that differ */
enum { HANDING = 20 }; /* a further piece of a GPU takes at least so many times what the host needs to enqueue it */

/* What a strategy can tell of a device's work in this run. */
struct record {
    uint64_t under_way, given; /* iterations */
    double done;               /* of those that have ended */
    uint32_t ended, last;      /* parts; the step of the last one */
    bool raced;                /* something under way is needed by nobody any more */
    double rate;               /* iterations per second, of all its parts together */
    double shortest;           /* seconds that one of its parts took at least */
    double last_end;           /* when the last one ended */
};

/* When a part began that has ended. One that was given while others were under way may have waited for these. */
static double start_of(const struct corun_split_part *part)
{
    return fmax(0, part->ended - part->seconds);
}

/* How much of a device was under way when a part began, that part included, over the time that the part took (Little's law). */
static double rate_beside_others(const struct corun_split_view *view, uint32_t device, uint32_t index)
{
    const struct corun_split_part *own = &view->steps[index].part[device];
    double start = start_of(own), sum = (double)(own->end - own->begin);
    for (uint32_t i = 0; i < index; i++) {
        const struct corun_split_part *part = &view->steps[i].part[device];
        double left = part->busy ? 1 : (part->ended - start) / part->seconds; /* of what was under way then */
        if (left > 0)
            sum += fmin(1, left) * (double)(part->end - part->begin);
    }
    return own->seconds > 0 ? sum / own->seconds : 0;
}

/* Iterations differ where a rate of late is far from that of the whole run; then the former says more of what comes next. */
static double rate_of_late(double rate, double lately)
{
    return lately > 0 && (lately > UNEVEN * rate || UNEVEN * lately < rate) ? lately : rate;
}

/* Iterations per second of the parts that have ended since the last one that had by then; 0: none had. */
static double gpu_lately(const struct corun_split_view *view, uint32_t device, double then)
{
    double begin = 0, end = 0, done = 0;
    for (uint32_t i = 0; i < view->step_count; i++) {
        const struct corun_split_part *part = &view->steps[i].part[device];
        if (part->busy || !part->done || !(part->seconds > 0))
            continue;
        begin = part->ended <= then ? fmax(begin, part->ended) : begin;
        end = fmax(end, part->ended);
        done += part->ended > then ? (double)part->done : 0;
    }
    return begin > 0 && end > begin ? done / (end - begin) : 0;
}

static struct record record_of(const struct corun_split_view *view, uint32_t device)
{
    struct record record = {.shortest = INFINITY};
    double first = INFINITY;
    for (uint32_t i = 0; i < view->step_count; i++) {
        const struct corun_split_part *part = &view->steps[i].part[device];
        record.given += part->end - part->begin;
        if (part->busy) {
            record.under_way += part->end - part->begin;
            record.raced = record.raced || part->begin == part->end;
        }
        if (part->busy || !part->done || !(part->seconds > 0))
            continue;
        first = fmin(first, start_of(part));
        record.last_end = fmax(record.last_end, part->ended);
        record.shortest = fmin(record.shortest, part->seconds);
        record.done += (double)part->done;
        record.last = i;
        record.ended++;
    }
    if (record.ended)
        record.rate = fmax(record.done / (record.last_end - first), rate_beside_others(view, device, record.last));
    record.rate = rate_of_late(record.rate, gpu_lately(view, device, (first + record.last_end) / 2));
    return record;
}

/* Of the CPU, whose part is not over; 0 if nothing of it is known. */
static double cpu_rate(const struct corun_split_view *view)
{
    double done = 0, seconds = 0;
    for (uint32_t i = 0; i < view->step_count; i++) {
        done += (double)view->steps[i].part[CPU].done;
        seconds += view->steps[i].part[CPU].done ? view->steps[i].part[CPU].seconds : 0;
    }
    return seconds > 0 ? rate_of_late(done / seconds, view->lately) : 0;
}

/* Seconds for which the CPU has computed a granule that it has not ended: a granule takes longer. */
static double given_up_seconds(const struct corun_split_view *view)
{
    double most = 0;
    for (uint32_t i = 0; i < view->step_count; i++) {
        const struct corun_split_part *part = &view->steps[i].part[CPU];
        if (!part->busy && !part->done)
            most = fmax(most, part->seconds);
    }
    return most;
}

/* What the CPU is doing; NULL: nothing. It belongs to no step's iterations while the CPU computes what is under way on a GPU. */
static const struct corun_split_part *cpu_part(const struct corun_split_view *view, bool *races)
{
    for (uint32_t i = view->step_count; i-- > 0 && view->busy[CPU];) {
        *races = !view->steps[i].iterations;
        if (view->steps[i].part[CPU].busy)
            return &view->steps[i].part[CPU];
    }
    return NULL;
}

/* Iterations that nobody has begun. */
static uint64_t open_iterations(const struct corun_split_view *view)
{
    bool races;
    const struct corun_split_part *part = cpu_part(view, &races);
    return view->left + (part && !races ? part->end - part->begin - part->done : 0);
}

/* In whole units, at most all. */
static uint64_t whole(const struct corun_split_view *view, uint64_t unit, double iterations)
{
    double units = floor(fmax(0, iterations) / (double)unit), all = (double)view->iterations;
    return units * (double)unit >= all ? view->iterations : (uint64_t)units * unit;
}

static double smaller_if_known(double value, uint64_t limit)
{
    return limit ? fmin(value, (double)limit) : value;
}

/* Of `wanted` iterations: all, or one of the fewest equal pieces that are not larger than `piece`. A small last piece would begin late. */
static double equal_piece(double wanted, uint64_t piece)
{
    return piece ? wanted / ceil(wanted / (double)piece) : wanted;
}

/*
 * What a GPU gets at once of a small task, `share` of which is its own. Where the host needs time for each piece, they are no more than there may
 * be under way.
 */
static double small_piece(const struct corun_split_view *view, uint32_t device, double share)
{
    uint64_t piece = view->piece[device];
    double granule = (double)view->granularity, least = share / view->most[device];
    if (!(view->handing[device] > 0) || !piece)
        return equal_piece(share, piece);
    return ceil(equal_piece(share, (uint64_t)fmax((double)piece, ceil(least))) / granule) * granule;
}

/*
 * What a GPU has not been given yet of what earlier runs have learned for it: in pieces, so that results go back while others compute, each of which moves
 * enough for that and takes longer than the host needs to enqueue it.
 */
static double learned_part(const struct corun_split_view *view, uint32_t device, const struct record *record)
{
    double all = view->learned[device] * (double)view->iterations, left = all - (double)record->given;
    double pieces = view->again[device] ? all / (double)view->again[device] : 1;
    double lacks = view->lacks[device]; /* most of it, where the program has changed it */
    double there = lacks > all / 2 && view->moving[device] > 0 ? strategy_moving(view, device, lacks) : 0;
    double back = view->returning[device] * all, beside = fmin(back, view->expected[device] + there);
    if (view->latency[device] >
        0) /* n pieces: 1/n of the shorter of both ways is not beside the other; each has a copy */
        pieces = fmin(pieces, sqrt(beside / view->latency[device]));
    if (view->handing[device] > 0)
        pieces = fmin(pieces, view->expected[device] / (HANDING * view->handing[device]));
    double piece = all / fmax(1, floor(fmin(pieces, view->most[device])));
    if (left < (double)view->granularity * (record->given ? 1 : 1e-9)) /* the rest of a granule was rounded off */
        return 0;
    double held = (double)view->held[device] - (double)record->given; /* what it lacks moves while it computes these */
    double part = left < 1.5 * piece ? left : piece;
    return view->keeps && held >= (double)view->granularity ? fmin(part, held) : part;
}

/* Before anything is known of a GPU. */
static double first_part(const struct corun_split_view *view, uint32_t device, const struct record *record)
{
    double all = (double)view->iterations, waves = WAVES * (double)view->full[device], given = (double)record->given;
    uint32_t gpus = 0;
    for (uint32_t d = 1; d < view->device_count; d++)
        gpus += view->usable[d];
    if (view->most[device] == 1 || !(waves > 0))
        return record->given ? 0 : fmax(view->parameters->open * all, (double)view->flat[device]);
    double most = view->handing[device] > 0 ? 2 * waves : (double)view->full[device];
    if (all <= most) /* not in pieces: a small last one would begin when all others end */
        return fmin(small_piece(view, device, all / gpus), all / gpus - given);
    bool reads = view->reads && !view->keeps && !(view->handing[device] > 0);
    double wanted = fmin(fmax(waves, all / (reads ? READING : COMPUTING)), all / gpus);
    /* The first piece tells soon how fast the GPU is; those behind it are quarters, too, unless these move so little that a copy is mostly latency. */
    double worth = given > 0 && view->reads ? (double)view->piece[device] / 4 : 0;
    double part = fmin(fmax(wanted / 4, worth), wanted - given);
    if (view->handing[device] > 0) /* the second piece keeps the GPU busy while the host hears of the first */
        part = fmin(given > 0 ? wanted : wanted / 3, wanted - given);
    return smaller_if_known(part, view->piece[device]);
}

/* The part with which a GPU and all others end together. */
static double balanced_part(const struct line *line, double open, double others, double before)
{
    return (open / others - before - line->fixed) / (line->each + 1 / others);
}

/* When all is done if a GPU is given a part now; if the others are late, it takes another one from them. */
static double end_with(const struct line *line, double open, double others, double part)
{
    double gpu = line->fixed + line->each * part, rest = (open - part) / others - gpu;
    if (rest <= 0)
        return gpu;
    double more = balanced_part(line, rest * others, others, 0);
    return gpu + (more > 0 ? line->fixed + line->each * more : rest);
}

/*
 * One part of a GPU is known: all of its time may belong to its iterations, or half of it to being a part at all. The better of the two
 * answers is the one that loses less, relatively, if the other should be right.
 */
static double cautious_part(const struct line *known, double open, double others, double seconds)
{
    const struct line lines[] = {*known, {seconds / 2, known->each / 2, 0, 0, 0}};
    double parts[2], losses[2];
    for (int i = 0; i < 2; i++)
        parts[i] = fmin(open, fmax(0, balanced_part(&lines[i], open, others, 0)));
    for (int i = 0; i < 2; i++)
        losses[i] = end_with(&lines[!i], open, others, parts[i]) / end_with(&lines[!i], open, others, parts[!i]);
    return losses[0] <= losses[1] ? parts[0] : parts[1];
}

/* When a GPU will have done what is under way, from now; and how fast it is after that. */
static struct line prospect(const struct corun_split_view *view, uint32_t device, const struct record *record)
{
    struct line line = {0, 1 / record->rate, 0, 0, 0};
    if (view->most[device] == 1)
        line = extrapolate_line(view, device);
    line.fixed += fmax(0, (double)record->under_way * line.each - fmax(0, view->now - record->last_end));
    line.fixed += view->delivery[device];
    return line;
}

/* Seconds until the CPU has done what its threads have begun. */
static double busy_seconds(const struct corun_split_view *view)
{
    for (uint32_t i = view->step_count; i-- > 0 && view->busy[CPU];) {
        const struct corun_split_part *part = &view->steps[i].part[CPU];
        if (part->busy)
            return fmax(0, view->steps[i].start + part->seconds - view->now);
    }
    return 0;
}

/*
 * What the CPU and the other GPUs do of what is open while this GPU does its part: iterations per second, and what a later start of the
 * others takes away. A GPU of which nothing is known yet counts as one like this. A CPU whose next granule would end when this GPU has done everything
 * does not count; hardly any part of the GPU takes less than `shortest`.
 */
static double rate_of_others(const struct corun_split_view *view, uint32_t device, const struct line *own, double open,
                             double shortest, double *open_for_us)
{
    double cpu = cpu_rate(view), begins = busy_seconds(view), rate = cpu, later = 0, end = INFINITY;
    double granule = cpu > 0 ? (double)view->granularity * fmax(1, view->threads) / cpu : 0;
    for (bool again = true; again;) { /* who would begin after the common end does not count */
        double counted = begins + granule < fmax(end, shortest) ? cpu : 0;
        double all = 1 / own->each + counted, sum = open + own->fixed / own->each + counted * begins;
        rate = counted;
        later = 0;
        for (uint32_t d = 1; d < view->device_count; d++) {
            if (d == device || !view->usable[d])
                continue;
            struct record record = record_of(view, d);
            struct line line = record.ended ? prospect(view, d, &record) : (struct line){0, own->each, 0, 0, 0};
            if (!(line.each > 0) || line.fixed >= end)
                continue;
            rate += 1 / line.each;
            later += line.fixed / line.each;
        }
        all += rate - counted;
        sum += later;
        later += counted * begins;
        again = sum / all < end * (1 - 1e-9) && isinf(end);
        end = sum / all;
    }
    *open_for_us = open + later;
    return rate;
}

/*
 * Iterations per second while the last part ran, if the GPU was as fast with all that was under way at that time, whenever that began: the
 * most that the GPU can have done.
 */
static double highest_rate(const struct corun_split_view *view, uint32_t device, const struct record *record)
{
    const struct corun_split_part *last = &view->steps[record->last].part[device];
    double seconds = last->seconds, end = last->ended, start = start_of(last), sum = 0;
    for (uint32_t i = 0; i < view->step_count; i++) {
        const struct corun_split_part *part = &view->steps[i].part[device];
        double from = part->busy ? view->steps[i].start : start_of(part),
               until = part->busy ? end : fmin(end, part->ended);
        sum += (double)(part->end - part->begin) * fmax(0, until - fmax(start, from));
    }
    return fmax(record->rate, sum / (seconds * seconds));
}

/*
 * All that is open would be back from a GPU before any part of it was so far. The others need `others_need` for it. It may be back as late as after `shortest`, and as early as
 * what is under way: who gets it is who loses less, relatively, if the GPU is as the other reading has it.
 */
static bool belongs_to_gpu(const struct corun_split_view *view, uint32_t device, const struct record *record,
                           double open, double others_need, double shortest)
{
    double highest = highest_rate(view, device, record), since = view->now - record->last_end;
    double earliest = fmax(0, (double)record->under_way / highest - since) + open / highest + view->delivery[device];
    return shortest / others_need < fmax(1, others_need / earliest);
}

/*
 * When a GPU will have done what is under way, at the earliest: each part is as far as it can be after that time, if none takes longer than the shortest
 * so far.
 */
static struct line earliest_prospect(const struct corun_split_view *view, uint32_t device, const struct record *record)
{
    struct line line = {view->delivery[device], 1 / highest_rate(view, device, record), 0, 0, 0};
    for (uint32_t i = 0; i < view->step_count; i++) {
        const struct corun_split_part *part = &view->steps[i].part[device];
        double done = (view->now - view->steps[i].start) / record->shortest;
        if (part->busy)
            line.fixed += (double)(part->end - part->begin) * fmax(0, 1 - done) * line.each;
    }
    return line;
}

/* When the CPU has done its whole granules of `seconds` of work, if its threads are busy for `begins` yet. */
static double end_of_granules(const struct corun_split_view *view, double seconds, double begins)
{
    double cpu = cpu_rate(view), granule = cpu > 0 ? (double)view->granularity * fmax(1, view->threads) / cpu : 0;
    double count = granule > 0 ? ceil((seconds - begins) / granule * (1 - 1e-9)) : 0;
    return count > 0 ? begins + count * granule : fmax(0, seconds);
}

/*
 * The last part of a GPU: what it is given later would end later, so the CPU's last granules must not be late. The time that the GPU needs has two readings: by the rates so far, and as
 * fast as it can be. Of `balanced` and one to four granules more for each thread, the part that loses least in the worse reading, over the best part of that reading.
 */
static double last_part(const struct corun_split_view *view, const struct line *line, const struct line *earliest,
                        double shared, double others, double balanced)
{
    enum { COUNTS = 4, READINGS = 2 }; /* granules more, from one on */
    const struct line *readings[READINGS] = {line, earliest};
    double granules = (double)view->granularity * view->threads, ends[COUNTS][READINGS],
           best[READINGS] = {INFINITY, INFINITY}, least = INFINITY, part = balanced;
    for (int i = 0; i < COUNTS; i++)
        for (int k = 0; k < READINGS; k++) {
            double given = balanced + (i + 1) * granules;
            ends[i][k] = fmax(readings[k]->fixed + given * readings[k]->each,
                              end_of_granules(view, (shared - given) / others, busy_seconds(view)));
            best[k] = fmin(best[k], ends[i][k]);
        }
    for (int i = 0; i < COUNTS; i++) {
        double lost = fmax(ends[i][0] / best[0], ends[i][1] / best[1]);
        if (lost < least) {
            least = lost;
            part = balanced + (i + 1) * granules;
        }
    }
    return part;
}

/*
 * The line to a GPU is at work for most of the time that its parts took together, whatever each of them took, and every copy has a latency: twice the last part, if
 * that moves no more than copy_bytes. 0: it is not.
 */
static double least_of_line(const struct corun_split_view *view, uint32_t device, const struct record *record)
{
    double moved = 0, first = INFINITY;
    for (uint32_t i = 0; i < view->step_count; i++) {
        const struct corun_split_part *part = &view->steps[i].part[device];
        bool ended = !part->busy && part->done && part->seconds > 0;
        moved += ended ? part->copy_seconds : 0;
        first = ended ? fmin(first, start_of(part)) : first;
    }
    double twice = 2 * (double)view->steps[record->last].part[device].done;
    return moved > (record->last_end - first) / 2 ? smaller_if_known(twice, view->piece[device]) : 0;
}

/*
 * Where parts run one after the other, what each costs at all is seen in parts of different sizes. A piece takes HANDING times as long. 0: nothing says so.
 */
static double least_of_fixed(const struct corun_split_view *view, uint32_t device)
{
    const struct corun_split_part *small = NULL, *large = NULL;
    double end = 0;
    for (uint32_t i = 0; i < view->step_count; i++) {
        const struct corun_split_part *part = &view->steps[i].part[device];
        if (part->busy || !part->done || !(part->seconds > 0))
            continue;
        bool follows = start_of(part) >= end - 1e-3 * part->seconds;
        end = part->ended;
        if (!follows)
            continue;
        small = small && small->done <= part->done ? small : part;
        large = large && large->done >= part->done ? large : part;
    }
    if (!large || (double)large->done < 1.5 * (double)small->done)
        return 0;
    double each = (large->seconds - small->seconds) / (double)(large->done - small->done);
    double fixed = small->seconds - each * (double)small->done;
    return each > 0 && fixed > 0 ? HANDING * fixed / each : 0;
}

/*
 * Nothing tells how much occupies a GPU: twice the last part, if that has hardly taken longer than the shortest. 0: it has.
 */
static double doubled_part(const struct corun_split_view *view, uint32_t device, const struct record *record)
{
    const struct corun_split_part *last = &view->steps[record->last].part[device];
    return view->full[device] || last->seconds > 2 * record->shortest ? 0 : 2 * (double)last->done;
}

/* So that a GPU and all others end together. */
static double further_part(const struct corun_split_view *view, uint32_t device, const struct record *record,
                           double open)
{
    double waves = WAVES * (double)view->full[device], under_way = (double)record->under_way;
    bool alone = view->most[device] == 1;
    double enough = fmax(waves, record->rate * record->shortest);
    if (view->handing[device] > 0 &&
        !alone) /* one that is computed, and one behind it; the host is late with a third */
        enough = view->queued[device] < 2 ? INFINITY : 0;
    bool filled = under_way >= enough && view->queued[device] > 1;
    bool fills =
        waves > 0 && !(view->handing[device] > 0) && !view->keeps && !(strategy_least_of_copies(view, device) > 0);
    if (!(record->rate > 0) || (under_way > 0 && (alone || (filled && !fills))))
        return 0;
    struct line line = prospect(view, device, record);
    double shortest = record->shortest + view->delivery[device];
    double shared, others = rate_of_others(view, device, &line, open, shortest, &shared);
    if (!(others > 0)) { /* the threads of the CPU may have begun a granule each; or `done` has that in it */
        double begun = busy_seconds(view) > 0 ? 0 : (double)view->granularity * view->threads;
        double least = HANDING * view->handing[device] * record->rate, piece = (double)view->piece[device];
        if (open <= begun)
            return 0;
        return fmax((double)view->granularity,
                    equal_piece(open - begun, (uint64_t)(piece > 0 ? fmax(piece, least) : 0)));
    }
    double balanced = balanced_part(&line, shared, others, 0), unheld = strategy_unheld(view, device, balanced);
    if (unheld > 0) { /* it has to be moved before, behind what others need */
        line.fixed = fmax(line.fixed, strategy_line_free(view, device, 0) - view->now);
        line.fixed += strategy_moving(view, device, unheld);
        balanced = isinf(line.fixed) ? 0 : balanced_part(&line, shared, others, 0);
        if (balanced < (double)view->granularity)
            return 0;
    }
    if (filled && under_way >= balanced) /* one thread block that takes longer keeps the room of all its part */
        return 0;
    if (alone)
        return record->ended > 1 ? balanced : cautious_part(&line, shared, others, record->shortest);
    double back = line.fixed + balanced * line.each;
    if (back < shortest) /* hardly any part is faster than that */
        return belongs_to_gpu(view, device, record, open, shared / others, shortest) ? open : 0;
    if (back < 2 * shortest) { /* what is given later would end later */
        struct line earliest = earliest_prospect(view, device, record);
        return record->rate > cpu_rate(view) ? last_part(view, &line, &earliest, shared, others, balanced) : balanced;
    }
    double shortest_piece = fmax(1e-6 * view->parameters->chunk_us, HANDING * view->handing[device]);
    double fixed = smaller_if_known(least_of_fixed(view, device), view->piece[device]);
    double copies = fmax(strategy_least_of_copies(view, device), least_of_line(view, device, record));
    double host = HANDING * view->handing[device] * record->rate;
    double piece = fmax(fmax(waves / 4, fmax(copies, fixed)), shortest_piece * record->rate);
    double least = fmax(fixed, fmax(balanced / MOST_PIECES, doubled_part(view, device, record)));
    /* Thread blocks that do not occupy the GPU run side by side, and what is mostly moved takes as long as its bytes do: these need not grow slowly. */
    double sure = fmax(fmax(waves / 8, copies), fmax(host, (double)view->granularity));
    least = fmax(fmin(least, GROWTH * record->done), sure);
    return fmin(balanced, fmax(least, fmin(balanced / 2, piece)));
}

/*
 * In whole granules. One of them ends either on the GPU or on a thread of the CPU, and belongs where it takes less: the last one that is open
 * would otherwise be begun by a CPU that needs longer for it than the GPU for everything. Thread blocks that are cut take a GPU as long as whole ones; only where bytes are
 * `kept` does what is moved count more.
 */
static uint64_t whole_part(const struct corun_split_view *view, uint32_t device, uint64_t open, double wanted)
{
    struct record record = record_of(view, device);
    uint64_t unit = view->block && !view->keeps && !(view->block % view->granularity) ? view->block : view->granularity;
    double cpu = cpu_rate(view) / fmax(1, view->threads), rate = record.rate, more = (double)unit - 1;
    if (view->learned && !record.ended) { /* shares are rates, and say nothing of fractions of an iteration */
        cpu = view->learned[CPU] / fmax(1, view->threads);
        rate = view->learned[device];
        more = (1 - 1e-6) * (double)unit;
    }
    bool up = cpu > 0 && rate > cpu && wanted > 0;
    uint64_t part = whole(view, unit, up ? wanted + more : wanted);
    return part < open ? part : open;
}

/*
 * The CPU will have done what is open before anything can be back from a GPU that has not begun in this run: what every part needs has to be moved there, and results
 * back. A part would be in the way of the next run, and of what is fetched for it.
 */
static bool begins_too_late(const struct corun_split_view *view, uint32_t device, double open)
{
    double cpu = cpu_rate(view), needed = view->setup[device] + view->delivery[device];
    return view->keeps && cpu > 0 && open / cpu < needed;
}

static double wanted_part(const struct corun_split_view *view, uint32_t device, double open)
{
    struct record record = record_of(view, device);
    if (!view->usable[device] || view->queued[device] >= view->most[device] || view->stale[device] || record.raced)
        return 0;
    /* One that others have done without is tried again when the tries before have cost no more than `patience` of all runs. */
    bool learned = view->learned && view->learned[device] * (double)view->iterations >= (double)view->granularity;
    if (learned && (double)record.given < view->learned[device] * (double)view->iterations && !record.ended)
        return !record.given && begins_too_late(view, device, open) ? 0 : learned_part(view, device, &record);
    if ((view->keeps || !view->may_race) && view->learned && !learned &&
        view->wasted > view->parameters->patience * view->spent)
        return 0;
    /*
     * Until something is known of it: one that is computed, one that is moved behind it. The bytes are kept, but as long as parts are under way that
     * nobody needs, the GPU does nothing for the next run.
     */
    if (view->keeps && !record.ended && view->queued[device] >= 2)
        return 0;
    if (record.ended)
        return further_part(view, device, &record, open);
    if (learned || (!record.given && begins_too_late(view, device, open)))
        return 0;
    double part = first_part(view, device, &record);
    return !record.given && part > 0 ? fmax(part, (double)view->granularity) : part; /* granules may be coarse */
}

/* When the results of what the GPUs were given will be there: at the earliest, and by the rates that parts are sized by. */
struct prospects {
    double earliest, latest; /* infinite if nothing is known of a GPU yet */
    uint64_t under_way;      /* iterations */
};

static struct prospects prospects_of(const struct corun_split_view *view)
{
    struct prospects all = {0};
    for (uint32_t d = 1; d < view->device_count; d++) {
        struct record record = record_of(view, d);
        if (!view->usable[d] || !record.under_way)
            continue;
        const struct corun_split_step *last = &view->steps[record.last];
        bool alone = record.ended && last->iterations == last->part[d].end - last->part[d].begin;
        double end = alone ? last->end : record.last_end; /* the former has what every part needs in it */
        double left = (double)record.under_way, highest = record.ended ? highest_rate(view, d, &record) : 0;
        end += view->delivery[d];
        double expected = view->expected[d] > 0 && !(view->handing[d] > 0) ? end + view->expected[d] : INFINITY;
        all.earliest = fmax(all.earliest, highest > 0 ? end + left / highest : expected);
        all.latest = fmax(all.latest, record.rate > 0 ? end + left / record.rate : expected);
        all.under_way += record.under_way;
    }
    return all;
}

/* Whether parts take the host time: the GPUs are real. */
static bool is_handed(const struct corun_split_view *view)
{
    for (uint32_t d = 1; d < view->device_count; d++)
        if (view->handing[d] > 0)
            return true;
    return false;
}

/* When the real GPUs, none of which has ended anything, have had as long as the host needed to give them what they have; 0: one has ended a part. */
static double first_look(const struct corun_split_view *view)
{
    double time = 0;
    for (uint32_t d = 1; d < view->device_count; d++) {
        struct record record = record_of(view, d);
        if (record.ended)
            return 0;
        time = fmax(time, view->handing[d] > 0 && record.under_way ? 2 * view->given[d] : 0);
    }
    return time;
}

/* The CPU begins nothing before `time`. */
static void hold(struct corun_split_decision *decision, double time)
{
    decision->wake = time;
    decision->recall = 1u << CPU;
    decision->race = false;
}

/* When the CPU will have ended what it has begun; infinite if no granule of it has ended yet. */
static double end_of_cpu(const struct corun_split_view *view)
{
    double rate = cpu_rate(view), busy = busy_seconds(view);
    double granule = (double)view->granularity * fmax(1, view->threads) / rate;
    return rate > 0 ? view->now + (busy > 0 ? busy : granule) : INFINITY;
}

/*
 * What the CPU has begun of a GPU's part may end after the GPU has done everything, or nobody knows when it ends. The CPU gives it up at its last
 * question before that: later it would be waited for until the next one. false: there is nothing to give up.
 */
static bool give_up_in_time(const struct corun_split_view *view, double gpus_end, double until,
                            struct corun_split_decision *decision)
{
    double time = gpus_end - view->asks;
    if (!(view->asks > 0) || isinf(gpus_end) || end_of_cpu(view) <= gpus_end)
        return false;
    decision->give_up = view->now >= time * (1 - 1e-9);
    if (decision->give_up)
        hold(decision, until);
    else
        decision->wake = time;
    return true;
}

/* What earlier runs have learned has nothing for the CPU. */
static bool is_left_out(const struct corun_split_view *view)
{
    return view->learned && view->learned[CPU] * (double)view->iterations < 0.5 * (double)view->granularity;
}

/*
 * The CPU computes what is under way on a GPU, for the GPU may be late or dead. A granule that the CPU has begun cannot be stopped, and would
 * be waited for. So the CPU begins none that ends after the GPUs are expected, unless these are late by a granule, or the CPU would be first.
 */
static void race_or_hold(const struct corun_split_view *view, const struct corun_split_part *own,
                         struct corun_split_decision *decision)
{
    struct prospects gpus = prospects_of(view);
    double rate = cpu_rate(view), given_up = rate > 0 ? 0 : given_up_seconds(view);
    double granule = given_up > 0 ? given_up : (double)view->granularity * fmax(1, view->threads) / rate;
    double needed = (double)gpus.under_way - (own ? (double)own->done : 0), late = gpus.latest + granule;
    decision->race = !own;
    if (is_left_out(view) && view->now < LATE * view->usual) {
        hold(decision, LATE * view->usual);
        return;
    }
    if (given_up > 0 && view->now < late && !isinf(late)) {
        hold(decision, late);
        return;
    }
    if (isinf(late) && is_handed(view)) {
        double since = rate > 0 ? sqrt(granule * (double)view->iterations / rate) : first_look(view);
        since = fmax(since, LATE * view->usual);
        if (view->now < since)
            hold(decision, since);
        decision->trial = !(rate > 0);
        return;
    }
    if ((!view->keeps && granule <= view->now / SHORT) || !(view->now < late) ||
        (rate > 0 && view->now + needed / rate < gpus.latest))
        return;
    if ((own && give_up_in_time(view, gpus.earliest, late, decision)) || !(rate > 0) || isinf(late))
        return;
    if (view->now < gpus.earliest - granule && !is_handed(view)) {
        decision->wake = gpus.earliest - granule;
        return;
    }
    hold(decision, late);
}

/*
 * Once all that the CPU has not begun is given to GPUs, what the CPU has begun ends last or not. If it may end after a GPU would have done everything, the GPU gets
 * it as well: one granule costs the GPU little, and the CPU's next question whether it is needed is sooner than the end of everything.
 */
static uint32_t relief_of(const struct corun_split_view *view, struct corun_split_decision *decision, uint64_t open)
{
    double end = end_of_cpu(view);
    for (uint32_t d = view->device_count; d-- > 1 && view->may_race && open <= view->granularity * view->threads;) {
        struct record record = record_of(view, d);
        double more = (double)(decision->parts[d] + open);
        if (!view->usable[d] || !record.ended || view->queued[d] >= view->most[d] || view->stale[d] || record.raced)
            continue;
        double rate = (highest_rate(view, d, &record) + record.rate) / 2, under_way = (double)record.under_way;
        double done = fmax(view->now, record.last_end + under_way / rate);
        double ready = decision->parts[d] ? done + more / rate : done + record.shortest;
        double needed = view->asks > 0 ? ready - LATE * fmax(record.shortest, view->asks) : 0;
        if (isinf(end) && view->now < needed * (1 - 1e-9)) { /* until then the CPU may come to an end */
            decision->wake = decision->wake > 0 ? fmin(decision->wake, needed) : needed;
            continue;
        }
        if (end > ready + view->delivery[d])
            return d;
    }
    return 0;
}

/*
 * An idle GPU has got nothing of what is open, for the CPU should have done that first: somebody looks again when half of it should be done, or the granules that
 * the CPU has begun. Iterations may be heavier there than the CPU's so far. 0: there is nothing to look for.
 */
static double look_again(const struct corun_split_view *view, uint64_t open)
{
    double rate = cpu_rate(view), granules = (double)view->granularity * fmax(1, view->threads);
    bool idle = false;
    for (uint32_t d = 1; d < view->device_count; d++)
        idle = idle || (view->usable[d] && !view->queued[d] && !view->stale[d] && record_of(view, d).ended);
    if (!idle || !(rate > 0) || !view->busy[CPU])
        return 0;
    return view->now + fmax(fmax((double)open / 2, granules) / rate, 1e-6 * view->parameters->chunk_us);
}

/*
 * What a GPU has computed goes back beside other work, as long as there is enough of that even if the GPUs are as fast as they can be: a copy that is under way when all is
 * computed would be in the way of the last one.
 */
static uint32_t deliveries(const struct corun_split_view *view, uint64_t open)
{
    double left = (double)open, rate = view->busy[CPU] ? cpu_rate(view) : 0;
    uint32_t mask = 0;
    for (uint32_t d = 1; d < view->device_count; d++) {
        struct record record = record_of(view, d);
        left += (double)record.under_way;
        rate += record.ended ? highest_rate(view, d, &record) : 0;
    }
    for (uint32_t d = 1; d < view->device_count; d++)
        if (view->latency[d] > 0 && left > view->latency[d] * rate)
            mask |= 1u << d;
    return mask;
}

void strategy_meet(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    if (!strategy_busy(view) && strategy_give_only(view, decision))
        return;
    uint64_t open = open_iterations(view), given = 0;
    for (uint32_t d = 1; d < view->device_count; d++) {
        decision->parts[d] = whole_part(view, d, open, wanted_part(view, d, (double)open));
        open -= decision->parts[d];
        given += decision->parts[d];
    }
    bool gpus_first =
        given && !view->busy[CPU] && is_handed(view); /* they are given all of theirs before the CPU begins */
    double look = view->learned || view->busy[CPU] || view->left <= given ? 0 : first_look(view);
    if (!given && view->now < look) /* a GPU that ends its first part at once may need no help */
        decision->wake = look;
    else if (!view->busy[CPU] && view->usable[CPU] && !gpus_first)
        decision->parts[CPU] = view->left > given ? view->left - given : 0;
    bool races = true;
    const struct corun_split_part *own = cpu_part(view, &races);
    if (view->usable[CPU] && !decision->parts[CPU] && races && !gpus_first && !(view->now < look))
        race_or_hold(view, own, decision);
    if (own && !races)
        decision->relief = relief_of(view, decision, open);
    if (own && !races && !given && !decision->relief && !(decision->wake > 0))
        decision->wake = look_again(view, open);
    strategy_fetch(view, decision);
    decision->deliver = deliveries(view, open);
    decision->feed = true;
    decision->again = given > 0 || decision->relief;
    bool learned = false;
    for (uint32_t d = 0; d < view->device_count; d++) {
        decision->share[d] = (double)decision->parts[d] / fmax(1, (double)(given + decision->parts[CPU]));
        learned = learned || (d && view->learned && view->learned[d] > 0 && !view->stale[d]);
    }
    if (learned && !view->step_count)
        memcpy(decision->share, view->learned, view->device_count * sizeof decision->share[0]);
}
