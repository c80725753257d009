/* SPDX-License-Identifier: MIT */
/* The files of resctrl. */
#include "agent/resctrl.h"

#include "agent/affinity.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_number(const char *root, const char *name, int base, uint64_t *number)
{
    char text[256], *end;
    if (control_read(root, name, text, sizeof text))
        return false;
    *number = strtoull(text, &end, base);
    return end != text && !*end;
}

/* "L3:0=fff;1=fff": the numbers of the caches. */
static bool read_domains(struct resctrl *resctrl)
{
    char text[8192], *rest = text, *line;
    resctrl->domain_count = 0;
    if (control_read(resctrl->root, "schemata", text, sizeof text))
        return false;
    while ((line = strsep(&rest, "\n"))) {
        char *colon, *word;
        line += strspn(line, " ");
        size_t length = strlen(resctrl->resource);
        if (strncmp(line, resctrl->resource, length) != 0 || line[length] != ':')
            continue;
        colon = line + length + 1;
        while ((word = strsep(&colon, ";")))
            if (resctrl->domain_count < RESCTRL_DOMAINS && strchr(word, '='))
                resctrl->domains[resctrl->domain_count++] = (uint32_t)strtoul(word, NULL, 10);
        return resctrl->domain_count > 0;
    }
    return false;
}

static void look_for_ways(struct resctrl *resctrl)
{
    char name[64];
    uint64_t mask, least, groups;
    resctrl->two_masks = !control_exists(resctrl->root, "info/L3") && control_exists(resctrl->root, "info/L3CODE");
    snprintf(resctrl->resource, sizeof resctrl->resource, "%s", resctrl->two_masks ? "L3CODE" : "L3");
    snprintf(name, sizeof name, "info/%s", resctrl->resource);
    if (!control_exists(resctrl->root, name)) {
        snprintf(resctrl->no_ways, sizeof resctrl->no_ways, "this processor does not divide its last-level cache");
        return;
    }
    snprintf(name, sizeof name, "info/%s/cbm_mask", resctrl->resource);
    bool fine = read_number(resctrl->root, name, 16, &mask) && mask && !(mask & (mask + 1));
    snprintf(name, sizeof name, "info/%s/min_cbm_bits", resctrl->resource);
    fine = fine && read_number(resctrl->root, name, 10, &least) && least > 0 && least <= 64;
    snprintf(name, sizeof name, "info/%s/num_closids", resctrl->resource);
    fine = fine && read_number(resctrl->root, name, 10, &groups) && groups > 0 && read_domains(resctrl);
    if (!fine) {
        snprintf(resctrl->no_ways, sizeof resctrl->no_ways, "info/%s and schemata say nothing that can be used",
                 resctrl->resource);
        return;
    }
    resctrl->way_count = (uint32_t)__builtin_popcountll(mask);
    resctrl->least_ways = (uint32_t)least;
    resctrl->groups = groups < 1024 ? (uint32_t)groups : 1024;
    resctrl->ways = true;
}

void resctrl_open(struct resctrl *resctrl, const char *root, struct journal *journal)
{
    char features[1024];
    *resctrl = (struct resctrl){.journal = journal};
    const char *missing = NULL;
    if (!control_path(resctrl->root, root, NULL) || !control_exists(root, NULL))
        missing = "this kernel has no resctrl";
    else if (!control_exists(root, "schemata"))
        missing = "resctrl is not mounted (mount -t resctrl resctrl /sys/fs/resctrl)";
    else if (access(root, W_OK))
        missing = "resctrl is not this user's to write";
    if (missing) {
        snprintf(resctrl->no_ways, sizeof resctrl->no_ways, "%s", missing);
        snprintf(resctrl->no_bandwidth, sizeof resctrl->no_bandwidth, "%s", missing);
        return;
    }
    look_for_ways(resctrl);
    resctrl->bandwidth = !control_read(root, "info/L3_MON/mon_features", features, sizeof features) &&
                         strstr(features, "mbm_total_bytes");
    if (!resctrl->bandwidth)
        snprintf(resctrl->no_bandwidth, sizeof resctrl->no_bandwidth, "this processor does not measure it");
}

