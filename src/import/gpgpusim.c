/* SPDX-License-Identifier: MIT */
/* What the options of a gpgpusim.config mean here (gpgpusim.def). */
#include "import/gpgpusim.h"

#include "base/arena.h"
#include "base/number.h"
#include "import/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FIELDS 24u

struct import {
    const char *path;
    struct arena *arena;
    struct corun_diagnostics *list;
    struct imported_gpu *gpu;
    const struct corun_gpu_parameter *rows;
    size_t row_count;
    bool out_of_memory;
};

typedef void import_function(struct import *import, struct imported_option *option);

/* ---- options and parameters ---- */

/* The option of that name that counts; NULL if there is none. */
static struct imported_option *find(const struct import *import, const char *name)
{
    for (size_t i = 0; i < import->gpu->option_count; i++) {
        struct imported_option *option = &import->gpu->options[i];
        if (option->fate != OPTION_OVERRIDDEN && !strcmp(option->name, name))
            return option;
    }
    return NULL;
}

static const char *text(struct import *import, const char *kept)
{
    import->out_of_memory |= !kept;
    return kept ? kept : "";
}

static void left(struct imported_option *option, const char *reason)
{
    option->fate = OPTION_LEFT;
    option->reason = reason;
}

static void changed(struct imported_option *option, const char *how)
{
    option->fate = OPTION_CHANGED;
    option->reason = how;
}

static size_t row_of(const struct import *import, const char *parameter)
{
    size_t row = 0;
    while (row < import->row_count && strcmp(import->rows[row].name, parameter) != 0)
        row++;
    return row;
}

/* A parameter gets its value from the option, unless the value is out of its range. */
static void put(struct import *import, struct imported_option *option, const char *parameter, uint64_t value)
{
    size_t index = row_of(import, parameter);
    const struct corun_gpu_parameter *row = &import->rows[index];
    if (value < row->lowest || value > row->highest) {
        left(option, text(import, arena_format(import->arena, "%s is from %" PRIu32 " to %" PRIu32 ", not %" PRIu64,
                                               parameter, row->lowest, row->highest, value)));
        return;
    }
    *(uint32_t *)((char *)&import->gpu->config + row->offset) = (uint32_t)value;
    import->gpu->sources[index] =
        text(import, arena_format(import->arena, "line %" PRIu32 ", -%s", option->line, option->name));
    if (option->fate != OPTION_CHANGED && option->fate != OPTION_LEFT)
        option->fate = OPTION_CARRIED;
}

static bool whole(const char *value, uint64_t *number)
{
    return number_parse(value, 1000, number);
}

/* The option's value as a whole number; an option with another one is left out. */
static bool number(struct imported_option *option, uint64_t *value)
{
    if (whole(option->value, value) && *value <= UINT32_MAX)
        return true;
    left(option, "its value is not a whole number");
    return false;
}

/* The number of another option, marked as carried over as well; `otherwise` if there is none. */
static uint64_t companion(const struct import *import, const char *name, uint64_t otherwise)
{
    struct imported_option *option = find(import, name);
    uint64_t value = otherwise;
    if (!option || !number(option, &value))
        return otherwise;
    if (option->fate == OPTION_UNKNOWN)
        option->fate = OPTION_CARRIED;
    return value;
}

static void put_number(struct import *import, struct imported_option *option, const char *parameter)
{
    uint64_t value;
    if (number(option, &value))
        put(import, option, parameter, value);
}

/* The parts of a value between separators, without blanks around them. At most MOST_FIELDS. */
static size_t split(struct import *import, const char *value, const char *separators, const char **fields)
{
    size_t count = 0;
    while (count < MOST_FIELDS) {
        size_t length = strcspn(value, separators);
        size_t first = strspn(value, " "), last = length;
        while (last > first && value[last - 1] == ' ')
            last--;
        first = first > last ? last : first;
        fields[count++] = text(import, arena_copy_text(import->arena, value + first, last - first));
        if (!value[length])
            break;
        value += length + 1;
    }
    return count;
}

