/* SPDX-License-Identifier: MIT */
/* corun exec: a CUDA program that nobody changed, on the simulated GPU. */
#include "base/kernel_name.h"
#include "cli/program_records.h"
#include "cli/region_options.h"
#include "cli/state_options.h"
#include "cli/together.h"

#include "base/checkpoint_file.h"
#include "base/duration.h"
#include "cuda/crew.h"
#include "cuda/slicing.h"
#include "report/program_record.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEY_GPU = 'g',
    KEY_JSON = 'j',
    KEY_QUIET = 'q',
    KEY_POLICY = 'p',
    KEY_THREADS = 0x100,
    KEY_CSV,
    KEY_TIMELINE,
    KEY_CHECK,
    KEY_KEEP_STATUS,
    KEY_SLICE,
    KEY_WORKERS,
    KEY_KERNEL_TIMEOUT,
    KEY_PATIENCE,
    KEY_WALL_TIMEOUT,
    KEY_LAUNCH_COSTS,
    KEY_SAMPLE,
    KEY_BASELINES,
    KEY_PROFILE
};

static const struct argp_option options[] = {
    {"gpu", KEY_GPU, "GPU", 0,
     "a name (see `corun list gpus`) or a YAML file, with overrides; given again, the program sees one more GPU "
     "[gtx980]",
     1},
    {"policy", KEY_POLICY, "POLICY", 0,
     "several programs share the GPU, who gets what of it as this says, NAME[:parameter=value,...] (see `corun list "
     "policies`): ./a : --goal 90% -- ./b",
     1},
    {"goal", KEY_SHARE_GOAL, "GOAL", 0,
     "with --policy: what the program behind it is promised, 90% of its rate alone, or ipc=X thread instructions per "
     "cycle; without it, it takes what is left",
     1},
    {"isolated", KEY_SHARE_ISOLATED, "IPC", 0,
     "with --policy: its rate alone, in thread instructions per cycle [it runs alone first, where a goal or the policy "
     "needs that]",
     1},
    {"name", KEY_SHARE_NAME, "NAME", 0, "with --policy: what it is called in reports [that of its file]", 1},
    {"baselines", KEY_BASELINES, NULL, 0, "with --policy: every program runs alone first", 1},
    {"functional", KEY_REGION_FUNCTIONAL, NULL, 0, "results without timing", 1},
    {"check", KEY_CHECK, "LIST", 0, COMMAND_CHECK_TEXT, 1},
    {"slice", KEY_SLICE, "N[:SEED]", 0,
     "run every launch in slices of N thread blocks, or of a part of its grid (1/3), one after the other, with a seed "
     "in "
     "another order than that of the grid (docs/rewrite.md)",
     1},
    {"workers", KEY_WORKERS, "SEED", OPTION_ARG_OPTIONAL,
     "run every launch by workers, thread blocks that stay; with a seed, what the SMs owe them changes at random "
     "(docs/rewrite.md)",
     1},
    {"kernel", KEY_REGION_KERNEL, "NAME", 0,
     "only launches of that kernel are timed; all others are carried out at once and take no simulated time; with "
     "--policy, as the next two and --functional, of the program behind it",
     1},
    {"launch", KEY_REGION_LAUNCH, "FROM[-TO]", 0, "only these launches are timed, of that kernel or of all, from 1", 1},
    {"profiled", KEY_REGION_PROFILED, NULL, 0, "only launches between cudaProfilerStart and cudaProfilerStop are timed",
     1},
    {"sample", KEY_SAMPLE, "error=PART,every=N", OPTION_ARG_OPTIONAL, COMMAND_SAMPLE_TEXT, 1},
    {"threads", KEY_THREADS, "N", 0, "host threads that advance SMs [1]", 1},
    {"launch-costs", KEY_LAUNCH_COSTS, NULL, 0,
     "launches take the host and the GPU the time that published measurements say (launch_interval_ns, "
     "launch_gap_ns); without it they take none",
     1},
    {"kernel-timeout", KEY_KERNEL_TIMEOUT, "TIME", 0,
     "stop a kernel that has run for so long on the simulated GPU, 10ms, 500us, 2s, or 5M cycles: the program gets "
     "cudaErrorLaunchTimeout",
     1},
    {"patience", KEY_PATIENCE, "TIME", 0,
     "time of the host, 50ms or 3s, without a call of CUDA after which the GPU goes on by itself, for programs that "
     "wait for mapped memory [3s]; cycles of programs that compute for longer between calls depend on the host then",
     1},
    {"wall-timeout", KEY_WALL_TIMEOUT, "TIME", 0, "end the program after that time of the host: 90s, 30m or 1h", 1},
    {"keep-status", KEY_KEEP_STATUS, NULL, 0,
     "the exit status is the program's, also if it ends with 0 after launches that corun has refused", 1},
    STATE_OPTIONS("the state of the GPU", 3),
    {"csv", KEY_CSV, "FILE", 0, "a row for each launch, copy and fill; - is standard output", 2},
    {"json", KEY_JSON, "FILE", 0, "the same with all counters", 2},
    {"timeline", KEY_TIMELINE, "FILE", 0,
     "launches and copies of each stream over time, as a trace that https://ui.perfetto.dev opens (docs/timelines.md)",
     2},
    {"profile", KEY_PROFILE, NULL, 0,
     "also warp instructions and stall cycles of each kernel, per line of its CUDA source (nvcc -lineinfo) and of its "
     "PTX",
     2},
    {"quiet", KEY_QUIET, NULL, 0, "no table at the end", 2},
    {0},
};