/* The folder of a group of ways, or of a group that is measured. */
static bool folder_of(const struct resctrl *resctrl, bool watched, uint32_t number, char folder[CONTROL_PATH])
{
    int length = snprintf(folder, CONTROL_PATH, "%s%s/corun-%d-%" PRIu32, resctrl->root, watched ? "/mon_groups" : "",
                          getpid(), number);
    return length > 0 && (unsigned)length < CONTROL_PATH;
}

static int make(struct resctrl *resctrl, bool watched, uint32_t number)
{
    char folder[CONTROL_PATH];
    if (!folder_of(resctrl, watched, number, folder))
        return ENAMETOOLONG;
    int error = journal_resctrl(resctrl->journal, folder);
    return error ? error : mkdir(folder, 0755) ? errno : 0;
}

int resctrl_create(struct resctrl *resctrl, uint32_t number)
{
    return make(resctrl, false, number);
}

static uint64_t fill_up(const struct resctrl *resctrl, uint64_t mask)
{
    for (uint32_t way = 0; way < resctrl->way_count && (uint32_t)__builtin_popcountll(mask) < resctrl->least_ways;
         way++) {
        /* Next to what is there, downwards and, at the end, upwards, so that it stays in one piece. */
        uint64_t lowest = mask & -mask;
        mask |= lowest > 1 ? lowest >> 1 : mask << 1;
    }
    return mask;
}

int resctrl_set_ways(const struct resctrl *resctrl, uint32_t number, uint64_t mask)
{
    char folder[CONTROL_PATH], text[CONTROL_PATH];
    size_t length = 0;
    mask = fill_up(resctrl, mask);
    for (int row = 0; row <= (resctrl->two_masks ? 1 : 0); row++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s:", row ? "L3DATA" : resctrl->resource);
        for (uint32_t i = 0; i < resctrl->domain_count; i++)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%" PRIu32 "=%" PRIx64, i ? ";" : "",
                                       resctrl->domains[i], mask);
        length += (size_t)snprintf(text + length, sizeof text - length, "\n");
    }
    return folder_of(resctrl, false, number, folder) ? control_write(folder, "schemata", "%s", text) : ENAMETOOLONG;
}

int resctrl_set_cores(const struct resctrl *resctrl, uint32_t number, const cpu_set_t *cores)
{
    char folder[CONTROL_PATH], text[CONTROL_PATH];
    return folder_of(resctrl, false, number, folder)
               ? control_write(folder, "cpus_list", "%s\n", affinity_format(cores, text, sizeof text))
               : ENAMETOOLONG;
}

int resctrl_watch(struct resctrl *resctrl, uint32_t number)
{
    return make(resctrl, true, number);
}

int resctrl_watch_thread(const struct resctrl *resctrl, uint32_t number, pid_t thread)
{
    char folder[CONTROL_PATH];
    return folder_of(resctrl, true, number, folder) ? control_write(folder, "tasks", "%d\n", thread) : ENAMETOOLONG;
}

double resctrl_traffic(const struct resctrl *resctrl, uint32_t number)
{
    char folder[CONTROL_PATH], data[CONTROL_PATH];
    double sum = 0;
    if (!folder_of(resctrl, true, number, folder) || !control_path(data, folder, "mon_data"))
        return NAN;
    DIR *open = opendir(data);
    if (!open)
        return NAN;
    for (struct dirent *entry; (entry = readdir(open));) {
        char domain[CONTROL_PATH];
        uint64_t bytes;
        if (strncmp(entry->d_name, "mon_L3_", 7) != 0 || !control_path(domain, data, entry->d_name))
            continue;
        sum = read_number(domain, "mbm_total_bytes", 10, &bytes) ? sum + (double)bytes : NAN;
    }
    closedir(open);
    return sum;
}
