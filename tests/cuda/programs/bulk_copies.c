/* SPDX-License-Identifier: MIT */
/*
 * Bulk copies of sm_90, with PTX as templates of the toolkit use it: one thread fetches a tile and everyone waits for its
 * barrier; then the tile goes back in bulk. The same without them is about as fast.
 */
#include "driver_test.h"

int cuEventCreate(void **event, unsigned flags);
int cuEventElapsedTime(float *milliseconds, void *start, void *end);
int cuEventRecord(void *event, void *stream);

enum { TILES = 64, TILE_BYTES = 16384, THREADS = 256 };

#define HEAD \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry tiles(.param .u64 from, .param .u64 to)\n{\n" \
    ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<6>;\n.shared .align 128 .b8 tile[16384];\n" \
    ".shared .align 8 .b64 bar;\nmov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d0, %r1, 16384;\n" \
    "ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to]; add.u64 %d1, %d1, %d0; add.u64 %d2, %d2, %d0;\n" \
    "setp.ne.u32 %p0, %r0, 0;\nmov.u32 %r2, tile; mad.lo.u32 %r3, %r0, 16, %r2;\n"
#define CHANGE \
    "mov.u32 %r4, 0;\nchange: ld.shared.u32 %r5, [%r3]; add.u32 %r5, %r5, %r1; st.shared.u32 [%r3], %r5;\n" \
    "add.u32 %r3, %r3, 4096; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 4; @%p1 bra change;\n"

static const char bulk_text[] =
    HEAD "@%p0 bra init;\nmbarrier.init.shared::cta.b64 [bar], 1;\n"
         "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %d3, [bar], 16384;\n"
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%d1], 16384, [bar];\n"
         "init: bar.sync 0;\n"
         "wait: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra wait;\n" CHANGE
         "fence.proxy.async.shared::cta; bar.sync 0;\n@%p0 bra done;\n"
         "cp.async.bulk.global.shared::cta.bulk_group [%d2], [tile], 16384;\n"
         "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\ndone: ret;\n}\n";

/* Every thread moves 16 bytes of each quarter. */
static const char plain_text[] = HEAD
    "mul.wide.u32 %d4, %r0, 16; add.u64 %d1, %d1, %d4; add.u64 %d2, %d2, %d4; mov.u32 %r8, %r3;\n"
    ".reg .b32 %q<16>;\n"
    "ld.global.v4.u32 {%q0, %q1, %q2, %q3}, [%d1]; ld.global.v4.u32 {%q4, %q5, %q6, %q7}, [%d1+4096];\n"
    "ld.global.v4.u32 {%q8, %q9, %q10, %q11}, [%d1+8192]; ld.global.v4.u32 {%q12, %q13, %q14, %q15}, [%d1+12288];\n"
    "st.shared.v4.u32 [%r3], {%q0, %q1, %q2, %q3}; st.shared.v4.u32 [%r3+4096], {%q4, %q5, %q6, %q7};\n"
    "st.shared.v4.u32 [%r3+8192], {%q8, %q9, %q10, %q11}; st.shared.v4.u32 [%r3+12288], {%q12, %q13, %q14, %q15};\n"
    "bar.sync 0;\n" CHANGE "bar.sync 0;\n"
    "ld.shared.v4.u32 {%q0, %q1, %q2, %q3}, [%r8]; ld.shared.v4.u32 {%q4, %q5, %q6, %q7}, [%r8+4096];\n"
    "ld.shared.v4.u32 {%q8, %q9, %q10, %q11}, [%r8+8192]; ld.shared.v4.u32 {%q12, %q13, %q14, %q15}, [%r8+12288];\n"
    "st.global.v4.u32 [%d2], {%q0, %q1, %q2, %q3}; st.global.v4.u32 [%d2+4096], {%q4, %q5, %q6, %q7};\n"
    "st.global.v4.u32 [%d2+8192], {%q8, %q9, %q10, %q11}; st.global.v4.u32 [%d2+12288], {%q12, %q13, %q14, %q15};\n"
    "ret;\n}\n";

static unsigned data[TILES * TILE_BYTES / 4], result[TILES * TILE_BYTES / 4];

/* Memory of its own: nothing of it is in a cache. */
static float run(const char *text)
{
    address_t from, to;
    void *module, *function, *start, *end, *arguments[] = {&from, &to};
    float milliseconds = 0;
    GOOD(cuMemAlloc_v2(&from, sizeof data));
    GOOD(cuMemAlloc_v2(&to, sizeof data));
    GOOD(cuModuleLoadData(&module, text));
    GOOD(cuModuleGetFunction(&function, module, "tiles"));
    GOOD(cuEventCreate(&start, 0));
    GOOD(cuEventCreate(&end, 0));
    GOOD(cuMemcpyHtoD_v2(from, data, sizeof data));
    GOOD(cuMemsetD32_v2(to, 0, sizeof data / 4));
    GOOD(cuEventRecord(start, NULL));
    GOOD(cuLaunchKernel(function, TILES, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL));
    GOOD(cuEventRecord(end, NULL));
    GOOD(cuMemcpyDtoH_v2(result, to, sizeof result));
    for (size_t i = 0; i < sizeof data / 4; i++)
        CHECK(result[i] ==
              data[i] + (i % 4 ? 0 : i * 4 / TILE_BYTES)); /* the first word of every 16 bytes has changed */
    GOOD(cuEventElapsedTime(&milliseconds, start, end));
    GOOD(cuModuleUnload(module));
    return milliseconds;
}

int main(int argc, char **argv)
{
    void *context;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    for (size_t i = 0; i < sizeof data / 4; i++)
        data[i] = (unsigned)(i * 2654435761u);
    float bulk = run(bulk_text), plain = run(plain_text);
    printf("in bulk %.3f us, by all threads %.3f us\n", bulk * 1e3, plain * 1e3);
    if (argc > 1 && !strcmp(argv[1], "timed"))
        CHECK(bulk < 1.5f * plain && plain < 1.5f * bulk);
    return 0;
}
