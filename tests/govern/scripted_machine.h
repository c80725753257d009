/* SPDX-License-Identifier: MIT */
/*
 * A machine by script: the test says what it can do and tell, what its readings are, and what time it is; it writes down what it is asked for.
 * Its policy does what the test says at each call. One at a time plays with `on_stage`. Include after cmocka's headers.
 */
#ifndef TESTS_GOVERN_SCRIPTED_MACHINE_H
#define TESTS_GOVERN_SCRIPTED_MACHINE_H

#include "govern/governor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPTED_SMS = 2, SCRIPTED_APPLICATIONS = 2, SCRIPTED_SHARES = SCRIPTED_SMS * SCRIPTED_APPLICATIONS };
enum { SCRIPTED_EPOCH = 1000, SCRIPTED_STATE = 64, SCRIPTED_LOG = 4096 };

struct scripted_machine {
    struct corun_machine_operations operations;
    struct corun_machine machine;
    struct corun_policy policy;
    struct governor_limits limits;
    struct governor *governor;
    struct corun_diagnostics *list;
    char log[SCRIPTED_LOG]; /* words for what was called, in order */
    /* readings */
    uint32_t preemptions_pending;
    struct corun_application_reading applications[SCRIPTED_APPLICATIONS];
    struct corun_sm_reading sms[SCRIPTED_SMS];
    struct corun_share_reading shares[SCRIPTED_SHARES];
    struct corun_share_counts counts[SCRIPTED_SHARES];
    struct corun_held_tbs held[SCRIPTED_SHARES];
    /* what it and its policy do when they are called; NULL: nothing */
    enum corun_status (*on_start)(struct scripted_machine *m, const struct corun_view *view,
                                  struct corun_allowances *allowances);
    void (*on_decide)(struct scripted_machine *m, const struct corun_view *view, struct corun_policy_moment moment,
                      struct corun_allowances *allowances);
    void (*on_stop)(struct scripted_machine *m);
    void (*on_obey)(struct scripted_machine *m, const struct corun_allowances *allowances);
    void (*on_follow)(struct scripted_machine *m, uint32_t entry);
    enum corun_status obeys; /* what it answers */
    uint8_t *state;          /* the policy's */
    const struct corun_view *view;
    uint32_t stops;
};

__attribute__((format(printf, 2, 3))) static inline void scripted_note(struct scripted_machine *m, const char *format,
                                                                       ...)
{
    size_t length = strlen(m->log);
    va_list arguments;
    va_start(arguments, format);
    length += (size_t)snprintf(m->log + length, sizeof m->log - length, "%s", length ? " " : "");
    vsnprintf(m->log + length, sizeof m->log - length, format, arguments);
    va_end(arguments);
}

/* What was noted since the last look. */
#define expect_log(m, text) \
    do { \
        assert_string_equal((m)->log, text); \
        (m)->log[0] = '\0'; \
    } while (0)

static inline void scripted_read(void *machine, struct corun_reading *reading)
{
    struct scripted_machine *m = machine;
    scripted_note(m, "read");
    reading->preemptions_pending = m->preemptions_pending;
    memcpy(reading->applications, m->applications, sizeof m->applications);
    memcpy(reading->sms, m->sms, sizeof m->sms);
    memcpy(reading->shares, m->shares, sizeof m->shares);
}

static inline void scripted_read_epoch(void *machine, struct corun_share_counts *counts)
{
    struct scripted_machine *m = machine;
    scripted_note(m, "count");
    memcpy(counts, m->counts, sizeof m->counts);
}

static inline enum corun_status scripted_obey(void *machine, const struct corun_policy_moment *moment,
                                              const struct corun_allowances *allowances)
{
    struct scripted_machine *m = machine;
    scripted_note(m, moment ? "obey" : "obey-start");
    if (m->on_obey)
        m->on_obey(m, allowances);
    return m->obeys;
}

static inline struct corun_held_tbs scripted_held(void *machine, uint32_t sm, uint32_t application)
{
    return ((struct scripted_machine *)machine)->held[sm * SCRIPTED_APPLICATIONS + application];
}

static inline enum corun_status scripted_follow(void *machine, uint32_t sm, uint32_t application)
{
    struct scripted_machine *m = machine;
    scripted_note(m, "follow(%u,%u)", sm, application);
    if (m->on_follow)
        m->on_follow(m, sm * SCRIPTED_APPLICATIONS + application);
    return CORUN_OK;
}

/* ---- its policy: which machine it is on stands at the beginning of its state ---- */

static struct scripted_machine *on_stage;

