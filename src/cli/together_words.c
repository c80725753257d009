/* SPDX-License-Identifier: MIT */
/* The command lines of several programs: `./a : --goal 90% -- ./b`. */
#include "cli/together.h"

#include "cli/region_options.h"

#include <string.h>

static const struct argp_option options[] = {
    {"goal", KEY_SHARE_GOAL, "GOAL", 0, NULL, 0},        {"isolated", KEY_SHARE_ISOLATED, "IPC", 0, NULL, 0},
    {"name", KEY_SHARE_NAME, "NAME", 0, NULL, 0},        {"functional", KEY_REGION_FUNCTIONAL, NULL, 0, NULL, 0},
    {"kernel", KEY_REGION_KERNEL, "NAME", 0, NULL, 0},   {"launch", KEY_REGION_LAUNCH, "FROM[-TO]", 0, NULL, 0},
    {"profiled", KEY_REGION_PROFILED, NULL, 0, NULL, 0}, {0}};

struct part {
    struct together *together;
    struct program program;
    FILE *errors;
    bool hinted;
};

/* A line of argp, the last of which says where there is help: for the whole command only, whatever program the mistake is in. */
static ssize_t tell_mistake(void *user, const char *line, size_t bytes)
{
    static const char hint[] = "Try `";
    bool *hinted = user, is_hint = bytes >= sizeof hint && !strncmp(line, hint, strlen(hint));
    if (is_hint && !*hinted)
        fputs("Try `corun exec --help' or `corun exec --usage' for more information.\n", stderr);
    else if (!*hinted)
        (void)fwrite(line, 1, bytes, stderr);
    *hinted |= is_hint;
    return (ssize_t)bytes;
}

/* NULL when out of memory. */
static FILE *open_errors(bool *hinted)
{
    FILE *errors = fopencookie(hinted, "w", (cookie_io_functions_t){.write = tell_mistake});
    if (errors)
        (void)setvbuf(errors, NULL, _IOLBF, BUFSIZ);
    return errors;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct part *part = state->input;
    if (key == ARGP_KEY_INIT) {
        state->err_stream = part->errors;
        return 0;
    }
    return share_option(key, value, state, part->together->command, &part->program) ||
                   region_option(key, value, state, &part->program)
               ? 0
               : program_option(key, state, &part->program);
}

static void add(struct together *together, const struct program *program, struct argp_state *state)
{
    if (!*program->words)
        argp_error(state, "a program is missing");
    if (together->programs.count == CORUN_MAX_APPLICATIONS)
        argp_error(state, "more than %u programs", CORUN_MAX_APPLICATIONS);
    if (!vector_push(&together->programs, *program))
        command_keep(together->command, CORUN_MEMORY);
}

/* The number of words before the next `:`, whose place becomes the end of a command line. */
static size_t cut(char **words)
{
    size_t count = 0;
    while (words[count] && strcmp(words[count], ":") != 0)
        count++;
    words[count] = NULL;
    return count;
}

/* What stands behind a `:`. The word before it is its own title, as argp wants one. */
static void parse_part(struct together *together, char **words, size_t count)
{
    static const struct argp argp = {.options = options, .parser = parse_option};
    char *title = arena_format(together->command->arena, "corun exec: program %zu", together->programs.count + 1);
    char **line = ARENA_ARRAY(together->command->arena, char *, count + 2);
    struct part part = {
        .together = together,
    };
    part.errors = open_errors(&part.hinted);
    if (!title || !line || !part.errors) {
        command_keep(together->command, CORUN_MEMORY);
        return;
    }
    line[0] = title;
    memcpy(line + 1, words, count * sizeof *words);
    struct argp_state state = {.root_argp = &argp, .name = title, .err_stream = part.errors, .out_stream = stdout};
    if (argp_parse(&argp, (int)count + 1, line, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, &part) == 0) {
        region_set(&part.program, &state, together->command);
        add(together, &part.program, &state);
    }
    fclose(part.errors);
}

/* Of its file, with a number where that is another one's. */
static const char *free_name(const struct together *together, size_t number)
{
    const char *path = together->programs.data[number].words[0], *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    int most = WIRE_NAME_BYTES - 8;
    char *name = arena_format(together->command->arena, "%.*s", most, *base ? base : "program");
    for (unsigned again = 2; name; again++) {
        bool taken = false;
        for (size_t i = 0; i < together->programs.count; i++)
            taken |= i != number && together->names[i] && !strcmp(together->names[i], name);
        if (!taken)
            break;
        name = arena_format(together->command->arena, "%.*s-%u", most, *base ? base : "program", again);
    }
    return name;
}

static void name_all(struct together *together, struct argp_state *state)
{
    size_t count = together->programs.count;
    together->names = ARENA_ARRAY(together->command->arena, const char *, count + 1);
    for (size_t i = 0; together->names && i < count; i++) {
        const char *name = together->programs.data[i].name;
        for (size_t k = 0; name && k < i; k++)
            if (together->names[k] && !strcmp(together->names[k], name))
                argp_error(state, "two programs have the name `%s`", name);
        together->names[i] = name;
    }
    for (size_t i = 0; together->names && i < count; i++) {
        if (!together->names[i] && !(together->names[i] = free_name(together, i)))
            command_keep(together->command, CORUN_MEMORY);
        together->programs.data[i].name = together->names[i];
    }
    if (!together->names)
        command_keep(together->command, CORUN_MEMORY);
}

void together_split(struct together *together, const struct program *first, char **words, struct argp_state *state)
{
    struct program program = *first;
    size_t end = 0;
    while (words[end])
        end++;
    program.words = words;
    size_t at = cut(words);
    add(together, &program, state);
    while (at < end && together->command->status == CORUN_OK) {
        char **next = words + at + 1;
        size_t count = cut(next);
        parse_part(together, next, count);
        at += 1 + count;
    }
    name_all(together, state);
}
