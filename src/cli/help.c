/* SPDX-License-Identifier: MIT */
/* corun help, and what all help texts end with: the exit statuses. */
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>

/* The list of exit statuses, one per line. */
static void command_print_statuses(FILE *stream)
{
    fputs("Exit status:\n", stream);
#define STATUS_LINE(name, exit_status, meaning) fprintf(stream, "  %3d  %s\n", exit_status, meaning);
    CORUN_STATUSES(STATUS_LINE)
#undef STATUS_LINE
    fprintf(stream, "  %3d  ended early by SIGINT, after the report\n", EXIT_INTERRUPTED);
}

char *command_help_filter(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    char *ending = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&ending, &bytes);
    if (!stream)
        return (char *)text;
    if (text)
        fprintf(stream, "%s\n\n", text);
    command_print_statuses(stream);
    fclose(stream);
    return ending; /* argp frees it */
}

int command_help(int argc, char **argv)
{
    static const struct {
        const char *name, *summary;
    } rows[] = {
#define HELP_ROW(name, summary) {#name, summary},
        CORUN_COMMANDS(HELP_ROW)
#undef HELP_ROW
    };
    if (argc > 1 && argv[1][0] != '-') {
        char option[] = "--help", *arguments[] = {NULL, option, NULL};
        return command_dispatch(argv[1], 2, arguments);
    }
    puts("Usage: corun COMMAND [OPTION...] [ARGUMENT...]\n"
         "Several CUDA applications share one simulated GPU, and each gets the service it\n"
         "asked for.\n\n"
         "Commands:");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        printf("  %-12s  %s\n", rows[i].name, rows[i].summary);
    puts("\n`corun COMMAND --help` tells its options.\n\n"
         "Examples:\n"
         "  corun run --policy even sgemm:goal=90% spmv\n"
         "  corun run --gpu gtx980:sms=8,l2=4M --policy cooperative --cycles 1M \\\n"
         "        lbm@small stencil@small:start=20K\n"
         "  corun launch vector_add.ptx --kernel vector_add --grid 64 --block 256 \\\n"
         "        --arg buf=64K:random:1 --arg buf=64K:random:2 --arg buf=64K \\\n"
         "        --arg u32=16384 --save 2=sum.bin\n"
         "  corun exec --gpu quadro-v100 -- ./program arguments\n"
         "  corun cc saxpy.cu -o saxpy\n"
         "  corun reproduce hpca12-fig5 --budget 10m\n\n"
         "Environment:\n"
         "  COLUMNS         to what width long names in tables lose their middle where no\n"
         "                  terminal is, from 80 on [120]\n"
         "  CORUN_DATA      where GPUs and workloads are, if not beside corun\n"
         "  CORUN_PYTHON    the python3 that makes reports\n"
         "  CORUN_CLANG     the clang of `corun cc`\n"
         "  CORUN_LIBCLC    the math library of `corun cc`, nvptx64--nvidiacl.bc\n"
         "  XDG_CACHE_HOME  baselines and sliced kernels are kept in its folder corun\n"
         "                  [~/.cache]\n"
         "  NO_COLOR        no colours on a terminal\n");
    command_print_statuses(stdout);
    return 0;
}
