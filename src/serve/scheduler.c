/* SPDX-License-Identifier: MIT */
/* A scheduler by name, with the nearest one for a name that there is not, or from a shared object that is looked at before it is used. */
#include "serve/scheduler.h"

#include "base/nearest.h"
#include "case/policy_file.h"
#include "case/specification.h"
#include "share/load.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STATE_BYTES (UINT64_C(1) << 30)
enum { MOST_NAMES = 64 };

static enum corun_status find_scheduler(const char *name, struct corun_diagnostics *list,
                                        const struct corun_queue_scheduler **scheduler)
{
    const char *names[MOST_NAMES];
    size_t count = 0;
    *scheduler = corun_queue_scheduler_find(name);
    if (*scheduler)
        return CORUN_OK;
    for (; count < MOST_NAMES && corun_queue_scheduler_at(count); count++)
        names[count] = corun_queue_scheduler_at(count)->name;
    const char *nearest = nearest_name(name, names, count);
    if (nearest)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "there is no scheduler `%s`; did you mean `%s`?",
                            name, nearest);
    return corun_report(
        list, CORUN_NOT_FOUND, CORUN_NOWHERE,
        "there is no scheduler `%s`; see `corun list schedulers`, or write the path of a shared object, "
        "./%s.so",
        name, name);
}

static enum corun_status check(const struct corun_queue_scheduler *scheduler, const char *where,
                               struct corun_diagnostics *list)
{
    if (scheduler->version != CORUN_QUEUE_VERSION) /* nothing else can be relied on */
        return corun_report(list, CORUN_POLICY, CORUN_NOWHERE,
                            "%s was built for version %u of corun/queue.h, this is version %u: compile it again", where,
                            scheduler->version, CORUN_QUEUE_VERSION);
    if (!policy_is_name(scheduler->name))
        return corun_report(list, CORUN_POLICY, CORUN_NOWHERE, "%s: its name is not 1 to 48 letters, digits, - and _",
                            where);
    if (corun_queue_scheduler_find(scheduler->name))
        return corun_report(list, CORUN_POLICY, CORUN_NOWHERE,
                            "%s: there is a scheduler in corun already that is called %s", where, scheduler->name);
    if (!scheduler->plan || scheduler->state_bytes > MOST_STATE_BYTES)
        return corun_report(list, CORUN_POLICY, CORUN_NOWHERE, "%s: %s", where,
                            scheduler->plan ? "its state is larger than 1 GiB" : "`plan` must be there");
    return policy_check_parameters(scheduler->parameters, scheduler->parameter_count, where, list);
}

static enum corun_status load_scheduler(const char *path, struct corun_diagnostics *list,
                                        const struct corun_queue_scheduler **scheduler)
{
    enum corun_status status = policy_file_check("scheduler", path, list);
    if (status != CORUN_OK)
        return status;
    char *whole = realpath(path, NULL); /* what is not found here must not be searched for elsewhere */
    if (!whole)
        return corun_report(list, errno == ENOENT || errno == ENOTDIR ? CORUN_NOT_FOUND : CORUN_FILE, CORUN_NOWHERE,
                            "scheduler %s: %s", path, strerror(errno));
    void *object = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
    free(whole);
    if (!object)
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "scheduler %s cannot be loaded: %s", path, dlerror());
    *scheduler = dlsym(object, "corun_queue_scheduler");
    if (*scheduler)
        status = check(*scheduler, path, list);
    else
        status =
            corun_report(list, CORUN_POLICY, CORUN_NOWHERE,
                         "%s: it does not export `const struct corun_queue_scheduler corun_queue_scheduler`", path);
    if (status != CORUN_OK)
        dlclose(object);
    return status;
}

enum corun_status specify_scheduler(const char *text, struct arena *arena, struct corun_diagnostics *list,
                                    struct serve_scheduler *result)
{
    char *name = arena_copy_text(arena, text, strlen(text));
    if (!name)
        return CORUN_MEMORY;
    *result = (struct serve_scheduler){.text = text};
    size_t path_length = policy_path_length(name);
    char *settings = strchr(name + path_length, ':');
    if (settings)
        *settings++ = 0;
    enum corun_status status =
        path_length ? load_scheduler(name, list, &result->scheduler) : find_scheduler(name, list, &result->scheduler);
    if (status != CORUN_OK)
        return status;
    const struct corun_queue_scheduler *scheduler = result->scheduler;
    return specify_parameters("scheduler", scheduler->name, scheduler->parameters, scheduler->parameter_count, settings,
                              arena, list, &result->parameters);
}