/* ---- clocks, SMs and what they hold ---- */

static void import_clocks(struct import *import, struct imported_option *option)
{
    static const char *const parameters[] = {"core_clock_khz", "icnt_clock_khz", "l2_clock_khz", "dram_clock_khz"};
    const char *fields[MOST_FIELDS];
    if (split(import, option->value, ":", fields) != 4) {
        left(option, "expected four clocks in MHz: core, interconnect, L2 and DRAM");
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        double mhz;
        if (number_parse_real(fields[i], &mhz) && mhz > 0 && mhz < 1e6)
            put(import, option, parameters[i], (uint64_t)(mhz * 1000 + 0.5));
        else
            left(option, "one of its clocks is no number of MHz");
    }
}

static void import_sms(struct import *import, struct imported_option *option)
{
    put(import, option, "sms",
        companion(import, "gpgpu_n_clusters", 1) * companion(import, "gpgpu_n_cores_per_cluster", 1));
}

static void import_threads(struct import *import, struct imported_option *option)
{
    const char *fields[MOST_FIELDS];
    size_t count = split(import, option->value, ":", fields);
    uint64_t threads, lanes = 32;
    if (!whole(fields[0], &threads) || (count > 1 && !whole(fields[1], &lanes)))
        left(option, "expected threads of an SM and of a warp, as 2048:32");
    else if (lanes != 32)
        left(option, "warps have 32 threads");
    else
        put(import, option, "threads_per_sm", threads);
}

static void import_capability(struct import *import, struct imported_option *option)
{
    put(import, option, "compute_capability",
        companion(import, "gpgpu_compute_capability_major", 2) * 10 +
            companion(import, "gpgpu_compute_capability_minor", 0));
}

/* ---- front end, operand collection, pipelines ---- */

static void import_scheduler(struct import *import, struct imported_option *option)
{
    const char *fields[MOST_FIELDS];
    size_t count = split(import, option->value, ":", fields);
    uint64_t warps;
    if (!strcmp(fields[0], "gto")) {
        put(import, option, "scheduler", CORUN_SCHEDULER_GTO);
    } else if (!strcmp(fields[0], "lrr")) {
        put(import, option, "scheduler", CORUN_SCHEDULER_LRR);
    } else if (!strcmp(fields[0], "two_level_active") && count > 1 && whole(fields[1], &warps)) {
        changed(option, "warps of the active set take turns, and leave it when they wait for memory");
        put(import, option, "scheduler", CORUN_SCHEDULER_TWO_LEVEL);
        put(import, option, "two_level_active_warps", warps);
    } else {
        left(option, "there are gto, lrr and two_level");
    }
}

static void import_perfect(struct import *import, struct imported_option *option)
{
    put_number(import, option, "icache_perfect");
    put_number(import, option, "constant_perfect");
}

/* Generic collectors alone, or those of all kinds together. */
static void import_collectors(struct import *import, struct imported_option *option)
{
    static const char *const kinds[] = {"gen", "sp", "dp", "int", "sfu", "mem", "tensor_core"};
    bool specialized = companion(import, "gpgpu_enable_specialized_operand_collector", 1) != 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "gpgpu_operand_collector_num_units_%s", kinds[i]);
        uint64_t units = companion(import, name, 0);
        sum += !i || specialized ? units : 0;
    }
    if (specialized)
        changed(option, "all collectors of an SM together serve all its units");
    put(import, option, "collectors", sum);
}

/* An SM without integer units runs integer instructions on those of single precision. */
static void import_units(struct import *import, struct imported_option *option)
{
    uint64_t single = companion(import, "gpgpu_num_sp_units", 1), integer = companion(import, "gpgpu_num_int_units", 0);
    if (!strcmp(option->name, "gpgpu_num_sp_units"))
        put(import, option, "fp32_units", single);
    put(import, option, "int_units", integer ? integer : single);
    put(import, option, "int_shares_fp32", !integer);
}

