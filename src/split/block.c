/* SPDX-License-Identifier: MIT */
/* split: steps of the same size, each by the rates of the one before (Wang 2017, section 4.3.1.3). */
#include "split/strategy.h"

void strategy_split(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    double share[CORUN_SPLIT_MAX_DEVICES];
    if (strategy_busy(view))
        return;
    if (view->step_count)
        strategy_rate_shares(view, share);
    else
        strategy_blind_shares(view, share);
    strategy_give(view, decision, strategy_step(view, view->parameters->block), share);
    decision->profiling = true; /* every step is measured for the next one */
}
