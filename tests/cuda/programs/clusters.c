/* SPDX-License-Identifier: MIT */
/*
 * Clusters of thread blocks: a histogram over the shared memory of a cluster, its parts sent around a ring, a tile of a tensor that the thread blocks
 * of a cluster load for each other, errors of launches, and what functions and devices say of clusters. With an argument: the device has none.
 */
#include "driver_test.h"

enum { CLUSTER = 4, POLICY = 5, NOT_SUPPORTED = 801, INVALID_CLUSTER = 912, OUT_OF_RESOURCES = 701 };

struct attribute {
    int id;
    char padding[4];
    union {
        char bytes[64];
        int number;
        unsigned cluster[3];
    } value;
};

struct config {
    unsigned grid[3], block[3], shared;
    void *stream;
    struct attribute *attributes;
    unsigned attribute_count;
};

int cuLaunchKernelEx(const struct config *config, void *function, void **arguments, void **extra);
int cuFuncSetAttribute(void *function, int attribute, int value);
int cuFuncGetAttribute(int *value, int attribute, void *function);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuOccupancyMaxActiveClusters(int *clusters, void *function, const struct config *config);
int cuOccupancyMaxPotentialClusterSize(int *size, void *function, const struct config *config);
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *sizes,
                           const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                           int swizzle, int promotion, int fill);

enum { TILE_ROWS = 64, ROW_BYTES = 128, TILE = TILE_ROWS * ROW_BYTES, SENT = 256, SHARED_BY = 4, TILES = 2 };
enum { BLOCKS = 64, THREADS = 128, EACH = 16, BINS = 1024, VALUES = BLOCKS * THREADS * EACH };

/*
 * Each thread block of a cluster has a part of the bins in its shared memory. All count all of their values there, and then the parts are added to those
 * in memory.
 */
