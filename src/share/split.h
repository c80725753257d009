/* SPDX-License-Identifier: MIT */
/* How many SMs each application gets, and the hand-over from one split to the next. */
#ifndef CORUN_SHARE_SPLIT_H
#define CORUN_SHARE_SPLIT_H

#include "share/sm_owners.h"

/* Applications that take part now; how many they are, and `present` for each. */
uint32_t split_present(const struct corun_view *view, bool present[CORUN_MAX_APPLICATIONS]);

/*
 * As evenly as possible over those present; where the division leaves a remainder, the first ones get one SM more. No
 * application gets more than most[a] (NULL: no such limit): the others share what it leaves; what nobody may have stays
 * over.
 */
void split_evenly(uint32_t sm_count, uint32_t application_count, const bool *present, const uint32_t *most,
                  uint32_t *counts);

/*
 * The best split: value[a][c] is what c SMs are worth to application a, and the sum, or the product, of all is to
 * become as large as possible. least[a] <= c <= most[a]; all SMs are handed out. Among equal ones (to 1 part in 10^12)
 * that closest to `even` (sum of the squares of the differences), then that which gives the first ones more. Exact:
 * dynamic programming over the applications.
 */
struct split_search {
    bool product;
    uint32_t sm_count, application_count; /* those present only */
    uint32_t least[CORUN_MAX_APPLICATIONS], most[CORUN_MAX_APPLICATIONS], even[CORUN_MAX_APPLICATIONS];
    double value[CORUN_MAX_APPLICATIONS][SM_OWNERS_MAX + 1]; /* of a product: greater than 0 */
    /* of the applications from the last one on, with 0..sm_count SMs between them */
    double best[2][SM_OWNERS_MAX + 1];
    uint64_t distance[2][SM_OWNERS_MAX + 1];
    uint16_t choice[CORUN_MAX_APPLICATIONS][SM_OWNERS_MAX + 1];
};
/* False if the limits leave no split. */
bool split_search(struct split_search *search, uint32_t *counts);

/*
 * From what owners have to `counts`. While no thread block is anywhere, sets become contiguous in the order of the
 * applications; later as few SMs as possible change hands, each time one of sm_owners_move's choice.
 */
void split_hand_over(struct sm_owners *owners, const struct corun_view *view, const uint32_t *counts);

#endif
