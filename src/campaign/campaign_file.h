/* A campaign as its description says it, expanded to cases. */
#ifndef CORUN_CAMPAIGN_CAMPAIGN_FILE_H
#define CORUN_CAMPAIGN_CAMPAIGN_FILE_H

#include "base/arena.h"
#include "base/vector.h"
#include "corun/campaign.h"

#define CAMPAIGN_MAX_CASES 1000000u

struct corun_campaign {
    struct arena *arena;
    const char *path, *name, *summary, *text; /* text: the whole description */
    VECTOR(struct corun_campaign_case) cases;
    size_t isolated;        /* the first so many cases */
    const uint32_t **alone; /* of each case, one for each of its applications: the isolated case of it */
};

/* Of a description in memory; `path` is for messages. */
enum corun_status campaign_parse(const char *path, const char *text, size_t bytes, struct corun_diagnostics *list,
                                 struct corun_campaign **campaign);

#endif