static const char histogram_text[] =
    ".version 8.1\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 bins[];\n"
    ".visible .entry histogram(.param .u64 from, .param .u64 to)\n{\n"
    ".reg .pred %p<4>; .reg .b32 %r<24>; .reg .b64 %d<12>;\n"
    "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, "
    "%cluster_nctarank; mov.u32 %r3, %cluster_ctarank;\n"
    "div.u32 %r4, 1024, %r2; mov.u32 %r5, bins; mov.u32 %r6, %r0;\n"
    "zero: setp.ge.u32 %p0, %r6, %r4; @%p0 bra count; shl.b32 %r7, %r6, 2; add.u32 %r7, %r7, %r5; st.shared.u32 [%r7], "
    "0;\n"
    "add.u32 %r6, %r6, 128; bra zero;\n"
    "count: barrier.cluster.arrive; barrier.cluster.wait;\n"
    "mad.lo.u32 %r8, %r1, 128, %r0; mul.wide.u32 %d2, %r8, 64; add.u64 %d2, %d2, %d0; mov.u32 %r9, 0;\n"
    "next: ld.global.u32 %r10, [%d2]; div.u32 %r11, %r10, %r4; rem.u32 %r12, %r10, %r4;\n"
    "shl.b32 %r12, %r12, 2; add.u32 %r12, %r12, %r5; cvt.u64.u32 %d3, %r12; cvta.shared.u64 %d3, %d3; mapa.u64 %d4, "
    "%d3, %r11;\n"
    "atom.add.u32 %r13, [%d4], 1;\n"
    "add.u64 %d2, %d2, 4; add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 16; @%p1 bra next;\n"
    "barrier.cluster.arrive; barrier.cluster.wait;\nmov.u32 %r6, %r0;\n"
    "sum: setp.ge.u32 %p0, %r6, %r4; @%p0 bra done; shl.b32 %r7, %r6, 2; add.u32 %r7, %r7, %r5; ld.shared.u32 %r14, "
    "[%r7];\n"
    "mad.lo.u32 %r15, %r3, %r4, %r6; mul.wide.u32 %d5, %r15, 4; add.u64 %d5, %d5, %d1; red.global.add.u32 [%d5], "
    "%r14;\n"
    "add.u32 %r6, %r6, 128; bra sum;\ndone: ret;\n}\n"
    ".visible .entry in_clusters(.param .u64 to)\n.blocksareclusters\n.reqntid 32\n.reqnctapercluster 4, 2, 1\n{\n"
    ".reg .b32 %r<10>; .reg .b64 %d<3>;\n"
    "ld.param.u64 %d0, [to]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %nctaid.x; mov.u32 %r3, "
    "%nctaid.y;\n"
    "mov.u32 %r4, %nclusterid.x; mov.u32 %r5, %nclusterid.y; mad.lo.u32 %r6, %r1, %r2, %r0; mul.wide.u32 %d1, %r6, 4;\n"
    "add.u64 %d1, %d1, %d0; mul.lo.u32 %r7, %r2, %r3; mul.lo.u32 %r7, %r7, 10000; mad.lo.u32 %r7, %r4, 100, %r7;\n"
    "add.u32 %r7, %r7, %r5; st.global.u32 [%d1], %r7; ret;\n}\n"
    /* The largest of what the threads of a cluster have: around the ring of its thread blocks, one arrival in memory for each step. */
    ".visible .entry ring(.param .u64 from, .param .u64 to)\n.explicitcluster\n.reqnctapercluster 4, 2, 1\n{\n"
    ".reg .pred %p<4>; .reg .b32 %r<24>; .reg .b64 %d<12>; .shared .align 8 .b64 bar; .shared .align 4 .b8 slots[32];\n"
    "ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to]; mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank;\n"
    "setp.ne.u32 %p0, %r0, 0; @%p0 bra ready; mbarrier.init.shared.b64 [bar], 1; mbarrier.expect_tx.shared.b64 [bar], "
    "28;\n"
    "fence.mbarrier_init.release.cluster;\n"
    "ready: barrier.cluster.arrive.release; barrier.cluster.wait.acquire; @%p0 bra last;\n"
    "mov.u32 %r2, %clusterid.x; mov.u32 %r3, %clusterid.y; mov.u32 %r4, %nclusterid.x; mad.lo.u32 %r2, %r3, %r4, %r2;\n"
    "mad.lo.u32 %r2, %r2, 8, %r1; mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d2, %d0; ld.global.u32 %r5, [%d3];\n"
    "mov.u32 %r6, 1;\n"
    "send: add.u32 %r7, %r1, %r6; and.b32 %r7, %r7, 7; mov.u32 %r8, slots; mad.lo.u32 %r8, %r1, 4, %r8;\n"
    "mapa.shared::cluster.u32 %r9, %r8, %r7; mov.u32 %r10, bar; mapa.shared::cluster.u32 %r10, %r10, %r7;\n"
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r9], %r5, [%r10];\n"
    "add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 8; @%p1 bra send;\n"
    "mbarrier.arrive.shared.b64 %d4, [bar];\n"
    "wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0; @!%p2 bra wait;\n"
    "mov.u32 %r11, 0; mov.u32 %r12, slots;\n"
    "look: setp.eq.u32 %p3, %r11, %r1; @%p3 bra skip; ld.shared.u32 %r13, [%r12]; max.u32 %r5, %r5, %r13;\n"
    "skip: add.u32 %r12, %r12, 4; add.u32 %r11, %r11, 1; setp.lt.u32 %p3, %r11, 8; @%p3 bra look;\n"
    "add.u64 %d5, %d2, %d1; st.global.u32 [%d5], %r5;\nlast: barrier.cluster.arrive; barrier.cluster.wait; ret;\n}\n"
    /*
     * Each of four thread blocks loads a quarter of a tile for all of them; then each sends the first bytes of what it has to its right neighbour, with
     * its rank in front.
     */
    ".visible .entry share(.param .align 64 .b8 map[128], .param .u64 to)\n.explicitcluster\n.reqnctapercluster 4\n{\n"
    ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %d<8>;\n.shared .align 1024 .b8 room[8448]; .shared .align 8 .b64 "
    "bar[2];\n"
    "mov.b64 %d0, map; cvta.param.u64 %d0, %d0; ld.param.u64 %d1, [to]; mov.u32 %r0, %tid.x; mov.u32 %r1, "
    "%cluster_ctarank;\n"
    "mov.u32 %r2, %clusterid.x; setp.ne.u32 %p0, %r0, 0; @%p0 bra ready;\n"
    "mbarrier.init.shared.b64 [bar], 1; mbarrier.init.shared.b64 [bar+8], 1; mbarrier.arrive.expect_tx.shared.b64 _, "
    "[bar], 8192;\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [bar+8], 256; fence.mbarrier_init.release.cluster;\n"
    "ready: barrier.cluster.arrive.release; barrier.cluster.wait.acquire; @%p0 bra wait;\n"
    "mov.u32 %r3, room; mad.lo.u32 %r3, %r1, 2048, %r3; shl.b32 %r4, %r2, 6; mad.lo.u32 %r4, %r1, 16, %r4; mov.u32 "
    "%r5, bar;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%d0, {0, "
    "%r4}], "
    "[%r5], 15;\n"
    "wait: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra wait;\n"
    "bar.sync 0; @%p0 bra second; st.shared.u32 [room], %r1; add.u32 %r6, %r1, 1; and.b32 %r6, %r6, 3; mov.u32 %r7, "
    "room;\n"
    "add.u32 %r8, %r7, 8192; mapa.shared::cluster.u32 %r8, %r8, %r6; mov.u32 %r5, bar; add.u32 %r9, %r5, 8;\n"
    "mapa.shared::cluster.u32 %r9, %r9, %r6; fence.proxy.async;\n"
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r8], [%r7], 256, [%r9];\n"
    "second: mbarrier.try_wait.parity.shared.b64 %p1, [bar+8], 0; @!%p1 bra second;\n"
    "mov.u32 %r10, %ctaid.x; mul.wide.u32 %d2, %r10, 8448; add.u64 %d2, %d2, %d1; shl.b32 %r11, %r0, 2;\n"
    "next: setp.ge.u32 %p2, %r11, 8448; @%p2 bra done; mov.u32 %r12, room; add.u32 %r12, %r12, %r11; ld.shared.u32 "
    "%r13, [%r12];\n"
    "cvt.u64.u32 %d3, %r11; add.u64 %d3, %d3, %d2; st.global.u32 [%d3], %r13; add.u32 %r11, %r11, 512; bra next;\n"
    "done: barrier.cluster.arrive; barrier.cluster.wait; ret;\n}\n"
    /* Works between its arrival and its wait, which finds the barrier met. */
    ".visible .entry late(.param .u64 from, .param .u64 to)\n{\n.reg .pred %p; .reg .b32 %r<3>;\n"
    "mov.u32 %r0, 0; mov.u32 %r1, %tid.x;\nbarrier.cluster.arrive;\n"
    "more: mad.lo.u32 %r1, %r1, %r1, %r0; add.u32 %r0, %r0, 1; setp.lt.u32 %p, %r0, 400; @%p bra more;\n"
    "setp.eq.u32 %p, %r1, 12345; @%p trap;\nbarrier.cluster.wait; ret;\n}\n"
    ".visible .entry few(.param .u64 from, .param .u64 to)\n.maxclusterrank 2\n{ ret; }\n"
    ".visible .entry must(.param .u64 from, .param .u64 to)\n.explicitcluster\n{ ret; }\n";

