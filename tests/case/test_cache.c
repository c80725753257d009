/* SPDX-License-Identifier: MIT */
/* Results kept by content: what is damaged or foreign is as good as none, and says so. */
#include "case/cache.h"

#include "case/cache_lock.h"
#include "corun/case.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    char directory[64], path[256];
    struct content_key key;
    struct corun_diagnostics *list;
};

static struct content_key key_of(const char *text)
{
    struct content_digest *digest = content_digest_create();
    assert_non_null(digest);
    content_digest_add(digest, "text", text, strlen(text));
    return content_digest_end(digest);
}

static int begin(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    strcpy(place->directory, "/tmp/corun-cache-XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    place->key = key_of("one");
    snprintf(place->path, sizeof place->path, "%s/%s.json", place->directory, place->key.hex);
    place->list = corun_diagnostics_create();
    *state = place;
    return 0;
}

static uint32_t count_files(const char *directory)
{
    uint32_t count = 0;
    DIR *folder = opendir(directory);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    if (folder)
        closedir(folder);
    return count;
}

static int end(void **state)
{
    struct place *place = *state;
    DIR *folder = opendir(place->directory);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", place->directory, entry->d_name);
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            remove(path);
    }
    if (folder)
        closedir(folder);
    rmdir(place->directory);
    corun_diagnostics_destroy(place->list);
    free(place);
    return 0;
}

static void store(const struct place *place, int number)
{
    json_t *values = json_pack("{s:i}", "number", number);
    cache_store(place->directory, &place->key, "a test", values, place->list);
    json_decref(values);
}

static int load(const struct place *place)
{
    int number = -1;
    json_t *values = cache_load(place->directory, &place->key, place->list);
    if (values)
        assert_int_equal(json_unpack(values, "{s:i}", "number", &number), 0);
    json_decref(values);
    return number;
}

static void expect_warning(const struct place *place, const char *words)
{
    assert_int_equal(corun_diagnostics_count(place->list), 1);
    assert_int_equal(corun_diagnostics_get(place->list, 0)->status, CORUN_OK);
    assert_non_null(strstr(corun_diagnostics_get(place->list, 0)->message, words));
}

static void what_is_stored_is_found(void **state)
{
    struct place *place = *state;
    assert_int_equal(load(place), -1);
    store(place, 5);
    assert_int_equal(load(place), 5);
    store(place, 6);
    assert_int_equal(load(place), 6);
    assert_int_equal(count_files(place->directory), 1); /* nothing temporary is left */
    assert_int_equal(corun_diagnostics_count(place->list), 0);
}

static void keys_depend_on_content_name_and_length(void **state)
{
    (void)state;
    assert_string_equal(key_of("a").hex, key_of("a").hex);
    assert_string_not_equal(key_of("a").hex, key_of("b").hex);
    assert_int_equal(strlen(key_of("").hex), CONTENT_KEY_LENGTH);
    struct content_digest *first = content_digest_create(), *second = content_digest_create();
    content_digest_add(first, "ab", "c", 1);
    content_digest_add(second, "a", "bc", 2);
    assert_string_not_equal(content_digest_end(first).hex, content_digest_end(second).hex);
}

/* The entry's text, its place of the number changed, cut off or replaced. */
static void rewrite(const struct place *place, const char *from, const char *to, size_t cut)
{
    char text[4096] = "";
    FILE *file = fopen(place->path, "r");
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    file = fopen(place->path, "w");
    char *at = from ? strstr(text, from) : NULL;
    if (at) {
        assert_int_equal(strlen(from), strlen(to));
        memcpy(at, to, strlen(to));
    }
    fwrite(text, 1, cut < bytes ? cut : bytes, file);
    fclose(file);
}

static void a_changed_value_is_damage(void **state)
{
    store(*state, 5);
    rewrite(*state, "\"number\": 5", "\"number\": 6", SIZE_MAX);
    assert_int_equal(load(*state), -1);
    expect_warning(*state, "damaged");
}

static void a_truncated_file_is_not_used(void **state)
{
    store(*state, 5);
    rewrite(*state, NULL, NULL, 40);
    assert_int_equal(load(*state), -1);
    expect_warning(*state, "is not used");
}

static void an_empty_file_is_not_used(void **state)
{
    store(*state, 5);
    rewrite(*state, NULL, NULL, 0);
    assert_int_equal(load(*state), -1);
    expect_warning(*state, "is not used");
}

