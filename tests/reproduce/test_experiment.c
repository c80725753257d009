/* SPDX-License-Identifier: MIT */
/* Experiments: what a file says, what is wrong with it, and samples of which one contains the other. */
#include "campaign/campaign_file.h"
#include "campaign/sample.h"
#include "reproduce/experiment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "name: tiny\ntitle: A figure\npaper: A paper\nsection: figure 1\n"
#define CAMPAIGN \
    "campaign:\n  gpus: [gtx980]\n  policies: [even, cooperative]\n  workloads: [a, b, c, d]\n  goals: [50%, 90%]\n" \
    "  mixes: [{size: 2, ordered: true}]\n"
#define FIGURES "figures: []\n"
#define GOOD HEAD CAMPAIGN FIGURES

static struct experiment *parse(const char *text, enum corun_status expected, struct corun_diagnostics *list)
{
    struct experiment *experiment;
    enum corun_status status = experiment_parse("tiny.yaml", text, strlen(text), list, &experiment);
    if (status != expected && corun_diagnostics_count(list))
        print_error("%s\n", corun_diagnostics_get(list, 0)->message);
    assert_int_equal(status, expected);
    assert_true((experiment != NULL) == (expected == CORUN_OK));
    return experiment;
}

static void reads(void **state)
{
    (void)state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct experiment *experiment = parse("paper_cycles: 2M\nsample: 5\n" GOOD, CORUN_OK, list);
    assert_string_equal(experiment->name, "tiny");
    assert_int_equal(experiment->cycles, 200000);
    assert_int_equal(experiment->paper_cycles, 2000000);
    assert_int_equal(experiment->part_count, 1);
    assert_string_equal(experiment->parts[0].campaign, "tiny");
    assert_null(experiment->missing);
    struct experiment_extent extent = experiment_initial_extent(experiment, false);
    assert_int_equal(extent.sample, 5);
    struct corun_campaign *campaign;
    assert_int_equal(experiment_campaign(experiment, 0, &extent, list, &campaign), CORUN_OK);
    assert_int_equal(experiment_combinations(campaign), 12 * 2);
    assert_int_equal(experiment_sampled(campaign), 5);
    assert_string_equal(corun_campaign_name(campaign), "tiny");
    assert_int_equal(corun_campaign_count(campaign) - campaign->isolated, 5 * 2); /* two policies */
    for (size_t i = campaign->isolated; i < corun_campaign_count(campaign); i++)
        assert_int_equal(corun_campaign_get(campaign, i)->cycles, 200000);
    corun_campaign_destroy(campaign);
    extent = experiment_initial_extent(experiment, true);
    assert_int_equal(extent.cycles, 2000000);
    assert_int_equal(extent.sample, 0);
    experiment_destroy(experiment);
    corun_diagnostics_destroy(list);
}

static void parts(void **state)
{
    (void)state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct experiment *experiment =
        parse(HEAD "campaign:\n  gpus: [gtx980]\n  policies: [even]\n  workloads: [a, b, c]\n"
                   "parts:\n"
                   "  - {name: pairs, mixes: [{size: 2}]}\n"
                   "  - {name: trios, policies: [cooperative], mixes: [{size: 3}]}\n" FIGURES,
              CORUN_OK, list);
    struct experiment_extent extent = {.cycles = 5000};
    struct corun_campaign *campaign;
    assert_int_equal(experiment->part_count, 2);
    assert_int_equal(experiment_campaign(experiment, 0, &extent, list, &campaign), CORUN_OK);
    assert_string_equal(corun_campaign_name(campaign), "tiny/pairs");
    assert_string_equal(corun_campaign_get(campaign, campaign->isolated)->policy, "even");
    assert_int_equal(corun_campaign_get(campaign, 0)->cycles, 5000);
    corun_campaign_destroy(campaign);
    assert_int_equal(experiment_campaign(experiment, 1, &extent, list, &campaign), CORUN_OK);
    assert_string_equal(corun_campaign_get(campaign, campaign->isolated)->policy, "cooperative");
    assert_int_equal(experiment_combinations(campaign), 1);
    corun_campaign_destroy(campaign);
    experiment_destroy(experiment);
    corun_diagnostics_destroy(list);
}

