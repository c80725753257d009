/* SPDX-License-Identifier: MIT */
/* Programs that share a GPU: alone, where their rates are needed, and then all of them, with a node in this process. */
#include "cli/together.h"

#include "case/metrics.h"
#include "cli/policy_watch.h"
#include "cli/program_records.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AGAIN_SECONDS 1.0 /* after which a second signal is meant */

/* What a starter finds, for us to read: in memory that both have. */
struct outcome {
    bool ended, out_of_time;
    int problem, status; /* why it could not be started; as shells have it */
};

/* What the applications of a program did, together. */
struct tally {
    bool there;
    enum corun_goal_kind goal; /* the last one that it had */
    double goal_value;
    struct corun_application_result result; /* ended_cycle: of the last one */
};

/* Some of the programs, on one machine, from its beginning to its end. */
struct pass {
    struct together *together;
    struct program *programs;
    const char **names;
    uint32_t count, running;
    const char **folders; /* [count]: for what they leave; the socket lies in the first one */
    struct node *node;
    struct guard guard; /* of ours: signals wait while there is something to be taken away */
    struct outcome *outcomes;
    pid_t *starters; /* 0: has ended */
    pid_t sweeper;
    int sweep[2]; /* a byte if there is nothing to be swept; -1: closed */
    int go[2];    /* a byte for each starter, once clients can come; -1: closed */
    struct tally *tallies;
    double signalled;   /* when the programs were told to end */
    bool out_of_memory; /* not all of the profile is there */
};

/* ---- the sweeper ---- */

/* Takes the folders away when this process has ended without having done so. */
static _Noreturn void sweep(struct pass *pass)
{
    char byte;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    setpgid(0, 0);
    prctl(PR_SET_NAME, "sweeper");
    close(pass->sweep[1]);
    if (read(pass->sweep[0], &byte, 1) != 1)
        for (uint32_t i = 0; i < pass->count; i++)
            program_folder_remove(pass->folders[i]);
    _exit(0);
}

static bool fork_sweeper(struct pass *pass)
{
    if (pipe2(pass->sweep, O_CLOEXEC))
        return false;
    pid_t process = fork();
    if (process == 0)
        sweep(pass);
    pass->sweeper = process > 0 ? process : 0;
    close(pass->sweep[0]);
    return process > 0;
}

static void end_sweeper(struct pass *pass)
{
    if (!pass->sweeper)
        return;
    (void)!write(pass->sweep[1], "", 1);
    close(pass->sweep[1]);
    (void)waitpid(pass->sweeper, NULL, 0);
    pass->sweeper = 0;
}

/* ---- starters ---- */

/* All of a starter's life. */
static _Noreturn void start(struct pass *pass, uint32_t number, pid_t parent)
{
    struct program *program = &pass->programs[number];
    struct outcome *outcome = &pass->outcomes[number];
    struct corun_diagnostics *list = corun_diagnostics_create();
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(pass->go[1]);
    close(pass->sweep[1]);
    sigprocmask(SIG_SETMASK, &pass->guard.before, NULL);
    guard_begin(&program->guard);
    if (getppid() != parent || read(pass->go[0], &byte, 1) != 1)
        _exit(0);
    close(pass->go[0]);
    outcome->problem = program_run(program, list) == CORUN_OK ? 0 : EIO;
    outcome->status = program->exit_status;
    outcome->out_of_time = program->guard.out_of_time;
    outcome->ended = true;
    if (outcome->problem)
        (void)output_diagnostics(list, CORUN_FILE);
    corun_diagnostics_destroy(list);
    guard_end(&program->guard);
    _exit(0);
}

static enum corun_status fork_starters(struct pass *pass)
{
    pid_t self = getpid();
    fflush(NULL);
    if (!fork_sweeper(pass) || pipe2(pass->go, O_CLOEXEC))
        return corun_report(pass->together->command->list, CORUN_FILE, CORUN_NOWHERE, "no program can be started: %s",
                            strerror(errno));
    for (uint32_t i = 0; i < pass->count; i++) {
        pid_t process = fork();
        if (process == 0)
            start(pass, i, self);
        if (process < 0)
            return corun_report(pass->together->command->list, CORUN_FILE, CORUN_NOWHERE,
                                "no program can be started: %s", strerror(errno));
        pass->starters[i] = process;
        pass->running++;
    }
    return CORUN_OK;
}

static void signal_starters(const struct pass *pass, int number)
{
    for (uint32_t i = 0; i < pass->count; i++)
        if (pass->starters[i])
            kill(pass->starters[i], number);
}

