/* SPDX-License-Identifier: MIT */
/* Green contexts: SMs in groups, streams that stay on theirs, and what goes wrong. Thread blocks say on which SM they have been. */
#include "driver_test.h"

enum {
    BLOCKS = 512,
    THREADS = 64,
    SMS = 1,
    NON_BLOCKING = 1,
    DEFAULT_STREAM = 1,
    INVALID_CONTEXT = 201,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901
};
enum { INVALID_RESOURCE = 914, INVALID_CONFIGURATION = 915, TOO_LARGE = 720 };

struct resource {
    _Alignas(8) int kind;
    unsigned char hidden[92];
    unsigned sms, least, multiple;
    unsigned char more[36];
};

int cuDeviceGetDevResource(int device, struct resource *resource, int kind);
int cuDevSmResourceSplitByCount(struct resource *groups, unsigned *count, const struct resource *from,
                                struct resource *rest, unsigned flags, unsigned least);
int cuDevResourceGenerateDesc(void **description, struct resource *resources, unsigned count);
int cuGreenCtxCreate(void **green, void *description, int device, unsigned flags);
int cuGreenCtxDestroy(void *green);
int cuGreenCtxStreamCreate(void **stream, void *green, unsigned flags, int priority);
int cuGreenCtxGetDevResource(void *green, struct resource *resource, int kind);
int cuGreenCtxGetId(void *green, unsigned long long *id);
int cuStreamGetGreenCtx(void *stream, void **green);
int cuGreenCtxRecordEvent(void *green, void *event);
int cuGreenCtxWaitEvent(void *green, void *event);
int cuEventCreate(void **event, unsigned flags);
int cuEventQuery(void *event);
int cuEventSynchronize(void *event);
int cuEventRecord(void *event, void *stream);
int cuEventDestroy_v2(void *event);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
int cuCtxSetCurrent(void *context);
int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                              unsigned bz, unsigned shared, void *stream, void **arguments);

static const char text[] = ".version 6.3\n.target sm_52\n.address_size 64\n"
                           ".visible .entry where(.param .u64 sms, .param .u32 loops)\n{\n"
                           ".reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<5>;\n"
                           "ld.param.u32 %r4, [loops]; mov.u32 %r1, %tid.x;\n"
                           "MORE:\nsub.u32 %r4, %r4, 1; setp.ne.u32 %p, %r4, 0; @%p bra MORE;\n"
                           "setp.ne.u32 %p, %r1, 0; @%p ret;\n"
                           "ld.param.u64 %d1, [sms];\n"
                           "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %smid; mul.wide.u32 %d3, %r2, 4;\n"
                           "add.u64 %d1, %d1, %d3; st.global.u32 [%d1], %r3;\nret;\n}\n";

struct part {
    void *green, *stream;
    struct resource resource;
    address_t sms;
    unsigned first; /* SM */
};

static void *function;

static void launch(struct part *part)
{
    unsigned loops = 2000;
    void *arguments[] = {&part->sms, &loops};
    GOOD(cuMemAlloc_v2(&part->sms, BLOCKS * 4));
    GOOD(cuMemsetD32_v2(part->sms, UINT32_MAX, BLOCKS));
    GOOD(cuLaunchKernel(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, part->stream, arguments, NULL));
}

/* All of its thread blocks have been on its SMs, and on all of these. Without timing there are no SMs to be on. */
static void check(const struct part *part, unsigned sms, bool timed)
{
    unsigned data[BLOCKS], there[1024] = {0};
    GOOD(cuMemcpyDtoH_v2(data, part->sms, sizeof data));
    for (unsigned i = 0; i < BLOCKS; i++) {
        CHECK(data[i] < 1024);
        there[data[i]]++;
        CHECK(!timed || (data[i] >= part->first && data[i] < part->first + sms));
    }
    for (unsigned s = part->first; s < part->first + sms; s++)
        CHECK(!timed || there[s]);
}

static void make(struct part *part)
{
    void *description, *found;
    struct resource same;
    unsigned long long id = 0;
    GOOD(cuDevResourceGenerateDesc(&description, &part->resource, 1));
    GOOD(cuGreenCtxCreate(&part->green, description, 0, DEFAULT_STREAM));
    GOOD(cuGreenCtxStreamCreate(&part->stream, part->green, NON_BLOCKING, 0));
    GOOD(cuStreamGetGreenCtx(part->stream, &found));
    CHECK(found == part->green);
    GOOD(cuGreenCtxGetDevResource(part->green, &same, SMS));
    CHECK(same.sms == part->resource.sms);
    GOOD(cuGreenCtxGetId(part->green, &id));
    CHECK(id);
}