static unsigned values[VALUES], expected[BINS], found[BINS];
static void *module;
static address_t from, to;

static void *function_of(const char *name)
{
    void *function;
    GOOD(cuModuleGetFunction(&function, module, name));
    return function;
}

static int launch(void *function, unsigned blocks, unsigned threads, unsigned shared, unsigned x, unsigned y,
                  int policy)
{
    struct attribute attributes[2] = {{.id = CLUSTER}, {.id = POLICY}};
    void *arguments[] = {&from, &to};
    attributes[0].value.cluster[0] = x;
    attributes[0].value.cluster[1] = y;
    attributes[0].value.cluster[2] = 1;
    attributes[1].value.number = policy;
    struct config config = {{blocks, y ? y : 1, 1}, {threads, 1, 1}, shared, NULL, attributes + (x == 0), x ? 2 : 1};
    return cuLaunchKernelEx(&config, function, arguments, NULL);
}

static void histogram(unsigned cluster, int policy)
{
    GOOD(cuMemsetD32_v2(to, 0, BINS));
    GOOD(launch(function_of("histogram"), BLOCKS, THREADS, BINS * 4 / cluster, cluster, 1, policy));
    GOOD(cuMemcpyDtoH_v2(found, to, sizeof found));
    CHECK(memcmp(found, expected, sizeof found) == 0);
}

