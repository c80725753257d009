/* SPDX-License-Identifier: MIT */
/* Everything at once, by a share that was fixed before (Wang 2017, section 4.3.1.1). */
#include "split/strategy.h"

void strategy_static(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    double share[CORUN_SPLIT_MAX_DEVICES];
    if (strategy_busy(view))
        return;
    strategy_blind_shares(view, share);
    strategy_give(view, decision, view->left, share);
}
