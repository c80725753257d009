/* SPDX-License-Identifier: MIT */
/* Points of launches, kinds and groups; ratio.c has the statistics. */
#include "gpu/sample_group.h"

#include "base/archive.h"

#include <stdlib.h>
#include <string.h>

#define FEWEST_TIMED 4u /* launches: three are too often alike by chance */
#define MOST_COLD 4u    /* launches of a group that stand for themselves, beside the first one */
#define COLD 2u         /* times the interval of a single launch, from the launches behind it */
#define MOST_TIMED 30u  /* of a kind, beside one in `every`, whatever their interval */
#define MOST_KINDS 16u  /* of a group; further launches belong to the nearest one */
#define MILLION UINT64_C(1000000)

struct sample_group *sample_group_create(const char *name)
{
    struct sample_group *group = calloc(1, sizeof *group);
    if (!group)
        return NULL;
    group->name = strdup(name);
    group->all.width = RATIO_UNKNOWN;
    if (group->name)
        return group;
    sample_group_destroy(group);
    return NULL;
}

void sample_group_destroy(struct sample_group *group)
{
    if (!group)
        return;
    free(group->kinds);
    free(group->name);
    free(group);
}

/* ---- points ---- */

static uint32_t count_of(const struct sample_points *points)
{
    return points->timed < RATIO_POINTS ? points->timed : RATIO_POINTS;
}

/* The measure that `count` points behind the first `skip` agree in most; *width: half width of its interval. */
static enum sample_measure best_measure(const struct sample_points *points, uint32_t skip, uint32_t count,
                                        uint64_t *width)
{
    enum sample_measure best = SAMPLE_INSTRUCTIONS;
    *width = ratio_half_width(points->points[best] + skip, count);
    if (count < FEWEST_TIMED)
        return best;
    uint64_t longest = ratio_half_width(points->points[SAMPLE_LONGEST] + skip, count);
    if (longest >= *width)
        return best;
    *width = longest;
    return SAMPLE_LONGEST;
}

static void look_at(struct sample_points *points)
{
    points->measure = best_measure(points, 0, count_of(points), &points->width);
}

static void add_point(struct sample_points *points, const struct sample_work *done, const struct sample_timing *timing)
{
    uint32_t at = points->timed++ % RATIO_POINTS;
    points->points[SAMPLE_INSTRUCTIONS][at] = (struct ratio_point){timing->cycles, done->warp};
    points->points[SAMPLE_LONGEST][at] = (struct ratio_point){timing->cycles, done->longest_warp};
    points->timed_margin += timing->margin;
    look_at(points);
}

/* Of no more than RATIO_POINTS. */
static void drop_first(struct sample_points *points)
{
    uint32_t behind = --points->timed;
    for (uint32_t m = 0; m < SAMPLE_MEASURES; m++)
        memmove(points->points[m], points->points[m] + 1, behind * sizeof *points->points[m]);
    look_at(points);
}

/* Their sum. */
static struct ratio_point sum_of(const struct sample_points *points, uint64_t measure)
{
    struct ratio_point sum = {0};
    for (uint32_t i = 0; i < count_of(points); i++) {
        sum.cycles += points->points[measure][i].cycles;
        sum.instructions += points->points[measure][i].instructions;
    }
    return sum;
}

static uint64_t cycles_by(const struct sample_points *points, const struct sample_work *done)
{
    struct ratio_point sum = sum_of(points, points->measure);
    uint64_t work = points->measure == SAMPLE_LONGEST ? done->longest_warp : done->warp;
    return sum.instructions ? ratio_scale(work, sum.cycles, sum.instructions) : 0;
}

/* With what neighbours have in common. */
static uint64_t width_in_turn(const struct sample_points *points)
{
    uint32_t count = count_of(points), first = points->timed <= RATIO_POINTS ? 0 : points->timed;
    struct ratio_point in_turn[RATIO_POINTS];
    for (uint32_t i = 0; i < count; i++)
        in_turn[i] = points->points[points->measure][(first + i) % RATIO_POINTS];
    return ratio_half_width_in_turn(in_turn, count);
}