static const char doc[] =
    "Runs a CUDA program on a simulated GPU: `corun exec --gpu quadro-v100 -- ./program arguments`. The program "
    "uses CUDA's runtime (static, unless it was stripped, or shared) or its driver API, and holds PTX (docs/cuda.md). "
    "The table of its kernels goes to the standard error output; the exit status is the program's. With --policy, "
    "several programs share the GPU: `corun exec --policy smqos -- ./a : --goal 90% -- ./b`.";

/* The files that it writes. */
enum { EXEC_CSV, EXEC_JSON, EXEC_TIMELINE, EXEC_CHECKPOINT, EXEC_OUTPUTS };

struct exec_options {
    struct command command;
    struct program program;
    struct output outputs[EXEC_OUTPUTS];
    struct state_options state;
    bool quiet, keep_status;
    const char *folder;       /* for what the processes of the program leave */
    struct together together; /* several programs, if there is a policy */
    bool baselines;
};

/* False if the option is another one. */
static bool sample_option(struct exec_options *exec, int key, const char *value)
{
    if (key != KEY_SAMPLE)
        return false;
    exec->program.sample = value ? value : "error=2%";
    command_keep(&exec->command,
                 corun_sampling_parse(value, "--sample", exec->command.list, &(struct corun_sampling){0}));
    return true;
}

/* The same for the files that it writes. */
static bool output_option(struct exec_options *exec, int key, const char *value)
{
    switch (key) {
    case KEY_CSV:
        exec->outputs[EXEC_CSV].path = value;
        return true;
    case KEY_JSON:
        exec->outputs[EXEC_JSON].path = value;
        return true;
    case KEY_TIMELINE:
        exec->outputs[EXEC_TIMELINE].path = value;
        return true;
    default:
        return false;
    }
}

/* What is said once for all programs, and what their command lines are. */
static void set_together(struct exec_options *exec, struct argp_state *state)
{
    struct program *program = &exec->program;
    struct together *together = &exec->together;
    const char *alone = program->sample                               ? "--sample"
                        : program->slice                              ? "--slice"
                        : program->workers                            ? "--workers"
                        : program->launch_costs                       ? "--launch-costs"
                        : program->gpus && strchr(program->gpus, ';') ? "a second --gpu"
                                                                      : NULL;
    if (alone)
        argp_error(state, "programs that share a GPU (--policy) have it whole, without %s", alone);
    together->command = &exec->command;
    const char *gpu = program->gpus ? program->gpus : DEFAULT_GPU;
    if (!vector_push(&together->setup.gpus, gpu))
        command_keep(&exec->command, CORUN_MEMORY);
    together->setup.threads = program->threads;
    together->setup.has_kernel_timeout = program->kernel_timeout != NULL;
    if (program->kernel_timeout)
        (void)simulated_duration_parse(program->kernel_timeout, &together->setup.kernel_timeout);
    together->checks = program->checks;
    together->wall_seconds = program->guard.wall_seconds;
    together->baselines = exec->baselines;
    together->profile = program->profile;
    region_set(program, state, &exec->command);
    struct program first = {.functional = program->functional,
                            .timed_kernel = program->timed_kernel,
                            .region = program->region,
                            .patience = program->patience,
                            .name = program->name,
                            .goal = program->goal,
                            .goal_kind = program->goal_kind,
                            .isolated = program->isolated};
    together_split(together, &first, program->words, state);
}

