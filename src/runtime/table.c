/* SPDX-License-Identifier: MIT */
/* The table: a block of the device, a copy of it, and copies of rows to it. */
#include "runtime/table.h"

#include "runtime/state.h"

#include <stdlib.h>
#include <string.h>

enum { STREAM_ON_ITS_OWN = 1, WRITE_BYTES = 4096 };

bool table_create(struct runtime *runtime)
{
    struct table *table = &runtime->table;
    uint64_t bytes = runtime->table_bytes, all = bytes + runtime->apart_bytes;
    int error = 0;
    if (!bytes)
        return true;
    bool good = CALL(runtime, stream_create(&table->read_stream, STREAM_ON_ITS_OWN)) &&
                CALL(runtime, stream_create(&table->write_stream, STREAM_ON_ITS_OWN)) &&
                CALL(runtime, memory_allocate(&table->block.address, all)) &&
                blocks_take(&runtime->pinned, bytes, &table->copy, &error);
    (void)runtime_worked(runtime, error);
    if (!good || !CALL(runtime, memory_fill(table->block.address, 0, all, table->write_stream)) ||
        !CALL(runtime, stream_synchronize(table->write_stream)))
        return false;
    memset((void *)(uintptr_t)table->copy.address, 0, bytes);
    table->block.bytes = bytes;
    return true;
}

void table_drop(struct runtime *runtime)
{
    struct table *table = &runtime->table;
    if (table->reading)
        (void)runtime->driver.event_synchronize(table->reading);
    for (size_t i = 0; i < table->writes.count; i++) {
        (void)runtime->driver.event_synchronize(table->writes.data[i].end);
        blocks_give(&runtime->pinned, &table->writes.data[i].data);
    }
    blocks_give(&runtime->pinned, &table->copy);
    vector_free(&table->writes);
    *table = (struct table){0}; /* block, streams and events go with the context */
}

enum corun_status table_look(struct runtime *runtime, bool *any)
{
    struct table *table = &runtime->table;
    struct runtime_event event = {.kind = RUNTIME_TABLE_READ};
    uint64_t time;
    size_t ended = 0;
    while (ended < table->writes.count && clock_reached(runtime, table->writes.data[ended].end, &time)) {
        clock_give(runtime, table->writes.data[ended].end);
        blocks_give(&runtime->pinned, &table->writes.data[ended++].data);
    }
    table->writes.count -= ended;
    if (ended && table->writes.count)
        memmove(table->writes.data, table->writes.data + ended, table->writes.count * sizeof *table->writes.data);
    if (!table->reading || !clock_reached(runtime, table->reading, &event.time))
        return runtime->error ? CORUN_FAULT : CORUN_OK;
    clock_give(runtime, table->reading);
    table->reading = NULL;
    *any = true;
    return wait_tell(runtime, &event) ? CORUN_OK : CORUN_MEMORY;
}

bool table_order(struct runtime *runtime, uint32_t stream)
{
    struct table *table = &runtime->table;
    bool behind = table->writes.count && table->known[stream] < table->written;
    table->known[stream] = table->written;
    return !behind || CALL(runtime, stream_wait(runtime->streams[stream].stream,
                                                table->writes.data[table->writes.count - 1].end, 0));
}

enum corun_status runtime_make_table(struct runtime *runtime, uint64_t bytes, uint64_t apart,
                                     struct corun_diagnostics *list)
{
    if (!runtime->driver.copy_rows)
        return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE, "the driver of %s has no %s", runtime->info.device,
                            driver_entry_name(DRIVER_copy_rows));
    runtime->table_bytes = bytes;
    runtime->apart_bytes = apart;
    runtime_enter(runtime);
    bool good = table_create(runtime);
    runtime_leave(runtime);
    return good ? CORUN_OK : runtime_fault(runtime, list, "the table");
}

unsigned long long runtime_table_address(const struct runtime *runtime)
{
    return runtime->table.block.address;
}

static bool begin_read(struct runtime *runtime)
{
    struct table *table = &runtime->table;
    void *end = clock_event(runtime);
    bool good = end &&
                CALL(runtime, copy_out((void *)(uintptr_t)table->copy.address, table->block.address, table->block.bytes,
                                       table->read_stream)) &&
                CALL(runtime, event_record(end, table->read_stream));
    table->reading = end;
    return good;
}

enum corun_status runtime_table_read(struct runtime *runtime)
{
    if (!runtime->table_bytes || runtime->table.reading)
        return CORUN_ARGUMENT;
    if (runtime->error) /* the context has gone; runtime_wait says so */
        return CORUN_FAULT;
    runtime_enter(runtime);
    bool good = begin_read(runtime);
    runtime_leave(runtime);
    return good ? CORUN_OK : runtime_trouble(runtime);
}

const void *runtime_table_copy(const struct runtime *runtime)
{
    return (const void *)(uintptr_t)runtime->table.copy.address;
}

/* What nobody counts has ended before a limit changes. */
static bool wait_for_uncounted(struct runtime *runtime)
{
    bool good = true;
    for (uint32_t i = 0; i < runtime->options.streams && good; i++) {
        const struct flights *flights = &runtime->streams[i];
        size_t k = flights->items.count;
        while (k > flights->first && !flights->items.data[k - 1].uncounted)
            k--;
        if (k > flights->first)
            good = CALL(runtime, stream_wait(runtime->table.write_stream, flights->items.data[k - 1].end, 0));
    }
    return good;
}

static bool begin_write(struct runtime *runtime, const struct runtime_rows *rows)
{
    struct table *table = &runtime->table;
    struct table_write write = {.end = clock_event(runtime)};
    int error = 0;
    /* In sizes of which there are few: to page-lock one more takes a GPU's driver 100 us. */
    uint64_t bytes = (rows->bytes * rows->rows + WRITE_BYTES - 1) / WRITE_BYTES * WRITE_BYTES;
    if (!write.end || !blocks_take(&runtime->pinned, bytes, &write.data, &error)) {
        (void)runtime_worked(runtime, error);
        return false;
    }
    const void *from = memcpy((void *)(uintptr_t)write.data.address, rows->data, rows->bytes * rows->rows);
    struct driver_rows copy = {
        .from = {.kind = DRIVER_OF_HOST, .host = from, .pitch = rows->bytes},
        .to = {.kind = DRIVER_OF_DEVICE, .device = table->block.address + rows->offset, .pitch = rows->pitch},
        .bytes = rows->bytes,
        .rows = rows->rows};
    table->written++;
    return (rows->at_once || wait_for_uncounted(runtime)) && CALL(runtime, copy_rows(&copy, table->write_stream)) &&
           CALL(runtime, event_record(write.end, table->write_stream)) && vector_push(&table->writes, write);
}

enum corun_status runtime_table_write(struct runtime *runtime, const struct runtime_rows *rows)
{
    uint64_t size = runtime->table_bytes;
    if (!rows->rows || !rows->bytes || rows->bytes > rows->pitch || rows->offset > size ||
        rows->bytes > size - rows->offset || rows->rows - 1 > (size - rows->offset - rows->bytes) / rows->pitch)
        return CORUN_ARGUMENT;
    if (runtime->error)
        return CORUN_FAULT;
    runtime_enter(runtime);
    bool good = begin_write(runtime, rows);
    runtime_leave(runtime);
    return good ? CORUN_OK : runtime_trouble(runtime);
}

uint64_t runtime_table_written(const struct runtime *runtime)
{
    return runtime->table.written;
}

uint64_t runtime_table_settled(const struct runtime *runtime)
{
    return runtime->table.written - runtime->table.writes.count;
}