/* Half width of the interval of the cycles that launches were given by these points. */
static uint64_t margin_of(const struct sample_points *points)
{
    uint32_t count = count_of(points);
    if (!points->skipped)
        return 0;
    uint64_t width = width_in_turn(points);
    if (width == RATIO_UNKNOWN || !count)
        return points->skipped_cycles;
    /* The ratio is known as well as the points tell; beside that each launch strays from it as each point does. */
    uint64_t of_ratio = ratio_scale(points->skipped_cycles, width, MILLION);
    uint64_t of_launches = ratio_root(of_ratio, count, points->skipped);
    uint64_t mean = sum_of(points, SAMPLE_INSTRUCTIONS).cycles / count;
    uint64_t of_parts = ratio_scale(points->skipped_cycles, points->timed_margin / points->timed, mean ? mean : 1);
    return ratio_join(ratio_join(of_ratio, of_launches), of_parts);
}

uint64_t sample_group_margin(const struct sample_group *group)
{
    uint64_t margin = ratio_join(ratio_join(group->part_margin, group->guessed_cycles), margin_of(&group->all));
    for (uint32_t k = 0; k < group->kind_count; k++)
        margin = ratio_join(margin, margin_of(&group->kinds[k].points));
    return margin;
}

/* ---- kinds ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* As many instructions to an eighth, as many lanes to a sixteenth. */
static bool is_alike(const struct sample_kind *kind, const struct sample_work *done)
{
    uint64_t lanes = ratio_scale(done->thread, kind->warp, done->warp ? done->warp : 1);
    return distance(kind->warp, done->warp) <= kind->warp / 8 && distance(kind->thread, lanes) <= kind->thread / 16;
}

uint32_t sample_group_kind(struct sample_group *group, const struct sample_work *done)
{
    uint32_t nearest = 0;
    for (uint32_t k = 0; k < group->kind_count; k++) {
        if (is_alike(&group->kinds[k], done))
            return k;
        if (distance(group->kinds[k].warp, done->warp) < distance(group->kinds[nearest].warp, done->warp))
            nearest = k;
    }
    if (group->kind_count == MOST_KINDS)
        return nearest;
    struct sample_kind *kinds = realloc(group->kinds, (group->kind_count + 1) * sizeof *kinds);
    if (!kinds)
        return SAMPLE_NO_KIND;
    group->kinds = kinds;
    struct sample_kind *kind = memset(&kinds[group->kind_count], 0, sizeof *kind);
    kind->warp = done->warp;
    kind->thread = done->thread;
    kind->next = group->kind_count;
    kind->points.width = RATIO_UNKNOWN;
    return group->kind_count++;
}

void sample_group_note(struct sample_group *group, uint32_t kind, uint64_t warp)
{
    if (group->launches)
        group->kinds[group->last].next = kind;
    group->last = kind;
    group->kinds[kind].last_warp = warp;
}

/* ---- what is known ---- */

/* Launches with so many of the cycles of all. */
static bool is_near_enough(const struct sample_points *points, uint64_t cycles, uint64_t all_cycles, uint32_t error)
{
    if (points->timed < FEWEST_TIMED || points->width > UINT32_MAX)
        return false;
    uint64_t share = all_cycles > cycles ? ratio_scale(MILLION, cycles, all_cycles) : MILLION;
    return (unsigned __int128)points->width * points->width * share <= (unsigned __int128)error * error * MILLION;
}

static bool kind_is_known(const struct sample_kind *kind, uint64_t cycles, uint32_t error)
{
    return kind->points.timed >= MOST_TIMED || is_near_enough(&kind->points, kind->cycles, cycles, error);
}

/* Whether a launch with so many instructions is among those that were timed, to an eighth: nothing is known of others. */
static bool is_among(const struct sample_points *points, uint64_t warp)
{
    const struct ratio_point *point = points->points[SAMPLE_INSTRUCTIONS];
    uint64_t fewest = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < count_of(points); i++) {
        fewest = point[i].instructions < fewest ? point[i].instructions : fewest;
        most = point[i].instructions > most ? point[i].instructions : most;
    }
    return warp >= fewest - fewest / 8 && warp <= most + most / 8;
}

static bool all_tell(const struct sample_group *group, uint64_t warp, uint64_t cycles, uint32_t error)
{
    return is_near_enough(&group->all, group->known_cycles, cycles, error) && is_among(&group->all, warp);
}

bool sample_group_knows_next(const struct sample_group *group, uint64_t cycles, uint32_t error)
{
    if (!group->kind_count)
        return false;
    const struct sample_kind *next = &group->kinds[group->kinds[group->last].next];
    return kind_is_known(next, cycles, error) || all_tell(group, next->last_warp, cycles, error);
}

