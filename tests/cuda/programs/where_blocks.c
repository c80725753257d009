/* SPDX-License-Identifier: MIT */
/*
 * where_blocks LAUNCHES BLOCKS LOOPS: launches of thread blocks that say on which SM they are, and how often each of them has run. A line for each launch
 * with the SMs on which it was, in order. The last line comes when every thread block of every launch has run once. LAUNCHES -: until the standard input
 * has ended, at least one.
 */
#include "driver_test.h"

#include <poll.h>

enum { MOST_BLOCKS = 1 << 16, MOST_SMS = 1024, THREADS = 64 };

static const char text[] = ".version 6.3\n.target sm_52\n.address_size 64\n"
                           ".visible .entry where(.param .u64 sms, .param .u64 counts, .param .u32 loops)\n{\n"
                           ".reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<5>;\n"
                           "ld.param.u32 %r4, [loops]; mov.u32 %r1, %tid.x;\n"
                           "MORE:\nsub.u32 %r4, %r4, 1; setp.ne.u32 %p, %r4, 0; @%p bra MORE;\n"
                           "setp.ne.u32 %p, %r1, 0; @%p ret;\n"
                           "ld.param.u64 %d1, [sms]; ld.param.u64 %d2, [counts];\n"
                           "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %smid; mul.wide.u32 %d3, %r2, 4;\n"
                           "add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3; st.global.u32 [%d1], %r3;\n"
                           "ld.global.u32 %r5, [%d2]; add.u32 %r5, %r5, 1; st.global.u32 [%d2], %r5;\nret;\n}\n";

static void tell(const unsigned *sms, unsigned blocks)
{
    static bool there[MOST_SMS];
    memset(there, 0, sizeof there);
    for (unsigned i = 0; i < blocks; i++) {
        CHECK(sms[i] < MOST_SMS);
        there[sms[i]] = true;
    }
    for (unsigned i = 0; i < MOST_SMS; i++)
        if (there[i])
            printf("%u ", i);
    printf("\n");
    fflush(stdout);
}

/* Nobody writes to it: it is readable when it has ended. */
static bool input_has_ended(void)
{
    struct pollfd input = {0, POLLIN, 0};
    return poll(&input, 1, 0) > 0;
}

int main(int argc, char **argv)
{
    void *context, *module, *function;
    address_t sms, counts;
    static unsigned data[MOST_BLOCKS];
    CHECK(argc == 4);
    bool endless = !strcmp(argv[1], "-");
    unsigned launches = endless ? 1 : (unsigned)atoi(argv[1]), blocks = (unsigned)atoi(argv[2]),
             loops = (unsigned)atoi(argv[3]);
    CHECK(blocks > 0 && blocks <= MOST_BLOCKS && loops > 0);
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, text));
    GOOD(cuModuleGetFunction(&function, module, "where"));
    GOOD(cuMemAlloc_v2(&sms, sizeof data));
    GOOD(cuMemAlloc_v2(&counts, sizeof data));
    GOOD(cuMemsetD32_v2(counts, 0, MOST_BLOCKS));
    for (unsigned i = 0; i < launches; i++) {
        void *parameters[] = {&sms, &counts, &loops};
        GOOD(cuMemsetD32_v2(sms, UINT32_MAX, MOST_BLOCKS));
        GOOD(cuLaunchKernel(function, blocks, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL));
        GOOD(cuMemcpyDtoH_v2(data, sms, blocks * sizeof *data));
        tell(data, blocks);
        launches += endless && !input_has_ended();
    }
    GOOD(cuMemcpyDtoH_v2(data, counts, sizeof data));
    for (unsigned i = 0; i < MOST_BLOCKS; i++)
        CHECK(data[i] == (i < blocks ? launches : 0));
    printf("%u launches of %u thread blocks\n", launches, blocks);
    return 0;
}