/* Policies that there are not are named once, and no campaign is made. */
static void missing(void **state)
{
    (void)state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct experiment *experiment =
        parse(HEAD "campaign:\n  policies: [even, \"nosuch:a=1/2\", \"nosuch:a=2/1\", nosuch-either, left-over]\n"
                   "  workloads: [a, b]\n  mixes: [{size: 2}]\n" FIGURES,
              CORUN_OK, list);
    assert_string_equal(experiment->missing, "nosuch, nosuch-either");
    struct experiment_extent extent = experiment_initial_extent(experiment, false);
    struct corun_campaign *campaign;
    assert_int_equal(experiment_campaign(experiment, 0, &extent, list, &campaign), CORUN_NOT_FOUND);
    assert_null(campaign);
    assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, "nosuch, nosuch-either"));
    experiment_destroy(experiment);
    corun_diagnostics_destroy(list);
}

static void mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        uint32_t line, column;
    } rows[] = {
        {"name: x\n", "'title' is missing", 1, 1},
        {GOOD "extra: 1\n", "unknown key 'extra'", 12, 1},
        {GOOD "cycles: 10\n", "'10' is no number of 1000 or more for 'cycles'", 12, 9},
        {GOOD "sample: 0\n", "no number of 1", 12, 9},
        {"name: Tiny\ntitle: t\npaper: p\nsection: s\n" CAMPAIGN FIGURES, "'Tiny' is no name", 1, 7},
        {HEAD "campaign: [even]\n" FIGURES, "expected a map", 5, 11},
        {HEAD CAMPAIGN "  cycles: 5K\n" FIGURES, "'cycles' is that of the experiment", 11, 11},
        {HEAD CAMPAIGN "  name: other\n" FIGURES, "'name' is that of the experiment", 11, 9},
        {GOOD "parts: []\n", "1 to 32 parts", 12, 8},
        {GOOD "parts:\n  - {summary: x}\n", "'name' is missing", 13, 5},
        {GOOD "parts:\n  - {name: x}\n  - {name: x}\n", "two parts 'x'", 14, 12},
        {GOOD "parts:\n  - {name: x, cycles: 5K}\n", "the window is said once", 13, 23},
        {GOOD "parts:\n  - {name: x, colour: 5}\n", "unknown key 'colour'", 13, 15},
        {HEAD "campaign:\n  workloads: [a]\n  mixes: [{size: 2}]\n" FIGURES, "cannot be chosen", 7, 11},
        {HEAD "campaign:\n  policies: [\"even:nosuch=1\"]\n  workloads: [a, b]\n  mixes: [{size: 2}]\n" FIGURES,
         "nosuch", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct corun_diagnostics *list = corun_diagnostics_create();
        struct experiment *experiment;
        assert_int_not_equal(experiment_parse("tiny.yaml", rows[i].text, strlen(rows[i].text), list, &experiment),
                             CORUN_OK);
        assert_null(experiment);
        assert_true(corun_diagnostics_count(list) > 0);
        const struct corun_diagnostic *said = corun_diagnostics_get(list, 0);
        if (!strstr(said->message, rows[i].message) || said->place.line != rows[i].line ||
            said->place.column != rows[i].column)
            fail_msg("%zu: %u:%u: %s", i, said->place.line, said->place.column, said->message);
        corun_diagnostics_destroy(list);
    }
}

/* Every goal has its share, and what a sample has a larger one has, too. */
static void samples(void **state)
{
    (void)state;
    enum { MIXES = 45, GOALS = 4, ALL = MIXES * GOALS };
    bool before[ALL] = {false}, chosen[ALL];
    for (uint64_t count = 0; count <= ALL; count++) {
        uint64_t of_goal[GOALS] = {0}, sum = 0;
        assert_true(sample_choose(MIXES, GOALS, count, 7, chosen));
        for (size_t i = 0; i < ALL; i++) {
            assert_true(!before[i] || chosen[i]);
            of_goal[i % GOALS] += chosen[i];
            sum += chosen[i];
        }
        assert_int_equal(sum, count);
        for (size_t goal = 0; goal < GOALS; goal++)
            assert_int_equal(of_goal[goal], count / GOALS + (goal < count % GOALS));
        memcpy(before, chosen, sizeof before);
    }
    bool other[ALL];
    assert_true(sample_choose(MIXES, GOALS, 40, 7, chosen) && sample_choose(MIXES, GOALS, 40, 8, other));
    assert_memory_not_equal(chosen, other, sizeof chosen);
    size_t different = 0; /* goals do not all get the same mixes */
    for (size_t mix = 0; mix < MIXES; mix++)
        different += chosen[mix * GOALS] != chosen[mix * GOALS + 1];
    assert_true(different > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),    cmocka_unit_test(parts),   cmocka_unit_test(missing),
        cmocka_unit_test(mistakes), cmocka_unit_test(samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
