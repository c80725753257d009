/* SPDX-License-Identifier: MIT */
/*
 * Random control flow: loops with several ways in and out, switches, early ends, functions. Each lane of a warp computes what it computes as the only thread of
 * its thread block, by machine code and without, and a warp issues no more than its lanes would. `test_random_flow FIRST COUNT` tries others.
 */
#include "runner.h"

static uint64_t first_seed = 1, seed_count = 600;

enum { MOST_BLOCKS = 18, TEXT_BYTES = 65536, ROUNDS = 60 };

struct writer {
    char text[TEXT_BYTES];
    size_t length;
    uint64_t numbers;
    bool kernel;
    uint32_t blocks;
};

static void put(struct writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct writer *writer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    writer->length +=
        (size_t)vsnprintf(writer->text + writer->length, sizeof writer->text - writer->length, format, arguments);
    va_end(arguments);
    assert_true(writer->length < sizeof writer->text);
}

static uint32_t below(struct writer *writer, uint32_t bound)
{
    writer->numbers = writer->numbers * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(writer->numbers >> 33) % bound;
}

/* A block, most often one further on. */
static uint32_t target(struct writer *writer, uint32_t block)
{
    return below(writer, 10) < 7 ? block + 1 + below(writer, writer->blocks - block)
                                 : below(writer, writer->blocks + 1);
}

/* A condition of the lane in %p1: with few lanes, half of them, or all as one; in %p2 whether there are rounds left. */
static void put_condition(struct writer *writer)
{
    static const char *const of[] = {"%r1", "%r1", "%t", "%r2"};
    put(writer, "shr.u32 %%r3, %s, %u;\nand.b32 %%r3, %%r3, %u;\nsetp.eq.u32 %%p1, %%r3, %u;\n", of[below(writer, 4)],
        below(writer, 5), (1u << below(writer, 4)) - 1, below(writer, 2));
}

static void put_end(struct writer *writer)
{
    if (writer->kernel)
        put(writer, "st.global.u32 [%%mine], %%r1;\n%s;\n", below(writer, 2) ? "ret" : "exit");
    else
        put(writer, "mov.u32 %%value, %%r1;\nret;\n");
}

static void put_table(struct writer *writer, uint32_t block)
{
    const uint32_t count = 2 + below(writer, 5);
    put(writer, "{ TABLE: .branchtargets ");
    for (uint32_t i = 0; i < count; i++)
        put(writer, "%sL%u", i ? ", " : "", i ? target(writer, block) : block + 1);
    put(writer, ";\nshr.u32 %%r3, %%r1, %u;\nrem.u32 %%r3, %%r3, %u;\n@!%%p2 mov.u32 %%r3, 0;\n", below(writer, 9),
        count);
    put(writer, "%sbrx.idx %%r3, TABLE;\n}\n", below(writer, 3) ? "" : "@%p1 ");
}

static void put_block(struct writer *writer, uint32_t block)
{
    put(writer, "L%u:\nmad.lo.u32 %%r1, %%r1, %u, %%t;\nadd.u32 %%r2, %%r2, 1;\nsetp.lt.u32 %%p2, %%r2, %u;\n", block,
        2 * below(writer, 100000) + 1, ROUNDS);
    for (uint32_t i = below(writer, 4); i > 0; i--)
        put(writer, "xor.b32 %%r1, %%r1, %u;\n", below(writer, 1000));
    put_condition(writer);
    if (writer->kernel && below(writer, 8) == 0)
        put(writer, "call (%%r1), f, (%%r1, %%t);\n");
    switch (below(writer, 12)) {
    case 0:
        put(writer, "and.pred %%p1, %%p1, %%p2;\n");
        put_table(writer, block);
        break;
    case 1:
        put(writer, "bra L%u;\n", block + 1 + below(writer, writer->blocks - block));
        break;
    case 2:
        if (below(writer, 3) == 0)
            put_end(writer);
        break;
    case 3:
        if (writer->kernel)
            put(writer, "@%%p1 st.global.u32 [%%mine], %%r1;\n@%%p1 exit;\n");
        break;
    default:
        put(writer, "and.pred %%p1, %%p1, %%p2;\n@%%p1 bra L%u;\n", target(writer, block));
        break;
    }
}

