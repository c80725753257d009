/* SPDX-License-Identifier: MIT */
/*
 * corun cc: CUDA C compiled with clang alone, where no toolkit is. Device code becomes PTX, which lies in the host code
 * of its file as nvcc puts it there; the program is linked with the names that a toolkit's runtime has.
 */
#include "base/vector.h"
#include "cli/program.h"
#include "corun/workload.h"
#include "cuda/fat_binary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PACKAGES "(Debian: apt-get install clang-14 libclc-14 g++)"

enum { KEY_OUTPUT = 'o', KEY_COMPILE = 'c', KEY_VERBOSE = 'v', KEY_STANDARD = 0x100, KEY_ARCHITECTURE };

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "FILE", 0, "where to: PTX if it ends in .ptx, else a program [a.out]", 1},
    {"compile", KEY_COMPILE, NULL, 0, "an object file, host and device code, to be linked later", 1},
    {"include", 'I', "DIR", 0, "where else headers are", 2},
    {"define", 'D', "NAME[=VALUE]", 0, "a macro", 2},
    {"optimize", 'O', "LEVEL", 0, "how far both sides are optimised [3]", 2},
    {"std", KEY_STANDARD, "STANDARD", 0, "the language [c++14]", 2},
    {"arch", KEY_ARCHITECTURE, "sm_NN", 0, "the architecture that the PTX is for; every GPU runs it [sm_52]", 2},
    {"library", 'l', "NAME", 0, "to link with", 3},
    {"library-path", 'L', "DIR", 0, "where else libraries are", 3},
    {"verbose", KEY_VERBOSE, NULL, 0, "show the commands", 3},
    {0},
};

static const char doc[] =
    "Compiles CUDA C with clang alone: `corun cc saxpy.cu -o saxpy`, then `corun exec -- ./saxpy`. With -o saxpy.ptx, "
    "the device code of one file, for `corun launch`. C and C++ files, objects and archives are linked as they are. "
    "Headers stand for the toolkit's: a part of the runtime API and of the device functions (docs/cuda-cc.md).\vWhat "
    "follows -- is for clang, in every compilation.";

struct cc_options {
    struct command command;
    struct guard guard;
    const char *output, *optimize, *standard, *architecture;
    bool compile_only, verbose;
    VECTOR(const char *) inputs, flags, libraries;
    const char *clang, *math, *folder;
    char headers[PATH_BYTES + 8], cuda_libraries[PATH_BYTES];
};

struct words {
    VECTOR(const char *) list;
    bool failed; /* out of memory */
};

static void add(struct words *words, const char *word)
{
    words->failed |= !word || !vector_push(&words->list, word);
}

static void add_all(struct words *words, const char *const *some)
{
    for (; *some; some++)
        add(words, *some);
}

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), bytes = strlen(ending);
    return length > bytes && !strcmp(path + length - bytes, ending);
}

static void check_words(const struct cc_options *cc, struct argp_state *state)
{
    size_t sources = 0;
    for (size_t i = 0; i < cc->inputs.count; i++)
        sources += ends_in(cc->inputs.data[i], ".cu");
    bool one = sources == 1 && cc->inputs.count == 1;
    if (!cc->inputs.count)
        argp_error(state, "a file is missing");
    if (cc->compile_only && !(one && cc->output))
        argp_error(state, "-c makes an object of one .cu file, and -o names it");
    if (ends_in(cc->output ? cc->output : "", ".ptx") && (!one || cc->compile_only))
        argp_error(state, "PTX is made of one .cu file");
}

/* Of an empty word clang would make another option, or take the next one as its value. */
static const char *given(const char *option, const char *value, struct argp_state *state)
{
    if (!*value)
        argp_error(state, "%s: its value is missing", option);
    return value;
}