static void check_mistakes(struct resource *all, const struct part *part)
{
    struct resource none = {0}, groups[2] = {{0}};
    void *description, *stream, *green;
    unsigned count = 1;
    EXPECT(INVALID_RESOURCE, cuDeviceGetDevResource(0, &none, 7));
    EXPECT(INVALID_RESOURCE, cuDevResourceGenerateDesc(&description, &none, 1));
    EXPECT(INVALID_RESOURCE, cuDevSmResourceSplitByCount(groups, &count, &none, NULL, 0, 2));
    EXPECT(INVALID_VALUE, cuDevSmResourceSplitByCount(groups, &count, all, NULL, 0, all->sms + 1));
    EXPECT(INVALID_VALUE, cuDevSmResourceSplitByCount(groups, NULL, all, NULL, 0, 2));
    EXPECT(INVALID_VALUE, cuGreenCtxCreate(&green, (void *)12345, 0, DEFAULT_STREAM));
    groups[0] = groups[1] = part->resource;
    EXPECT(INVALID_CONFIGURATION, cuDevResourceGenerateDesc(&description, groups, 2)); /* twice the same SMs */
    GOOD(cuDevResourceGenerateDesc(&description, all, 1));
    EXPECT(INVALID_VALUE, cuGreenCtxCreate(&green, description, 0, 0));
    EXPECT(INVALID_VALUE, cuGreenCtxStreamCreate(&stream, part->green, 0, 0));
    EXPECT(INVALID_CONTEXT, cuGreenCtxStreamCreate(&stream, part->stream, NON_BLOCKING, 0));
    EXPECT(INVALID_CONTEXT, cuGreenCtxDestroy(part->stream));
    unsigned loops = 1;
    void *arguments[] = {(void *)&part->sms, &loops};
    EXPECT(TOO_LARGE, cuLaunchCooperativeKernel(function, part->resource.sms * 32 + 1, 1, 1, THREADS, 1, 1, 0,
                                                part->stream, arguments));
}

/* What all streams of the first one do is waited for by all of the second one, also by a stream that it gets later; nobody else waits. */
static void check_events(const struct part parts[2], void *context, bool timed)
{
    void *second, *later, *all, *after[2], *elsewhere, *free_stream, *other, *foreign, *graph;
    struct part busy = parts[0];
    GOOD(cuGreenCtxStreamCreate(&second, parts[0].green, NON_BLOCKING, 0));
    GOOD(cuStreamCreate(&free_stream, NON_BLOCKING));
    GOOD(cuEventCreate(&all, 0));
    GOOD(cuEventCreate(&after[0], 0));
    GOOD(cuEventCreate(&after[1], 0));
    GOOD(cuEventCreate(&elsewhere, 0));
    busy.stream = second;
    launch(&busy);
    GOOD(cuGreenCtxRecordEvent(parts[0].green, all));
    EXPECT(timed ? NOT_READY : 0, cuEventQuery(all));
    GOOD(cuGreenCtxWaitEvent(parts[1].green, all));
    GOOD(cuGreenCtxStreamCreate(&later, parts[1].green, NON_BLOCKING, 0));
    GOOD(cuEventRecord(after[0], parts[1].stream));
    GOOD(cuEventRecord(after[1], later));
    GOOD(cuEventRecord(elsewhere, free_stream));
    GOOD(cuEventSynchronize(elsewhere));
    for (unsigned i = 0; i < 2; i++)
        EXPECT(timed ? NOT_READY : 0, cuEventQuery(after[i]));
    for (unsigned i = 0; i < 2; i++) {
        GOOD(cuEventSynchronize(after[i]));
        GOOD(cuEventQuery(all));
    }
    GOOD(cuGreenCtxRecordEvent(parts[1].green, all)); /* nothing is under way there */
    GOOD(cuEventSynchronize(all));
    EXPECT(INVALID_CONTEXT, cuGreenCtxRecordEvent(all, all));
    EXPECT(INVALID_CONTEXT, cuGreenCtxWaitEvent(all, all));
    EXPECT(INVALID_HANDLE, cuGreenCtxRecordEvent(parts[0].green, second));
    EXPECT(INVALID_HANDLE, cuGreenCtxWaitEvent(parts[0].green, second));
    GOOD(cuCtxCreate_v2(&other, 0, 0));
    GOOD(cuEventCreate(&foreign, 0));
    EXPECT(INVALID_HANDLE, cuGreenCtxRecordEvent(parts[0].green, foreign));
    GOOD(cuGreenCtxWaitEvent(parts[0].green, foreign));
    GOOD(cuCtxDestroy_v2(other));
    GOOD(cuCtxSetCurrent(context));
    for (unsigned i = 0; i < 2; i++) { /* a stream of the green context is captured; then the event is */
        void *captured = i ? free_stream : second;
        GOOD(cuStreamBeginCapture_v2(captured, 0));
        if (i)
            GOOD(cuEventRecord(all, captured));
        else
            EXPECT(CAPTURE_UNSUPPORTED, cuGreenCtxRecordEvent(parts[0].green, elsewhere));
        EXPECT(CAPTURE_UNSUPPORTED, cuGreenCtxWaitEvent(parts[0].green, all));
        EXPECT(CAPTURE_INVALIDATED, cuStreamEndCapture(captured, &graph));
    }
}