static void another_version_is_not_used(void **state)
{
    store(*state, 5);
    char version[40];
    snprintf(version, sizeof version, "\"corun_results\": %u", CORUN_RESULTS_VERSION);
    rewrite(*state, version, "\"corun_results\": 0", SIZE_MAX);
    assert_int_equal(load(*state), -1);
    expect_warning(*state, "another version");
}

static void another_key_is_not_used(void **state)
{
    struct place *place = *state;
    store(place, 5);
    struct place other = *place;
    other.key = key_of("two");
    char path[256];
    snprintf(path, sizeof path, "%s/%s.json", place->directory, other.key.hex);
    assert_int_equal(rename(place->path, path), 0);
    assert_int_equal(load(&other), -1);
    expect_warning(place, "another key");
}

static void foreign_json_is_not_used(void **state)
{
    struct place *place = *state;
    FILE *file = fopen(place->path, "w");
    fputs("[1, 2, 3]\n", file);
    fclose(file);
    assert_int_equal(load(place), -1);
    expect_warning(place, "not a file of ours");
}

static void a_folder_of_that_name_is_not_used(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkdir(place->path, 0700), 0);
    assert_int_equal(load(place), -1);
    expect_warning(place, "is not used");
}

static void a_cache_that_cannot_be_made_is_a_warning(void **state)
{
    struct place *place = *state, inside = *place;
    FILE *file = fopen(place->path, "w");
    fclose(file);
    snprintf(inside.directory, sizeof inside.directory, "%.60s", "/dev/null/corun");
    store(&inside, 5);
    expect_warning(place, "cannot store");
}

static void folders_are_made(void **state)
{
    struct place *place = *state, deeper = *place;
    snprintf(deeper.directory, sizeof deeper.directory, "%.40s/a/b", place->directory);
    store(&deeper, 7);
    assert_int_equal(load(&deeper), 7);
    char path[512];
    snprintf(path, sizeof path, "%s/%s.json", deeper.directory, place->key.hex);
    remove(path);
    rmdir(deeper.directory);
    *strrchr(deeper.directory, '/') = 0;
    rmdir(deeper.directory);
}

static void several_processes_may_store_at_once(void **state)
{
    struct place *place = *state;
    for (int child = 0; child < 4; child++) {
        if (fork())
            continue;
        for (int i = 0; i < 50; i++) {
            store(place, 1000 + child);
            int number = load(place);
            if (number < 1000 || number > 1003)
                _exit(1);
        }
        _exit(corun_diagnostics_count(place->list) != 0);
    }
    for (int child = 0; child < 4; child++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(place->directory), 1);
}

static void the_directory_follows_the_environment(void **state)
{
    (void)state;
    char path[64];
    setenv("XDG_CACHE_HOME", "/somewhere", 1);
    assert_true(corun_cache_directory(path, sizeof path));
    assert_string_equal(path, "/somewhere/corun");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/home/me", 1);
    assert_true(corun_cache_directory(path, sizeof path));
    assert_string_equal(path, "/home/me/.cache/corun");
    assert_false(corun_cache_directory(path, 10));
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    assert_false(corun_cache_directory(path, sizeof path));
}

static void a_lock_has_one_owner(void **state)
{
    struct place *place = *state;
    struct cache_lock first, second, third;
    int64_t touched = 0, later = 0;
    assert_int_equal(cache_lock_try(place->directory, &place->key, &first, &touched), CACHE_LOCK_OURS);
    assert_int_equal(cache_lock_try(place->directory, &place->key, &second, &touched), CACHE_LOCK_ELSEWHERE);
    struct content_key other = key_of("two");
    assert_int_equal(cache_lock_try(place->directory, &other, &second, &later), CACHE_LOCK_OURS);
    do /* file systems count time in steps */
        cache_lock_renew(&first);
    while (cache_lock_try(place->directory, &place->key, &third, &later) == CACHE_LOCK_ELSEWHERE && later <= touched);
    assert_true(later > touched);
    cache_lock_release(&first);
    assert_int_equal(cache_lock_try(place->directory, &place->key, &third, &later), CACHE_LOCK_OURS);
    cache_lock_release(&second);
    cache_lock_release(&third);
    cache_lock_release(&third); /* it is not ours any more */
    assert_int_equal(count_files(place->directory), 0);
}