static void import_tensor(struct import *import, struct imported_option *option)
{
    bool available = companion(import, "gpgpu_tensor_core_avail", 0) != 0;
    put(import, option, "tensor_units", available ? companion(import, "gpgpu_num_tensor_core_units", 1) : 0);
}

/* ADD,MAX,MUL,MAD,DIV and for integers a shuffle: latencies or initiation intervals of one kind of instruction. */
static void import_latencies(struct import *import, struct imported_option *option)
{
    static const char *const operations[] = {"add", "max", "mul", "mad", "div"};
    const char *fields[MOST_FIELDS];
    size_t count = split(import, option->value, ",", fields);
    bool latency = strstr(option->name, "latency") != NULL;
    const char *type = option->name + strlen(option->name);
    while (type > option->name && type[-1] != '_')
        type--;
    const char *kind = !strcmp(type, "int") ? "int" : !strcmp(type, "fp") ? "fp32" : "fp64";
    if (count < 5) {
        left(option, "expected numbers for ADD, MAX, MUL, MAD and DIV");
        return;
    }
    if (count > 5)
        changed(option, "without that of shuffles, which take the way of shared memory");
    for (size_t i = 0; i < 5; i++) {
        char parameter[64];
        uint64_t cycles;
        snprintf(parameter, sizeof parameter, "%s_%s_%s", kind, operations[i], latency ? "latency" : "interval");
        if (whole(fields[i], &cycles))
            put(import, option, parameter, cycles);
        else
            left(option, "one of its values is not a whole number");
    }
}

/* ---- caches ---- */

/* S:4:128:64,L:T:m:L:L,A:512:8,16:0,32 */
struct cache_words {
    bool sectored, has_mshrs, has_port;
    uint64_t sets, line, ways, mshrs, merge, port;
};

static bool read_cache(struct import *import, struct imported_option *option, struct cache_words *cache)
{
    const char *groups[MOST_FIELDS], *words[MOST_FIELDS];
    size_t count = split(import, option->value, ",", groups);
    *cache = (struct cache_words){0};
    if (split(import, groups[0], ":", words) < 4 || !whole(words[1], &cache->sets) || !whole(words[2], &cache->line) ||
        !whole(words[3], &cache->ways) || cache->sets > UINT16_MAX || cache->line > UINT16_MAX ||
        cache->ways > UINT16_MAX) {
        left(option, strcmp(option->value, "none") != 0
                         ? "expected sets, bytes of a line and ways, as in S:4:128:64,..."
                         : "what has no cache keeps that of the base");
        return false;
    }
    cache->sectored = !strcmp(words[0], "S");
    cache->has_mshrs = count > 2 && split(import, groups[2], ":", words) >= 3 && whole(words[1], &cache->mshrs) &&
                       whole(words[2], &cache->merge);
    cache->has_port = count > 4 && whole(groups[4], &cache->port);
    changed(option, "its sizes and MSHRs; how lines are replaced and written is the model's");
    return true;
}

/* Bytes, ways and line of the cache whose parameters begin with `prefix`, `copies` of it together. */
static void put_cache(struct import *import, struct imported_option *option, const char *prefix,
                      const struct cache_words *cache, uint64_t copies)
{
    const struct {
        const char *suffix;
        uint64_t value;
    } parts[] = {{"bytes", cache->sets * cache->line * cache->ways * copies},
                 {"ways", cache->ways},
                 {"line_bytes", cache->line}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char parameter[64];
        snprintf(parameter, sizeof parameter, "%s_%s", prefix, parts[i].suffix);
        put(import, option, parameter, parts[i].value);
    }
}

static void import_instruction_cache(struct import *import, struct imported_option *option)
{
    struct cache_words cache;
    if (read_cache(import, option, &cache))
        put_cache(import, option, "icache", &cache, 1);
}

static void import_constant_cache(struct import *import, struct imported_option *option)
{
    struct cache_words cache;
    if (read_cache(import, option, &cache))
        put_cache(import, option, "constant", &cache, 1);
}

static void import_texture_cache(struct import *import, struct imported_option *option)
{
    struct cache_words cache;
    if (read_cache(import, option, &cache))
        put_cache(import, option, "texture", &cache, 1);
}

