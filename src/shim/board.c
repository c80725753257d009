/* SPDX-License-Identifier: MIT */
/*
 * The file of boards, and what the board says of how long runs and launches of the program took: runs as the program tells (corun/client.h), launches as the shim has
 * timed them.
 */
#include "shim/board.h"

#include "corun/status.h"
#include "cuda/settings.h"
#include "shim/below.h"
#include "shim/govern.h"
#include "wire/board.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void board_fill_name(char name[WIRE_NAME_BYTES])
{
    char path[4096];
    const char *given = getenv(setting_NAME), *slash;
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 1);
    path[bytes > 0 ? bytes : 0] = 0;
    slash = strrchr(path, '/');
    snprintf(name, WIRE_NAME_BYTES, "%.63s", given && *given ? given : slash ? slash + 1 : "program");
}

struct board_front *board_map(const struct wire_link *link)
{
    struct stat file;
    if (link->file < 0 || fstat(link->file, &file) != 0 || file.st_size != BOARD_FILE_BYTES ||
        (fcntl(link->file, F_GET_SEALS) & F_SEAL_SHRINK) == 0)
        return NULL;
    void *pages = mmap(NULL, BOARD_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, link->file, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void govern_tell_time(float milliseconds)
{
    struct board *board = govern_board();
    uint32_t bits;
    if (!board)
        return;
    memcpy(&bits, &milliseconds, sizeof bits);
    uint64_t number = atomic_fetch_add(&board->timed, 1);
    atomic_store(&board->last_times[number % BOARD_TIMES], bits);
}

SHIM_EXPORT uint64_t corun_shim_begin_run(void);
uint64_t corun_shim_begin_run(void)
{
    return govern_board() ? govern_now() : 0;
}

SHIM_EXPORT enum corun_status corun_shim_end_run(uint64_t begun);
enum corun_status corun_shim_end_run(uint64_t begun)
{
    struct board *board = govern_board();
    uint64_t time = govern_now();
    if (!board)
        return CORUN_UNSUPPORTED;
    if (!begun || begun > time)
        return CORUN_ARGUMENT;
    atomic_fetch_add(&board->run_ns, time - begun);
    uint64_t number = atomic_fetch_add(&board->runs, 1);
    atomic_store(&board->last_runs[number % BOARD_RUNS], time - begun);
    return CORUN_OK;
}
