/* SPDX-License-Identifier: MIT */
/* corund without --simulate, or with `hardware: true` in its file: the GPU of this computer, for programs with the shim. */
#include "cli/daemon_setup.h"

#include "cuda/settings.h"
#include "daemon/hardware.h"

#include <stdlib.h>
#include <string.h>

#define METRICS_INTERVAL 5.0

struct service {
    struct daemon_setup *setup;
    struct hardware_settings settings;
    char version[WIRE_NAME_BYTES];
    char metrics[4096]; /* the file may be read again, and its texts go */
};

static void tell_ready(void *user)
{
    const struct service *service = user;
    const struct hardware_settings *settings = &service->settings;
    if (service->setup->quiet)
        return;
    for (uint32_t i = 0; i < settings->gpu_count; i++)
        printf("%s%s", i ? ", " : "", settings->gpus[i].name);
    printf("%s%s, policy %s, %s, at %s\n", *service->version ? ", driver " : "", service->version,
           settings->policy_text,
           hardware_has_service() ? "programs run side by side (the multi-process service runs)"
                                  : "programs take turns on the GPU (the multi-process service does not run)",
           settings->path);
    fflush(stdout);
}

static void complain(void *user, const char *metrics, const char *problem)
{
    const struct service *service = user;
    daemon_complain(service->setup, metrics, problem);
}

static void tell(void *user, const char *what, const char *why)
{
    (void)user;
    fprintf(stderr, "corund: %s: %s\n", what, why);
}

/* ---- what means nothing there is refused, not passed over ---- */

static enum corun_status check_options(const struct daemon_setup *setup)
{
    const struct {
        const char *option;
        bool given;
    } rows[] = {{"--expect", setup->expected.count > 0},
                {"--threads", setup->threads != 0},
                {"--kernel-timeout", setup->has_kernel_timeout},
                {"--patience", setup->patience > 0},
                {"--pace", setup->pace > 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given)
            return corun_report(setup->command->list, CORUN_USAGE, CORUN_NOWHERE,
                                "%s is of simulated GPUs: --simulate GPU is missing", rows[i].option);
    return CORUN_OK;
}

static enum corun_status check_keys(const struct daemon_setup *setup, struct corun_diagnostics *list)
{
    const struct daemon_configuration *file = &setup->configuration;
    const struct corun_place place = {setup->file, 0, 0};
    const struct {
        const char *key;
        bool given;
    } rows[] = {{"expect", file->expected_count > 0},
                {"threads", file->threads != 0},
                {"kernel_timeout", file->kernel_timeout.text != NULL},
                {"patience", file->patience > 0},
                {"pace", file->pace > 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given)
            return corun_report(list, CORUN_USAGE, place, "`%s` is of simulated GPUs, and this file says `hardware`",
                                rows[i].key);
    return CORUN_OK;
}

/* ---- settings ---- */

static const char *policy_of(const struct daemon_setup *setup)
{
    const char *text = setup->policy ? setup->policy : setup->configuration.policy.text;
    return text ? text : "goal";
}

static enum corun_status read_policy(struct daemon_setup *setup, struct gate_rules *rules,
                                     struct corun_diagnostics *list)
{
    struct corun_diagnostics *said = corun_diagnostics_create();
    const struct gate_policies policies = {daemon_choose_policy, setup};
    const char *policy = policy_of(setup);
    enum corun_status status = said ? gate_rules_choose(policy, &policies, rules, said) : CORUN_MEMORY;
    if (status == CORUN_OK && strlen(policy) >= WIRE_MOST_POLICY)
        status = corun_report(said, CORUN_USAGE, CORUN_NOWHERE, "the policy is a text of more than %u bytes",
                              WIRE_MOST_POLICY - 1);
    status = daemon_add_place(said, setup->policy ? CORUN_NOWHERE : setup->configuration.policy.place, status, list);
    corun_diagnostics_destroy(said);
    return status;
}

static void set_changeable(struct service *service)
{
    struct daemon_setup *setup = service->setup;
    const struct daemon_configuration *file = &setup->configuration;
    const char *metrics = setup->metrics ? setup->metrics : file->metrics.text;
    snprintf(service->metrics, sizeof service->metrics, "%s", metrics ? metrics : "");
    snprintf(service->settings.configured, sizeof service->settings.configured, "%s",
             setup->policy || !file->policy.text ? "" : file->policy.text);
    setup->limits = file->limits;
    service->settings.limits = &setup->limits;
    service->settings.metrics = metrics ? service->metrics : NULL;
    service->settings.metrics_interval = file->metrics_interval > 0 ? file->metrics_interval : METRICS_INTERVAL;
}

static void say_what_stays(const struct daemon_configuration *before, const struct daemon_configuration *now)
{
    const struct {
        const char *key;
        bool differs;
    } rows[] = {{"hardware", before->hardware != now->hardware},
                {"socket", daemon_differ(&before->socket, &now->socket)},
                {"journal", daemon_differ(&before->journal, &now->journal)}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].differs)
            fprintf(stderr, "corund: `%s` changes when corund is started again\n", rows[i].key);
}

/* What is wrong changes nothing. */
static void reload(void *user)
{
    struct service *service = user;
    struct daemon_setup *setup = service->setup;
    struct daemon_configuration before;
    struct gate_rules rules = service->settings.rules;
    struct corun_diagnostics *list = corun_diagnostics_create();
    if (!list || !daemon_read_again(setup, &before)) {
        corun_diagnostics_destroy(list);
        return;
    }
    bool policy = !setup->policy && daemon_differ(&before.policy, &setup->configuration.policy);
    enum corun_status status = check_keys(setup, list);
    if (status == CORUN_OK && policy)
        status = read_policy(setup, &rules, list);
    (void)output_diagnostics(list, status);
    corun_diagnostics_destroy(list);
    if (status == CORUN_OK) {
        say_what_stays(&before, &setup->configuration);
        set_changeable(service);
        service->settings.rules = rules;
        if (policy)
            snprintf(service->settings.policy_text, sizeof service->settings.policy_text, "%s", policy_of(setup));
        arena_destroy(setup->texts_before);
    } else {
        fputs("corund: the configuration stays as it was\n", stderr);
        arena_destroy(setup->texts);
        setup->texts = setup->texts_before;
        setup->configuration = before;
    }
    setup->texts_before = NULL;
}

/* ---- from start to end ---- */

static enum corun_status find_gpu(struct service *service, struct corun_diagnostics *list)
{
    const char *driver = getenv(setting_SHIM_DRIVER);
    struct hardware_settings *settings = &service->settings;
    if (driver && *driver)
        snprintf(settings->gpus[0].name, sizeof settings->gpus[0].name, "driver of CORUN_SHIM_DRIVER");
    settings->gpu_count = driver && *driver ? 1 : hardware_find(settings->gpus, service->version);
    if (!settings->gpu_count)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                            "this computer has no GPU whose driver runs (/proc/driver/nvidia); --simulate GPU has one");
    return CORUN_OK;
}

