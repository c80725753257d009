/* SPDX-License-Identifier: MIT */
/* Rewritten modules on disk: what is kept is found again, what is not whole is not, and who is used least goes. */
#include "rewrite/cache.h"

#include "rewrite/borrow.h"
#include "rewrite/slice.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char first_text[] =
    ".version 6.3\n.target sm_52\n.address_size 64\n.visible .entry one(.param .u64 p)\n{\n"
    ".reg .b32 %r<2>;\n.reg .b64 %d<2>;\nld.param.u64 %d0, [p];\nmov.u32 %r0, %ctaid.x;\n"
    "st.global.u32 [%d0], %r0;\nret;\n}\n";
static const char second_text[] =
    ".version 6.3\n.target sm_52\n.address_size 64\n.global .u32 here;\n.const .u32 there;\n"
    ".visible .entry two()\n{\nst.global.u32 [here], 2;\nret;\n}\n"
    ".visible .entry both()\n{\n.reg .u32 %r;\nld.const.u32 %r, [there];\n"
    "st.global.u32 [here], %r;\nret;\n}\n"
    ".visible .entry three(.param .u32 a, .param .u32 b)\n{\nret;\n}\n";
static const char third_text[] =
    ".version 6.3\n.target sm_52\n.address_size 64\n.visible .entry four(.param .u32 a)\n{\nret;\n}\n";

static uint32_t passes, remarks;
static char problem_told[256];

static enum corun_status counted_pass(const struct ptx_module *source, struct corun_diagnostics *list,
                                      struct rewritten *rewritten)
{
    passes++;
    return borrow_before(slice_module, source, list, rewritten);
}

static void remark(const char *path, const char *problem)
{
    assert_true(*path == '/');
    remarks++;
    snprintf(problem_told, sizeof problem_told, "%s", problem);
}

struct rig {
    char top[64], folder[128];
    struct rewrite_cache cache;
};

static int set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    snprintf(rig->top, sizeof rig->top, "/tmp/corun-cache-XXXXXX");
    assert_non_null(mkdtemp(rig->top));
    snprintf(rig->folder, sizeof rig->folder, "%s/below/slices", rig->top);
    rig->cache = (struct rewrite_cache){rig->folder, UINT64_C(1) << 20, remark};
    passes = remarks = 0;
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", rig->top);
    assert_int_equal(system(command), 0);
    free(rig);
    return 0;
}

/* How it came, and which kernel it has. */
static bool comes(const struct rig *rig, const char *text, const char *kernel)
{
    struct cached_module *module = NULL;
    bool hit = false;
    uint32_t before = passes;
    assert_int_equal(rewrite_cached(&rig->cache, "slices", counted_pass, text, strlen(text), &module, &hit), CORUN_OK);
    assert_non_null(cached_kernel_find(module, kernel));
    assert_null(cached_kernel_find(module, "nobody"));
    assert_int_equal(strlen(module->text), module->text_bytes);
    assert_non_null(strstr(module->text, kernel));
    assert_int_equal(passes - before, !hit);
    free(module);
    return hit;
}