/* Those that have ended, or with `all` until they all have. */
static void reap(struct pass *pass, bool all)
{
    for (uint32_t i = 0; i < pass->count; i++) {
        pid_t process = pass->starters[i];
        if (!process || waitpid(process, NULL, all ? 0 : WNOHANG) != process)
            continue;
        pass->starters[i] = 0;
        pass->running--;
        if (pass->node)
            node_place_ends(pass->node, i);
    }
}

static void close_go(struct pass *pass)
{
    for (int i = 0; i < 2; i++) {
        if (pass->go[i] >= 0)
            close(pass->go[i]);
        pass->go[i] = -1;
    }
}

/* ---- of the server ---- */

static void let_start(void *user)
{
    struct pass *pass = user;
    static const char bytes[CORUN_MAX_APPLICATIONS] = {0};
    (void)!write(pass->go[1], bytes, pass->count);
    close_go(pass);
    sigprocmask(SIG_SETMASK, &pass->guard.before, NULL);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_UNBLOCK, &children, NULL);
}

static bool child_ended(void *user)
{
    struct pass *pass = user;
    reap(pass, false);
    if (!pass->running)
        sigprocmask(SIG_BLOCK, &pass->guard.held, NULL);
    return !pass->running;
}

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* All are told to end; who is told again later ends at once. What comes to the process and to its group is told once. */
static bool interrupted(void *user, int number)
{
    struct pass *pass = user;
    double now = clock_seconds();
    if (!pass->together->signal) {
        pass->together->signal = number;
        pass->signalled = now;
        signal_starters(pass, SIGTERM);
    } else if (now >= pass->signalled + AGAIN_SECONDS) {
        signal_starters(pass, SIGKILL);
    }
    return false;
}

static void left(void *user, const struct session *session, const struct corun_application_result *result,
                 uint64_t cycle)
{
    struct pass *pass = user;
    if (session->number >= pass->count)
        return;
    struct tally *tally = &pass->tallies[session->number];
    struct corun_application_result *sum = &tally->result;
    if (!tally->there || result->arrived_cycle < sum->arrived_cycle)
        sum->arrived_cycle = result->arrived_cycle;
    tally->there = true;
    tally->goal = (enum corun_goal_kind)session->join.goal;
    tally->goal_value = session->join.goal_value;
    sum->status = sum->status == CORUN_OK ? result->status : sum->status;
    sum->ended_cycle = cycle > sum->ended_cycle ? cycle : sum->ended_cycle;
    sum->thread_instructions += result->thread_instructions;
    sum->warp_instructions += result->warp_instructions;
    sum->best_epoch_ipc = fmax(sum->best_epoch_ipc, result->best_epoch_ipc);
    sum->out_of_reach |= result->out_of_reach;
}

static void profiled(void *user, const struct session *session, const char *kernel,
                     const struct corun_profile_line *line)
{
    struct pass *pass = user;
    if (session->number < pass->count &&
        !program_record_add_profile(pass->together->profiles[session->number], kernel, line))
        pass->out_of_memory = true;
}

static double rate_of(const struct tally *tally)
{
    const struct corun_application_result *result = &tally->result;
    return tally->there ? metrics_ratio(result->thread_instructions, result->ended_cycle - result->arrived_cycle)
                        : (double)NAN;
}

/* ---- a pass ---- */

static enum corun_status make_folders(struct pass *pass)
{
    struct command *command = pass->together->command;
    struct server_settings *server = &pass->together->setup.server;
    const char *temporary = getenv("TMPDIR");
    const char *beginning =
        arena_format(command->arena, "%s/corun-exec", temporary && *temporary ? temporary : P_tmpdir);
    for (uint32_t i = 0; beginning && i < pass->count; i++) {
        int problem = program_folder_make(command->arena, beginning, &pass->folders[i]);
        if (problem)
            return corun_report(command->list, CORUN_FILE, (struct corun_place){beginning, 0, 0},
                                "no folder can be made there: %s", strerror(problem));
        pass->programs[i].record = pass->folders[i];
    }
    if (!beginning)
        return CORUN_MEMORY;
    snprintf(server->path, sizeof server->path, "%s/socket", pass->folders[0]);
    for (uint32_t i = 0; i < pass->count; i++)
        pass->programs[i].daemon = server->path;
    return CORUN_OK;
}

static enum corun_status serve(struct pass *pass, bool alone)
{
    struct together *together = pass->together;
    struct node_settings settings = together->setup.settings;
    struct server_settings *server = &together->setup.server;
    settings.expected = pass->names;
    settings.expected_count = pass->count;
    settings.keeps_places = true;
    settings.left = left;
    settings.left_user = pass;
    settings.profiled = together->profile && !alone ? profiled : NULL;
    settings.policy_call = policy_watch_calls(settings.policy);
    settings.choose = NULL;
    if (alone) {
        settings.policy = NULL;
        settings.policy_text = CORUN_NO_POLICY;
    }
    server->ready = let_start;
    server->child = child_ended;
    server->interrupted = interrupted;
    server->reload = NULL;
    server->user = pass;
    enum corun_status status = node_create(&settings, together->command->list, &pass->node);
    if (status == CORUN_OK)
        status = server_run(pass->node, server, together->command->list);
    return status;
}

