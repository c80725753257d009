/* SPDX-License-Identifier: MIT */
/* The descriptions that come with corun: all are read, and none says what cannot be. */
#include "host/application.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER CORUN_SOURCE_DIR "/configs/host/applications"

static void more_room_never_misses_more(const struct host_application *application)
{
    double sizes[] = {application->sizes.mean / 2, application->sizes.mean, 20 * application->sizes.mean};
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t threads = 1; threads <= 12; threads++) {
            double before = host_application_misses(application, sizes[s], threads, 1 << 20);
            for (uint32_t bytes = 1 << 21; bytes < 64000000; bytes += 1 << 20) {
                double now = host_application_misses(application, sizes[s], threads, bytes);
                assert_true(now >= 0 && now <= before);
                before = now;
            }
        }
}

static void more_cores_are_no_slower(const struct host_application *application)
{
    double before = 0;
    for (uint32_t cores = 1; cores <= application->threads; cores++) {
        double now = host_application_speedup(application, application->sizes.mean, cores);
        assert_true(now <= cores * 1.0001);
        /* Task graphs that are no faster on one more core have anomalies of list scheduling; they are small. */
        assert_true(now >= before * 0.95);
        before = now;
    }
}

static void every_description_can_be(void **state)
{
    (void)state;
    uint32_t services = 0, batches = 0;
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        size_t length = strlen(entry->d_name);
        struct host_application *application = NULL;
        if (length < 6 || strcmp(entry->d_name + length - 5, ".yaml") != 0)
            continue;
        snprintf(path, sizeof path, FOLDER "/%s", entry->d_name);
        assert_int_equal(host_application_load(path, NULL, NULL, &application), CORUN_OK);
        assert_memory_equal(application->name, entry->d_name, length - 5);
        assert_true(strlen(application->measured) > 20);
        assert_int_equal(application->threads, 12);
        more_room_never_misses_more(application);
        more_cores_are_no_slower(application);
        services += application->kind == CORUN_HOST_SERVICE;
        batches += application->kind == CORUN_HOST_BATCH;
        host_application_destroy(application);
    }
    closedir(folder);
    assert_int_equal(services, 7);
    assert_int_equal(batches, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_description_can_be)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
