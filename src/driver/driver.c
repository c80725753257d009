/* SPDX-License-Identifier: MIT */
/* The driver's library is opened, and its functions are looked up by name. */
#include "driver/driver.h"

#include <dlfcn.h>
#include <string.h>
#include <time.h>

/* A symbol that corun's own driver has and no other. */
static const char simulated_mark[] = "corun_driver_call", simulated_sleep[] = "corun_host_sleep";

/* A thread that sleeps on Linux sleeps some 50 us longer than it was told to: for less than this the host looks at its clock. */
#define SPIN_NANOSECONDS 100000u

static const char *const names[] = {
#define F(field, symbol, arguments) #symbol,
#include "driver/driver.def"
#undef F
};

const char *driver_entry_name(enum driver_entry entry)
{
    return names[entry];
}

/* Looks all of them up. Where one that is needed is missing, the first of those is told. */
static enum corun_status find_functions(struct driver *driver, const char *library, const enum driver_entry *needed,
                                        size_t count, struct corun_diagnostics *list)
{
    static const enum driver_entry always[] = {DRIVER_init, DRIVER_device_count, DRIVER_error_name};
    const size_t fixed = sizeof always / sizeof *always;
    void *found[DRIVER_ENTRIES];
    size_t i = 0;
    for (; i < DRIVER_ENTRIES; i++)
        found[i] = dlsym(driver->library, names[i]);
    for (i = 0; i < fixed + count; i++) {
        enum driver_entry entry = i < fixed ? always[i] : needed[i - fixed];
        if (!found[entry])
            return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                                "%s is too old, or no driver of CUDA: there is no %s", library, names[entry]);
    }
    i = 0;
#define F(field, symbol, arguments) memcpy(&driver->field, &found[i++], sizeof(void *));
#include "driver/driver.def"
#undef F
    return CORUN_OK;
}

static enum corun_status initialise(struct driver *driver, const char *library, struct corun_diagnostics *list)
{
    int devices = 0, result = driver->init(0);
    if (!result)
        result = driver->device_count(&devices);
    if (result)
        return corun_report(list, CORUN_FAULT, CORUN_NOWHERE, "%s cannot be used: %s", library,
                            driver_error(driver, result));
    if (devices <= 0)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "%s finds no GPU", library);
    driver->count = (uint32_t)devices;
    driver->simulated = dlsym(driver->library, simulated_mark) != NULL;
    void *sleep = dlsym(driver->library, simulated_sleep);
    memcpy(&driver->simulated_sleep, &sleep, sizeof sleep);
    return CORUN_OK;
}

enum corun_status driver_open(struct driver *driver, const char *library, const enum driver_entry *needed, size_t count,
                              struct corun_diagnostics *list)
{
    if (!library)
        library = "libcuda.so.1";
    *driver = (struct driver){.library = dlopen(library, RTLD_NOW | RTLD_LOCAL)};
    if (!driver->library)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "there is no driver of CUDA: %s", dlerror());
    enum corun_status status = find_functions(driver, library, needed, count, list);
    if (status != CORUN_OK) {
        dlclose(driver->library);
        return status;
    }
    return initialise(driver, library, list);
}

const char *driver_error(const struct driver *driver, int error)
{
    const char *name = NULL;
    return !driver->error_name(error, &name) && name ? name : "an unknown error";
}

static uint64_t wall_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int driver_sleep(const struct driver *driver, uint64_t nanoseconds)
{
    if (driver->simulated_sleep)
        return driver->simulated_sleep(nanoseconds);
    if (nanoseconds < SPIN_NANOSECONDS) {
        for (uint64_t end = wall_ns() + nanoseconds; wall_ns() < end;)
            ;
        return 0;
    }
    struct timespec time = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    while (nanosleep(&time, &time))
        ;
    return 0;
}
