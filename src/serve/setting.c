/* SPDX-License-Identifier: MIT */
/* Each setting has a function that reads its value. */
#include "serve/setting.h"

#include "base/number.h"
#include "case/specification.h"

#include <string.h>

#define DEFAULT_INSTANCES 100u
#define MOST_INSTANCES 1000000u
#define DEFAULT_SLICING_COST 0.02
/* Launches a second: a million that come by the lowest one are still counted in ticks of 64 bits. */
#define LEAST_RATE 1e-2
#define MOST_RATE 1e12

static enum corun_status set_arrivals(const char *value, struct corun_diagnostics *list, struct serve_request *request)
{
    static const char word[] = "poisson:";
    struct serve_load *load = &request->load;
    load->rate_per_second = 0;
    if (!strcmp(value, "all"))
        return CORUN_OK;
    if (!strncmp(value, word, strlen(word)) && number_parse_real(value + strlen(word), &load->rate_per_second) &&
        !strchr(value, '%') && load->rate_per_second >= LEAST_RATE && load->rate_per_second <= MOST_RATE)
        return CORUN_OK;
    return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                        "--arrivals: expected all or poisson:RATE, from %g to %g a second, found `%s`", LEAST_RATE,
                        MOST_RATE, value);
}

static enum corun_status set_instances(const char *value, struct corun_diagnostics *list, struct serve_request *request)
{
    uint64_t wide = 0;
    enum corun_status status = specify_number(value, "--instances", 1000, 1, MOST_INSTANCES, list, &wide);
    if (!status)
        request->load.instances = (uint32_t)wide;
    return status;
}

static enum corun_status set_seed(const char *value, struct corun_diagnostics *list, struct serve_request *request)
{
    return specify_number(value, "--seed", 1000, 0, UINT64_MAX, list, &request->seed);
}

static enum corun_status set_transfers(const char *value, struct corun_diagnostics *list, struct serve_request *request)
{
    request->overlap = !strcmp(value, "overlap");
    request->transfers = request->overlap || !strcmp(value, "apart");
    if (request->transfers || !strcmp(value, "none"))
        return CORUN_OK;
    return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "--transfers: expected none, overlap or apart, found `%s`",
                        value);
}

static enum corun_status set_slicing(const char *value, struct corun_diagnostics *list, struct serve_request *request)
{
    double *share = &request->slicing_cost;
    if (number_parse_real(value, share) && *share >= 0 && *share <= 10)
        return CORUN_OK;
    return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                        "--slicing: expected a share of the time, 2%% or 0.02, found `%s`", value);
}

static enum corun_status set_profile(const char *value, struct corun_diagnostics *list, struct serve_request *request)
{
    request->sampled = !strcmp(value, "sample");
    if (request->sampled || !strcmp(value, "counters"))
        return CORUN_OK;
    return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "--profile: expected counters or sample, found `%s`", value);
}

static enum corun_status set_memory(const char *value, struct corun_diagnostics *list, struct serve_request *request)
{
    return specify_number(value, "--memory", 1024, 1, INT64_MAX, list, &request->memory_bytes);
}

void serve_initial(struct serve_request *request)
{
    *request = (struct serve_request){
        .seed = 1, .load = {.instances = DEFAULT_INSTANCES}, .slicing_cost = DEFAULT_SLICING_COST};
}

enum corun_status serve_set(const char *name, const char *value, struct corun_diagnostics *list,
                            struct serve_request *request)
{
    static const struct {
        const char *name;
        enum corun_status (*set)(const char *value, struct corun_diagnostics *list, struct serve_request *request);
    } settings[] = {{"arrivals", set_arrivals},   {"instances", set_instances}, {"seed", set_seed},
                    {"transfers", set_transfers}, {"slicing", set_slicing},     {"memory", set_memory},
                    {"profile", set_profile}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (!strcmp(settings[i].name, name))
            return settings[i].set(value, list, request);
    }
    return CORUN_NOT_FOUND;
}
