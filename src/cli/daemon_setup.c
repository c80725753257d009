/* SPDX-License-Identifier: MIT */
/* corund's command line and its configuration file together, at its start and when it reads the file again. */
#include "cli/daemon_setup.h"

#include "case/specification.h"
#include "corun/workload.h"

#include <stdlib.h>
#include <string.h>

#define METRICS_INTERVAL 5.0

enum corun_status daemon_add_place(const struct corun_diagnostics *said, struct corun_place place,
                                   enum corun_status status, struct corun_diagnostics *list)
{
    for (size_t i = 0; i < corun_diagnostics_count(said); i++) {
        const struct corun_diagnostic *one = corun_diagnostics_get(said, i);
        (void)corun_report(list, one->status, one->place.file ? one->place : place, "%s", one->message);
    }
    return status;
}

/* ---- GPU and policy ---- */

static enum corun_status find_gpu(struct daemon_setup *setup, const char *text, struct corun_place place,
                                  struct corun_diagnostics *list)
{
    struct node_settings *settings = &setup->settings;
    char data[PATH_BYTES];
    if (settings->gpu_count == WIRE_MOST_GPUS)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "there are more than %u GPUs", WIRE_MOST_GPUS);
    struct corun_gpu_config *gpu = &setup->gpus_found[settings->gpu_count].configuration;
    struct corun_diagnostics *said = corun_diagnostics_create();
    enum corun_status status = said ? corun_data_directory(data, sizeof data, said) : CORUN_MEMORY;
    if (status == CORUN_OK)
        status = corun_gpu_config_load(text, data, said, gpu);
    if (status == CORUN_OK)
        status = corun_gpu_config_check(gpu, said);
    status = daemon_add_place(said, place, status, list);
    corun_diagnostics_destroy(said);
    settings->gpu_count += status == CORUN_OK;
    return status;
}

static void name_gpus(struct daemon_setup *setup)
{
    size_t length = 0;
    for (uint32_t i = 0; i < setup->settings.gpu_count && length < sizeof setup->gpu_names; i++)
        length += (size_t)snprintf(setup->gpu_names + length, sizeof setup->gpu_names - length, "%s%s", i ? ", " : "",
                                   setup->gpus_found[i].configuration.name);
}

static enum corun_status find_gpus(struct daemon_setup *setup, struct corun_diagnostics *list)
{
    const struct daemon_configuration *configuration = &setup->configuration;
    enum corun_status status = CORUN_OK;
    if (!setup->gpus.count && !configuration->gpu_count)
        return corun_report(list, CORUN_USAGE, (struct corun_place){setup->file, 0, 0},
                            "it names no GPU: `simulate: gtx980`, or `hardware: true`");
    for (size_t i = 0; i < setup->gpus.count && status == CORUN_OK; i++)
        status = find_gpu(setup, setup->gpus.data[i], CORUN_NOWHERE, list);
    for (uint32_t i = 0; !setup->gpus.count && i < configuration->gpu_count && status == CORUN_OK; i++)
        status = find_gpu(setup, configuration->gpus[i].text, configuration->gpus[i].place, list);
    setup->settings.gpus = setup->gpus_found;
    name_gpus(setup);
    return status;
}

enum corun_status daemon_choose_policy(void *user, const char *text, struct corun_diagnostics *list,
                                       const struct corun_policy **policy, const double **parameters)
{
    struct daemon_setup *setup = user;
    arena_destroy(setup->chosen);
    setup->chosen = arena_create();
    return setup->chosen ? specify_policy(text, setup->chosen, list, policy, parameters) : CORUN_MEMORY;
}

static enum corun_status find_policy(struct daemon_setup *setup, struct corun_diagnostics *list)
{
    struct node_settings *settings = &setup->settings;
    const struct value *given = &setup->configuration.policy;
    const char *text = setup->policy ? setup->policy : given->text;
    struct corun_diagnostics *said = corun_diagnostics_create();
    enum corun_status status = said ? CORUN_OK : CORUN_MEMORY;
    settings->policy_text = text ? text : CORUN_NO_POLICY;
    if (status == CORUN_OK && strlen(settings->policy_text) >= WIRE_MOST_POLICY)
        status = corun_report(said, CORUN_USAGE, CORUN_NOWHERE, "the policy is a text of more than %u bytes",
                              WIRE_MOST_POLICY - 1);
    if (status == CORUN_OK && text)
        status = specify_policy(text, setup->command->arena, said, &settings->policy, &settings->parameters);
    if (status == CORUN_OK && settings->policy && settings->policy->needs_speedup)
        status = corun_report(said, CORUN_ARGUMENT, CORUN_NOWHERE,
                              "policy %s needs speed-up curves of its applications, which are not known of programs",
                              settings->policy->name);
    status = daemon_add_place(said, setup->policy ? CORUN_NOWHERE : given->place, status, list);
    corun_diagnostics_destroy(said);
    return status;
}

