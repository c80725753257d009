/* SPDX-License-Identifier: MIT */
/*
 * Streams that have what others have not: a priority, or SMs of their own. Green contexts belong to the device's primary context, so the
 * runtime works in that one where it has them (CUDA Driver API, green contexts).
 */
#include "runtime/state.h"

#include <stdio.h>

enum { STREAM_ON_ITS_OWN = 1, GREEN_DEFAULT = 1 };

static const enum driver_entry of_priority[] = {DRIVER_stream_priorities, DRIVER_stream_create_priority};
static const enum driver_entry of_sms[] = {DRIVER_context_retain, DRIVER_context_release,   DRIVER_device_resource,
                                           DRIVER_resource_split, DRIVER_resource_describe, DRIVER_green_create,
                                           DRIVER_green_destroy,  DRIVER_green_stream};

/* Is there a function of that name in the driver? */
static bool has(const struct driver *driver, enum driver_entry entry)
{
    bool there = false;
    switch (entry) {
#define F(field, symbol, arguments) \
    case DRIVER_##field: \
        there = driver->field != NULL; \
        break;
#include "driver/driver.def"
#undef F
    default:
        break;
    }
    return there;
}

enum corun_status favour_check(const struct runtime *runtime, struct corun_diagnostics *list)
{
    const enum driver_entry *needed = runtime->options.favour == RUNTIME_PRIORITY ? of_priority : of_sms;
    size_t count = runtime->options.favour == RUNTIME_PRIORITY ? sizeof of_priority / sizeof *of_priority
                   : favour_divides(runtime)                   ? sizeof of_sms / sizeof *of_sms
                                                               : 0;
    for (size_t i = 0; i < count; i++)
        if (!has(&runtime->driver, needed[i]))
            return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE, "the driver has no %s: streams cannot have %s",
                                driver_entry_name(needed[i]),
                                runtime->options.favour == RUNTIME_PRIORITY ? "a priority" : "SMs of their own");
    return CORUN_OK;
}

/* Two parts of the device. */
static bool make_parts(struct runtime *runtime)
{
    struct driver_resource all = {0}, own = {0}, rest = {0};
    struct driver_resource *parts[] = {&own, &rest};
    unsigned groups = 1;
    void *description;
    if (!CALL(runtime, device_resource(runtime->device, &all, DRIVER_RESOURCE_SMS)) ||
        !CALL(runtime, resource_split(&own, &groups, &all, &rest, 0, runtime->options.own_sms)) || !rest.sms)
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (!CALL(runtime, resource_describe(&description, parts[i], 1)) ||
            !CALL(runtime, green_create(&runtime->parts[i], description, runtime->device, GREEN_DEFAULT)))
            return false;
    runtime->info.own_sms = own.sms;
    return true;
}

/* The green context of a stream; NULL: it has all SMs. */
static void *part_of(const struct runtime *runtime, uint32_t index)
{
    const struct runtime_options *options = &runtime->options;
    bool all_divided = options->favour == RUNTIME_OWN_SMS, apart = options->favour == RUNTIME_APART;
    if (all_divided ? index < options->favoured : apart && options->apart >> index & 1)
        return runtime->parts[0];
    return all_divided || (apart && options->rest >> index & 1) ? runtime->parts[1] : NULL;
}

static bool make_stream(struct runtime *runtime, uint32_t index, int greatest)
{
    void **stream = &runtime->streams[index].stream;
    bool favoured = index < runtime->options.favoured;
    void *part = part_of(runtime, index);
    if (part)
        return CALL(runtime, green_stream(stream, part, STREAM_ON_ITS_OWN, 0));
    if (runtime->options.favour == RUNTIME_PRIORITY && favoured)
        return CALL(runtime, stream_create_priority(stream, STREAM_ON_ITS_OWN, greatest));
    return CALL(runtime, stream_create(stream, STREAM_ON_ITS_OWN));
}

bool favour_make_streams(struct runtime *runtime)
{
    int least = 0, greatest = 0;
    bool good = true;
    if (runtime->options.favour == RUNTIME_PRIORITY)
        good = CALL(runtime, stream_priorities(&least, &greatest));
    if (favour_divides(runtime))
        good = make_parts(runtime);
    for (uint32_t i = 0; i < runtime->options.streams && good; i++)
        good = make_stream(runtime, i, greatest);
    return good;
}

/* The least and the most SMs that the driver divides off so that any are left, and the step between these numbers if it is the same; 0: there are none. */
static void find_divisions(const struct runtime *runtime, unsigned *least, unsigned *most, unsigned *step)
{
    struct driver_resource all = {0};
    *least = *most = *step = 0;
    if (runtime->driver.device_resource(runtime->device, &all, DRIVER_RESOURCE_SMS))
        return;
    for (unsigned wanted = 1; wanted < all.sms; wanted++) {
        struct driver_resource own = {0}, rest = {0};
        unsigned groups = 1;
        if (runtime->driver.resource_split(&own, &groups, &all, &rest, 0, wanted) || !rest.sms || own.sms <= *most)
            continue;
        *step = *most ? own.sms - *most : 0;
        *least = *least ? *least : own.sms;
        *most = own.sms;
    }
}

enum corun_status favour_refuse(const struct runtime *runtime, struct corun_diagnostics *list, bool *refused)
{
    unsigned least, most, step, wanted = runtime->options.own_sms;
    *refused = favour_divides(runtime) && runtime->context && !runtime->info.own_sms;
    if (!*refused)
        return CORUN_OK;
    find_divisions(runtime, &least, &most, &step);
    if (!most)
        return CORUN_OK;
    char numbers[64];
    if (least == most)
        snprintf(numbers, sizeof numbers, "%u can", least);
    else
        snprintf(numbers, sizeof numbers, "%u to %u can, in steps of %u", least, most, step);
    return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s has %u SMs, of which %u cannot be divided off: %s",
                        runtime->info.device, runtime->info.sms, wanted, numbers);
}

/* Streams of green contexts would outlive the primary context's user. */
void favour_drop(struct runtime *runtime)
{
    for (uint32_t i = 0; i < 2; i++) {
        if (runtime->parts[i])
            (void)runtime->driver.green_destroy(runtime->parts[i]);
        runtime->parts[i] = NULL;
    }
}