/* Whatever happened, nothing of it is left behind. */
static void end_pass(struct pass *pass)
{
    close_go(pass);
    node_destroy(pass->node);
    pass->node = NULL;
    signal_starters(pass, SIGTERM); /* the machine has failed, or nobody has been started */
    reap(pass, true);
    for (uint32_t i = 0; i < pass->count; i++)
        if (pass->folders[i])
            program_folder_remove(pass->folders[i]);
    end_sweeper(pass);
    if (pass->outcomes != MAP_FAILED)
        munmap(pass->outcomes, pass->count * sizeof *pass->outcomes);
    guard_end(&pass->guard);
}

/* The programs from `first` on. What they left is read into the record, unless that is NULL. */
static enum corun_status begin_pass(struct together *together, size_t first, uint32_t count, struct pass *pass)
{
    struct arena *arena = together->command->arena;
    *pass = (struct pass){.together = together,
                          .programs = together->programs.data + first,
                          .names = together->names + first,
                          .count = count,
                          .folders = ARENA_ARRAY(arena, const char *, count),
                          .starters = ARENA_ARRAY(arena, pid_t, count),
                          .tallies = ARENA_ARRAY(arena, struct tally, count),
                          .go = {-1, -1}};
    pass->outcomes =
        mmap(NULL, count * sizeof *pass->outcomes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    guard_begin(&pass->guard);
    if (!pass->folders || !pass->starters || !pass->tallies || pass->outcomes == MAP_FAILED)
        return CORUN_MEMORY;
    enum corun_status status = make_folders(pass);
    return status == CORUN_OK ? fork_starters(pass) : status;
}

/* A program that could not be started has been told of by its starter. */
static enum corun_status started(const struct pass *pass)
{
    for (uint32_t i = 0; i < pass->count; i++)
        if (pass->outcomes[i].problem)
            return corun_report(pass->together->command->list, CORUN_FILE, CORUN_NOWHERE, "%s has not run",
                                pass->names[i]);
    return CORUN_OK;
}

/* ---- alone ---- */

static enum corun_status run_alone(struct together *together, size_t number)
{
    struct program *program = &together->programs.data[number];
    const char *name = together->names[number], *goal = program->goal;
    struct pass pass;
    program->goal = NULL;
    program->without_terminal = true;
    enum corun_status status = begin_pass(together, number, 1, &pass);
    if (status == CORUN_OK)
        status = serve(&pass, true);
    if (status == CORUN_OK)
        status = started(&pass);
    double rate = status == CORUN_OK ? rate_of(&pass.tallies[0]) : (double)NAN;
    struct outcome outcome = status == CORUN_OK ? pass.outcomes[0] : (struct outcome){0};
    end_pass(&pass);
    program->goal = goal;
    program->without_terminal = false;
    together->out_of_time |= outcome.out_of_time;
    if (status != CORUN_OK || together->signal || together->out_of_time)
        return status;
    if (outcome.status || !(rate > 0))
        return corun_report(together->command->list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "%s has ended with status %d alone%s: its rate alone is not known (--isolated)", name,
                            outcome.status, rate > 0 ? "" : ", without a kernel that took time");
    program->isolated = arena_format(together->command->arena, "%.17g", rate);
    return program->isolated ? CORUN_OK : CORUN_MEMORY;
}

static enum corun_status run_those_alone(struct together *together)
{
    const struct corun_policy *policy = together->setup.settings.policy;
    enum corun_status status = CORUN_OK;
    for (size_t i = 0; i < together->programs.count && status == CORUN_OK && !together->signal; i++) {
        const struct program *program = &together->programs.data[i];
        bool fraction = program->goal && !strcmp(program->goal_kind, "fraction");
        if (!program->isolated && (fraction || together->baselines || (policy && policy->needs_isolated_ipc)))
            status = run_alone(together, i);
    }
    return status;
}

/* ---- together ---- */

static void fill_share(const struct pass *pass, uint32_t number, struct program_share *share)
{
    const struct program *program = &pass->programs[number];
    const struct tally *tally = &pass->tallies[number];
    struct corun_case_application_result *row = &share->row;
    row->name = pass->names[number];
    row->size = "";
    row->result = tally->result;
    row->cycles = tally->result.ended_cycle - tally->result.arrived_cycle;
    row->ipc = rate_of(tally);
    row->ipc_isolated = program->isolated ? strtod(program->isolated, NULL) : (double)NAN;
    row->normalised_ipc = row->ipc / row->ipc_isolated;
    row->goal = tally->goal;
    row->goal_value = tally->goal_value;
    if (!tally->there && program->goal) {
        row->goal = strcmp(program->goal_kind, "ipc") ? CORUN_GOAL_FRACTION : CORUN_GOAL_IPC;
        row->goal_value = strtod(program->goal, NULL);
    }
    row->goal_ipc = row->goal == CORUN_GOAL_IPC        ? row->goal_value
                    : row->goal == CORUN_GOAL_FRACTION ? row->goal_value * row->ipc_isolated
                                                       : (double)NAN;
    metrics_judge_goal(row);
    share->profile = pass->together->profile ? pass->together->profiles[number] : NULL;
    share->words = program->words;
    share->exit_status = pass->outcomes[number].ended ? pass->outcomes[number].status : 128 + SIGKILL;
}

static enum corun_status collect(const struct pass *pass, struct program_record *record,
                                 struct program_sharing *sharing)
{
    struct together *together = pass->together;
    enum corun_status status = CORUN_OK;
    for (uint32_t i = 0; i < pass->count; i++) {
        struct program_share *share = &sharing->programs[i];
        size_t refusals = record->refusals.count;
        share->first_process = record->processes;
        enum corun_status read =
            program_records_read(pass->folders[i], together->command->arena, together->command->list, record);
        status = status == CORUN_OK ? read : status;
        share->processes = record->processes - share->first_process;
        for (size_t k = 0; k < record->devices.count; k++)
            if (record->devices.data[k].process >= share->first_process)
                record->devices.data[k].program = pass->names[i];
        fill_share(pass, i, share);
        together->out_of_time |= pass->outcomes[i].out_of_time;
        if (!together->refused && record->refusals.count > refusals)
            together->refused = i + 1;
    }
    sharing->cycles = corun_gpu_cycles(pass->node->devices[0].gpu);
    return status;
}

static bool make_profiles(struct together *together)
{
    size_t count = together->profile ? together->programs.count : 0;
    together->profiles = ARENA_ARRAY(together->command->arena, struct program_record *, count + 1);
    for (size_t i = 0; together->profiles && i < count; i++)
        if (!(together->profiles[i] = program_record_create(false)))
            return false;
    return together->profiles != NULL;
}

static enum corun_status run_all(struct together *together, struct program_record *record,
                                 struct program_sharing *sharing)
{
    const struct node_settings *settings = &together->setup.settings;
    struct pass pass;
    uint32_t count = (uint32_t)together->programs.count;
    sharing->gpu = settings->gpus[0].configuration.name;
    sharing->policy = settings->policy_text;
    sharing->core_clock_khz = settings->gpus[0].configuration.core_clock_khz;
    sharing->programs = ARENA_ARRAY(together->command->arena, struct program_share, count);
    enum corun_status status = begin_pass(together, 0, count, &pass);
    if (status == CORUN_OK && (!sharing->programs || !make_profiles(together)))
        status = CORUN_MEMORY;
    if (status == CORUN_OK)
        status = serve(&pass, false);
    if (status == CORUN_OK)
        status = started(&pass);
    if (status == CORUN_OK) {
        sharing->count = count;
        status = collect(&pass, record, sharing);
        status = status == CORUN_OK && pass.out_of_memory ? CORUN_MEMORY : status;
    }
    end_pass(&pass);
    return status;
}

enum corun_status together_run(struct together *together, struct program_record *record,
                               struct program_sharing *sharing)
{
    struct corun_diagnostics *list = together->command->list;
    enum corun_status status = CORUN_OK;
    together->setup.command = together->command;
    for (size_t i = 0; i < together->programs.count && status == CORUN_OK; i++) {
        struct program *program = &together->programs.data[i];
        program->checks = together->checks;
        program->guard.wall_seconds = together->wall_seconds;
        status = program_find(program, list);
    }
    bool file = strchr(together->setup.policy, '/') != NULL;
    if (status == CORUN_OK && file)
        policy_watch_loading(together->setup.policy);
    if (status == CORUN_OK)
        status = daemon_set_up(&together->setup);
    if (file)
        policy_watch_loaded();
    if (status == CORUN_OK)
        status = run_those_alone(together);
    if (status == CORUN_OK && !together->signal && !together->out_of_time)
        status = run_all(together, record, sharing);
    return status;
}

void together_end(struct together *together)
{
    for (size_t i = 0; together->profiles && together->profile && i < together->programs.count; i++)
        program_record_destroy(together->profiles[i]);
    daemon_set_down(&together->setup);
    vector_free(&together->programs);
}