/* What there are no checkpoints of, as far as options say it; the libraries know the rest (src/cuda/checkpoint.c). */
static void check_checkpoints(struct exec_options *exec, struct argp_state *state)
{
    const struct program *program = &exec->program;
    const char *without = exec->together.setup.policy                   ? "--policy"
                          : program->functional                         ? "--functional"
                          : program->sample                             ? "--sample"
                          : program->profile                            ? "--profile"
                          : program->workers                            ? "--workers"
                          : program->timed_kernel                       ? "--kernel"
                          : program->timed_launches                     ? "--launch"
                          : program->timed_profiled                     ? "--profiled"
                          : program->gpus && strchr(program->gpus, ';') ? "a second --gpu"
                                                                        : NULL;
    (void)state_option(ARGP_KEY_SUCCESS, NULL, state, &exec->command, &exec->state);
    if ((exec->state.file || exec->state.resume) && without)
        argp_error(state, "--checkpoint and --resume are for one program on one GPU, all of it timed, without %s",
                   without);
    exec->outputs[EXEC_CHECKPOINT].path = exec->state.file;
}

/* Options that belong together, or exclude each other. */
static void finish_options(struct exec_options *exec, struct argp_state *state)
{
    const struct program *program = &exec->program;
    check_checkpoints(exec, state);
    if (exec->together.setup.policy) {
        set_together(exec, state);
        return;
    }
    if (program->goal || program->isolated || program->name || exec->baselines)
        argp_error(state, "--goal, --isolated, --name and --baselines are for programs that share a GPU: --policy");
    if (program->functional && program->kernel_timeout)
        argp_error(state, "--kernel-timeout is simulated time, which --functional has not");
    if (program->functional && exec->outputs[EXEC_TIMELINE].path)
        argp_error(state, "--timeline shows simulated time, which --functional has not");
    if (program->functional && program->profile)
        argp_error(state, "--profile tells where time went, which --functional has not");
    if (program->functional && program->sample)
        argp_error(state, "--sample estimates simulated time, which --functional has not");
    region_set(&exec->program, state, &exec->command);
    if (program->slice && program->workers)
        argp_error(state, "a launch runs in slices or by workers: --slice or --workers");
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct exec_options *exec = state->input;
    struct program *program = &exec->program;
    switch (key) {
    case KEY_GPU:
        program->gpus = program->gpus ? arena_format(exec->command.arena, "%s;%s", program->gpus, value) : value;
        if (!program->gpus)
            command_keep(&exec->command, CORUN_MEMORY);
        break;
    case KEY_LAUNCH_COSTS:
        program->launch_costs = true;
        break;
    case KEY_THREADS:
        command_number(&exec->command, "--threads", value, 1000, 1, 1000, &program->threads);
        break;
    case KEY_CHECK:
        program->checks = value;
        command_checks(&exec->command, value, &(uint32_t){0}); /* the libraries read it again */
        break;
    case KEY_SLICE:
        if (!slicing_parse(value, &(struct slicing){0}))
            argp_error(state,
                       "--slice is a number of thread blocks like 16, or a part of each grid like 1/3, and then "
                       "perhaps a colon and a seed, not `%s`",
                       value);
        program->slice = value;
        break;
    case KEY_WORKERS:
        if (value && !crewing_parse(value, &(struct crewing){0}))
            argp_error(state, "--workers takes a seed, a number, not `%s`", value);
        program->workers = value ? value : "0";
        break;
    case KEY_QUIET:
        exec->quiet = true;
        break;
    case KEY_KERNEL_TIMEOUT:
        if (!simulated_duration_parse(value, &(struct simulated_duration){0}))
            argp_error(state, "--kernel-timeout is a time like 10ms, 500us or 2s, or a number of cycles, not `%s`",
                       value);
        program->kernel_timeout = value;
        break;
    case KEY_PATIENCE:
        if (!brief_duration_parse(value, &(uint64_t){0}))
            argp_error(state, "--patience is a time like 50ms or 3s, not `%s`", value);
        program->patience = value;
        break;
    case KEY_WALL_TIMEOUT:
        if (!duration_parse(value, &program->guard.wall_seconds))
            argp_error(state, "--wall-timeout is a time like 90s, 30m or 1h, not `%s`", value);
        break;
    case KEY_POLICY:
        exec->together.setup.policy = value;
        break;
    case KEY_PROFILE:
        program->profile = true;
        break;
    case KEY_BASELINES:
        exec->baselines = true;
        break;
    case ARGP_KEY_SUCCESS:
        finish_options(exec, state);
        return 0;
    case KEY_KEEP_STATUS:
        exec->keep_status = true;
        break;
    default:
        return region_option(key, value, state, program) ||
                       state_option(key, value, state, &exec->command, &exec->state) ||
                       sample_option(exec, key, value) || output_option(exec, key, value) ||
                       share_option(key, value, state, &exec->command, program)
                   ? 0
                   : program_option(key, state, program);
    }
    return 0;
}

