/* SPDX-License-Identifier: MIT */
/* Messages, streams and their ends. */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST_WIDTH 80u /* of tables: less is not legible */
#define USUAL_WIDTH 120 /* where nobody says how wide they may be */
#define LINKS_MAX 40    /* behind one another, as the system has it */

/* What an input file has in a message must not move the cursor of a terminal, nor begin a line. */
static void put_clean(const char *text)
{
    for (; *text; text++)
        fputc(*text == '\n' || *text == '\t' ? ' ' : (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, stderr);
}

int output_diagnostics(const struct corun_diagnostics *list, enum corun_status status)
{
    size_t count = list ? corun_diagnostics_count(list) : 0;
    bool explained = false, stopped = false;
    fflush(stdout); /* so that messages come after what was printed before */
    for (size_t i = 0; i < count; i++) {
        const struct corun_diagnostic *item = corun_diagnostics_get(list, i);
        fputs("corun: ", stderr);
        if (item->place.file) {
            put_clean(item->place.file);
            fputc(':', stderr);
            if (item->place.line)
                fprintf(stderr, "%u:", item->place.line);
            if (item->place.line && item->place.column)
                fprintf(stderr, "%u:", item->place.column);
            fputc(' ', stderr);
        }
        fputs(item->status == CORUN_OK ? "warning: " : "", stderr);
        put_clean(item->message);
        fputc('\n', stderr);
        explained = explained || item->status != CORUN_OK;
        stopped = stopped || item->status == CORUN_WATCHDOG;
    }
    if (stopped)
        fputs("corun: a kernel that is not endless needs a larger --watchdog\n", stderr);
    if (status != CORUN_OK && !explained)
        fprintf(stderr, "corun: %s\n", corun_status_meaning(status));
    return corun_status_exit(status);
}

/* Of the terminal; else as COLUMNS says, else what most screens and editors show. */
static uint32_t width_of(FILE *stream)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long width = !ioctl(fileno(stream), TIOCGWINSZ, &size) ? size.ws_col : 0;
    if (width <= 0)
        width = columns ? strtol(columns, NULL, 10) : 0;
    if (width <= 0 || width > INT16_MAX)
        width = USUAL_WIDTH;
    return width < LEAST_WIDTH ? LEAST_WIDTH : (uint32_t)width;
}

struct report_style output_style(FILE *stream)
{
    bool terminal = isatty(fileno(stream));
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    return (struct report_style){.width = width_of(stream),
                                 .wraps = terminal,
                                 .utf8 = terminal && !strcmp(nl_langinfo(CODESET), "UTF-8"),
                                 .colour = terminal && term && strcmp(term, "dumb") && !(no_colour && no_colour[0])};
}

static void close_stdout(void)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed = fflush(stdout) || failed;
    failed = failed || fclose(stdout);
    if (!failed)
        return;
    /* When an earlier write failed, its reason is gone: the same happens again. */
    if (!errno && write(STDOUT_FILENO, "\n", 1) == 1)
        errno = EIO;
    if (errno != EPIPE) /* whoever closed a pipe does not want to hear about it */
        fprintf(stderr, "corun: standard output cannot be written: %s\n", strerror(errno));
    _exit(corun_status_exit(CORUN_FILE));
}

void output_guard(void)
{
    atexit(close_stdout);
}

/* Which file a path means, also one that is not there yet: then its folder and its name there. */
struct identity {
    bool known;
    dev_t device;
    ino_t number;
    const char *name; /* NULL: it is there */
    mode_t mode;
};

/* In which folder it lies; the caller frees. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

/* The path behind links, also behind one to a file that is not there yet; NULL when out of memory. The caller frees. */
static char *follow(const char *path)
{
    char *found = realpath(path, NULL), to[PATH_BYTES];
    if (found)
        return found;
    found = strdup(path);
    for (int links = 0; found && links < LINKS_MAX; links++) {
        ssize_t length = readlink(found, to, sizeof to - 1);
        if (length < 0)
            break;
        to[length] = 0;
        char *folder = folder_of(found), *next = NULL;
        if (folder && asprintf(&next, "%s%s%s", to[0] == '/' ? "" : folder, to[0] == '/' ? "" : "/", to) < 0)
            next = NULL;
        free(folder);
        free(found);
        found = next;
    }
    return found;
}

