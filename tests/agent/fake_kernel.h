/* SPDX-License-Identifier: MIT */
/*
 * A folder that behaves like those of the kernel: a new folder in it has its files at once, and is removed with them. The program is linked with
 * --wrap=mkdir and --wrap=rmdir.
 */
#ifndef TESTS_AGENT_FAKE_KERNEL_H
#define TESTS_AGENT_FAKE_KERNEL_H

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int __real_mkdir(const char *path, mode_t mode);
int __real_rmdir(const char *path);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_rmdir(const char *path);

struct fake_file {
    const char *name, *text; /* a name with a / at its end is a folder */
};

struct fake {
    char root[64];
    const struct fake_file *files; /* of each new folder; up to the one without a name */
    int removed;
    bool refuses; /* to make folders */
};
static struct fake fake;

static void fake_write(const char *folder, const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file))
        abort();
}

static inline const char *fake_read(const char *name)
{
    static char text[4096];
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", fake.root, name);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = 0;
    return file ? text : "(no such file)";
}

static void fake_fill(const char *folder, const struct fake_file *files)
{
    for (; files && files->name; files++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, files->name);
        if (path[strlen(path) - 1] == '/')
            __real_mkdir(path, 0755);
        else
            fake_write(folder, files->name, files->text);
    }
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    if (!fake.root[0] || strncmp(path, fake.root, strlen(fake.root)) != 0)
        return __real_mkdir(path, mode);
    if (fake.refuses) {
        errno = ENOSPC;
        return -1;
    }
    int result = __real_mkdir(path, mode);
    if (result == 0)
        fake_fill(path, fake.files);
    return result;
}

static void fake_empty(const char *folder)
{
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (unlink(path)) {
            fake_empty(path);
            __real_rmdir(path);
        }
    }
    if (open)
        closedir(open);
}

int __wrap_rmdir(const char *path)
{
    if (fake.root[0] && !strncmp(path, fake.root, strlen(fake.root)) && access(path, F_OK) == 0) {
        fake_empty(path);
        fake.removed++;
    }
    return __real_rmdir(path);
}

/* `root`: its files, `files`: those of folders in it. */
static inline void fake_begin(const struct fake_file *root, const struct fake_file *files)
{
    fake = (struct fake){.root = "/tmp/corun-fake-XXXXXX", .files = files};
    if (!mkdtemp(fake.root))
        abort();
    fake_fill(fake.root, root);
}

static inline void fake_end(void)
{
    fake_empty(fake.root);
    __real_rmdir(fake.root);
    fake.root[0] = 0;
}

#endif