/* The standard error output has no buffer: a table would be a system call for every piece of text. */
static bool print_table(const struct program_record *record, const struct program_sharing *sharing)
{
    struct report_style style = output_style(stderr);
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (!memory)
        return false;
    bool whole =
        sharing ? program_sharing_table(sharing, record, &style, memory) : program_table(record, &style, memory);
    whole = fclose(memory) == 0 && whole;
    fflush(stdout);
    if (whole)
        fprintf(stderr, "\n%s", text);
    free(text);
    return whole;
}

/* `sharing`: NULL for one program that had its GPU for itself. */
static enum corun_status report(const struct exec_options *exec, const struct program_record *record,
                                const struct program_sharing *sharing)
{
    FILE *csv = exec->outputs[EXEC_CSV].file, *json = exec->outputs[EXEC_JSON].file;
    if (!exec->quiet && (sharing || record->devices.count) && !print_table(record, sharing))
        return CORUN_MEMORY;
    if (csv && !program_csv(record, csv))
        return CORUN_MEMORY;
    FILE *timeline = exec->outputs[EXEC_TIMELINE].file;
    enum corun_status status = timeline ? program_timeline(record, timeline) : CORUN_OK;
    if (status != CORUN_OK || !json)
        return status;
    return sharing ? program_sharing_json(sharing, record, json) : program_json(record, json);
}

/* From the root: programs change their folder. NULL of NULL, or when out of memory. */
static const char *path_from_root(struct exec_options *exec, const char *path)
{
    char *folder = path && path[0] != '/' ? getcwd(NULL, 0) : NULL;
    const char *whole = folder ? arena_format(exec->command.arena, "%s/%s", folder, path) : path;
    free(folder);
    if (path && !whole)
        command_keep(&exec->command, CORUN_MEMORY);
    return whole;
}

/* What can be known of checkpoints before the program starts; the rest is found out when it uses its GPU. */
static enum corun_status prepare_checkpoints(struct exec_options *exec)
{
    const struct state_options *state = &exec->state;
    struct program *program = &exec->program;
    struct corun_diagnostics *list = exec->command.list;
    enum corun_status status = state->file ? checkpoint_try(state->file, list) : CORUN_OK;
    bool first = state->file && state->resume && !strcmp(state->file, state->resume) && access(state->resume, F_OK);
    if (status == CORUN_OK && state->resume && !first) {
        struct checkpoint_reader *reader = NULL;
        status = checkpoint_read(state->resume, list, &reader);
        checkpoint_reader_destroy(reader);
        if (status == CORUN_OK)
            status = outputs_spare(exec->outputs, EXEC_CHECKPOINT, state->resume, list);
    }
    program->checkpoint = path_from_root(exec, state->file);
    program->resume = path_from_root(exec, state->resume);
    program->checkpoint_cycle = state->cycle;
    program->checkpoint_every = state->every;
    program->guard.ends_rest = state->file || state->resume; /* one process may be refused, and others wait for it */
    return status == CORUN_OK ? exec->command.status : status;
}

static enum corun_status run_in_folder(struct exec_options *exec, struct program_record *record)
{
    const char *temporary = getenv("TMPDIR");
    const char *beginning =
        arena_format(exec->command.arena, "%s/corun-exec", temporary && *temporary ? temporary : P_tmpdir);
    if (!beginning)
        return CORUN_MEMORY;
    guard_begin(&exec->program.guard);
    int problem = program_folder_make(exec->command.arena, beginning, &exec->folder);
    if (problem)
        guard_end(&exec->program.guard);
    if (problem)
        return corun_report(exec->command.list, CORUN_FILE, (struct corun_place){beginning, 0, 0},
                            "no folder can be made there: %s", strerror(problem));
    exec->program.record = exec->folder;
    enum corun_status status = program_run(&exec->program, exec->command.list);
    exec->command.exit_status = exec->program.exit_status;
    bool has_run = status == CORUN_OK;
    if (has_run)
        status = program_records_read(exec->folder, exec->command.arena, exec->command.list, record);
    if (has_run && status == CORUN_OK)
        region_judge(&exec->program, record, 0, record->processes, exec->command.list);
    program_folder_remove(exec->folder);
    guard_end(&exec->program.guard);
    enum corun_status reported =
        has_run ? report(exec, record, NULL) : CORUN_OK; /* what is known, also if that is not all */
    return status == CORUN_OK ? reported : status;
}