/* False when out of memory. */
static bool pass_on(struct cc_options *cc, int key, const char *value, struct argp_state *state)
{
    const char option[] = {'-', (char)key, 0};
    const char *word = arena_format(cc->command.arena, "%s%s", option, given(option, value, state));
    return word && (key == 'I' || key == 'D' ? vector_push(&cc->flags, word) : vector_push(&cc->libraries, word));
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct cc_options *cc = state->input;
    bool good = true;
    switch (key) {
    case KEY_OUTPUT:
        cc->output = command_name("-o", value, state);
        break;
    case KEY_COMPILE:
        cc->compile_only = true;
        break;
    case KEY_VERBOSE:
        cc->verbose = true;
        break;
    case KEY_STANDARD:
        cc->standard = given("--std", value, state);
        break;
    case KEY_ARCHITECTURE:
        if (strncmp(value, "sm_", 3) || strspn(value + 3, "0123456789") != strlen(value) - 3 || !value[3])
            argp_error(state, "--arch is an architecture like sm_52, not `%s`", value);
        cc->architecture = value;
        break;
    case 'O':
        cc->optimize = given("-O", value, state);
        break;
    case 'I':
    case 'D':
    case 'l':
    case 'L':
        good = pass_on(cc, key, value, state);
        break;
    case ARGP_KEY_ARG:
        good = vector_push(&cc->inputs, value);
        break;
    case ARGP_KEY_END:
        check_words(cc, state);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    if (!good)
        command_keep(&cc->command, CORUN_MEMORY);
    return 0;
}

static int become_clang(const void *user)
{
    const struct words *words = user;
    execvp(words->list.data[0], (char *const *)words->list.data); /* which changes none of them */
    return errno;
}

/* Runs a command, which has its own words for what is wrong. Takes them. */
static enum corun_status perform(struct cc_options *cc, struct words *words, const char *file)
{
    struct corun_diagnostics *list = cc->command.list;
    enum corun_status status = CORUN_OK;
    size_t count = words->list.count;
    if (words->failed || !vector_push(&words->list, (const char *)NULL)) {
        vector_free(&words->list);
        return CORUN_MEMORY;
    }
    for (size_t i = 0; cc->verbose && i < count; i++)
        fprintf(stderr, "%s%c", words->list.data[i], i + 1 < count ? ' ' : '\n');
    cc->guard.become = become_clang;
    cc->guard.user = words;
    cc->guard.folder = cc->folder;
    int problem = guard_run(&cc->guard);
    if (problem)
        status = corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "%s cannot be started: %s " PACKAGES, cc->clang,
                              strerror(problem));
    else if (cc->guard.status)
        status = corun_report(list, CORUN_SYNTAX, (struct corun_place){file, 0, 0}, "%s has not %s", cc->clang,
                              file == cc->output ? "linked it" : "compiled it");
    vector_free(&words->list);
    return status;
}

/* What both compilations of a file have, and what one of them has of its own. What the user says comes after that, and wins. */
static void add_common(const struct cc_options *cc, struct words *words, const char *const *own)
{
    struct arena *arena = cc->command.arena;
    add_all(words,
            (const char *const[]){cc->clang, "-x", "cuda", "-nocudainc", "-nocudalib", "--cuda-path=/nonexistent",
                                  "-fdeclspec", "-fno-crash-diagnostics", "-Xclang", "-target-sdk-version=11.0",
                                  "-Wno-linker-warnings", "-include", "cuda_runtime.h", NULL});
    add(words, arena_format(arena, "--cuda-gpu-arch=%s", cc->architecture));
    add(words, arena_format(arena, "-std=%s", cc->standard));
    add(words, arena_format(arena, "-O%s", cc->optimize));
    add_all(words, own);
    for (size_t i = 0; i < cc->flags.count; i++)
        add(words, cc->flags.data[i]);
    add(words, "-I");
    add(words, cc->headers);
}

static enum corun_status cannot_be(struct cc_options *cc, const char *path, const char *what)
{
    return corun_report(cc->command.list, CORUN_FILE, (struct corun_place){path, 0, 0}, "cannot be %s: %s", what,
                        strerror(errno));
}

/* All of a text, with a zero behind it, which the caller frees. NULL: it cannot be read. */
static char *read_text(const char *path, size_t *length)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *in = fopen(path, "re");
    ssize_t got = in ? getdelim(&text, &bytes, 0, in) : -1;
    if (in)
        fclose(in);
    if (got >= 0) {
        *length = (size_t)got;
        return text;
    }
    free(text);
    return NULL;
}

/*
 * clang 14 knows a rotation in `x << (n & 63) | x >> (-n & 63)`, leaves the masks out, since a rotation goes round, and
 * makes of it for 64 bits (and before sm_35 for 32)
 *     shl.b64 %lhs, x, n;  sub.u32 %amt2, 64, n;  shr.b64 %rhs, x, %amt2;
 * whose shifts do not go round: they give 0 for an n of 64 and more. Writes a text in which n is masked first.
 */
static void write_masked(const char *text, FILE *out)
{
    char lines[256], left[4], value[64], number[64], same[64], sign;
    int bits, width;
    while (*text) {
        size_t line = strcspn(text, "\n");
        size_t next = text[line] ? strcspn(text + line + 1, "\n") : 0;
        snprintf(lines, sizeof lines, "%.*s", (int)(line + 1 + next), text);
        if (sscanf(lines, " %3[shlr].b%d %%lhs, %63[^,], %63[^;]; sub.%c32 %%amt2, %d, %63[^;];", left, &bits, value,
                   number, &sign, &width, same) == 7 &&
            bits == width && *number == '%' && !strcmp(number, same)) {
            fprintf(out, "\tand.b32 \t%%amt2, %s, %d;\n\t%s.b%d \t%%lhs, %s, %%amt2;\n\tsub.%c32 \t%%amt2, %d, %%amt2;",
                    number, bits - 1, left, bits, value, sign, bits);
            line += 1 + next;
        } else {
            fwrite(text, 1, line, out);
        }
        text += line;
        if (*text)
            fputc(*text++, out);
    }
}