uint64_t sample_group_estimate(struct sample_group *group, uint32_t kind, const struct sample_work *done,
                               uint64_t cycles, uint32_t error)
{
    struct sample_kind *own = &group->kinds[kind];
    bool of_all = all_tell(group, done->warp, cycles, error);
    bool of_kind = !of_all && (kind_is_known(own, cycles, error) || own->points.width != RATIO_UNKNOWN);
    struct sample_points *like = of_kind ? &own->points : &group->all;
    uint64_t estimate = cycles_by(like, done);
    if (of_all || of_kind) {
        like->skipped++;
        like->skipped_cycles += estimate;
    } else {
        group->guessed_cycles += estimate;
    }
    own->cycles += estimate;
    group->known_cycles += estimate;
    return estimate;
}

/*
 * Buffers that take turns, and caches larger than what one launch uses, are cold for longer than one launch: as long as all launches of a
 * group were timed, its first ones are left out that stray far from what those behind them let expect.
 */
static uint64_t leave_out_cold(struct sample_group *group, uint32_t error)
{
    struct sample_points *all = &group->all;
    uint64_t left_out = 0;
    while (all->timed + group->cold == group->launches && group->cold < MOST_COLD && all->timed > FEWEST_TIMED &&
           all->timed <= RATIO_POINTS) {
        uint32_t behind = all->timed - 1;
        uint64_t width;
        enum sample_measure measure = best_measure(all, 1, behind, &width);
        const struct ratio_point *points = all->points[measure];
        uint64_t strays = ratio_deviation(points, points + 1, behind);
        if (strays <= error || strays / COLD <= ratio_root(width, behind + 1, 1))
            break;
        uint64_t cycles = points[0].cycles;
        struct sample_kind *kind = &group->kinds[group->kinds_of_points[0]];
        kind->cycles -= cycles;
        group->known_cycles -= cycles;
        left_out += cycles;
        drop_first(&kind->points);
        drop_first(all);
        memmove(group->kinds_of_points, group->kinds_of_points + 1, behind * sizeof *group->kinds_of_points);
        group->cold++;
    }
    return left_out;
}

uint64_t sample_group_learn(struct sample_group *group, uint32_t kind, const struct sample_work *done,
                            const struct sample_timing *timing, uint32_t error)
{
    group->kinds_of_points[group->all.timed % RATIO_POINTS] = kind;
    add_point(&group->all, done, timing);
    add_point(&group->kinds[kind].points, done, timing);
    group->kinds[kind].cycles += timing->cycles;
    group->known_cycles += timing->cycles;
    return leave_out_cold(group, error);
}

/* ---- checkpoints ---- */

static void check_points(struct corun_archive *archive, const struct sample_points *points)
{
    if (points->measure >= SAMPLE_MEASURES)
        archive_fail(archive, CORUN_SYNTAX, "launches by a measure that there is not");
}

void sample_group_archive(struct corun_archive *archive, struct sample_group *group)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct sample_group, code),
                                                ARCHIVE_HOLE(struct sample_group, name),
                                                ARCHIVE_HOLE(struct sample_group, kinds)};
    ARCHIVE_LARGE_RECORD(archive, group, holes);
    if (group->kind_count > MOST_KINDS || group->last >= (group->kind_count ? group->kind_count : 1)) {
        archive_fail(archive, CORUN_SYNTAX, "%u kinds of launches", group->kind_count);
        return;
    }
    if (archive->reads && archive_fine(archive))
        group->kinds = calloc(group->kind_count + 1, sizeof *group->kinds);
    if (!group->kinds) {
        if (group->kind_count)
            archive_fail(archive, CORUN_MEMORY, "out of memory");
        return;
    }
    archive_bytes(archive, group->kinds, group->kind_count * sizeof *group->kinds);
    for (uint32_t k = 0; k < group->kind_count && archive_fine(archive); k++) {
        if (group->kinds[k].next >= group->kind_count)
            archive_fail(archive, CORUN_SYNTAX, "a kind of launches before no other");
        check_points(archive, &group->kinds[k].points);
    }
    for (uint32_t i = 0; i < count_of(&group->all) && archive_fine(archive); i++)
        if (group->kinds_of_points[i] >= group->kind_count)
            archive_fail(archive, CORUN_SYNTAX, "a launch of no kind");
    check_points(archive, &group->all);
}