/* The path of the only entry, and how many files there are. */
static uint32_t entries(const struct rig *rig, char path[512])
{
    uint32_t count = 0;
    DIR *folder = opendir(rig->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (*entry->d_name != '.') {
            snprintf(path, 512, "%s/%s", rig->folder, entry->d_name);
            count++;
        }
    if (folder)
        closedir(folder);
    return count;
}

static void test_kept(void **state)
{
    const struct rig *rig = *state;
    char path[512];
    struct cached_module *made = NULL, *found = NULL;
    bool hit = true;
    assert_int_equal(
        rewrite_cached(&rig->cache, "slices", counted_pass, second_text, sizeof second_text - 1, &made, &hit), 0);
    assert_false(hit);
    assert_int_equal(
        rewrite_cached(&rig->cache, "slices", counted_pass, second_text, sizeof second_text - 1, &found, &hit), 0);
    assert_true(hit);
    assert_int_equal(passes, 1);
    assert_string_equal(made->text, found->text);
    assert_string_equal(found->borrowed_table, "corun_variables");
    assert_int_equal(found->borrowed_count, 2);
    assert_string_equal(found->borrowed[0], "here");
    assert_string_equal(found->borrowed[1], "there");
    assert_true(!made->copied[0] && made->copied[1] && !found->copied[0] && found->copied[1]);
    assert_int_equal(found->kernel_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(found->kernels[i].borrow_count, i < 2 ? 1 + i : 0);
        assert_int_equal(made->kernels[i].borrow_count, found->kernels[i].borrow_count);
        for (uint32_t k = 0; k < found->kernels[i].borrow_count; k++)
            assert_true(made->kernels[i].borrows[k] == k && found->kernels[i].borrows[k] == k);
        assert_string_equal(made->kernels[i].name, found->kernels[i].name);
        assert_int_equal(made->kernels[i].parameter_index, found->kernels[i].parameter_index);
        assert_int_equal(made->kernels[i].refused, found->kernels[i].refused);
        assert_int_equal(made->kernels[i].only_before_volta, found->kernels[i].only_before_volta);
    }
    assert_int_equal(cached_kernel_find(found, "three")->parameter_index, 2);
    free(made);
    free(found);
    struct stat about;
    assert_int_equal(entries(rig, path), 1);
    assert_int_equal(stat(rig->folder, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    assert_false(comes(rig, first_text, "one")); /* another text */
    bool other = true;
    struct cached_module *module = NULL; /* another pass */
    assert_int_equal(
        rewrite_cached(&rig->cache, "others", counted_pass, first_text, sizeof first_text - 1, &module, &other), 0);
    assert_false(other);
    free(module);
    assert_int_equal(remarks, 0);
}

/* What cannot be parsed is not kept, and nothing is where there is no folder. */
static void test_not_kept(void **state)
{
    struct rig *rig = *state;
    struct cached_module *module = NULL;
    bool hit;
    char path[512];
    assert_int_not_equal(rewrite_cached(&rig->cache, "slices", counted_pass, "nonsense", 8, &module, &hit), CORUN_OK);
    assert_int_equal(entries(rig, path), 0);
    rig->cache.folder = NULL;
    assert_false(comes(rig, first_text, "one"));
    assert_false(comes(rig, first_text, "one"));
    rig->cache.folder = "/proc/nowhere/slices"; /* where nothing can be made */
    assert_false(comes(rig, first_text, "one"));
    assert_false(comes(rig, first_text, "one"));
    assert_int_equal(remarks, 0);
}

/* All names in the folder but `.` and `..`. */
static uint32_t names(const struct rig *rig)
{
    uint32_t count = 0;
    DIR *folder = opendir(rig->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (folder)
        closedir(folder);
    return count;
}

/* A process whose files may not become as long as an entry goes on without a signal, and leaves no piece of one. */
static void test_short_files(void **state)
{
    const struct rig *rig = *state;
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {100, 100};
        bool good = signal(SIGXFSZ, SIG_DFL) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &limit) == 0;
        good = good && !comes(rig, first_text, "one") && !comes(rig, first_text, "one");
        _exit(good && names(rig) == 0 ? 0 : 2);
    }
    assert_true(waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    assert_false(comes(rig, first_text, "one"));
    assert_true(comes(rig, first_text, "one"));
}

static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

enum { NO_DISK = 77 };

static bool write_line(const char *path, const char *line)
{
    FILE *file = fopen(path, "w");
    bool good = file && fputs(line, file) >= 0;
    return file && fclose(file) == 0 && good;
}

/* A process may mount where it is root: who is not becomes root of a user namespace. Files need a user and a group that are known there. */
static bool may_mount(void)
{
    char users[64], groups[64];
    if (!geteuid())
        return unshare(CLONE_NEWNS) == 0;
    snprintf(users, sizeof users, "0 %u 1\n", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1\n", (unsigned)getegid());
    return unshare(CLONE_NEWNS | CLONE_NEWUSER) == 0 && write_line("/proc/self/uid_map", users) &&
           write_line("/proc/self/setgroups", "deny\n") && write_line("/proc/self/gid_map", groups);
}

/* In a process of its own: a disk of one page, which somebody else has filled, and then has not. */
static int use_full_disk(const struct rig *rig)
{
    char filler[160], page[4096] = "";
    if (!may_mount() || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) ||
        mount("none", rig->top, "tmpfs", 0, "size=4096"))
        return NO_DISK;
    snprintf(filler, sizeof filler, "%s/filler", rig->top);
    write_file(filler, page, sizeof page);
    if (comes(rig, first_text, "one") || comes(rig, first_text, "one") || names(rig) != 0)
        return 2;
    if (unlink(filler) || comes(rig, first_text, "one") || !comes(rig, first_text, "one") || names(rig) != 1)
        return 3;
    if (comes(rig, second_text, "two") || comes(rig, second_text, "two") || !comes(rig, first_text, "one"))
        return 4; /* the second one has no room beside the first */
    return names(rig) == 1 && remarks == 0 ? 0 : 5;
}

/* Where the disk is full, nothing is kept, nothing is left behind, and what is there already is found. */
static void test_full_disk(void **state)
{
    int status = 1;
    pid_t child = fork();
    if (child == 0)
        _exit(use_full_disk(*state));
    assert_true(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_DISK)
        skip(); /* this user may have no disk of its own here */
    assert_int_equal(status, 0);
}

/* Entries that are cut off, damaged, or no files are told of, made anew, and found from then on. */
static void test_damaged(void **state)
{
    const struct rig *rig = *state;
    char path[512], data[16384];
    assert_false(comes(rig, first_text, "one"));
    assert_int_equal(entries(rig, path), 1);
    FILE *file = fopen(path, "r");
    size_t bytes = fread(data, 1, sizeof data, file);
    fclose(file);
    assert_true(bytes > 200 && bytes < sizeof data);
    for (size_t length = 0; length < bytes; length += bytes / 7) {
        write_file(path, data, length);
        assert_false(comes(rig, first_text, "one"));
        assert_true(comes(rig, first_text, "one"));
        assert_string_equal(problem_told, length < 112 ? "it is not a file of ours" : "it is damaged");
    }
    assert_int_equal(remarks, 8);
    data[bytes - 5] ^= 1;
    write_file(path, data, bytes);
    assert_false(comes(rig, first_text, "one"));
    assert_int_equal(remarks, 9);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_false(comes(rig, first_text, "one"));
    assert_int_equal(remarks, 10);
    assert_true(comes(rig, first_text, "one"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0); /* stays */
    assert_false(comes(rig, first_text, "one"));
    assert_false(comes(rig, first_text, "one"));
    assert_int_equal(remarks, 12);
}

/* No byte of an entry can be another one, and none can be missing, so that it is taken for whole. */
static void test_every_byte(void **state)
{
    (void)state;
    static const char text[] = "text of a module";
    struct cached_module *module = calloc(1, sizeof *module + 2 * sizeof *module->kernels);
    const char *problem;
    size_t bytes, wrong_bytes;
    module->text = text;
    module->text_bytes = sizeof text - 1;
    module->kernel_count = 2;
    module->borrowed = (const char *const[]){"step", "count", "total"};
    module->copied = (const bool[]){true, false, true};
    module->borrowed_count = 3;
    module->borrowed_table = "table";
    module->kernels[0] =
        (struct cached_kernel){.name = "a", .parameter_index = 3, .only_before_volta = true, .borrow_count = 2};
    module->kernels[0].borrows = (const uint32_t[]){0, 2};
    module->kernels[1] = (struct cached_kernel){.name = "longer", .refused = true, .borrow_count = 1};
    module->kernels[1].borrows = (const uint32_t[]){1};
    uint8_t *data = cached_module_encode(module, &bytes);
    struct cached_module *found = cached_module_decode(data, bytes, &problem);
    assert_non_null(found);
    assert_true(found->kernels[0].only_before_volta && !found->kernels[0].refused);
    assert_true(found->kernels[1].refused && !found->kernels[1].only_before_volta);
    assert_string_equal(found->text, text);
    assert_string_equal(found->borrowed_table, "table");
    assert_string_equal(found->borrowed[1], "count");
    assert_true(found->copied[0] && !found->copied[1] && found->copied[2]);
    assert_int_equal(found->kernels[0].borrows[1], 2);
    assert_int_equal(found->kernels[1].borrows[0], 1);
    free(found);
    module->borrowed_count = 2; /* a kernel wants what is not there */
    uint8_t *wrong = cached_module_encode(module, &wrong_bytes);
    assert_null(cached_module_decode(wrong, wrong_bytes, &problem));
    assert_string_equal(problem, "it is damaged");
    free(wrong);
    for (size_t i = 0; i < bytes; i++) {
        assert_null(cached_module_decode(data, i, &problem));
        data[i] ^= 0x20;
        assert_null(cached_module_decode(data, bytes, &problem));
        data[i] ^= 0x20;
    }
    free(data);
    free(module);
}

/* Beyond the limit, those go that nobody has used for longest; a hit is a use. */
static void test_limit(void **state)
{
    struct rig *rig = *state;
    char path[512], stale[256];
    struct stat about;
    assert_false(comes(rig, first_text, "one"));
    assert_int_equal(entries(rig, path), 1);
    assert_int_equal(stat(path, &about), 0);
    const struct timespec long_ago[2] = {{1000, 0}, {1000, 0}}, later[2] = {{2000, 0}, {2000, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    snprintf(stale, sizeof stale, "%s/.new-abcdef", rig->folder); /* of a process that was killed */
    write_file(stale, "half", 4);
    assert_int_equal(utimensat(AT_FDCWD, stale, long_ago, 0), 0);
    uint64_t first_bytes = (uint64_t)about.st_size;
    assert_false(comes(rig, second_text, "two"));
    assert_int_not_equal(stat(stale, &about), 0);
    assert_int_equal(entries(rig, path), 2);
    uint64_t sum = 0;
    DIR *folder = opendir(rig->folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        (void)utimensat(dirfd(folder), entry->d_name, later, 0);
        assert_int_equal(fstatat(dirfd(folder), entry->d_name, &about, 0), 0);
        sum += *entry->d_name != '.' ? (uint64_t)about.st_size : 0;
    }
    closedir(folder);
    assert_true(sum > first_bytes + 112);
    assert_true(comes(rig, first_text, "one")); /* used after the second one */
    rig->cache.most_bytes = sum + 10;           /* no room for the third one, which is shorter than the second */
    assert_false(comes(rig, third_text, "four"));
    assert_true(comes(rig, first_text, "one"));
    assert_true(comes(rig, third_text, "four"));
    assert_false(comes(rig, second_text, "two"));
    rig->cache.most_bytes = 10; /* less than one of them: nothing is kept, and nothing stays */
    assert_true(entries(rig, path) >= 1);
    static const char other[] = ".version 6.3\n.target sm_52\n.address_size 64\n.visible .entry five()\n{\nret;\n}\n";
    assert_false(comes(rig, other, "five"));
    assert_false(comes(rig, other, "five"));
}

/* Processes that load, damage and drop the same entries all the time each have what they want. */
static void test_processes(void **state)
{
    struct rig *rig = *state;
    enum { PROCESSES = 4, TIMES = 60 };
    char path[512];
    rig->cache.remark = NULL;
    rig->cache.most_bytes = 1800; /* two of the three */
    for (int p = 0; p < PROCESSES; p++) {
        pid_t child = fork();
        assert_true(child >= 0);
        for (int i = 0; child == 0 && i < TIMES; i++) {
            (void)comes(rig, first_text, "one");
            (void)comes(rig, (i + p) % 2 ? second_text : third_text, (i + p) % 2 ? "two" : "four");
            if (p == 0 && i % 5 == 0 && entries(rig, path))
                (void)truncate(path, 150);
        }
        if (child == 0)
            _exit(0);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = 1;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_true(entries(rig, path) <= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_kept, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_not_kept, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_short_files, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_full_disk, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
                                       cmocka_unit_test(test_every_byte),
                                       cmocka_unit_test_setup_teardown(test_limit, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_processes, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
