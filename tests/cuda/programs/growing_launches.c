/* SPDX-License-Identifier: MIT */
/*
 * growing_launches STREAMS LAUNCHES BLOCKS LOOPS: in each stream, so many launches one behind the other, all asked for before any is waited for. Each reads what the one
 * before has written, elsewhere in the grid: a thread block that does not run, runs twice or runs too early leaves another number. Nothing is printed unless
 * all numbers are right; then how long the streams took, by events.
 */
#include "driver_test.h"

int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventElapsedTime(float *milliseconds, void *from, void *to);

enum { MOST_BLOCKS = 1 << 18, MOST_STREAMS = 8, THREADS = 64, STRIDE = 77773 };

/* to[i] += 3 * from[i * STRIDE % blocks] + odd */
static const char text[] =
    ".version 6.3\n.target sm_52\n.address_size 64\n"
    ".visible .entry step(.param .u64 from, .param .u64 to, .param .u32 loops, .param .u8 odd)\n{\n"
    ".reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<5>;\n"
    "ld.param.u32 %r4, [loops]; mov.u32 %r1, %tid.x;\n"
    "MORE:\nsub.u32 %r4, %r4, 1; setp.ne.u32 %p, %r4, 0; @%p bra MORE;\n"
    "setp.ne.u32 %p, %r1, 0; @%p ret;\n"
    "ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to]; ld.param.u8 %r8, [odd];\n"
    "mov.u32 %r2, %ctaid.x; mov.u32 %r6, %nctaid.x; mul.wide.u32 %d3, %r2, 4;\n"
    "add.u64 %d2, %d2, %d3;\n"
    "mul.wide.u32 %d3, %r2, 77773; cvt.u64.u32 %d4, %r6; rem.u64 %d3, %d3, %d4;\n"
    "shl.b64 %d3, %d3, 2; add.u64 %d1, %d1, %d3;\n"
    "ld.global.u32 %r5, [%d1]; ld.global.u32 %r7, [%d2];\n"
    "mad.lo.u32 %r5, %r5, 3, %r7; add.u32 %r5, %r5, %r8; st.global.u32 [%d2], %r5;\nret;\n}\n";

static unsigned arrays[2][MOST_BLOCKS], data[MOST_BLOCKS];

static void compute(unsigned blocks, unsigned launches)
{
    for (unsigned l = 0; l < launches; l++)
        for (uint64_t i = 0; i < blocks; i++)
            arrays[(l + 1) % 2][i] += 3 * arrays[l % 2][i * STRIDE % blocks] + 1 + l % 2;
}

int main(int argc, char **argv)
{
    void *context, *module, *function, *streams[MOST_STREAMS], *begun, *ended[MOST_STREAMS];
    address_t memory[MOST_STREAMS][2];
    CHECK(argc == 5);
    unsigned count = (unsigned)atoi(argv[1]), launches = (unsigned)atoi(argv[2]), blocks = (unsigned)atoi(argv[3]);
    unsigned loops = (unsigned)atoi(argv[4]);
    float longest = 0;
    CHECK(count > 0 && count <= MOST_STREAMS && launches > 0 && blocks > 0 && blocks <= MOST_BLOCKS && loops > 0);
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, text));
    GOOD(cuModuleGetFunction(&function, module, "step"));
    GOOD(cuEventCreate(&begun, 0));
    for (unsigned s = 0; s < count; s++) {
        GOOD(cuStreamCreate(&streams[s], 1));
        GOOD(cuEventCreate(&ended[s], 0));
        for (unsigned i = 0; i < 2; i++) {
            GOOD(cuMemAlloc_v2(&memory[s][i], sizeof data));
            GOOD(cuMemsetD32_v2(memory[s][i], 0, MOST_BLOCKS));
        }
    }
    GOOD(cuCtxSynchronize());
    GOOD(cuEventRecord(begun, streams[0]));
    for (unsigned l = 0; l < launches; l++)
        for (unsigned s = 0; s < count; s++) {
            unsigned char odd = (unsigned char)(1 + l % 2);
            void *parameters[] = {&memory[s][l % 2], &memory[s][(l + 1) % 2], &loops, &odd};
            GOOD(cuLaunchKernel(function, blocks, 1, 1, THREADS, 1, 1, 0, streams[s], parameters, NULL));
        }
    for (unsigned s = 0; s < count; s++)
        GOOD(cuEventRecord(ended[s], streams[s]));
    GOOD(cuCtxSynchronize());
    compute(blocks, launches);
    for (unsigned s = 0; s < count; s++)
        for (unsigned i = 0; i < 2; i++) {
            GOOD(cuMemcpyDtoH_v2(data, memory[s][i], sizeof data));
            CHECK(!memcmp(data, arrays[i], sizeof data));
        }
    for (unsigned s = 0; s < count; s++) {
        float time;
        GOOD(cuEventElapsedTime(&time, begun, ended[s]));
        longest = time > longest ? time : longest;
    }
    printf("%u streams of %u launches of %u thread blocks: %.3f ms\n", count, launches, blocks, (double)longest);
    return 0;
}