static void import_l1(struct import *import, struct imported_option *option)
{
    struct cache_words cache;
    if (!strcmp(option->value, "none")) {
        put(import, option, "l1_bytes", 0);
        return;
    }
    if (!read_cache(import, option, &cache))
        return;
    put_cache(import, option, "l1", &cache, 1);
    put(import, option, "l1_sector_bytes", cache.sectored ? 32 : cache.line);
    if (cache.has_mshrs) {
        put(import, option, "l1_mshrs", cache.mshrs);
        put(import, option, "l1_mshr_merge", cache.merge);
    }
}

static void import_l2(struct import *import, struct imported_option *option)
{
    struct cache_words cache;
    if (!read_cache(import, option, &cache))
        return;
    uint64_t slices = companion(import, "gpgpu_n_mem", 1) * companion(import, "gpgpu_n_sub_partition_per_mchannel", 1);
    put_cache(import, option, "l2", &cache, slices);
    put(import, option, "l2_sector_bytes", cache.sectored ? 32 : cache.line);
    if (cache.has_mshrs) {
        put(import, option, "l2_mshrs", cache.mshrs);
        put(import, option, "l2_mshr_merge", cache.merge);
    }
    if (cache.has_port)
        put(import, option, "l2_bytes_per_cycle", cache.port);
}

static void import_skip_l1(struct import *import, struct imported_option *option)
{
    uint64_t skip;
    if (number(option, &skip))
        put(import, option, "l1_caches_global", !skip);
}

static void import_access_lanes(struct import *import, struct imported_option *option)
{
    uint64_t parts;
    if (number(option, &parts))
        put(import, option, "access_lanes", parts ? 32 / parts : 0);
}

/* ---- interconnect, L2, DRAM ---- */

static void import_network(struct import *import, struct imported_option *option)
{
    uint64_t mode;
    if (!number(option, &mode))
        return;
    put(import, option, "icnt", CORUN_ICNT_CROSSBAR);
    if (mode != 2)
        changed(option, "taken as a crossbar: the network's own file is not read");
}

/* In core cycles there, in cycles of the L2 here. */
static void import_rop(struct import *import, struct imported_option *option)
{
    const struct corun_gpu_config *config = &import->gpu->config;
    uint64_t cycles;
    if (!number(option, &cycles))
        return;
    if (config->l2_clock_khz != config->core_clock_khz)
        changed(option, "from core cycles to those of the L2");
    put(import, option, "l2_latency",
        (cycles * config->l2_clock_khz + config->core_clock_khz / 2) / config->core_clock_khz);
}

static void import_indexing(struct import *import, struct imported_option *option)
{
    uint64_t kind;
    if (!number(option, &kind))
        return;
    if (kind)
        changed(option, "there is one hash");
    put(import, option, "l2_hash", kind != 0);
}

static void import_dram_scheduler(struct import *import, struct imported_option *option)
{
    uint64_t kind;
    if (number(option, &kind))
        put(import, option, "dram_scheduler", kind ? CORUN_DRAM_SCHEDULER_FR_FCFS : CORUN_DRAM_SCHEDULER_FCFS);
}

static void import_dram_queue(struct import *import, struct imported_option *option)
{
    uint64_t entries;
    if (!number(option, &entries))
        return;
    if (!entries)
        changed(option, "without a limit there");
    put(import, option, "dram_queue", entries ? entries : import->rows[row_of(import, "dram_queue")].highest);
}

/* A controller's chips are one bus; a column command brings a burst of all of them, or a sector if that is less. */
static void import_dram_bus(struct import *import, struct imported_option *option)
{
    uint64_t bus = companion(import, "gpgpu_dram_buswidth", 4) * companion(import, "gpgpu_n_mem_per_ctrlr", 1);
    uint64_t burst = bus * companion(import, "gpgpu_dram_burst_length", 4);
    uint64_t sector = import->gpu->config.l2_sector_bytes;
    put(import, option, "dram_bus_bytes", bus);
    if (burst > sector && !strcmp(option->name, "gpgpu_dram_burst_length"))
        changed(option, text(import, arena_format(import->arena,
                                                  "a burst of %" PRIu64 " bytes is cut to a sector of the L2, %" PRIu64,
                                                  burst, sector)));
    put(import, option, "dram_burst_bytes", burst > sector ? sector : burst);
}