static void ring(void)
{
    unsigned result[32];
    void *arguments[] = {&from, &to};
    GOOD(cuLaunchKernel(function_of("ring"), 8, 4, 1, 33, 1, 1, 0, NULL, arguments, NULL));
    GOOD(cuMemcpyDtoH_v2(result, to, sizeof result));
    for (unsigned i = 0; i < 32; i++) {
        unsigned largest = 0;
        for (unsigned k = i / 8 * 8; k < i / 8 * 8 + 8; k++)
            largest = values[k] > largest ? values[k] : largest;
        CHECK(result[i] == largest);
    }
}

/* A grid of 3 by 2 clusters: the launch says how many clusters, the kernel how many thread blocks each has. */
static void in_clusters(void)
{
    unsigned result[48], seen = 0;
    void *arguments[] = {&to};
    GOOD(cuMemsetD32_v2(to, 0, 48));
    GOOD(cuLaunchKernel(function_of("in_clusters"), 3, 2, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    GOOD(cuMemcpyDtoH_v2(result, to, sizeof result));
    for (unsigned i = 0; i < 48; i++)
        seen += result[i] == 12 * 4 * 10000 + 3 * 100 + 2;
    CHECK(seen == 48);
    EXPECT(INVALID_VALUE, cuLaunchKernel(function_of("in_clusters"), 1, 65535, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    EXPECT(INVALID_VALUE,
           cuLaunchKernel(function_of("in_clusters"), 0x40000000, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
}

/* Row by row, and in each row the units of 16 bytes exchanged by the number of the row, as a swizzle of 128 bytes has them. */
static void share(void)
{
    static unsigned char wanted[TILE + SENT], got[SHARED_BY * TILES][TILE + SENT];
    _Alignas(64) unsigned char map[128];
    const uint64_t sizes[] = {ROW_BYTES / 2, TILES * TILE_ROWS}, strides[] = {ROW_BYTES};
    const unsigned box[] = {ROW_BYTES / 2, TILE_ROWS / SHARED_BY}, steps[] = {1, 1};
    address_t all;
    GOOD(cuMemAlloc_v2(&all, sizeof got));
    GOOD(cuTensorMapEncodeTiled(map, 6, 2, (void *)(uintptr_t)from, sizes, strides, box, steps, 0, 3, 0, 0));
    void *arguments[] = {map, &all};
    GOOD(cuLaunchKernel(function_of("share"), SHARED_BY * TILES, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL));
    GOOD(cuMemcpyDtoH_v2(got, all, sizeof got));
    for (unsigned block = 0; block < SHARED_BY * TILES; block++) {
        const unsigned char *tile = (const unsigned char *)values + block / SHARED_BY * TILE;
        const unsigned rank = block % SHARED_BY, left = (rank + SHARED_BY - 1) % SHARED_BY;
        for (unsigned i = 0; i < TILE; i++)
            wanted[i / 128 * 128 + (i / 16 % 8 ^ i / 128 % 8) * 16 + i % 16] = tile[i];
        memcpy(wanted + TILE, wanted, SENT);
        memcpy(wanted, &rank, 4);
        memcpy(wanted + TILE, &left, 4);
        CHECK(memcmp(wanted, got[block], sizeof wanted) == 0);
    }
    GOOD(cuMemFree_v2(all));
}

/* Warps begin anew: what earlier launches had of barriers is forgotten. */
static void late(void)
{
    for (unsigned cluster = 8; cluster; cluster /= 2) {
        GOOD(launch(function_of("late"), 8, 64, 0, cluster, 1, 0));
        GOOD(cuCtxSynchronize());
    }
}

static void errors(void)
{
    void *histogram_function = function_of("histogram"), *ring_function = function_of("ring");
    EXPECT(INVALID_CLUSTER, launch(histogram_function, 63, 32, 4096, 4, 1, 0));  /* no multiple */
    EXPECT(INVALID_CLUSTER, launch(histogram_function, 64, 32, 4096, 16, 1, 0)); /* more than is portable */
    EXPECT(INVALID_CLUSTER, launch(histogram_function, 64, 32, 4096, 32, 1, 0));
    EXPECT(INVALID_CLUSTER, launch(ring_function, 8, 32, 0, 8, 1, 0)); /* the kernel requires another one */
    EXPECT(INVALID_CLUSTER, launch(function_of("few"), 8, 32, 0, 4, 1, 0));
    GOOD(launch(function_of("few"), 8, 32, 0, 2, 1, 0));
    EXPECT(INVALID_CLUSTER, launch(function_of("must"), 8, 32, 0, 0, 0, 0));
    GOOD(launch(function_of("must"), 8, 32, 0, 4, 1, 0));
    EXPECT(INVALID_VALUE, launch(histogram_function, 64, 32, 4096, 4, 1, 3)); /* no such policy */
    EXPECT(INVALID_VALUE, launch(histogram_function, 63, 32, 4096, 4, 1, 3)); /* which is asked first */
    EXPECT(INVALID_CLUSTER, launch(histogram_function, 64, 32, 4096, 4, 0, 3));
    EXPECT(INVALID_CLUSTER, launch(histogram_function, 63, 32, 1 << 20, 4, 1, 0));
    EXPECT(INVALID_VALUE, launch(histogram_function, 64, 32, 1 << 20, 4, 1, 0));
    GOOD(cuFuncSetAttribute(histogram_function, 14, 1));
    EXPECT(INVALID_CLUSTER, launch(histogram_function, 64, 32, 4096, 32, 1, 0));
    EXPECT(INVALID_VALUE, cuFuncSetAttribute(ring_function, 11, 2)); /* fixed at compile time */
    GOOD(cuCtxSynchronize());
}

static void attributes(void)
{
    int value, clusters;
    void *function = function_of("histogram");
    struct attribute cluster = {.id = CLUSTER};
    struct config config = {{64, 1, 1}, {128, 1, 1}, 100 << 10, NULL, &cluster, 1};
    GOOD(cuFuncGetAttribute(&value, 12, function_of("ring")));
    CHECK(value == 2);
    GOOD(cuFuncGetAttribute(&value, 10, function_of("must")));
    CHECK(value == 1);
    GOOD(cuFuncSetAttribute(function, 8, 200 << 10));
    cluster.value.cluster[0] = 4;
    cluster.value.cluster[1] = cluster.value.cluster[2] = 1;
    GOOD(cuOccupancyMaxActiveClusters(&clusters, function, &config));
    CHECK(clusters == 2 * 9 + 6 * 8); /* two thread blocks on an SM: two GPCs of 18 SMs, six of 16 */
    config.shared = 200 << 10;
    GOOD(cuOccupancyMaxActiveClusters(&clusters, function, &config));
    CHECK(clusters == 2 * 4 + 6 * 4);
    GOOD(cuOccupancyMaxPotentialClusterSize(&value, function, &config));
    CHECK(value == 16); /* it is not portable any more */
    config.shared = 0;
    EXPECT(INVALID_CLUSTER, cuOccupancyMaxPotentialClusterSize(&value, function_of("few"), &config));
    CHECK(value == 16); /* nothing was written */
    config.attribute_count = 0;
    GOOD(cuOccupancyMaxPotentialClusterSize(&value, function_of("few"), &config));
    CHECK(value == 8);
    config.grid[1] = 2;
    GOOD(cuOccupancyMaxPotentialClusterSize(&value, function_of("ring"), &config));
    CHECK(value == 8); /* not what the kernel requires */
    GOOD(cuOccupancyMaxActiveClusters(&clusters, function, &config));
    CHECK(clusters == 0); /* a launch without clusters */
    config.block[0] = 1025;
    GOOD(cuOccupancyMaxPotentialClusterSize(&value, function, &config));
    CHECK(value == 0);
}

int main(int argc, char **argv)
{
    void *context;
    int value;
    (void)argv;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, histogram_text));
    GOOD(cuMemAlloc_v2(&from, sizeof values));
    GOOD(cuMemAlloc_v2(&to, sizeof found));
    for (unsigned i = 0, state = 1; i < VALUES; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = state >> 22;
        expected[values[i]]++;
    }
    GOOD(cuMemcpyHtoD_v2(from, values, sizeof values));
    GOOD(cuDeviceGetAttribute(&value, 120, 0));
    CHECK(value == (argc < 2));
    if (argc > 1) {
        EXPECT(NOT_SUPPORTED, launch(function_of("histogram"), BLOCKS, THREADS, BINS, 4, 1, 0));
        histogram(1, 0);
        return 0;
    }
    for (unsigned cluster = 1; cluster <= 8; cluster *= 2)
        histogram(cluster, (int)cluster % 3);
    ring();
    in_clusters();
    share();
    late();
    errors();
    histogram(16, 2);
    attributes();
    GOOD(cuCtxDestroy_v2(context));
    puts("good");
    return 0;
}
