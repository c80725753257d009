/* SPDX-License-Identifier: MIT */
/* corun host run: an agent on this machine, from its plan to its report; and what asks and cleans up after it. */
#include "cli/host.h"

#include "agent/affinity.h"
#include "agent/agent.h"
#include "base/text_file.h"
#include "report/agent_report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLAN_BYTES (1u << 20)

enum {
    RUN_KEY_POLICY = 'p',
    RUN_KEY_SERVICE = 's',
    RUN_KEY_BATCH = 'b',
    RUN_KEY_JSON = 'j',
    RUN_KEY_QUIET = 'q',
    RUN_KEY_TIME = 't',
    RUN_KEY_INTERVAL = 0x300,
    RUN_KEY_WARMUP,
    RUN_KEY_CORES,
    RUN_KEY_SOCKET,
    RUN_KEY_GROUP,
    RUN_KEY_RESCTRL,
    RUN_KEY_CONFINE,
    RUN_KEY_SAMPLES,
    RUN_KEY_ONCE
};

static const struct argp_option run_options[] = {
    {"policy", RUN_KEY_POLICY, "HOSTPOLICY", 0, "NAME[:parameter=value,...] [os]", 1},
    {"service", RUN_KEY_SERVICE, "WORDS", 0,
     "NAME[:goal=TIME,model=FILE,threads=N,pid=N][ PROGRAM ARGUMENT...]: a service that is started, that runs as "
     "process N, or that connects by itself; again for more",
     2},
    {"batch", RUN_KEY_BATCH, "WORDS", 0,
     "NAME[:instances=N,alone=RATE,threads=N,pid=N][ PROGRAM ARGUMENT...]: a batch program, the same way", 2},
    {"time", RUN_KEY_TIME, "TIME", 0,
     "ends the run then, such as 30s [when all services that were started have ended, or at ^C]", 3},
    {"warmup", RUN_KEY_WARMUP, "TIME", 0, "before that, nothing counts [none]", 3},
    {"interval", RUN_KEY_INTERVAL, "TIME", 0, "between two looks at a query [20ms]", 3},
    {"cores", RUN_KEY_CORES, "LIST", 0, "processors that are given out, such as 0-3,8 [all that the command may use]",
     4},
    {"confine", RUN_KEY_CONFINE, "MEANS", 0,
     "cpuset or affinity keeps threads on their cores [the first that is there]", 4},
    {"group", RUN_KEY_GROUP, "DIR", 0, "the control group in which others are made [the command's own]", 4},
    {"resctrl", RUN_KEY_RESCTRL, "DIR", 0, "where resctrl is mounted [/sys/fs/resctrl]", 4},
    {"socket", RUN_KEY_SOCKET, "FILE", 0, "where programs connect [corun/agent in $XDG_RUNTIME_DIR]", 4},
    {"samples", RUN_KEY_SAMPLES, "FILE", 0, "CSV of queries for `corun host train`; - is standard output", 5},
    {"json", RUN_KEY_JSON, "FILE", 0, "the results; - is standard output", 5},
    {"quiet", RUN_KEY_QUIET, NULL, 0, "no table, and nothing of what programs print", 5},
    {0},
};

static const char run_doc[] =
    "Services with deadlines and batch programs share this machine: a policy gives each query cores, and ways of the "
    "last-level cache, and looks at it again after each interval. Programs tell of queries by a socket "
    "(docs/host-linux.md). What the machine cannot do is named, and left out. Everything is put back in the end, also "
    "when the command is killed.\vPLAN is a YAML file; options add to it.";

struct host_run {
    struct command command;
    struct output outputs[2];  /* --json, --samples */
    struct plan plan, options; /* options: what the command line says, over what the plan says */
    const char *path;
    struct host_setting setting; /* the policy with its parameters */
    struct progress *progress;
    bool quiet;
};

static void take_time(struct host_run *run, const char *option, const char *value, uint64_t *ns)
{
    if (!host_parse_time(value, ns))
        command_keep(&run->command, corun_report(run->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                                 "%s: `%.64s` is no time, such as 20ms", option, value));
}