/* The name of one that is not there lies in *room, which the caller frees. */
static struct identity identify(const char *path, char **room)
{
    struct stat about;
    bool is_stdout = !strcmp(path, "-");
    *room = NULL;
    if (is_stdout ? !fstat(STDOUT_FILENO, &about) : !stat(path, &about))
        return (struct identity){true, about.st_dev, about.st_ino, NULL, about.st_mode};
    char *whole = is_stdout ? NULL : follow(path), *folder = whole ? folder_of(whole) : NULL;
    bool known = folder && !stat(folder, &about);
    free(folder);
    *room = whole;
    const char *slash = whole ? strrchr(whole, '/') : NULL;
    return (struct identity){known, about.st_dev, about.st_ino, slash ? slash + 1 : whole ? whole : "", 0};
}

/* Whether both paths mean one file. Devices take what comes, as /dev/null does, and folders hold several files. */
static bool is_same(const char *left_path, const char *right_path)
{
    char *left_room, *right_room;
    struct identity left = identify(left_path, &left_room), right = identify(right_path, &right_room);
    bool same = left.known && right.known && left.device == right.device && left.number == right.number &&
                !left.name == !right.name && (!left.name || !strcmp(left.name, right.name)) && !S_ISCHR(left.mode) &&
                !S_ISDIR(left.mode);
    free(left_room);
    free(right_room);
    return same;
}

/* What a slip of the pen would destroy: no output of ours is named or marked like that, unless its own files are. */
static const char *why_kept(const char *path, const char *own)
{
    static const struct {
        const char *ending, *kind;
    } inputs[] = {{".ptx", "PTX"},         {".cu", "CUDA C"},    {".yaml", "a description"}, {".yml", "a description"},
                  {".corun", "a capture"}, {".so", "a library"}, {".db", "a results file"},  {".c", "C"},
                  {".py", "Python"}};
    struct stat about;
    size_t length = strlen(path);
    if (stat(path, &about) || !S_ISREG(about.st_mode))
        return NULL;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        size_t ending = strlen(inputs[i].ending);
        if (length > ending && !strcmp(path + length - ending, inputs[i].ending))
            return own && !strcmp(own, inputs[i].ending) ? NULL : inputs[i].kind;
    }
    return about.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH) ? "a program" : NULL;
}

enum corun_status outputs_check(const struct output *outputs, size_t count, struct corun_diagnostics *list)
{
    for (size_t i = 0; i < count; i++) {
        const struct output *output = &outputs[i];
        if (!output->path)
            continue;
        if (!*output->path)
            return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: the name of the file is missing",
                                output->option);
        const char *kept = why_kept(output->path, output->ending);
        if (kept)
            return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                                "%s: %s is there and is %s by its looks: it is not replaced", output->option,
                                output->path, kept);
        for (size_t k = 0; k < i; k++) {
            if (!outputs[k].path)
                continue;
            bool both = !strcmp(output->path, "-") && !strcmp(outputs[k].path, "-");
            if (both)
                return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s and %s cannot both go to standard output",
                                    outputs[k].option, output->option);
            if (is_same(output->path, outputs[k].path))
                return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s and %s cannot both go to %s",
                                    outputs[k].option, output->option, output->path);
        }
    }
    return CORUN_OK;
}

enum corun_status outputs_spare(const struct output *outputs, size_t count, const char *word,
                                struct corun_diagnostics *list)
{
    char *path = word ? strdup(word) : NULL;
    enum corun_status status = path || !word ? CORUN_OK : CORUN_MEMORY;
    for (size_t length = path ? strlen(path) : 0; length && status == CORUN_OK; length--) {
        if (word[length] && word[length] != '@' && word[length] != ':')
            continue;
        path[length] = 0;
        for (size_t i = 0; i < count && !access(path, F_OK) && status == CORUN_OK; i++) {
            if (!outputs[i].path || !strcmp(outputs[i].path, "-"))
                continue;
            if (is_same(path, outputs[i].path))
                status = corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: %s is read: it is not replaced",
                                      outputs[i].option, outputs[i].path);
        }
    }
    free(path);
    return status;
}