static void put_blocks(struct writer *writer, bool kernel, uint32_t most)
{
    writer->kernel = kernel;
    writer->blocks = 3 + below(writer, most - 3);
    for (uint32_t i = 0; i < writer->blocks; i++)
        put_block(writer, i);
    put(writer, "L%u: xor.b32 %%r1, %%r1, %%r2;\n", writer->blocks);
    put_end(writer);
    put(writer, "}\n");
}

#define REGISTERS ".reg .pred %%p<4>;\n.reg .b32 %%r<8>;\n"

static void make(struct writer *writer, uint64_t seed)
{
    *writer = (struct writer){.numbers = seed * UINT64_C(0x9e3779b97f4a7c15)};
    put(writer, HEAD ".func (.reg .b32 %%value) f(.reg .b32 %%seed, .reg .b32 %%t) {\n" REGISTERS
                     "mov.u32 %%r1, %%seed;\nmov.u32 %%r2, 0;\n");
    put_blocks(writer, false, 8);
    put(writer, ".visible .entry k(.param .u64 p) {\n" REGISTERS
                ".reg .b64 %%out, %%mine;\n.reg .b32 %%t;\nld.param.u64 %%out, [p];\nmov.u32 %%t, %%tid.x;\n"
                "mov.u32 %%r1, %%ctaid.x;\nadd.u32 %%t, %%t, %%r1;\nmul.wide.u32 %%mine, %%t, 4;\n"
                "add.u64 %%mine, %%out, %%mine;\nmul.lo.u32 %%r1, %%t, 2654435769;\nmov.u32 %%r2, 0;\n");
    put_blocks(writer, true, MOST_BLOCKS);
}

/* The words of 32 threads, in one thread block or in one each. Gives the warp instructions. */
static uint64_t run(const struct writer *writer, bool together, bool code, uint32_t words[32])
{
    struct runner runner;
    runner_load(&runner, writer->text);
    runner_use_code(&runner, code);
    const uint32_t threads = together ? 32 : 1;
    const enum corun_status status = runner_run_grid(&runner, "k", (struct corun_dim3){32 / threads, 1, 1},
                                                     (struct corun_dim3){threads, 1, 1}, 0, &runner.out, 8, 100000000);
    if (status != CORUN_OK)
        fail_msg("%s: line %u\n%s", runner_message(&runner), runner_line(&runner), writer->text);
    memcpy(words, runner_words(&runner), 32 * sizeof *words);
    const uint64_t issued = runner.count.warp_instructions;
    runner_free(&runner);
    return issued;
}

static void lanes_do_what_they_do_alone(void **state)
{
    (void)state;
    static struct writer writer;
    uint64_t all_together = 0, all_alone = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        uint32_t alone[32], together[32], by_code[32];
        make(&writer, seed);
        const uint64_t most = run(&writer, false, false, alone);
        const uint64_t issued = run(&writer, true, false, together);
        const uint64_t by_code_issued = run(&writer, true, true, by_code);
        if (memcmp(alone, together, sizeof alone) || memcmp(alone, by_code, sizeof alone) || issued != by_code_issued ||
            issued > most)
            fail_msg("seed %llu, %llu and %llu warp instructions, %llu alone:\n%s", (unsigned long long)seed,
                     (unsigned long long)issued, (unsigned long long)by_code_issued, (unsigned long long)most,
                     writer.text);
        all_together += issued;
        all_alone += most;
    }
    print_message("%llu warp instructions, %llu of lanes alone\n", (unsigned long long)all_together,
                  (unsigned long long)all_alone);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        first_seed = strtoull(argv[1], NULL, 0);
        seed_count = strtoull(argv[2], NULL, 0);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(lanes_do_what_they_do_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
