/* SPDX-License-Identifier: MIT */
/* Asking and becoming another corund. */
#include "daemon/upgrade.h"

#include "base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define VARIABLE "CORUND_TAKES_OVER" /* the descriptor of what is handed over */
#define ANSWER_MS 10000
#define MOST_WORDS 1024u
#define MOST_WORDS_BYTES 131072u

bool upgrade_file(char path[UPGRADE_PATH_BYTES])
{
    ssize_t length = readlink("/proc/self/exe", path, UPGRADE_PATH_BYTES - 1);
    path[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* The command line of this process, as it was started. */
struct words {
    char text[MOST_WORDS_BYTES];
    char *argv[MOST_WORDS + 2];
    uint32_t count;
};

static bool read_words(struct words *words)
{
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    size_t bytes = 0;
    for (ssize_t got = 1; file >= 0 && got > 0 && bytes < sizeof words->text - 1; bytes += (size_t)(got > 0 ? got : 0))
        got = read(file, words->text + bytes, sizeof words->text - 1 - bytes);
    if (file >= 0)
        close(file);
    for (size_t at = 0; at < bytes && words->count < MOST_WORDS; at += strlen(words->text + at) + 1)
        words->argv[words->count++] = words->text + at;
    return words->count && words->count < MOST_WORDS && bytes < sizeof words->text - 1;
}

/* ---- asking ---- */

static int64_t now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Whether there is something to read, by then. Signals come meanwhile. */
static bool wait_for(int from, int64_t until_ms)
{
    struct pollfd wanted = {.fd = from, .events = POLLIN};
    for (;;) {
        int64_t left = until_ms - now_ms();
        int ready = poll(&wanted, 1, left > 0 ? (int)left : 0);
        if (ready >= 0 || errno != EINTR)
            return ready > 0;
    }
}

/* What it says within its time, up to the end of the first line. */
static void read_answer(int from, char *answer, size_t bytes)
{
    size_t length = 0;
    int64_t until_ms = now_ms() + ANSWER_MS;
    while (length < bytes - 1 && !memchr(answer, '\n', length) && wait_for(from, until_ms)) {
        ssize_t got = read(from, answer + length, bytes - 1 - length);
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    answer[length] = 0;
    answer[strcspn(answer, "\n")] = 0;
}

static bool ask(const char *path, struct words *words, char *answer, size_t bytes)
{
    char option[] = "--takes-over";
    int ends[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    words->argv[words->count] = option;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int problem = posix_spawn(&child, path, &actions, NULL, words->argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (!problem) {
        read_answer(ends[0], answer, bytes);
        (void)kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    words->argv[words->count] = NULL;
    return !problem;
}

const char *upgrade_problem(const char *path, const char *version)
{
    const char *problem = NULL;
    char answer[2 * HANDOVER_TEXT_BYTES] = "";
    struct words *words = calloc(1, sizeof *words);
    if (!words || !read_words(words))
        problem = "its own command line cannot be read";
    else if (!ask(path, words, answer, sizeof answer))
        problem = "its file cannot be started";
    else if (strcmp(answer, version) != 0)
        problem = "the new one is of another version, or would have other GPUs";
    free(words);
    return problem;
}

/* ---- becoming ---- */

static void keep_open(int descriptor, bool open)
{
    (void)fcntl(descriptor, F_SETFD, open ? 0 : FD_CLOEXEC);
}

static int write_state(const struct buffer *state)
{
    int file = memfd_create("corund-state", MFD_CLOEXEC);
    for (size_t done = 0; file >= 0 && done < state->bytes;) {
        ssize_t written = write(file, state->data + done, state->bytes - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            close(file);
            return -1;
        }
        done += (size_t)written;
    }
    return file;
}

/* Those that would end a process that does not listen to them yet. */
static sigset_t kept_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

void upgrade_hold(void)
{
    const sigset_t set = kept_signals();
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void upgrade_hear(void)
{
    const sigset_t set = kept_signals();
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int upgrade_become(const char *path, const struct buffer *state, const int *descriptors, size_t count)
{
    char number[16];
    struct words *words = calloc(1, sizeof *words);
    int file = write_state(state), problem = words && read_words(words) && file >= 0 ? 0 : EIO;
    if (!problem) {
        snprintf(number, sizeof number, "%d", file);
        problem = setenv(VARIABLE, number, 1) ? errno : 0;
    }
    if (!problem) {
        keep_open(file, true);
        for (size_t i = 0; i < count; i++)
            keep_open(descriptors[i], true);
        (void)signal(SIGUSR2, SIG_IGN); /* until it is listened to again */
        execv(path, words->argv);
        problem = errno;
        for (size_t i = 0; i < count; i++)
            keep_open(descriptors[i], false);
        unsetenv(VARIABLE);
    }
    if (file >= 0)
        close(file);
    free(words);
    return problem;
}

bool upgrade_takes_over(void)
{
    return getenv(VARIABLE) != NULL;
}

bool upgrade_state(uint8_t **data, size_t *bytes)
{
    const char *text = getenv(VARIABLE);
    uint64_t number;
    struct stat about;
    *data = NULL;
    if (!text || !number_parse(text, 1000, &number) || number > INT32_MAX || fstat((int)number, &about) != 0 ||
        about.st_size <= 0)
        return false;
    unsetenv(VARIABLE);
    *bytes = (size_t)about.st_size;
    *data = malloc(*bytes);
    size_t done = 0;
    for (ssize_t got = 1; *data && got > 0 && done < *bytes; done += (size_t)(got > 0 ? got : 0))
        got = pread((int)number, *data + done, *bytes - done, (off_t)done);
    close((int)number);
    return *data && done == *bytes;
}
