/* SPDX-License-Identifier: MIT */
/* Reading /sys/devices/system/cpu and /proc/cpuinfo. */
#include "agent/topology.h"

#include "agent/control_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number with K or M behind it, as sizes of caches are written. */
static uint64_t read_size(const char *folder, const char *name)
{
    char text[64], *end;
    if (control_read(folder, name, text, sizeof text))
        return 0;
    uint64_t number = strtoull(text, &end, 10);
    return *end == 'K' ? number << 10 : *end == 'M' ? number << 20 : number;
}

static void read_cache(struct topology *topology, const char *system)
{
    uint64_t highest = 0;
    topology->ways = 1;
    for (int index = 0; index < 10; index++) {
        char folder[CONTROL_PATH];
        int length = snprintf(folder, sizeof folder, "%s/cpu%u/cache/index%d", system, topology->cores[0], index);
        if (length < 0 || (size_t)length >= sizeof folder)
            return;
        uint64_t level = read_size(folder, "level"), ways = read_size(folder, "ways_of_associativity");
        if (level <= highest || level < 2)
            continue;
        highest = level;
        topology->cache_bytes = read_size(folder, "size");
        topology->ways = ways > 0 && ways <= PLACING_WAYS ? (uint32_t)ways : 1;
    }
}

/* "name : value" of /proc/cpuinfo, of the first processor that has it. */
static bool read_info(const char *name, char *value, size_t bytes)
{
    char line[512];
    bool found = false;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, name, strlen(name)) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(value, bytes, "%.*s", (int)bytes - 1, colon + 1 + (colon[1] == ' '));
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

static void read_clock(struct topology *topology, const char *system)
{
    char folder[CONTROL_PATH], text[64];
    uint64_t khz = 0;
    int length = snprintf(folder, sizeof folder, "%s/cpu%u/cpufreq", system, topology->cores[0]);
    if (length > 0 && (size_t)length < sizeof folder) {
        khz = read_size(folder, "base_frequency");
        khz = khz ? khz : read_size(folder, "cpuinfo_max_freq");
    }
    if (!khz && read_info("cpu MHz", text, sizeof text))
        khz = (uint64_t)(strtod(text, NULL) * 1000);
    topology->clock_khz = khz > 1000 && khz < 100000000 ? (uint32_t)khz : 1000000;
}

void topology_read(struct topology *topology, const cpu_set_t *cores, const char *system)
{
    *topology = (struct topology){0};
    if (cores)
        topology->set = *cores;
    else if (sched_getaffinity(0, sizeof topology->set, &topology->set))
        CPU_SET(0, &topology->set);
    for (int core = 0; core < CPU_SETSIZE && core < (int)PLACING_CORES; core++)
        if (CPU_ISSET(core, &topology->set))
            topology->cores[topology->core_count++] = (uint16_t)core;
    read_cache(topology, system);
    read_clock(topology, system);
    read_info("model name", topology->model, sizeof topology->model);
}
