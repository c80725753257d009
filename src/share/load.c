/* SPDX-License-Identifier: MIT */
/*
 * A shared object is opened and its policy checked: version, name, parameters, variables; a wrong one is closed again.
 */
#include "share/load.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_ROWS 256u
#define MOST_NAME 48u
#define MOST_STATE_BYTES (UINT64_C(1) << 30)

size_t policy_path_length(const char *text)
{
    const char *end = strchr(text, ':'), *slash = strchr(text, '/');
    if (!slash || (end && slash > end))
        return 0;
    for (const char *at = text; (at = strstr(at, ".so")); at++)
        if (!at[3] || at[3] == ':')
            return (size_t)(at + 3 - text);
    return strlen(text);
}

static enum corun_status refuse(struct corun_diagnostics *list, const char *where, const char *what, const char *which)
{
    return corun_report(list, CORUN_POLICY, CORUN_NOWHERE, "%s: %s%s%s", where, what, which ? " " : "",
                        which ? which : "");
}

/* A name can be written on the command line, in files and in SQL. */
bool policy_is_name(const char *name)
{
    size_t length = name ? strnlen(name, MOST_NAME + 1) : 0;
    if (!length || length > MOST_NAME)
        return false;
    for (const char *at = name; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", *at))
            return false;
    return true;
}

/* The number of choices of "off|on"; 0 if one of them is empty. */
static uint32_t count_choices(const char *choices)
{
    uint32_t count = 1;
    bool empty = true;
    for (const char *at = choices; *at; at++) {
        if (*at == '|' && empty)
            return 0;
        empty = *at == '|';
        count += *at == '|';
    }
    return empty ? 0 : count;
}

static const char *parameter_fault(const struct corun_policy_parameter *p)
{
    if (!(isfinite(p->lowest) && isfinite(p->highest) && p->lowest <= p->initial && p->initial <= p->highest))
        return "lowest <= initial <= highest does not hold for parameter";
    if (p->integer && (p->initial != floor(p->initial) || p->lowest != floor(p->lowest) ||
                       p->highest != floor(p->highest) || fabs(p->lowest) > 9e15 || fabs(p->highest) > 9e15))
        return "values that are not whole, or too large to be, stand in the row of the whole number";
    if (p->choices && (!p->integer || p->lowest != 0 || p->highest + 1 != count_choices(p->choices)))
        return "choices must be numbered from 0 to their last one in the row of parameter";
    return p->meaning ? NULL : "there is no meaning of parameter";
}

enum corun_status policy_check_parameters(const struct corun_policy_parameter *rows, uint32_t count, const char *where,
                                          struct corun_diagnostics *list)
{
    if (count > MOST_ROWS || (count && !rows))
        return refuse(list, where, "its table of parameters is missing or longer than 256 rows", NULL);
    for (uint32_t i = 0; i < count; i++) {
        if (!policy_is_name(rows[i].name))
            return refuse(list, where, "a parameter's name is not 1 to 48 letters, digits, - and _", NULL);
        for (uint32_t j = 0; j < i; j++)
            if (!strcmp(rows[j].name, rows[i].name))
                return refuse(list, where, "two parameters are called", rows[i].name);
        const char *fault = parameter_fault(&rows[i]);
        if (fault)
            return refuse(list, where, fault, rows[i].name);
    }
    return CORUN_OK;
}

static enum corun_status check_variables(const struct corun_policy *policy, const char *where,
                                         struct corun_diagnostics *list)
{
    if (policy->variable_count > MOST_ROWS || (policy->variable_count && !policy->variables))
        return refuse(list, where, "its table of variables is missing or longer than 256 rows", NULL);
    for (uint32_t i = 0; i < policy->variable_count; i++) {
        if (!policy_is_name(policy->variables[i].name))
            return refuse(list, where, "a variable's name is not 1 to 48 letters, digits, - and _", NULL);
        if (!policy->variables[i].meaning)
            return refuse(list, where, "there is no meaning of variable", policy->variables[i].name);
        for (uint32_t j = 0; j < i; j++)
            if (!strcmp(policy->variables[j].name, policy->variables[i].name))
                return refuse(list, where, "two variables are called", policy->variables[i].name);
    }
    return CORUN_OK;
}

/* The checks alone; `where` is quoted in messages. */
static enum corun_status policy_check(const struct corun_policy *policy, const char *where,
                                      struct corun_diagnostics *list)
{
    if (policy->version != CORUN_POLICY_VERSION) /* nothing else can be relied on */
        return corun_report(list, CORUN_POLICY, CORUN_NOWHERE,
                            "%s was built for version %u of the sharing contract (corun/policy.h), this is version %u",
                            where, policy->version, CORUN_POLICY_VERSION);
    if (!policy_is_name(policy->name))
        return refuse(list, where, "its name is not 1 to 48 letters, digits, - and _", NULL);
    const struct corun_policy *known = corun_policy_find(policy->name);
    if ((known && known != policy) || !strcmp(policy->name, "left-over"))
        return refuse(list, where, "there is a policy in corun already that is called", policy->name);
    if (!policy->summary || !policy->paper)
        return refuse(list, where, "summary and paper are texts, empty ones if there is nothing to say", NULL);
    if (!policy->start || !policy->decide)
        return refuse(list, where, "start and decide must be there", NULL);
    if (policy->needs >> CORUN_CAPABILITY_COUNT)
        return refuse(list, where, "it needs capabilities that do not exist", NULL);
    if (policy->observes >> CORUN_OBSERVATION_COUNT)
        return refuse(list, where, "it observes what does not exist", NULL);
    if (policy->state_bytes > MOST_STATE_BYTES)
        return refuse(list, where, "its state is larger than 1 GiB", NULL);
    enum corun_status status = policy_check_parameters(policy->parameters, policy->parameter_count, where, list);
    return status == CORUN_OK ? check_variables(policy, where, list) : status;
}

enum corun_status policy_load(const char *path, struct corun_diagnostics *list, const struct corun_policy **policy)
{
    *policy = NULL;
    struct stat file;
    char *whole = realpath(path, NULL); /* what is not found here must not be searched for elsewhere */
    if (!whole || stat(whole, &file)) {
        int error = errno;
        free(whole);
        return corun_report(list, error == ENOENT || error == ENOTDIR ? CORUN_NOT_FOUND : CORUN_FILE, CORUN_NOWHERE,
                            "policy %s: %s", path, strerror(error));
    }
    if (!S_ISREG(file.st_mode)) {
        free(whole);
        return refuse(list, path, "a policy is a shared object: FILE.so[:PARAMETER=VALUE,…]", NULL);
    }
    void *object = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
    free(whole);
    if (!object)
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "policy %s cannot be loaded: %s", path, dlerror());
    const struct corun_policy *found = dlsym(object, "corun_policy");
    enum corun_status status =
        found ? policy_check(found, path, list)
              : refuse(list, path, "it does not export `const struct corun_policy corun_policy`", NULL);
    if (status == CORUN_OK)
        *policy = found;
    else
        dlclose(object);
    return status;
}
