/* SPDX-License-Identifier: MIT */
/* A small first step, and the rest by its rates (Wang 2017, section 4.3.1.2, after Scogland et al., IPDPS workshops 2012). */
#include "split/strategy.h"

void strategy_quick(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    double share[CORUN_SPLIT_MAX_DEVICES];
    if (strategy_busy(view))
        return;
    if (strategy_give_only(view, decision))
        return;
    if (view->step_count) {
        strategy_rate_shares(view, share);
        strategy_give(view, decision, view->left, share);
    } else if (view->learned) {
        strategy_give(view, decision, view->left, view->learned);
    } else {
        strategy_blind_shares(view, share);
        strategy_give(view, decision, strategy_step(view, view->parameters->first * (double)view->iterations), share);
        decision->profiling = true;
    }
}