static void a_lock_ends_with_its_process(void **state)
{
    struct place *place = *state;
    struct cache_lock lock;
    int64_t touched;
    pid_t child = fork();
    if (!child)
        _exit(cache_lock_try(place->directory, &place->key, &lock, &touched) != CACHE_LOCK_OURS);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(count_files(place->directory), 1);
    assert_int_equal(cache_lock_try(place->directory, &place->key, &lock, &touched), CACHE_LOCK_OURS);
    cache_lock_release(&lock);
}

static void there_is_no_lock_where_there_is_no_folder(void **state)
{
    (void)state;
    struct cache_lock lock;
    int64_t touched;
    struct content_key key = key_of("one");
    assert_int_equal(cache_lock_try("/dev/null/cache", &key, &lock, &touched), CACHE_LOCK_NONE);
    cache_lock_release(&lock);
}

static const char ptx[] =
    ".version 6.3\n.target sm_52\n.address_size 64\n.visible .entry work(.param .u64 data)\n{\n"
    "    .reg .pred %p<2>;\n    .reg .b32 %r<2>;\n    mov.u32 %r1, 0;\nLOOP:\n"
    "    add.u32 %r1, %r1, 1;\n    setp.lt.u32 %p1, %r1, 100000;\n    @%p1 bra LOOP;\n    ret;\n}\n";
static const char description[] =
    "name: work\nptx: work.ptx\nsizes: {small: {}}\nbuffers: [{name: data, type: u32, count: 32}]\n"
    "launches: [{kernel: work, grid: 32, block: 128, arguments: [{buffer: data}]}]\n";

static void write_file(const struct place *place, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", place->directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* How many isolated runs a case computed itself; -1: it went wrong. */
static int run_case(const struct place *place)
{
    struct corun_gpu_config gpu;
    struct corun_case_result *result = NULL;
    char workload[128];
    snprintf(workload, sizeof workload, "%s/work.yaml", place->directory);
    struct corun_case_application both[] = {{.workload = workload}, {.workload = workload}};
    struct corun_case job = {.gpu = &gpu,
                             .policy = corun_policy_find("even"),
                             .applications = both,
                             .application_count = 2,
                             .cycles = 200000,
                             .seed = 1,
                             .threads = 1,
                             .baseline_jobs = 1,
                             .data_directory = CORUN_SOURCE_DIR "/configs",
                             .cache_directory = place->directory};
    double parameters[8] = {1};
    job.parameters = parameters;
    if (corun_gpu_config_load(CORUN_SOURCE_DIR "/configs/gpu/gtx980.yaml:sms=2", job.data_directory, NULL, &gpu) ||
        corun_case_run(&job, NULL, &result))
        return -1;
    int computed = !result->applications[0].isolated_from_cache;
    corun_case_result_destroy(result);
    return computed;
}

/* Whoever begins while another one computes, waits; whoever begins afterwards, loads. */
static void isolated_runs_are_computed_once(void **state)
{
    struct place *place = *state;
    pid_t children[4];
    int computed = 0;
    write_file(place, "work.ptx", ptx);
    write_file(place, "work.yaml", description);
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        if (!children[i])
            _exit(run_case(place));
    }
    for (int i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
        computed += WEXITSTATUS(status);
    }
    assert_int_equal(computed, 1);
}

int main(void)
{
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(what_is_stored_is_found),
        IN_A_FOLDER(a_changed_value_is_damage),
        IN_A_FOLDER(a_truncated_file_is_not_used),
        IN_A_FOLDER(an_empty_file_is_not_used),
        IN_A_FOLDER(another_version_is_not_used),
        IN_A_FOLDER(another_key_is_not_used),
        IN_A_FOLDER(foreign_json_is_not_used),
        IN_A_FOLDER(a_folder_of_that_name_is_not_used),
        IN_A_FOLDER(a_cache_that_cannot_be_made_is_a_warning),
        IN_A_FOLDER(folders_are_made),
        IN_A_FOLDER(several_processes_may_store_at_once),
        IN_A_FOLDER(a_lock_has_one_owner),
        IN_A_FOLDER(a_lock_ends_with_its_process),
        IN_A_FOLDER(there_is_no_lock_where_there_is_no_folder),
        IN_A_FOLDER(isolated_runs_are_computed_once),
        cmocka_unit_test(keys_depend_on_content_name_and_length),
        cmocka_unit_test(the_directory_follows_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
