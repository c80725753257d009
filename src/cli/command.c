/* SPDX-License-Identifier: MIT */
/* What every command does in the same way: its options, its messages, its end. */
#include "cli/command.h"

#include "base/duration.h"
#include "base/nearest.h"
#include "case/specification.h"
#include "cli/candidates.h"
#include "corun/case.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPTION_NAMES_MAX 64u
#define CHECKPOINT_SECONDS 60.0

/* The option whose name begins like that: one that has just this name comes first. NULL if there is none. */
static const struct argp_option *find_option(const struct argp_option *options, const char *name, size_t length)
{
    const struct argp_option *found = NULL;
    for (const struct argp_option *option = options; option->name; option++) {
        if (strncmp(option->name, name, length) != 0)
            continue;
        if (!option->name[length])
            return option;
        found = found ? found : option;
    }
    return found;
}

/* Whether the value of the last of these letters is the next word. */
static bool takes_next(const struct argp_option *options, const char *letters)
{
    for (; *letters; letters++) {
        const struct argp_option *option = options;
        while (option->name && option->key != *letters)
            option++;
        if (option->name && option->arg)
            return !letters[1];
    }
    return false;
}

static void suggest_option(const struct argp_option *options, const char *title, const char *word, size_t length)
{
    const char *names[OPTION_NAMES_MAX] = {"help", "usage"};
    size_t count = 2;
    char name[64];
    for (const struct argp_option *option = options; option->name && count < OPTION_NAMES_MAX; option++)
        names[count++] = option->name;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const char *nearest = nearest_name(name, names, count);
    if (!nearest)
        return; /* getopt says that there is no such option */
    fprintf(stderr, "%s: there is no option `--%s`; did you mean `--%s`?\n", title, name, nearest);
    exit(corun_status_exit(CORUN_USAGE));
}

/* getopt does not say which option was meant: options are looked at beforehand, in the way in which it does. */
static void check_options(const struct argp *argp, int argc, char **argv, bool in_order)
{
    static const struct argp_option none[] = {{0}};
    const struct argp_option *options = argp->options ? argp->options : none;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *word = argv[i];
        if (word[0] != '-' || !word[1]) {
            if (in_order)
                return;
        } else if (word[1] != '-') {
            i += takes_next(options, word + 1);
        } else {
            size_t length = strcspn(word + 2, "=");
            const struct argp_option *option = find_option(options, word + 2, length);
            if (option)
                i += option->arg && !word[2 + length];
            else if (strncmp(word + 2, "help", length) != 0 && strncmp(word + 2, "usage", length) != 0)
                suggest_option(options, argv[0], word + 2, length);
        }
    }
}

static void parse(const struct argp *argp, int argc, char **argv, bool in_order, void *options)
{
    check_options(argp, argc, argv, in_order);
    error_t problem = argp_parse(argp, argc, argv, in_order ? ARGP_IN_ORDER : 0, NULL, options);
    if (problem) {
        fprintf(stderr, "%s: %s\n", argv[0], strerror(problem));
        exit(corun_status_exit(CORUN_USAGE));
    }
}

int command_perform(struct command *command, const struct argp *argp, int argc, char **argv,
                    enum corun_status (*work)(void *options), void *options)
{
    enum corun_status status = CORUN_MEMORY;
    if (argc > 1 && !strcmp(argv[1], CANDIDATES_WANTED))
        return candidates_print(argp, command->rest_is_not_ours, argc - 2, argv + 2);
    command->arena = arena_create();
    command->list = corun_diagnostics_create();
    if (command->arena && command->list) {
        parse(argp, argc, argv, command->rest_is_not_ours, options);
        status = command->status == CORUN_OK ? work(options) : command->status;
    }
    int exit_status = output_diagnostics(command->list, status);
    corun_diagnostics_destroy(command->list);
    arena_destroy(command->arena);
    return status == CORUN_OK ? command->exit_status : exit_status;
}

void command_keep(struct command *command, enum corun_status status)
{
    if (command->status == CORUN_OK)
        command->status = status;
}

void command_number(struct command *command, const char *option, const char *value, uint64_t kilo, uint64_t lowest,
                    uint64_t highest, uint64_t *number)
{
    command_keep(command, specify_number(value, option, kilo, lowest, highest, command->list, number));
}

void command_count(struct command *command, const char *option, const char *value, uint32_t highest, uint32_t *number)
{
    uint64_t wide = *number;
    command_number(command, option, value, 1000, 1, highest, &wide);
    *number = (uint32_t)wide;
}

void command_checks(struct command *command, const char *value, uint32_t *checks)
{
#define NAME(name, text, meaning) ", " text
    if (!corun_checks_parse(value, checks))
        command_keep(command,
                     corun_report(command->list, CORUN_USAGE, CORUN_NOWHERE,
                                  "--check: `%s` is no list of checks; there are%s", value, &CORUN_CHECKS(NAME)[1]));
#undef NAME
}

const char *command_name(const char *option, const char *value, struct argp_state *state)
{
    if (!*value)
        argp_error(state, "%s: the name is missing", option);
    return value;
}

enum corun_status command_program(char *path, size_t bytes, struct corun_diagnostics *list)
{
    ssize_t length = readlink("/proc/self/exe", path, bytes - 1);
    if (length < 0)
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "/proc/self/exe cannot be read");
    path[length] = 0;
    return CORUN_OK;
}

enum corun_status command_existing(const char *path, struct corun_diagnostics *list)
{
    struct stat about;
    struct corun_place place = {path, 0, 0};
    if (!*path)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "``: the name of a file is missing");
    if (stat(path, &about))
        return errno == ENOENT ? corun_report(list, CORUN_NOT_FOUND, place, "there is no such file")
                               : corun_report(list, CORUN_FILE, place, "cannot be read: %s", strerror(errno));
    return S_ISDIR(about.st_mode) ? corun_report(list, CORUN_FILE, place, "this is a directory") : CORUN_OK;
}

const char *command_hint(const char *word, const char *const *names, size_t count, const char *otherwise, char *room,
                         size_t bytes)
{
    const char *nearest = nearest_name(word, names, count);
    snprintf(room, bytes, nearest ? "did you mean `%s`?" : "%s", nearest ? nearest : otherwise);
    return room;
}

error_t cache_option(int key, const char *value, struct argp_state *state, struct cache_options *cache)
{
    switch (key) {
    case KEY_CACHE:
        cache->folder = command_name("--cache", value, state);
        break;
    case KEY_NO_CACHE:
        cache->none = true;
        break;
    case KEY_REPLAY:
        cache->replay = command_name("--replay", value, state);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

error_t checkpoint_option(int key, const char *value, struct argp_state *state, struct checkpoint_options *options)
{
    switch (key) {
    case KEY_CHECKPOINTS:
        options->folder = command_name("--checkpoints", value, state);
        options->seconds = options->every ? options->seconds : CHECKPOINT_SECONDS;
        break;
    case KEY_CHECKPOINTS_EVERY:
        options->every = value;
        if (!duration_parse(value, &options->seconds))
            argp_error(state, "--checkpoint-every is a time like 90s, 30m or 1h, not `%s`", value);
        break;
    case ARGP_KEY_END:
        if (options->every && !options->folder)
            argp_error(state, "--checkpoint-every needs --checkpoints");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const char *cache_folder(struct cache_options *cache)
{
    if (cache->none)
        return NULL;
    if (cache->folder)
        return cache->folder;
    return corun_cache_directory(cache->room, sizeof cache->room) ? cache->room : NULL;
}