static enum corun_status report_out_of_time(const struct exec_options *exec, const char *who)
{
    double seconds = exec->together.command ? exec->together.wall_seconds : exec->program.guard.wall_seconds;
    return corun_report(exec->command.list, CORUN_TIMEOUT, CORUN_NOWHERE,
                        "%s has not ended within %.0f s (--wall-timeout), and has been ended", who, seconds);
}

/* A program that ends well without the results of a kernel has not seen that they are not there. */
static enum corun_status judge(const struct exec_options *exec, const struct program_record *record, const char *who)
{
    size_t count = record->refusals.count;
    if (!count || exec->keep_status || exec->command.exit_status)
        return CORUN_OK;
    char more[64] = "";
    if (count > 1)
        snprintf(more, sizeof more, ", and of %zu more", count - 1);
    return corun_report(exec->command.list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                        "%s has ended with status 0 without launches of kernel %s (%s)%s; --keep-status makes that "
                        "the status of corun exec",
                        who, KERNEL_NAME(record->refusals.data[0].kernel), record->refusals.data[0].reason, more);
}

/* ---- several programs ---- */

/* The status is that of the first one that has not ended well; what could not be timed is told of. */
static void note_ends(struct exec_options *exec, const struct program_record *record,
                      const struct program_sharing *sharing)
{
    for (uint32_t i = 0; i < sharing->count; i++) {
        const struct program_share *share = &sharing->programs[i];
        region_judge(&exec->together.programs.data[i], record, share->first_process, share->processes,
                     exec->command.list);
        if (!share->exit_status)
            continue;
        (void)corun_report(exec->command.list, CORUN_OK, CORUN_NOWHERE, "%s has ended with status %d", share->row.name,
                           share->exit_status);
        if (!exec->command.exit_status)
            exec->command.exit_status = share->exit_status;
    }
    if (exec->together.signal)
        exec->command.exit_status = 128 + exec->together.signal;
}

static enum corun_status run_together(struct exec_options *exec, struct program_record *record)
{
    struct together *together = &exec->together;
    struct program_sharing sharing = {0};
    enum corun_status status = together_run(together, record, &sharing);
    note_ends(exec, record, &sharing);
    enum corun_status reported = sharing.count ? report(exec, record, &sharing) : CORUN_OK;
    status = status == CORUN_OK ? reported : status;
    if (status == CORUN_OK && together->out_of_time)
        status = report_out_of_time(exec, "a program");
    if (status == CORUN_OK && together->refused)
        status = judge(exec, record, together->names[together->refused - 1]);
    return status;
}

static enum corun_status run_exec(void *user)
{
    struct exec_options *exec = user;
    bool events = false;
    for (size_t i = 0; i < EXEC_OUTPUTS; i++)
        events |= exec->outputs[i].path != NULL;
    struct program_record *record = program_record_create(events);
    if (!record)
        return CORUN_MEMORY;
    bool several = exec->together.setup.policy != NULL;
    enum corun_status status = several ? CORUN_OK : program_find(&exec->program, exec->command.list);
    if (status == CORUN_OK)
        status = prepare_checkpoints(exec);
    if (status == CORUN_OK)
        status = outputs_open(exec->outputs, EXEC_OUTPUTS, exec->command.list);
    if (status == CORUN_OK)
        status = outputs_close(exec->outputs, EXEC_OUTPUTS,
                               several ? run_together(exec, record) : run_in_folder(exec, record), exec->command.list);
    if (status == CORUN_OK && !several)
        status = exec->program.guard.out_of_time ? report_out_of_time(exec, exec->program.words[0])
                                                 : judge(exec, record, exec->program.words[0]);
    if (several)
        together_end(&exec->together);
    program_record_destroy(record);
    return status;
}

int command_exec(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "-- PROGRAM [ARGUMENT...] [: [OPTION...] -- PROGRAM [ARGUMENT...]]...",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct exec_options exec = {.command = {.rest_is_not_ours = true},
                                .outputs = {{.option = "--csv"},
                                            {.option = "--json"},
                                            {.option = "--timeline"},
                                            {.option = "--checkpoint", .later = true}}};
    return command_perform(&exec.command, &argp, argc, argv, run_exec, &exec);
}