/* ---- what can change while it runs ---- */

static void set_changeable(struct daemon_setup *setup)
{
    const struct daemon_configuration *configuration = &setup->configuration;
    double interval = configuration->metrics_interval;
    snprintf(setup->server.configured, sizeof setup->server.configured, "%s",
             setup->policy || !configuration->policy.text ? "" : configuration->policy.text);
    setup->limits = configuration->limits;
    setup->server.patience = setup->patience > 0 ? setup->patience : configuration->patience;
    setup->server.metrics = setup->metrics ? setup->metrics : configuration->metrics.text;
    setup->server.metrics_interval = interval > 0 ? interval : METRICS_INTERVAL;
}

bool daemon_differ(const struct value *one, const struct value *other)
{
    return !one->text || !other->text ? one->text != other->text : strcmp(one->text, other->text) != 0;
}

static enum corun_status reload_policy(struct daemon_setup *setup, const struct value *before)
{
    const struct value *now = &setup->configuration.policy;
    struct corun_diagnostics *list = corun_diagnostics_create();
    enum corun_status status = CORUN_OK;
    if (!setup->policy && daemon_differ(before, now)) {
        status = node_change_policy(setup->node, WIRE_ALL_GPUS, now->text ? now->text : CORUN_NO_POLICY, list);
        struct corun_diagnostics *placed = corun_diagnostics_create();
        status = daemon_add_place(list, now->place, status, placed);
        (void)output_diagnostics(placed, status);
        corun_diagnostics_destroy(placed);
    }
    corun_diagnostics_destroy(list);
    return status;
}

static void say_what_stays(const struct daemon_configuration *before, const struct daemon_configuration *now)
{
    bool expected = before->expected_count != now->expected_count, gpus = before->gpu_count != now->gpu_count;
    for (uint32_t i = 0; !gpus && i < now->gpu_count; i++)
        gpus = daemon_differ(&before->gpus[i], &now->gpus[i]);
    for (uint32_t i = 0; !expected && i < now->expected_count; i++)
        expected = daemon_differ(&before->expected[i], &now->expected[i]);
    const struct {
        const char *key;
        bool differs;
    } rows[] = {{"simulate", gpus},
                {"socket", daemon_differ(&before->socket, &now->socket)},
                {"kernel_timeout", daemon_differ(&before->kernel_timeout, &now->kernel_timeout)},
                {"expect", expected},
                {"journal", daemon_differ(&before->journal, &now->journal)},
                {"threads", before->threads != now->threads},
                {"pace", before->pace < now->pace || before->pace > now->pace}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].differs)
            fprintf(stderr, "corund: `%s` changes when corund is started again\n", rows[i].key);
}

/* What it writes again and again must not be what it, or somebody else, reads. */
static enum corun_status check_outputs(const struct daemon_setup *setup,
                                       const struct daemon_configuration *configuration, struct corun_diagnostics *list)
{
    const struct output outputs[] = {{.option = setup->metrics ? "--metrics" : "metrics",
                                      .path = setup->metrics ? setup->metrics : configuration->metrics.text},
                                     {.option = setup->journal ? "--journal" : "journal",
                                      .path = setup->journal ? setup->journal : configuration->journal.text}};
    size_t count = sizeof outputs / sizeof *outputs;
    enum corun_status status = outputs_check(outputs, count, list);
    return status == CORUN_OK ? outputs_spare(outputs, count, setup->file, list) : status;
}

bool daemon_read_again(struct daemon_setup *setup, struct daemon_configuration *before)
{
    struct arena *texts = arena_create();
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct daemon_configuration now;
    enum corun_status status =
        texts && setup->file ? daemon_configuration_load(setup->file, texts, list, &now) : CORUN_OK;
    if (status == CORUN_OK && texts && setup->file)
        status = check_outputs(setup, &now, list);
    (void)output_diagnostics(list, status);
    corun_diagnostics_destroy(list);
    if (status != CORUN_OK || !texts || !setup->file) {
        fputs(setup->file ? "corund: the configuration stays as it was\n" : "corund: it has no configuration file\n",
              stderr);
        arena_destroy(texts);
        return false;
    }
    *before = setup->configuration;
    setup->configuration = now;
    setup->texts_before = setup->texts;
    setup->texts = texts;
    return true;
}