static const char *const timing_keys[] = {"nbk", "CCD", "RRD",  "RCD", "RAS",    "RP",   "RC",
                                          "CL",  "WL",  "CDLR", "WR",  "nbkgrp", "CCDL", "RTPL"};
enum { TIMINGS = sizeof timing_keys / sizeof timing_keys[0] };

/* nbk=16:CCD=2:... or the same numbers without names, in that order. Those that are not there stay at `absent`. */
static bool read_timings(struct import *import, const char *value, uint64_t *values, uint64_t absent)
{
    const char *fields[MOST_FIELDS];
    size_t count = split(import, value, ":", fields);
    for (size_t i = 0; i < TIMINGS; i++)
        values[i] = absent;
    for (size_t i = 0; i < count; i++) {
        const char *equals = strchr(fields[i], '=');
        size_t key = i;
        if (equals) {
            for (key = 0; key < TIMINGS; key++) {
                if (strlen(timing_keys[key]) == (size_t)(equals - fields[i]) &&
                    !strncmp(timing_keys[key], fields[i], (size_t)(equals - fields[i])))
                    break;
            }
        }
        if (key >= TIMINGS || !whole(equals ? equals + 1 : fields[i], &values[key]) || values[key] >= absent)
            return false;
    }
    return true;
}

static void import_dram_timing(struct import *import, struct imported_option *option)
{
    static const char *const parameters[] = {"dram_banks", "dram_tCCD",        "dram_tRRD",  "dram_tRCD", "dram_tRAS",
                                             "dram_tRP",   "dram_tRC",         "dram_tCL",   "dram_tWL",  "dram_tCDLR",
                                             "dram_tWR",   "dram_bank_groups", "dram_tCCDL", "dram_tRTPL"};
    enum { CCD = 1, CCDL = 12, RTPL = 13 };
    const uint64_t absent = UINT32_MAX;
    uint64_t values[TIMINGS];
    if (!read_timings(import, option->value, values, absent)) {
        left(option,
             "expected nbk=16:CCD=2:RRD=6:RCD=12:RAS=28:RP=12:RC=40:CL=12:WL=4:CDLR=5:WR=12:nbkgrp=4:CCDL=3:RTPL=2");
        return;
    }
    if ((!values[CCDL] || !values[RTPL]) && values[CCD] != absent) {
        changed(option, "CCDL and RTPL of 0, without bank groups, are CCD and 1");
        values[CCDL] = values[CCDL] ? values[CCDL] : values[CCD];
        values[RTPL] = values[RTPL] ? values[RTPL] : 1;
    }
    for (size_t i = 0; i < TIMINGS; i++) {
        if (values[i] != absent)
            put(import, option, parameters[i], values[i]);
    }
}

/* ---- all of them ---- */

static const struct rule {
    const char *option, *parameter, *reason;
    import_function *function;
    bool is_beginning; /* of the names of several options */
} rules[] = {
#define N(option, parameter) {option, #parameter, NULL, NULL, false},
#define F(option, function) {option, NULL, NULL, import_##function, false},
#define L(option, reason) {option, NULL, reason, NULL, false},
#define P(beginning, reason) {beginning, NULL, reason, NULL, true},
#include "import/gpgpusim.def"
#undef N
#undef F
#undef L
#undef P
};