static void take_cores(struct host_run *run, const char *value)
{
    run->options.has_cores = affinity_parse(value, &run->options.cores);
    if (!run->options.has_cores)
        command_keep(&run->command, corun_report(run->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                                 "--cores: `%.64s` is no list of processors, such as 0-3,8", value));
}

static void take_confinement(struct host_run *run, const char *value)
{
    run->options.confinement = !strcmp(value, "cpuset") ? PLAN_CPUSET : PLAN_AFFINITY;
    if (strcmp(value, "cpuset") != 0 && strcmp(value, "affinity") != 0)
        command_keep(&run->command, corun_report(run->command.list, CORUN_USAGE, CORUN_NOWHERE,
                                                 "--confine is cpuset or affinity, not `%.32s`", value));
}

static error_t parse_place(int key, char *value, struct argp_state *state)
{
    struct host_run *run = state->input;
    switch (key) {
    case RUN_KEY_CORES:
        take_cores(run, value);
        break;
    case RUN_KEY_CONFINE:
        take_confinement(run, value);
        break;
    case RUN_KEY_GROUP:
        run->options.group = command_name("--group", value, state);
        break;
    case RUN_KEY_RESCTRL:
        run->options.resctrl = command_name("--resctrl", value, state);
        break;
    case RUN_KEY_SOCKET:
        run->options.socket = command_name("--socket", value, state);
        break;
    case RUN_KEY_SAMPLES:
        run->outputs[1].path = value;
        break;
    case RUN_KEY_JSON:
        run->outputs[0].path = value;
        break;
    case RUN_KEY_QUIET:
        run->quiet = true;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static error_t parse_run(int key, char *value, struct argp_state *state)
{
    struct host_run *run = state->input;
    struct command *command = &run->command;
    switch (key) {
    case RUN_KEY_POLICY:
        run->options.policy = value;
        break;
    case RUN_KEY_SERVICE:
    case RUN_KEY_BATCH:
        command_keep(command, plan_add(value, key == RUN_KEY_SERVICE ? CORUN_HOST_SERVICE : CORUN_HOST_BATCH,
                                       command->arena, command->list, &run->options));
        break;
    case RUN_KEY_TIME:
        take_time(run, "--time", value, &run->options.duration_ns);
        break;
    case RUN_KEY_WARMUP:
        take_time(run, "--warmup", value, &run->options.warmup_ns);
        break;
    case RUN_KEY_INTERVAL:
        take_time(run, "--interval", value, &run->options.interval_ns);
        break;
    case ARGP_KEY_ARG:
        if (run->path)
            argp_error(state, "one plan: '%s' is one too many", value);
        run->path = value;
        break;
    case ARGP_KEY_END:
        if (!run->path && !run->options.tenant_count)
            argp_error(state, "nothing is to run: a PLAN, --service or --batch is missing");
        break;
    default:
        return parse_place(key, value, state);
    }
    return 0;
}

static enum corun_status read_plan(struct host_run *run)
{
    struct command *command = &run->command;
    char *text;
    size_t bytes;
    enum corun_status status = text_file_read(run->path, PLAN_BYTES, command->list, &text, &bytes);
    if (status)
        return status;
    status = plan_parse(run->path, text, bytes, command->arena, command->list, &run->plan);
    free(text);
    return status;
}

/* The journal has no other: whoever puts things back may be elsewhere. NULL: there is none, or out of memory. */
static const char *from_root(struct arena *arena, const char *path)
{
    char here[PATH_BYTES];
    if (!path || *path == '/' || !getcwd(here, sizeof here))
        return path;
    return arena_format(arena, "%s/%s", here, path);
}

/* What the command line says counts for more than what the plan says; applications come together. */
static enum corun_status merge_plans(struct host_run *run)
{
    struct plan *plan = &run->plan;
    const struct plan *options = &run->options;
    plan->policy = options->policy ? options->policy : plan->policy ? plan->policy : "os";
    plan->interval_ns = options->interval_ns ? options->interval_ns : plan->interval_ns;
    plan->duration_ns = options->duration_ns ? options->duration_ns : plan->duration_ns;
    plan->warmup_ns = options->warmup_ns ? options->warmup_ns : plan->warmup_ns;
    plan->socket = options->socket ? options->socket : plan->socket;
    const char *group = options->group ? options->group : plan->group;
    const char *resctrl = options->resctrl ? options->resctrl : plan->resctrl;
    plan->group = from_root(run->command.arena, group);
    plan->resctrl = from_root(run->command.arena, resctrl);
    if (!plan->group != !group || !plan->resctrl != !resctrl)
        return CORUN_MEMORY;
    plan->confinement = options->confinement ? options->confinement : plan->confinement;
    if (options->has_cores) {
        plan->has_cores = true;
        plan->cores = options->cores;
    }
    for (uint32_t a = 0; a < options->tenant_count; a++) {
        if (plan->tenant_count == GOVERNOR_TENANTS)
            return corun_report(run->command.list, CORUN_ARGUMENT, CORUN_NOWHERE, "more than %u applications",
                                GOVERNOR_TENANTS);
        plan->tenants[plan->tenant_count++] = options->tenants[a];
    }
    return plan_check(plan, run->command.list);
}

static bool step(void *user, uint64_t run_ns, uint64_t queries)
{
    struct host_run *run = user;
    return progress_step(run->progress, "%.0f s, %llu queries", (double)run_ns / 1e9, (unsigned long long)queries);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static enum corun_status run_agent(struct host_run *run, struct agent_outcome *outcome)
{
    struct command *command = &run->command;
    struct report_style style = output_style(stdout);
    const struct agent_setting setting = {.plan = &run->plan,
                                          .policy = run->setting.policy,
                                          .parameters = run->setting.parameters,
                                          .samples = run->outputs[1].file,
                                          .quiet = run->quiet,
                                          .step = step,
                                          .user = run};
    double since = seconds_now();
    fflush(NULL); /* what is buffered here is not to be printed by what is started as well */
    run->progress = progress_begin(true);
    enum corun_status status = agent_run(&setting, command->list, outcome);
    progress_end(run->progress);
    const struct agent_report report = {outcome, run->plan.policy, seconds_now() - since};
    if (!status && !run->quiet && run->outputs[0].file != stdout && run->outputs[1].file != stdout &&
        !agent_report_table(&report, command->arena, &style, stdout))
        status = CORUN_MEMORY;
    return !status && run->outputs[0].file ? agent_report_json(&report, run->outputs[0].file) : status;
}

static enum corun_status perform_run(void *user)
{
    struct host_run *run = user;
    struct command *command = &run->command;
    struct agent_outcome *outcome = ARENA_NEW(command->arena, struct agent_outcome);
    plan_begin(&run->plan);
    enum corun_status status = !outcome ? CORUN_MEMORY : run->path ? read_plan(run) : CORUN_OK;
    if (!status)
        status = merge_plans(run);
    if (!status)
        status = host_policy_parse(run->plan.policy, corun_host_policy_at, command->list, &run->setting);
    if (!status && run->setting.search_instances)
        status = corun_report(command->list, CORUN_ARGUMENT, CORUN_NOWHERE,
                              "static-opt is a bound that is found by trying: say how many instances, "
                              "static-opt:instances=N");
    if (!status && run->path)
        status = outputs_spare(run->outputs, 2, run->path, command->list);
    if (!status)
        status = outputs_open(run->outputs, 2, command->list);
    if (status)
        return status;
    return outputs_close(run->outputs, 2, run_agent(run, outcome), command->list);
}

int host_command_run(int argc, char **argv)
{
    static const struct argp argp = {.options = run_options,
                                     .parser = parse_run,
                                     .args_doc = "[PLAN]",
                                     .doc = run_doc,
                                     .help_filter = command_help_filter};
    struct host_run run = {.outputs = {{.option = "--json"}, {.option = "--samples"}}};
    return command_perform(&run.command, &argp, argc, argv, perform_run, &run);
}

/* ---- corun host top, corun host restore ---- */

struct host_top {
    struct command command;
    const char *socket;
    char room[PATH_BYTES];
    bool json, once;
};

static const struct argp_option top_options[] = {
    {"socket", RUN_KEY_SOCKET, "FILE", 0, "of the agent [corun/agent in $XDG_RUNTIME_DIR]", 1},
    {"once", RUN_KEY_ONCE, NULL, 0, "one look, as it is without a terminal", 1},
    {"json", RUN_KEY_JSON, NULL, 0, "one look, as the agent tells it", 1},
    {0},
};

static error_t parse_top(int key, char *value, struct argp_state *state)
{
    struct host_top *top = state->input;
    switch (key) {
    case RUN_KEY_SOCKET:
        top->socket = command_name("--socket", value, state);
        break;
    case RUN_KEY_ONCE:
        top->once = true;
        break;
    case RUN_KEY_JSON:
        top->json = true;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "%s: no argument is expected", value);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static enum corun_status find_socket(struct host_top *top)
{
    enum corun_status status = CORUN_OK;
    if (!top->socket) {
        status = agent_default_socket(top->room, sizeof top->room, top->command.list);
        top->socket = top->room;
    }
    return status;
}

static enum corun_status look(struct host_top *top, bool again)
{
    struct report_style style = output_style(stdout);
    char *text;
    enum corun_status status = agent_ask(top->socket, top->command.list, &text);
    if (status)
        return status;
    if (again)
        fputs("\033[H\033[2J", stdout);
    if (top->json)
        printf("%s\n", text);
    else
        status = agent_report_status(text, top->command.arena, &style, top->command.list, stdout);
    fflush(stdout);
    free(text);
    return status;
}

static enum corun_status perform_top(void *user)
{
    struct host_top *top = user;
    enum corun_status status = find_socket(top);
    bool once = top->once || top->json || !isatty(STDOUT_FILENO);
    if (status)
        return status;
    status = look(top, !once);
    while (!status && !once) {
        sleep(1);
        status = look(top, true);
    }
    return status;
}

int host_command_top(int argc, char **argv)
{
    static const struct argp argp = {.options = top_options,
                                     .parser = parse_top,
                                     .doc = "How services and batch programs stand that share this machine under "
                                            "`corun host run`, once a second.",
                                     .help_filter = command_help_filter};
    struct host_top top = {0};
    return command_perform(&top.command, &argp, argc, argv, perform_top, &top);
}

static enum corun_status perform_restore(void *user)
{
    struct host_top *top = user;
    struct command *command = &top->command;
    struct restored restored;
    enum corun_status status = find_socket(top);
    const char *journal = status ? NULL : arena_format(command->arena, "%s.restore", top->socket);
    if (!journal)
        return status ? status : CORUN_MEMORY;
    status = restore_leftover(journal, command->list, &restored);
    if (status == CORUN_NOT_FOUND) {
        printf("nothing is left to be put back\n");
        return CORUN_OK;
    }
    if (status)
        return status;
    printf("%u programs ended, %u processes go on, %u moved back, %u threads on their cores again, %u groups removed, "
           "%u failures\n",
           restored.programs, restored.stopped, restored.processes, restored.threads, restored.groups, restored.failed);
    return restored.failed ? corun_report(command->list, CORUN_FILE, (struct corun_place){journal, 0, 0},
                                          "not everything could be put back")
                           : CORUN_OK;
}

int host_command_restore(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"socket", RUN_KEY_SOCKET, "FILE", 0, "of the agent that was killed [corun/agent in $XDG_RUNTIME_DIR]", 1},
        {0}};
    static const struct argp argp = {.options = options,
                                     .parser = parse_top,
                                     .doc = "Puts back what an agent changed that was killed together with its "
                                            "guardian: the next `corun host run` on the same socket does it as well.",
                                     .help_filter = command_help_filter};
    struct host_top top = {0};
    return command_perform(&top.command, &argp, argc, argv, perform_restore, &top);
}