static inline enum corun_status scripted_start(void *state, const struct corun_view *view, const double *parameters,
                                               struct corun_allowances *allowances)
{
    (void)parameters;
    struct scripted_machine *m = on_stage;
    memcpy(state, &m, sizeof m);
    m->state = state;
    m->view = view;
    scripted_note(m, "START");
    return m->on_start ? m->on_start(m, view, allowances) : CORUN_OK;
}

static inline void scripted_decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                                   struct corun_allowances *allowances)
{
    static const char *const names[] = {"ARRIVE", "LEAVE", "KERNEL_START",  "RUN_COMPLETE",
                                        "EPOCH",  "SPENT", "LIMIT_REACHED", "TB_COMPLETE"};
    struct scripted_machine *m;
    memcpy(&m, state, sizeof m);
    if (moment.event == CORUN_EVENT_EPOCH)
        scripted_note(m, "EPOCH");
    else
        scripted_note(m, "%s(%u,%u)", names[moment.event], moment.sm, moment.application);
    if (m->on_decide)
        m->on_decide(m, view, moment, allowances);
}

static inline void scripted_stop(void *state)
{
    struct scripted_machine *m;
    memcpy(&m, state, sizeof m);
    m->stops++;
    scripted_note(m, "STOP");
    if (m->on_stop)
        m->on_stop(m);
}

static inline void scripted_policy_call(void *user, bool begins)
{
    scripted_note(user, begins ? "[" : "]");
}

/* A machine of 1 GHz that can do and tell everything, with applications "a" and "b" on it; not open yet. */
static inline void scripted_create(struct scripted_machine *m)
{
    memset(m, 0, sizeof *m);
    m->operations = (struct corun_machine_operations){.read = scripted_read,
                                                      .read_epoch = scripted_read_epoch,
                                                      .obey = scripted_obey,
                                                      .held = scripted_held,
                                                      .follow_limit = scripted_follow};
    m->machine = (struct corun_machine){.name = "a scripted machine",
                                        .capabilities = (1u << CORUN_CAPABILITY_COUNT) - 1,
                                        .observations = CORUN_ALL_OBSERVATIONS,
                                        .clock_khz = 1000000,
                                        .epoch = SCRIPTED_EPOCH,
                                        .sm_count = SCRIPTED_SMS,
                                        .schedulers_per_sm = 4,
                                        .registers_per_sm = 1000,
                                        .shared_bytes_per_sm = 2000,
                                        .threads_per_sm = 512,
                                        .tbs_per_sm = 8,
                                        .largest_quota = 1000,
                                        .operations = &m->operations,
                                        .machine = m};
    m->policy = (struct corun_policy){.version = CORUN_POLICY_VERSION,
                                      .name = "scripted",
                                      .observes = CORUN_ALL_OBSERVATIONS,
                                      .state_bytes = SCRIPTED_STATE,
                                      .start = scripted_start,
                                      .decide = scripted_decide,
                                      .stop = scripted_stop};
    m->list = corun_diagnostics_create();
}

static inline void scripted_add(struct scripted_machine *m)
{
    m->governor = governor_create(&m->machine);
    assert_non_null(m->governor);
    for (uint32_t a = 0; a < SCRIPTED_APPLICATIONS; a++) {
        struct governor_application application = {.name = a ? "b" : "a", .isolated_ipc = a ? 0 : 60};
        assert_int_equal(governor_add(m->governor, &application), CORUN_OK);
    }
}

static inline enum corun_status scripted_open_with(struct scripted_machine *m, bool policy)
{
    scripted_add(m);
    enum corun_status status = policy ? governor_set_policy(m->governor, &m->policy, NULL, m->list) : CORUN_OK;
    on_stage = m;
    if (status == CORUN_OK)
        status = governor_open(m->governor, 0, &m->limits, m->list);
    on_stage = NULL;
    return status;
}

static inline void scripted_open(struct scripted_machine *m)
{
    assert_int_equal(scripted_open_with(m, true), CORUN_OK);
    m->log[0] = '\0';
}

static inline void scripted_end(struct scripted_machine *m)
{
    governor_destroy(m->governor);
    corun_diagnostics_destroy(m->list);
}

/* The first message has this in it. */
static inline void expect_message(const struct scripted_machine *m, const char *text)
{
    assert_true(corun_diagnostics_count(m->list) > 0);
    const char *message = corun_diagnostics_get(m->list, 0)->message;
    if (!strstr(message, text))
        fail_msg("\"%s\" is not in: %s", text, message);
}

#endif
