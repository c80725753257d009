/* SPDX-License-Identifier: MIT */
/* Preloaded: counts how often the process looks up a symbol, opens a library and, by what it has looked up, asks whether a stream is captured and records an event, and tells on the standard error output when it ends. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static atomic_ulong lookups, openings, captures, records;
static _Atomic(void *) is_capturing, record;

static void *find_real(const char *name)
{
    void *real = dlvsym(RTLD_NEXT, name, "GLIBC_2.34");
    return real ? real : dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
}

#define COUNTED(name, first, second, place, count) \
    static int name(first one, second other) \
    { \
        int (*real)(first, second); \
        void *found = atomic_load(&(place)); \
        memcpy(&real, &found, sizeof real); \
        atomic_fetch_add(&(count), 1); \
        return real(one, other); \
    }
COUNTED(count_captures, void *, int *, is_capturing, captures)
COUNTED(count_records, void *, void *, record, records)

void *dlsym(void *restrict library, const char *restrict name)
{
    static _Atomic(void *) known;
    void *(*real)(void *, const char *);
    void *found = atomic_load(&known);
    if (!found)
        atomic_store(&known, found = find_real("dlsym"));
    memcpy(&real, &found, sizeof real);
    atomic_fetch_add(&lookups, 1);
    found = real(library, name);
    if (found && strcmp(name, "cuStreamIsCapturing") == 0) {
        atomic_store(&is_capturing, found);
        found = (void *)(uintptr_t)count_captures;
    } else if (found && strcmp(name, "cuEventRecord") == 0) {
        atomic_store(&record, found);
        found = (void *)(uintptr_t)count_records;
    }
    return found;
}

void *dlopen(const char *path, int mode)
{
    static _Atomic(void *) known;
    void *(*real)(const char *, int);
    void *found = atomic_load(&known);
    if (!found)
        atomic_store(&known, found = find_real("dlopen"));
    memcpy(&real, &found, sizeof real);
    atomic_fetch_add(&openings, 1);
    return real(path, mode);
}

__attribute__((destructor)) static void tell(void)
{
    fprintf(stderr, "%lu lookups\n%lu openings\n%lu captures\n%lu records\n", atomic_load(&lookups),
            atomic_load(&openings), atomic_load(&captures), atomic_load(&records));
}
