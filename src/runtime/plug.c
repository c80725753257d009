/* SPDX-License-Identifier: MIT */
/* The kernel of plugs, and the streams that they are in. */
#include "runtime/plug.h"

#include "runtime/state.h"

enum { STREAM_ON_ITS_OWN = 1, REGISTERS_OF_THREAD = 4, CAPABILITY = 70 };

/* The first thread stays, and the thread block with it; all others end. */
static const char plug_text[] = ".version 6.3\n"
                                ".target sm_70\n"
                                ".address_size 64\n"
                                ".visible .entry corun_plug(.param .u64 places, .param .u32 tag)\n"
                                "{\n"
                                ".reg .pred %p, %stays;\n"
                                ".reg .b32 %t, %u, %tag, %word, %seen;\n"
                                ".reg .b64 %place;\n"
                                "mov.u32 %t, %tid.x;\n"
                                "setp.ne.u32 %p, %t, 0;\n"
                                "@%p exit;\n"
                                "ld.param.u64 %place, [places];\n"
                                "ld.param.u32 %tag, [tag];\n"
                                "mov.u32 %t, %smid;\n"
                                "mad.wide.u32 %place, %t, 16, %place;\n"
                                "atom.global.add.u32 %word, [%place], 65536;\n"
                                "add.u32 %word, %word, 65536;\n"
                                "bra LOOK;\n"
                                "SLEEP:\n"
                                "nanosleep.u32 1000;\n"
                                "ld.volatile.global.u32 %word, [%place];\n"
                                "LOOK:\n"
                                "bfe.u32 %t, %word, 12, 4;\n"
                                "setp.eq.u32 %p, %t, %tag;\n"
                                "and.b32 %t, %word, 4095;\n"
                                "shr.u32 %u, %word, 16;\n"
                                "setp.le.and.u32 %stays, %u, %t, %p;\n"
                                "@%stays bra SLEEP;\n"
                                "sub.u32 %t, %word, 65536;\n"
                                "atom.global.cas.b32 %seen, [%place], %word, %t;\n"
                                "setp.ne.u32 %p, %seen, %word;\n"
                                "mov.u32 %word, %seen;\n"
                                "@%p bra LOOK;\n"
                                "ret;\n"
                                "}\n";

bool runtime_can_plug(const struct runtime *runtime)
{
    return runtime->info.simulated && runtime->info.capability >= CAPABILITY;
}

static bool load(struct runtime *runtime)
{
    struct plugs *plugs = &runtime->plugs;
    return plugs->function || (CALL(runtime, module_load(&plugs->module, plug_text)) &&
                               CALL(runtime, module_function(&plugs->function, plugs->module, "corun_plug")));
}

uint32_t runtime_plug_warp_registers(struct runtime *runtime)
{
    int registers = 0;
    if (!runtime_can_plug(runtime) || !runtime->driver.function_attribute)
        return 0;
    runtime_enter(runtime);
    if (load(runtime))
        (void)RESULT(runtime, function_attribute(&registers, REGISTERS_OF_THREAD, runtime->plugs.function));
    runtime_leave(runtime);
    return workload_tb_registers(32, (uint32_t)registers);
}

/* A stream whose plugs have left, or that had none; NULL: there is none. */
static struct plug_stream *free_stream(struct runtime *runtime)
{
    for (uint32_t i = 0; i < PLUG_STREAMS; i++) {
        struct plug_stream *stream = &runtime->plugs.streams[i];
        uint64_t time;
        if (stream->end && clock_reached(runtime, stream->end, &time)) {
            clock_give(runtime, stream->end);
            stream->end = NULL;
        }
        if (!stream->end)
            return stream;
    }
    return NULL;
}

static bool launch(struct runtime *runtime, struct plug_stream *stream, const struct runtime_plugs *plugs)
{
    unsigned long long places = plugs->places;
    uint32_t tag = plugs->tag;
    void *arguments[] = {&places, &tag};
    const struct flights *before = &runtime->streams[plugs->behind];
    const struct table *table = &runtime->table;
    void *end = clock_event(runtime);
    bool good = end && (stream->stream || CALL(runtime, stream_create(&stream->stream, STREAM_ON_ITS_OWN)));
    if (good && table->writes.count)
        good = CALL(runtime, stream_wait(stream->stream, table->writes.data[table->writes.count - 1].end, 0));
    if (good && stream_busy(before))
        good = CALL(runtime, stream_wait(stream->stream, before->items.data[before->first].end, 0));
    good = good &&
           CALL(runtime, launch(runtime->plugs.function, plugs->count, 1, 1, 32 * plugs->warps, 1, 1, 0, stream->stream,
                                arguments, NULL)) &&
           CALL(runtime, event_record(end, stream->stream));
    stream->end = end;
    return good;
}

enum corun_status runtime_plug(struct runtime *runtime, const struct runtime_plugs *plugs, bool *given)
{
    *given = false;
    if (runtime->error)
        return CORUN_FAULT;
    runtime_enter(runtime);
    struct plug_stream *stream = load(runtime) ? free_stream(runtime) : NULL;
    *given = stream && launch(runtime, stream, plugs);
    const bool good = !runtime->error && (*given || !stream);
    runtime_leave(runtime);
    return good ? CORUN_OK : runtime_trouble(runtime);
}

void plug_finish(struct runtime *runtime)
{
    for (uint32_t i = 0; i < PLUG_STREAMS; i++)
        if (runtime->plugs.streams[i].end)
            (void)runtime->driver.event_synchronize(runtime->plugs.streams[i].end);
}