static void reload(void *user)
{
    struct daemon_setup *setup = user;
    struct daemon_configuration before;
    if (!daemon_read_again(setup, &before))
        return;
    set_changeable(setup);
    (void)reload_policy(setup, &before.policy);
    say_what_stays(&before, &setup->configuration);
    arena_destroy(setup->texts_before);
    setup->texts_before = NULL;
}

static void tell(void *user, const char *what, const char *why)
{
    (void)user;
    fprintf(stderr, "corund: %s: %s\n", what, why);
}

void daemon_complain(void *user, const char *metrics, const char *problem)
{
    (void)user;
    fprintf(stderr, "corund: %s: metrics cannot be written: %s\n", metrics, problem);
}

/* ---- at the start ---- */

static enum corun_status set_expected(struct daemon_setup *setup)
{
    const struct daemon_configuration *configuration = &setup->configuration;
    for (uint32_t i = 0; !setup->expected.data && i < configuration->expected_count; i++) {
        const char *name = configuration->expected[i].text;
        name = arena_copy_text(setup->command->arena, name,
                               strlen(name)); /* it stays in use when the file is read again */
        if (!name || !vector_push(&setup->expected, name))
            return CORUN_MEMORY;
    }
    setup->settings.expected = setup->expected.data;
    setup->settings.expected_count = (uint32_t)setup->expected.count;
    return CORUN_OK;
}

static enum corun_status set_paths(struct daemon_setup *setup)
{
    const char *socket = setup->socket ? setup->socket : setup->configuration.socket.text;
    return wire_socket_path(socket, setup->server.path, sizeof setup->server.path)
               ? CORUN_OK
               : corun_report(setup->command->list, CORUN_USAGE, CORUN_NOWHERE, "the path of the socket is too long");
}

enum corun_status daemon_read(struct daemon_setup *setup)
{
    setup->texts = arena_create();
    if (!setup->texts)
        return CORUN_MEMORY;
    struct corun_diagnostics *list = setup->command->list;
    enum corun_status status =
        setup->file ? daemon_configuration_load(setup->file, setup->texts, list, &setup->configuration) : CORUN_OK;
    return status == CORUN_OK ? check_outputs(setup, &setup->configuration, list) : status;
}

bool daemon_is_hardware(const struct daemon_setup *setup)
{
    return !setup->gpus.count && (!setup->file || setup->configuration.hardware);
}

enum corun_status daemon_set_up(struct daemon_setup *setup)
{
    struct corun_diagnostics *list = setup->command->list;
    const struct daemon_configuration *configuration = &setup->configuration;
    struct simulated_duration timeout = setup->kernel_timeout;
    enum corun_status status = find_gpus(setup, list);
    if (status == CORUN_OK)
        status = find_policy(setup, list);
    if (status == CORUN_OK)
        status = set_expected(setup);
    if (status == CORUN_OK)
        status = set_paths(setup);
    if (status != CORUN_OK)
        return status;
    if (!setup->has_kernel_timeout && configuration->kernel_timeout.text)
        (void)simulated_duration_parse(configuration->kernel_timeout.text, &timeout);
    uint64_t threads = setup->threads ? setup->threads : configuration->threads;
    struct node_settings *settings = &setup->settings;
    settings->threads = threads ? (uint32_t)threads : 1;
    settings->pace = setup->pace > 0 ? setup->pace : configuration->pace;
    if (settings->pace > 0 && (setup->patience > 0 || configuration->patience > 0))
        return corun_report(list, CORUN_USAGE, (struct corun_place){setup->file, 0, 0},
                            "at a pace nobody is waited for: `patience` has no meaning beside `pace`");
    for (uint32_t i = 0; i < settings->gpu_count; i++) {
        struct node_gpu *gpu = &setup->gpus_found[i];
        gpu->launch_cycles = simulated_duration_cycles(&timeout, gpu->configuration.core_clock_khz);
    }
    settings->limits = &setup->limits;
    settings->journal = setup->journal ? setup->journal : configuration->journal.text;
    settings->choose = daemon_choose_policy;
    settings->user = setup;
    setup->server.reload = reload;
    setup->server.complain = daemon_complain;
    setup->server.tell = tell;
    setup->server.user = setup;
    set_changeable(setup);
    return CORUN_OK;
}

void daemon_set_down(struct daemon_setup *setup)
{
    vector_free(&setup->expected);
    vector_free(&setup->gpus);
    arena_destroy(setup->chosen);
    arena_destroy(setup->texts);
}
