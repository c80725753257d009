/* SPDX-License-Identifier: MIT */
/* corund without --simulate: the GPU of this computer, for programs with the shim. */
#include "cli/daemon_setup.h"

#include "cuda/settings.h"
#include "daemon/hardware.h"

#include <stdlib.h>
#include <string.h>

struct ready {
    const struct daemon_setup *setup;
    const struct hardware_settings *settings;
    char version[WIRE_NAME_BYTES];
};

static void tell_ready(void *user)
{
    const struct ready *ready = user;
    const struct hardware_settings *settings = ready->settings;
    if (ready->setup->quiet)
        return;
    printf("%s%s%s, policy %s, %s, at %s\n", settings->gpu, *ready->version ? ", driver " : "", ready->version,
           settings->policy_text,
           hardware_has_service() ? "programs run side by side (the multi-process service runs)"
                                  : "programs take turns on the GPU (the multi-process service does not run)",
           settings->path);
    fflush(stdout);
}

/* What means nothing there is refused, not passed over. */
static enum corun_status check_options(const struct daemon_setup *setup)
{
    const struct {
        const char *option;
        bool given;
    } rows[] = {{"--expect", setup->expected.count > 0},
                {"--threads", setup->threads != 0},
                {"--kernel-timeout", setup->has_kernel_timeout},
                {"--patience", setup->patience > 0},
                {"--pace", setup->pace > 0},
                {"--journal", setup->journal != NULL},
                {"--metrics", setup->metrics != NULL},
                {"--takes-over", setup->takes_over}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given)
            return corun_report(setup->command->list, CORUN_USAGE, CORUN_NOWHERE,
                                "%s is of simulated GPUs: --simulate GPU is missing", rows[i].option);
    return CORUN_OK;
}

enum corun_status daemon_run_hardware(struct daemon_setup *setup)
{
    struct corun_diagnostics *list = setup->command->list;
    const char *policy = setup->policy ? setup->policy : "left-over", *driver = getenv(setting_SHIM_DRIVER);
    struct hardware_settings *settings = calloc(1, sizeof *settings);
    struct ready ready = {.setup = setup, .settings = settings};
    if (!settings)
        return CORUN_MEMORY;
    enum corun_status status = check_options(setup);
    if (status == CORUN_OK)
        status = gate_rules_read(policy, &settings->rules, list);
    if (status == CORUN_OK && strlen(policy) >= sizeof settings->policy_text)
        status = corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "the policy is a text of more than %u bytes",
                              WIRE_MOST_POLICY - 1);
    if (status == CORUN_OK && !wire_socket_path(setup->socket, settings->path, sizeof settings->path))
        status = corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "the path of the socket is too long");
    if (status == CORUN_OK && driver && *driver)
        snprintf(settings->gpu, sizeof settings->gpu, "driver of CORUN_SHIM_DRIVER");
    else if (status == CORUN_OK && !hardware_find(settings->gpu, ready.version))
        status =
            corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                         "this computer has no GPU whose driver runs (/proc/driver/nvidia); --simulate GPU has one");
    if (status == CORUN_OK) {
        snprintf(settings->policy_text, sizeof settings->policy_text, "%s", policy);
        settings->ready = tell_ready;
        settings->user = &ready;
        status = hardware_run(settings, list);
    }
    free(settings);
    return status;
}