int main(void)
{
    void *context, *module, *green;
    struct resource all, groups[2];
    struct part parts[2] = {{0}}, whole = {0};
    unsigned count = 0, data[BLOCKS], flags;
    bool timed = false;
    int active;
    GOOD(cuInit(0));
    GOOD(cuDevicePrimaryCtxRetain(&context, 0));
    GOOD(cuCtxSetCurrent(context));
    GOOD(cuModuleLoadData(&module, text));
    GOOD(cuModuleGetFunction(&function, module, "where"));
    GOOD(cuDeviceGetDevResource(0, &all, SMS));
    if (!all.least) { /* older than compute capability 6.0 */
        count = 1;
        EXPECT(NOT_SUPPORTED, cuDevSmResourceSplitByCount(groups, &count, &all, &groups[1], 0, 2));
        return 0;
    }
    CHECK(all.sms >= 8 && all.multiple);
    GOOD(cuDevSmResourceSplitByCount(NULL, &count, &all, NULL, 0, all.least));
    CHECK(count == all.sms / all.least);
    count = 1;
    GOOD(cuDevSmResourceSplitByCount(groups, &count, &all, &groups[1], 0, 5));
    CHECK(count == 1 && groups[0].sms >= 5 && groups[0].sms % all.multiple == 0);
    CHECK(groups[0].sms + groups[1].sms == all.sms);
    parts[0].resource = groups[0];
    parts[1].resource = groups[1];
    parts[1].first = groups[0].sms;
    launch(&whole);
    GOOD(cuCtxSynchronize());
    GOOD(cuMemcpyDtoH_v2(data, whole.sms, sizeof data));
    for (unsigned i = 0; i < BLOCKS; i++)
        timed |= data[i] != data[0];
    for (unsigned i = 0; i < 2; i++)
        make(&parts[i]);
    check_mistakes(&all, &parts[0]);
    check_events(parts, context, timed);
    for (unsigned i = 0; i < 2; i++)
        launch(&parts[i]);
    launch(&whole); /* beside them, everywhere */
    GOOD(cuCtxSynchronize());
    for (unsigned i = 0; i < 2; i++)
        check(&parts[i], parts[i].resource.sms, timed);
    GOOD(cuMemcpyDtoH_v2(data, whole.sms, sizeof data));
    for (unsigned i = 0; i < BLOCKS; i++)
        CHECK(data[i] < all.sms);
    GOOD(cuStreamGetGreenCtx(NULL, &green));
    CHECK(!green);
    launch(&parts[0]);
    for (unsigned i = 0; i < 2; i++)
        GOOD(cuGreenCtxDestroy(parts[i].green)); /* waits */
    check(&parts[0], parts[0].resource.sms, timed);
    EXPECT(INVALID_HANDLE, cuStreamSynchronize(parts[0].stream));
    EXPECT(INVALID_CONTEXT, cuGreenCtxDestroy(parts[0].green));
    make(&parts[0]); /* in the place of one that has gone */
    launch(&parts[0]);
    GOOD(cuStreamSynchronize(parts[0].stream));
    check(&parts[0], parts[0].resource.sms, timed);
    GOOD(cuDevicePrimaryCtxRelease_v2(0));
    GOOD(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active); /* the green one holds it */
    GOOD(cuGreenCtxDestroy(parts[0].green));
    GOOD(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(!active);
    printf("good\n");
    return 0;
}