static enum corun_status mask_rotations(struct cc_options *cc, const char *ptx)
{
    size_t length = 0;
    if (access(ptx, F_OK)) /* what the user says may be that nothing is written */
        return CORUN_OK;
    char *text = read_text(ptx, &length);
    enum corun_status status = text ? CORUN_OK : cannot_be(cc, ptx, "read");
    if (text && strstr(text, "%amt2")) {
        FILE *out = fopen(ptx, "we");
        if (out)
            write_masked(text, out);
        bool good = out && !ferror(out);
        if (out)
            good = !fclose(out) && good;
        status = good ? CORUN_OK : cannot_be(cc, ptx, "written");
    }
    free(text);
    return status;
}

/* As nvcc does, multiplications and additions are fused; the version is the lowest that has the operations with .sync. */
static enum corun_status make_ptx(struct cc_options *cc, const char *source, const char *ptx)
{
    struct words words = {0};
    add_common(cc, &words,
               (const char *const[]){"--cuda-device-only", "-S", "-ffp-contract=on", "-Xclang", "-target-feature",
                                     "-Xclang", "+ptx63", "-Xclang", "-mlink-builtin-bitcode", "-Xclang", cc->math,
                                     NULL});
    add_all(&words, (const char *const[]){"-o", ptx, source, NULL});
    enum corun_status status = perform(cc, &words, source);
    return status == CORUN_OK ? mask_rotations(cc, ptx) : status;
}

static enum corun_status make_fat_binary(struct cc_options *cc, const char *ptx, const char *binary)
{
    size_t length = 0, made_bytes = 0;
    char *text = read_text(ptx, &length);
    if (!text)
        return cannot_be(cc, ptx, "read");
    void *made = fat_binary_make(text, length, (uint32_t)strtoul(cc->architecture + 3, NULL, 10), &made_bytes);
    free(text);
    if (!made)
        return CORUN_MEMORY;
    FILE *out = fopen(binary, "we");
    bool good = out && fwrite(made, 1, made_bytes, out) == made_bytes;
    if (out)
        good = !fclose(out) && good;
    free(made);
    return good ? CORUN_OK : cannot_be(cc, binary, "written");
}

static enum corun_status make_object(struct cc_options *cc, const char *source, size_t number, const char *object)
{
    struct arena *arena = cc->command.arena;
    const char *ptx = arena_format(arena, "%s/%zu.ptx", cc->folder, number);
    const char *binary = arena_format(arena, "%s/%zu.fatbin", cc->folder, number);
    if (!ptx || !binary || !object)
        return CORUN_MEMORY;
    enum corun_status status = make_ptx(cc, source, ptx);
    if (status == CORUN_OK)
        status = make_fat_binary(cc, ptx, binary);
    if (status != CORUN_OK)
        return status;
    struct words words = {0};
    add_common(cc, &words,
               (const char *const[]){"--cuda-host-only", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", binary, "-c",
                                     NULL});
    add_all(&words, (const char *const[]){"-o", object, source, NULL});
    return perform(cc, &words, source);
}

/* With the names that a toolkit's libraries have, so that the program runs with these, too. */
static enum corun_status make_program(struct cc_options *cc)
{
    struct arena *arena = cc->command.arena;
    struct words words = {0};
    add_all(&words, (const char *const[]){cc->clang, "--driver-mode=g++", "-pthread", "-o", cc->output, NULL});
    for (size_t i = 0; i < cc->inputs.count; i++) {
        bool cuda = ends_in(cc->inputs.data[i], ".cu");
        const char *object = cuda ? arena_format(arena, "%s/%zu.o", cc->folder, i) : cc->inputs.data[i];
        enum corun_status status = cuda ? make_object(cc, cc->inputs.data[i], i, object) : CORUN_OK;
        if (status != CORUN_OK) {
            vector_free(&words.list);
            return status;
        }
        add(&words, object);
    }
    add(&words, arena_format(arena, "-O%s", cc->optimize));
    for (size_t i = 0; i < cc->flags.count; i++)
        add(&words, cc->flags.data[i]);
    add(&words, "-I");
    add(&words, cc->headers);
    for (size_t i = 0; i < cc->libraries.count; i++)
        add(&words, cc->libraries.data[i]);
    add(&words, arena_format(arena, "-L%s", cc->cuda_libraries));
    add_all(&words, (const char *const[]){"-l:libcudart.so.12", "-l:libcuda.so.1", NULL});
    add(&words, arena_format(arena, "-Wl,-rpath-link,%s", cc->cuda_libraries));
    return perform(cc, &words, cc->output);
}

