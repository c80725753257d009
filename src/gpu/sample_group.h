/* SPDX-License-Identifier: MIT */
/*
 * What is known of the launches of one kernel with one shape, a group: those that were timed, as points, and which of them a launch is like.
 *
 * Launches whose instructions are alike are a kind: how many, and how many lanes they had. A launch is taken for what all of its group were, as long as
 * these agree, and otherwise for what its kind was. What a launch will be is known when it has run; the next one is expected to be of the kind
 * that came after this kind the last time. The first launch of a group meets cold caches and stands for itself only, and so do those behind it that are
 * as cold.
 */
#ifndef CORUN_GPU_SAMPLE_GROUP_H
#define CORUN_GPU_SAMPLE_GROUP_H

#include "base/ratio.h"
#include "corun/gpu.h"
#include "corun/sampling.h"

struct corun_archive;

/*
 * What cycles may go with: all instructions, where the GPU has more warps than it can serve; those of the longest warp, where a launch lasts as long as
 * that one.
 */
enum sample_measure { SAMPLE_INSTRUCTIONS, SAMPLE_LONGEST, SAMPLE_MEASURES };

/* What a launch did. */
struct sample_work {
    uint64_t warp, thread; /* instructions */
    uint64_t longest_warp; /* instructions of that one */
};

/* Launches that were timed, the last ones as a ring, and what was made of them. */
struct sample_points {
    uint32_t timed, skipped; /* launches; skipped: that were given cycles by these points */
    uint64_t skipped_cycles;
    uint64_t timed_margin;
    uint64_t width;   /* of the interval of the measure that they agree in most; RATIO_UNKNOWN: too few */
    uint64_t measure; /* enum sample_measure: that one */
    struct ratio_point points[SAMPLE_MEASURES][RATIO_POINTS];
};

struct sample_kind {
    uint64_t warp, thread; /* instructions of its first launch */
    uint64_t last_warp;    /* of its last one */
    uint64_t next;         /* the kind of the launch that came after the last one of this kind */
    uint64_t cycles;       /* of its launches */
    struct sample_points points;
};

struct sample_group {
    const struct corun_instruction *code;
    char *name;
    struct sample_kind *kinds;
    uint32_t kind_count, last; /* last: the kind of the last launch */
    uint32_t tb_count, tb_threads, tb_shared_bytes;
    uint32_t launches, timed, parted;
    uint32_t since_timed;
    uint32_t cold;
    uint64_t came,
        period; /* the number of its last launch among all of the machine, and of how many it was the last since the one before */
    uint32_t overlaps; /* 1: with other launches: what they do to each other has to be simulated */
    uint64_t cycles, estimated_cycles, part_margin; /* part_margin: of parted launches, joined */
    uint64_t known_cycles;                          /* of launches that do not stand for themselves */
    uint64_t guessed_cycles;                        /* of launches like which none was timed */
    uint64_t warp_instructions, timed_warp_instructions;
    struct corun_counters counters; /* of all that was timed; without the first launch, where there are others */
    uint64_t l2_bytes_per_tb;
    uint64_t kinds_of_points[RATIO_POINTS]; /* of those of `all` */
    struct sample_points all;
};

/* NULL when out of memory. The name is copied. */
struct sample_group *sample_group_create(const char *name);
void sample_group_destroy(struct sample_group *group);

/* The number of the kind that a launch is of, which may be a new one; SAMPLE_NO_KIND when out of memory. */
#define SAMPLE_NO_KIND UINT32_MAX
uint32_t sample_group_kind(struct sample_group *group, const struct sample_work *done);
/* A launch of the group was of this kind, with so many warp instructions. */
void sample_group_note(struct sample_group *group, uint32_t kind, uint64_t warp);

/*
 * Whether the next launch is known well enough, when those of all kinds had `cycles`. The error is one of all cycles together: what has a small
 * share of them may be known less well, by the root of its share. Half widths w of shares s then join to a root of the sum of s * s * w * w that is
 * at most `error`, for w * w * s is at most its square.
 */
bool sample_group_knows_next(const struct sample_group *group, uint64_t cycles, uint32_t error);

/* A launch of the kind was not timed: the cycles that it is given. */
uint64_t sample_group_estimate(struct sample_group *group, uint32_t kind, const struct sample_work *done,
                               uint64_t cycles, uint32_t error);

/* A launch of the kind was timed. What it gives back are the cycles of launches that stand for themselves from now on, because they were cold. */
struct sample_timing {
    uint64_t cycles, margin;
};
uint64_t sample_group_learn(struct sample_group *group, uint32_t kind, const struct sample_work *done,
                            const struct sample_timing *timing, uint32_t error);

/* Half width of the interval of the cycles of the group's launches. */
uint64_t sample_group_margin(const struct sample_group *group);

/* All but code and name. */
void sample_group_archive(struct corun_archive *archive, struct sample_group *group);

#endif