static enum corun_status set_up(struct service *service, struct corun_diagnostics *list)
{
    struct daemon_setup *setup = service->setup;
    struct hardware_settings *settings = &service->settings;
    const char *socket = setup->socket ? setup->socket : setup->configuration.socket.text;
    enum corun_status status = check_options(setup);
    if (status == CORUN_OK)
        status = check_keys(setup, list);
    if (status == CORUN_OK)
        status = read_policy(setup, &settings->rules, list);
    if (status == CORUN_OK && !wire_socket_path(socket, settings->path, sizeof settings->path))
        status = corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "the path of the socket is too long");
    if (status != CORUN_OK)
        return status;
    set_changeable(service);
    snprintf(settings->policy_text, sizeof settings->policy_text, "%s", policy_of(setup));
    settings->journal = setup->journal ? setup->journal : setup->configuration.journal.text;
    settings->policies = (struct gate_policies){daemon_choose_policy, setup};
    settings->ready = tell_ready;
    settings->complain = complain;
    settings->tell = tell;
    settings->reload = setup->file ? reload : NULL;
    settings->user = service;
    return CORUN_OK;
}

enum corun_status daemon_run_hardware(struct daemon_setup *setup)
{
    struct corun_diagnostics *list = setup->command->list;
    struct service *service = calloc(1, sizeof *service);
    char version[HANDOVER_TEXT_BYTES];
    if (!service)
        return CORUN_MEMORY;
    service->setup = setup;
    enum corun_status status = set_up(service, list);
    if (status == CORUN_OK && setup->check) {
        printf("%s: the GPU of this computer, policy %s, %u row%s of limits\n", setup->file,
               service->settings.policy_text, setup->limits.count, setup->limits.count == 1 ? "" : "s");
    } else if (status == CORUN_OK && setup->takes_over) {
        puts(hardware_version(version));
    } else if (status == CORUN_OK) {
        status = find_gpu(service, list);
        if (status == CORUN_OK)
            status = hardware_run(&service->settings, list);
    }
    free(service);
    return status;
}
