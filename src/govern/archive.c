/* SPDX-License-Identifier: MIT */
/* A governor to a checkpoint and back: epochs, allowances, what the view has of the last epoch, the state of the policy. */
#include "govern/state.h"

static void archive_tables(struct corun_archive *archive, struct governor *governor)
{
    size_t sms = governor->machine.sm_count,
           entries = sms * (governor->application_count ? governor->application_count : 1);
    size_t variables = governor->policy && governor->policy->variable_count ? governor->policy->variable_count : 1;
    struct corun_allowances *w = &governor->allowances;
#define ARCHIVE_TABLE(name, count) archive_bytes(archive, w->name, (count) * sizeof *w->name);
    GUARDED_ALLOWANCES(ARCHIVE_TABLE)
#undef ARCHIVE_TABLE
    archive_bytes(archive, governor->over_limit, sms * sizeof *governor->over_limit);
    archive_bytes(archive, governor->share_views, entries * sizeof *governor->share_views);
    archive_bytes(archive, governor->marks, entries * sizeof *governor->marks);
}

static void archive_allowances(struct corun_archive *archive, struct corun_allowances *allowances)
{
    static const struct archive_hole holes[] = {
#define HOLE(name, count) ARCHIVE_HOLE(struct corun_allowances, name),
        GUARDED_ALLOWANCES(HOLE)
#undef HOLE
            ARCHIVE_HOLE(struct corun_allowances, refusal)};
    ARCHIVE_RECORD(archive, allowances, holes);
}

/* The rest of the views is filled anew at every moment. */
void governor_archive(struct corun_archive *archive, struct governor *governor)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct governor, machine),     ARCHIVE_HOLE(struct governor, limits),
        ARCHIVE_HOLE(struct governor, list),        ARCHIVE_HOLE(struct governor, members),
        ARCHIVE_HOLE(struct governor, policy),      ARCHIVE_HOLE(struct governor, parameters),
        ARCHIVE_HOLE(struct governor, state),       ARCHIVE_HOLE(struct governor, allowances),
        ARCHIVE_HOLE(struct governor, first),       ARCHIVE_HOLE(struct governor, guarded),
        ARCHIVE_HOLE(struct governor, over_limit),  ARCHIVE_HOLE(struct governor, view),
        ARCHIVE_HOLE(struct governor, sm_views),    ARCHIVE_HOLE(struct governor, application_views),
        ARCHIVE_HOLE(struct governor, share_views), ARCHIVE_HOLE(struct governor, reading),
        ARCHIVE_HOLE(struct governor, counts),      ARCHIVE_HOLE(struct governor, marks),
        ARCHIVE_HOLE(struct governor, checked),     ARCHIVE_HOLE(struct governor, checked_scalars),
        ARCHIVE_HOLE(struct governor, sms_hidden)};
    static const struct archive_hole member_holes[] = {ARCHIVE_HOLE(struct member, application)};
    archive_same(archive, governor->application_count, "applications");
    ARCHIVE_LARGE_RECORD(archive, governor, holes);
    for (uint32_t a = 0; a < governor->application_count && archive_fine(archive); a++)
        ARCHIVE_RECORD(archive, &governor->members[a], member_holes);
    archive_allowances(archive, &governor->allowances);
    archive_tables(archive, governor);
    archive_same(archive, governor->policy ? governor->policy->state_bytes : 0, "bytes of the policy's state");
    if (governor->policy && archive_fine(archive))
        archive_bytes(archive, governor->state, governor->policy->state_bytes);
}