static bool is_in_path(const char *name)
{
    char path[PATH_BYTES];
    const char *search = getenv("PATH");
    for (; search && *search; search += strcspn(search, ":"), search += *search == ':') {
        int written = snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(search, ":"), search, name);
        if (written > 0 && (size_t)written < sizeof path && !access(path, X_OK))
            return true;
    }
    return false;
}

/* Compiler, math library, headers, libraries. */
static enum corun_status find_parts(struct cc_options *cc)
{
    static const char *const maths[] = {"/usr/lib/clc/nvptx64--nvidiacl.bc", "/usr/share/clc/nvptx64--nvidiacl.bc"};
    struct corun_diagnostics *list = cc->command.list;
    const char *clang = getenv("CORUN_CLANG"), *math = getenv("CORUN_LIBCLC");
    char data[PATH_BYTES];
    cc->clang = clang && *clang ? clang : is_in_path("clang-14") ? "clang-14" : "clang";
    cc->math = math && *math ? math : NULL;
    for (size_t i = 0; i < sizeof maths / sizeof *maths && !cc->math; i++)
        cc->math = access(maths[i], R_OK) ? NULL : maths[i];
    if (!cc->math || access(cc->math, R_OK))
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                            "the math library of libclc is not there: nvptx64--nvidiacl.bc " PACKAGES
                            "; CORUN_LIBCLC says where else it is");
    enum corun_status status = corun_data_directory(data, sizeof data, list);
    snprintf(cc->headers, sizeof cc->headers, "%s/cuda", data);
    return status == CORUN_OK ? program_libraries(cc->cuda_libraries, list) : status;
}

static enum corun_status compile(struct cc_options *cc)
{
    const char *temporary = getenv("TMPDIR");
    const char *beginning =
        arena_format(cc->command.arena, "%s/corun-cc", temporary && *temporary ? temporary : P_tmpdir);
    if (!beginning)
        return CORUN_MEMORY;
    int problem = program_folder_make(cc->command.arena, beginning, &cc->folder);
    if (problem) {
        errno = problem;
        return cannot_be(cc, beginning, "made");
    }
    enum corun_status status = ends_in(cc->output, ".ptx") ? make_ptx(cc, cc->inputs.data[0], cc->output)
                               : cc->compile_only          ? make_object(cc, cc->inputs.data[0], 0, cc->output)
                                                           : make_program(cc);
    program_folder_remove(cc->folder);
    return status;
}

/* Before the work, which clang and the linker begin with the file that they write. */
static enum corun_status check_output(struct cc_options *cc)
{
    struct stat about;
    const char *slash = strrchr(cc->output, '/');
    const char *folder =
        !slash ? "." : arena_format(cc->command.arena, "%.*s", (int)(slash - cc->output) + 1, cc->output);
    if (!folder)
        return CORUN_MEMORY;
    bool there = !stat(cc->output, &about);
    errno = there && S_ISDIR(about.st_mode) ? EISDIR : 0;
    if (errno || access(there ? cc->output : folder, W_OK))
        return cannot_be(cc, cc->output, "written");
    return CORUN_OK;
}

static enum corun_status check_files(struct cc_options *cc)
{
    struct output output = {.option = "-o", .path = cc->output};
    enum corun_status status = CORUN_OK;
    for (size_t i = 0; i < cc->inputs.count && status == CORUN_OK; i++) {
        status = command_existing(cc->inputs.data[i], cc->command.list);
        if (status == CORUN_OK)
            status = outputs_spare(&output, 1, cc->inputs.data[i], cc->command.list);
    }
    return status == CORUN_OK ? check_output(cc) : status;
}

static enum corun_status run_cc(void *user)
{
    struct cc_options *cc = user;
    enum corun_status status = find_parts(cc);
    cc->output = cc->output ? cc->output : "a.out";
    if (status == CORUN_OK)
        status = check_files(cc);
    if (status != CORUN_OK)
        return status;
    guard_begin(&cc->guard);
    status = compile(cc);
    guard_end(&cc->guard);
    return status;
}

int command_cc(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "FILE... [-- OPTION-OF-CLANG...]",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct cc_options cc = {.optimize = "3", .standard = "c++14", .architecture = "sm_52"};
    int ours = 1; /* what follows -- is clang's; argp would mix it with the files */
    while (ours < argc && strcmp(argv[ours], "--"))
        ours++;
    for (int i = ours + 1; i < argc; i++)
        if (!vector_push(&cc.flags, (const char *)argv[i]))
            command_keep(&cc.command, CORUN_MEMORY);
    int exit_status = command_perform(&cc.command, &argp, ours, argv, run_cc, &cc);
    vector_free(&cc.inputs);
    vector_free(&cc.flags);
    vector_free(&cc.libraries);
    return exit_status;
}