/* What their names begin with, of options about output, tools, limits of a run, and what instructions do. */
static const char *const not_timing[] = {"gpgpu_ptx_",
                                         "gpgpu_stack_size",
                                         "gpgpu_heap_size",
                                         "gpgpu_runtime_",
                                         "gpgpu_occupancy_sm_number",
                                         "gpgpu_memlatency",
                                         "enable_ptx_file",
                                         "visualizer",
                                         "trace_",
                                         "power_",
                                         "gpuwattch",
                                         "accelwattch",
                                         "gpgpu_cflog",
                                         "gpgpu_deadlock",
                                         "gpgpu_max_",
                                         "gpgpu_debug",
                                         "save_embedded",
                                         "gpgpu_print",
                                         "checkpoint_",
                                         "resume_",
                                         "keep",
                                         "liveness",
                                         "gpgpu_experimental_lib",
                                         "dvfs_",
                                         "hw_perf_",
                                         "steady_",
                                         "mcpat",
                                         "aggregate_power",
                                         "ptx_opcode_unused",
                                         "gpgpu_spread_blocks"};

static bool begins(const char *text, const char *beginning)
{
    return !strncmp(text, beginning, strlen(beginning));
}

static void carry_over(struct import *import, struct imported_option *option)
{
    if (option->fate == OPTION_OVERRIDDEN) {
        option->reason = "a later one counts";
        return;
    }
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const struct rule *rule = &rules[i];
        if (rule->is_beginning ? !begins(option->name, rule->option) : strcmp(rule->option, option->name) != 0)
            continue;
        if (rule->function)
            rule->function(import, option);
        else if (rule->parameter)
            put_number(import, option, rule->parameter);
        else
            left(option, rule->reason);
        return;
    }
    for (size_t i = 0; i < sizeof not_timing / sizeof not_timing[0]; i++) {
        if (begins(option->name, not_timing[i]))
            option->fate = OPTION_NOT_TIMING;
    }
    if (option->fate == OPTION_UNKNOWN)
        option->reason = "no option that is known here";
}

/* What the file does not say must not be more than what it says. */
static void clip(struct import *import, const char *parameter, const char *whole_of, uint32_t *value, uint32_t most)
{
    size_t row = row_of(import, parameter), from = row_of(import, whole_of);
    if (import->gpu->sources[row] || *value <= most)
        return;
    *value = most;
    import->gpu->sources[row] = import->gpu->sources[from];
}

enum corun_status gpgpusim_import(const char *path, const char *bytes_text, size_t bytes,
                                  const struct corun_gpu_config *base, struct arena *arena,
                                  struct corun_diagnostics *list, struct imported_gpu *gpu)
{
    struct import import = {.path = path, .arena = arena, .list = list, .gpu = gpu};
    *gpu = (struct imported_gpu){.config = *base};
    import.rows = corun_gpu_parameters(&import.row_count);
    gpu->sources = ARENA_ARRAY(arena, const char *, import.row_count + 1);
    if (!gpu->sources)
        return CORUN_MEMORY;
    enum corun_status status = options_read(path, bytes_text, bytes, arena, list, &gpu->options, &gpu->option_count);
    if (status != CORUN_OK)
        return status;
    /* Clocks and the sector first: others are made of them. */
    static const char *const first[] = {"gpgpu_clock_domains", "gpgpu_cache:dl2"};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        struct imported_option *option = find(&import, first[i]);
        if (option)
            carry_over(&import, option);
    }
    size_t carried = 0;
    for (size_t i = 0; i < gpu->option_count; i++) {
        carry_over(&import, &gpu->options[i]);
        carried += gpu->options[i].fate == OPTION_CARRIED || gpu->options[i].fate == OPTION_CHANGED;
    }
    struct corun_gpu_config *config = &gpu->config;
    clip(&import, "threads_per_tb", "threads_per_sm", &config->threads_per_tb, config->threads_per_sm);
    clip(&import, "shared_bytes_per_tb", "shared_bytes_per_sm", &config->shared_bytes_per_tb,
         config->shared_bytes_per_sm);
    if (import.out_of_memory)
        return CORUN_MEMORY;
    if (!carried)
        return corun_report(list, CORUN_SYNTAX, (struct corun_place){path, 0, 0},
                            "none of its %zu options says anything of a GPU", gpu->option_count);
    return corun_gpu_config_check(config, list);
}