/*
 * A file in the folder of `target` that has no name yet, so that nothing is left of it when the process is killed. NULL
 * where the file system has none, and for what is no plain file.
 */
static FILE *open_nameless(const char *target)
{
    struct stat about;
    char *folder = folder_of(target);
    bool plain = stat(target, &about) ? errno == ENOENT : S_ISREG(about.st_mode) && !access(target, W_OK);
    int descriptor = plain && folder ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!file && descriptor >= 0)
        close(descriptor);
    free(folder);
    return file;
}

static bool open_output(struct output *output)
{
    if (!strcmp(output->path, "-")) {
        output->file = stdout;
        return true;
    }
    if (output->stays) {
        int descriptor = open(output->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        output->file = descriptor < 0 ? NULL : fdopen(descriptor, "r+");
        if (!output->file && descriptor >= 0)
            close(descriptor);
        return output->file != NULL;
    }
    char *target = follow(output->path);
    output->file = target ? open_nameless(target) : NULL;
    if (output->file) {
        output->target = target;
        return true;
    }
    free(target);
    output->file = fopen(output->path, "we");
    return output->file != NULL;
}

/* Gives it its name; in place of another file by way of a third name, as a link replaces nothing. */
static bool give_name(const struct output *output)
{
    char file[40], *between = NULL;
    snprintf(file, sizeof file, "/proc/self/fd/%d", fileno(output->file));
    if (!linkat(AT_FDCWD, file, AT_FDCWD, output->target, AT_SYMLINK_FOLLOW))
        return true;
    if (errno != EEXIST || asprintf(&between, "%s.%ld", output->target, (long)getpid()) < 0)
        return false;
    bool good = !linkat(AT_FDCWD, file, AT_FDCWD, between, AT_SYMLINK_FOLLOW) && !rename(between, output->target);
    int problem = errno;
    if (!good)
        unlink(between);
    free(between);
    errno = problem;
    return good;
}

enum corun_status outputs_open(struct output *outputs, size_t count, struct corun_diagnostics *list)
{
    enum corun_status status = outputs_check(outputs, count, list);
    for (size_t i = 0; i < count && status == CORUN_OK; i++) {
        if (outputs[i].path && !outputs[i].later && !open_output(&outputs[i]))
            status = corun_report(list, CORUN_FILE, (struct corun_place){outputs[i].path, 0, 0},
                                  "cannot be written: %s", strerror(errno));
    }
    return status == CORUN_OK ? CORUN_OK : outputs_close(outputs, count, status, list);
}

/* False with errno. What stays empty because of an error takes no place. */
static bool close_output(struct output *output, bool wanted)
{
    FILE *file = output->file;
    bool good = !ferror(file);
    errno = 0;
    good = !fflush(file) && good;
    if (!good && !errno &&
        write(fileno(file), "\n", 1) == 1) /* the reason of an earlier write is gone: the same happens again */
        errno = EIO;
    if (good && output->target && (wanted || ftell(file) > 0))
        good = give_name(output);
    int problem = errno;
    if (fclose(file) && good) {
        good = false;
        problem = errno;
    }
    errno = problem;
    return good;
}

enum corun_status outputs_close(struct output *outputs, size_t count, enum corun_status status,
                                struct corun_diagnostics *list)
{
    bool wanted = status == CORUN_OK;
    for (size_t i = 0; i < count; i++) {
        struct output *output = &outputs[i];
        if (output->file && output->file != stdout && !close_output(output, wanted)) {
            corun_report(list, CORUN_FILE, (struct corun_place){output->path, 0, 0},
                         "not everything could be written%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
            status = status == CORUN_OK ? CORUN_FILE : status;
        }
        free(output->target);
        output->target = NULL;
        output->file = NULL;
    }
    return status;
}
