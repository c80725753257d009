/* SPDX-License-Identifier: MIT */
/*
 * Loaded into a program, this makes the folder of the environment variable FAKE_RESCTRL behave like that of the kernel: a new folder in it has its files at
 * once, and is removed with them.
 */
#include "fake_kernel.h"

#include <dlfcn.h>

static const struct fake_file group[] = {{"schemata", ""},
                                         {"cpus_list", ""},
                                         {"tasks", ""},
                                         {"mon_data/", NULL},
                                         {"mon_data/mon_L3_00/", NULL},
                                         {"mon_data/mon_L3_00/mbm_total_bytes", "1000\n"},
                                         {0}};

int __real_mkdir(const char *path, mode_t mode)
{
    int (*next)(const char *, mode_t);
    *(void **)&next = dlsym(RTLD_NEXT, "mkdir");
    return next(path, mode);
}

int __real_rmdir(const char *path)
{
    int (*next)(const char *);
    *(void **)&next = dlsym(RTLD_NEXT, "rmdir");
    return next(path);
}

static void find_root(void)
{
    const char *root = getenv("FAKE_RESCTRL");
    fake.files = group;
    if (root && strlen(root) < sizeof fake.root)
        memcpy(fake.root, root, strlen(root) + 1);
}

int mkdir(const char *path, mode_t mode)
{
    find_root();
    return __wrap_mkdir(path, mode);
}

int rmdir(const char *path)
{
    find_root();
    return __wrap_rmdir(path);
}
