/* SPDX-License-Identifier: MIT */
/* Rewritten modules on disk: entries as bytes, their files, and which of them go. */
#include "rewrite/cache.h"

#include "base/cache_folder.h"
#include "base/vector.h"
#include "rewrite/fingerprint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 4096u
#define UNFINISHED_SECONDS 3600 /* after which a file that somebody began to write is nobody's */
#define UNFINISHED ".new-"

static const char magic[16] = "corun rewritten";

/*
 * Behind it: the places that kernels borrow, a byte for each variable that says whether it is copied, a row and a name with NUL for each kernel, the names of what is borrowed and of the table, and the text with NUL. Of one host:
 * numbers are as they lie in memory.
 */
struct head {
    char magic[16];
    char sum[SHA256_DIGEST_STRING_LENGTH]; /* of the rest of the head, and of all behind it */
    uint8_t zero[7];
    uint64_t text_bytes;
    uint32_t kernel_count, borrowed_count;
    uint64_t place_count;
};

struct row {
    uint32_t name_bytes, parameter_index, refused, only_before_volta, ranges, borrow_count;
};

/* ---- entries as bytes ---- */

static void sum_of(const uint8_t *data, size_t bytes, char sum[SHA256_DIGEST_STRING_LENGTH])
{
    const size_t from = offsetof(struct head, zero);
    SHA2_CTX hash;
    SHA256Init(&hash);
    SHA256Update(&hash, data + from, bytes - from);
    SHA256End(&hash, sum);
}

static void put(uint8_t **at, const void *data, size_t bytes)
{
    if (bytes)
        memcpy(*at, data, bytes);
    *at += bytes;
}

static void put_name(uint8_t **at, const char *name)
{
    put(at, name, strlen(name) + 1);
}

static size_t size_of(const struct cached_module *module, struct head *head)
{
    size_t size = sizeof *head + module->text_bytes + 1 + strlen(module->borrowed_table) + 1;
    *head = (struct head){.text_bytes = module->text_bytes,
                          .kernel_count = module->kernel_count,
                          .borrowed_count = module->borrowed_count};
    memcpy(head->magic, magic, sizeof magic);
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        size += sizeof(struct row) + strlen(module->kernels[i].name) + 1;
        head->place_count += module->kernels[i].borrow_count;
    }
    for (uint32_t i = 0; i < module->borrowed_count; i++)
        size += strlen(module->borrowed[i]) + 2;
    return size + head->place_count * sizeof(uint32_t);
}

uint8_t *cached_module_encode(const struct cached_module *module, size_t *bytes)
{
    struct head head;
    size_t size = size_of(module, &head);
    uint8_t *data = size <= REWRITE_CACHE_MOST_ENTRY ? malloc(size) : NULL, *at = data;
    if (!data)
        return NULL;
    put(&at, &head, sizeof head);
    for (uint32_t i = 0; i < module->kernel_count; i++)
        put(&at, module->kernels[i].borrows, module->kernels[i].borrow_count * sizeof(uint32_t));
    put(&at, module->copied, module->borrowed_count * sizeof *module->copied);
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        const struct cached_kernel *kernel = &module->kernels[i];
        const struct row row = {(uint32_t)strlen(kernel->name), kernel->parameter_index, kernel->refused,
                                kernel->only_before_volta,      kernel->ranges,          kernel->borrow_count};
        put(&at, &row, sizeof row);
        put_name(&at, kernel->name);
    }
    for (uint32_t i = 0; i < module->borrowed_count; i++)
        put_name(&at, module->borrowed[i]);
    put_name(&at, module->borrowed_table);
    put(&at, module->text, module->text_bytes + 1);
    sum_of(data, size, head.sum);
    memcpy(data, &head, sizeof head);
    *bytes = size;
    return data;
}

/* With room for that many kernels and names, and for `bytes` bytes behind them, which begin at *room. NULL when out of memory. */
static struct cached_module *allocate_module(uint32_t kernel_count, uint32_t borrowed_count, size_t bytes,
                                             uint8_t **room)
{
    struct cached_module *module = malloc(sizeof *module + kernel_count * sizeof(struct cached_kernel) +
                                          borrowed_count * sizeof(const char *) + bytes);
    if (!module)
        return NULL;
    const char **names = (const char **)&module->kernels[kernel_count];
    *module = (struct cached_module){
        .borrowed = names, .borrowed_count = borrowed_count, .borrowed_table = "", .kernel_count = kernel_count};
    *room = (uint8_t *)&names[borrowed_count];
    return module;
}

_Static_assert(sizeof(bool) == 1, "copied has a byte for each");

/* What is left of an entry. */
struct rest {
    const uint8_t *data;
    size_t bytes;
    const uint32_t *places;
    uint64_t place_count;
};

/* NULL: there is no whole one. */
static const char *take_name(struct rest *rest)
{
    const char *name = (const char *)rest->data;
    const uint8_t *end = rest->bytes ? memchr(rest->data, 0, rest->bytes) : NULL;
    if (!end)
        return NULL;
    rest->bytes -= (size_t)(end - rest->data) + 1;
    rest->data = end + 1;
    return name;
}

/* False: there is no whole one, or it borrows what is not there. */
static bool take_row(struct rest *rest, uint32_t borrowed_count, struct cached_kernel *kernel)
{
    struct row row;
    if (rest->bytes < sizeof row)
        return false;
    memcpy(&row, rest->data, sizeof row);
    rest->data += sizeof row;
    rest->bytes -= sizeof row;
    const char *name = take_name(rest);
    if (!name || strlen(name) != row.name_bytes || row.borrow_count > rest->place_count)
        return false;
    *kernel = (struct cached_kernel){
        name,         row.parameter_index, row.refused != 0, row.only_before_volta != 0, row.ranges != 0,
        rest->places, row.borrow_count};
    for (uint32_t i = 0; i < row.borrow_count; i++)
        if (rest->places[i] >= borrowed_count)
            return false;
    rest->places += row.borrow_count;
    rest->place_count -= row.borrow_count;
    return true;
}

/* False: it is not as it was written. */
static bool take_module(struct rest *rest, const struct head *head, struct cached_module *module)
{
    const char **names = (const char **)(uintptr_t)module->borrowed;
    rest->places = (const uint32_t *)rest->data;
    rest->place_count = head->place_count;
    rest->data += head->place_count * sizeof(uint32_t);
    rest->bytes -= head->place_count * sizeof(uint32_t);
    if (rest->bytes < head->borrowed_count)
        return false;
    for (uint32_t i = 0; i < head->borrowed_count; i++)
        if (rest->data[i] > 1) /* no value of bool */
            return false;
    module->copied = (const bool *)rest->data;
    rest->data += head->borrowed_count;
    rest->bytes -= head->borrowed_count;
    for (uint32_t i = 0; i < head->kernel_count; i++)
        if (!take_row(rest, head->borrowed_count, &module->kernels[i]))
            return false;
    for (uint32_t i = 0; i < head->borrowed_count; i++)
        if (!(names[i] = take_name(rest)))
            return false;
    module->borrowed_table = take_name(rest);
    module->text = module->borrowed_table ? take_name(rest) : NULL;
    module->text_bytes = head->text_bytes;
    return module->text && !rest->bytes && strlen(module->text) == head->text_bytes && !rest->place_count &&
           !*module->borrowed_table == !head->borrowed_count;
}

struct cached_module *cached_module_decode(const uint8_t *data, size_t bytes, const char **problem)
{
    struct head head;
    char sum[SHA256_DIGEST_STRING_LENGTH];
    *problem = "it is not a file of ours";
    if (bytes < sizeof head || memcmp(data, magic, sizeof magic) != 0)
        return NULL;
    memcpy(&head, data, sizeof head);
    sum_of(data, bytes, sum);
    *problem = "it is damaged";
    size_t behind = bytes - sizeof head;
    if (memcmp(head.sum, sum, sizeof sum) != 0 || head.kernel_count > behind / sizeof(struct row) ||
        head.borrowed_count > behind || head.place_count > behind / sizeof(uint32_t))
        return NULL;
    uint8_t *copy;
    struct cached_module *module = allocate_module(head.kernel_count, head.borrowed_count, behind, &copy);
    if (!module) {
        *problem = "out of memory";
        return NULL;
    }
    struct rest rest = {.data = copy, .bytes = behind};
    if (behind)
        memcpy(copy, data + sizeof head, behind);
    if (!take_module(&rest, &head, module)) {
        free(module);
        return NULL;
    }
    return module;
}

const struct cached_kernel *cached_kernel_find(const struct cached_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->kernel_count; i++)
        if (!strcmp(module->kernels[i].name, name))
            return &module->kernels[i];
    return NULL;
}

/* ---- by the pass ---- */

/* What names, table and text take, and what kernels borrow. */
static size_t room_for(const struct rewritten *rewritten, size_t text_bytes)
{
    size_t size = text_bytes + 1 + (rewritten->borrowed_table ? strlen(rewritten->borrowed_table) : 0) + 1;
    for (uint32_t i = 0; i < rewritten->kernel_count; i++)
        size +=
            strlen(rewritten->kernels[i].function->name) + 1 + rewritten->kernels[i].borrow_count * sizeof(uint32_t);
    for (uint32_t i = 0; i < rewritten->borrowed_count; i++)
        size += strlen(rewritten->borrowed[i]) + 1 + sizeof(bool);
    return size;
}

/* What there is to know, in one allocation, with its text and names. */
static struct cached_module *module_of(const struct rewritten *rewritten, const char *text, size_t bytes)
{
    uint8_t *at;
    struct cached_module *module =
        allocate_module(rewritten->kernel_count, rewritten->borrowed_count, room_for(rewritten, bytes), &at);
    if (!module)
        return NULL;
    for (uint32_t i = 0; i < rewritten->kernel_count; i++) {
        const struct rewritten_kernel *kernel = &rewritten->kernels[i];
        module->kernels[i] = (struct cached_kernel){
            NULL,           kernel->parameter_index, kernel->refusal != NULL, kernel->only_before_volta != NULL,
            kernel->ranges, (const uint32_t *)at,    kernel->borrow_count};
        put(&at, kernel->borrows, kernel->borrow_count * sizeof(uint32_t));
    }
    module->copied = (const bool *)at;
    put(&at, rewritten->copied, rewritten->borrowed_count * sizeof *rewritten->copied);
    for (uint32_t i = 0; i < rewritten->kernel_count; i++) {
        module->kernels[i].name = (const char *)at;
        put_name(&at, rewritten->kernels[i].function->name);
    }
    for (uint32_t i = 0; i < rewritten->borrowed_count; i++) {
        ((const char **)(uintptr_t)module->borrowed)[i] = (const char *)at;
        put_name(&at, rewritten->borrowed[i]);
    }
    module->borrowed_table = (const char *)at;
    put_name(&at, rewritten->borrowed_table ? rewritten->borrowed_table : "");
    module->text = (const char *)at;
    module->text_bytes = bytes;
    put(&at, text, bytes + 1);
    return module;
}

static enum corun_status make(rewrite_pass *pass, const char *text, size_t bytes, struct cached_module **module)
{
    struct rewritten rewritten;
    char *output = NULL;
    size_t output_bytes = 0;
    enum corun_status status = rewrite_text(pass, "program.ptx", text, bytes, NULL, &rewritten, &output, &output_bytes);
    if (status != CORUN_OK)
        return status;
    *module = module_of(&rewritten, output, output_bytes);
    rewritten_destroy(&rewritten);
    free(output);
    return *module ? CORUN_OK : CORUN_MEMORY;
}

/* ---- files ---- */

static bool path_of(const struct rewrite_cache *cache, const char *name, const char *text, size_t bytes,
                    char path[PATH_BYTES])
{
    char key[SHA256_DIGEST_STRING_LENGTH];
    SHA2_CTX hash;
    if (!cache->folder)
        return false;
    SHA256Init(&hash);
    SHA256Update(&hash, (const uint8_t *)rewrite_fingerprint(), strlen(rewrite_fingerprint()) + 1);
    SHA256Update(&hash, (const uint8_t *)name, strlen(name) + 1);
    SHA256Update(&hash, (const uint8_t *)text, bytes);
    SHA256End(&hash, key);
    int length = snprintf(path, PATH_BYTES, "%s/%s", cache->folder, key);
    return length > 0 && (size_t)length < PATH_BYTES;
}

static bool read_whole(int file, uint8_t *data, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t got = read(file, data + at, bytes - at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

static struct cached_module *load_file(int file, const char **problem)
{
    struct stat about;
    *problem = "it is not a file of ours";
    if (fstat(file, &about) || !S_ISREG(about.st_mode) || about.st_uid != geteuid() ||
        about.st_size > (off_t)REWRITE_CACHE_MOST_ENTRY)
        return NULL;
    size_t bytes = (size_t)about.st_size;
    uint8_t *data = malloc(bytes + 1);
    *problem = data ? "it cannot be read" : "out of memory";
    struct cached_module *module =
        data && read_whole(file, data, bytes) ? cached_module_decode(data, bytes, problem) : NULL;
    free(data);
    if (module)
        (void)futimens(file, NULL); /* it has been used */
    return module;
}

static struct cached_module *load(const struct rewrite_cache *cache, const char *path)
{
    const char *problem = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    struct cached_module *module = NULL;
    if (file >= 0) {
        module = load_file(file, &problem);
        close(file);
    } else if (errno != ENOENT && errno != ENOTDIR) {
        problem = strerror(errno);
    }
    if (problem && !module && cache->remark)
        cache->remark(path, problem);
    return module;
}

static bool write_whole(int file, const uint8_t *data, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t written = write(file, data + at, bytes - at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += (size_t)written;
    }
    return true;
}

/* A file that becomes longer than it may is the end of a process that does not expect that signal; this one is the program's. */
static bool may_write(size_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

static void store(const struct rewrite_cache *cache, const char *path, const uint8_t *data, size_t bytes)
{
    char temporary[PATH_BYTES];
    int length = snprintf(temporary, sizeof temporary, "%s/" UNFINISHED "XXXXXX", cache->folder);
    if (length <= 0 || (size_t)length >= sizeof temporary || !may_write(bytes) ||
        !cache_folder_make(cache->folder, 0700))
        return;
    int file = mkostemp(temporary, O_CLOEXEC);
    if (file < 0)
        return;
    bool written = write_whole(file, data, bytes);
    written = close(file) == 0 && written;
    if (!written || rename(temporary, path))
        (void)unlink(temporary);
}

/* ---- which entries go ---- */

struct entry {
    char name[SHA256_DIGEST_STRING_LENGTH];
    struct timespec used;
    uint64_t bytes;
};

/* Who was used first goes first; between equal ones the name decides. */
static int by_use(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec)
        return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void limit(const struct rewrite_cache *cache)
{
    VECTOR(struct entry) entries = {0};
    DIR *folder = opendir(cache->folder);
    uint64_t sum = 0;
    time_t now = time(NULL);
    for (struct dirent *found; folder && (found = readdir(folder));) {
        struct stat about;
        struct entry entry = {.name = ""};
        bool whole = strspn(found->d_name, "0123456789abcdef") == sizeof entry.name - 1;
        if (fstatat(dirfd(folder), found->d_name, &about, AT_SYMLINK_NOFOLLOW) || !S_ISREG(about.st_mode))
            continue;
        if (!strncmp(found->d_name, UNFINISHED, sizeof UNFINISHED - 1) && about.st_mtime + UNFINISHED_SECONDS < now)
            (void)unlinkat(dirfd(folder), found->d_name, 0);
        if (!whole || strlen(found->d_name) != sizeof entry.name - 1)
            continue;
        memcpy(entry.name, found->d_name, sizeof entry.name);
        entry.used = about.st_mtim;
        entry.bytes = (uint64_t)about.st_size;
        sum += vector_push(&entries, entry) ? entry.bytes : 0;
    }
    if (entries.count)
        qsort(entries.data, entries.count, sizeof *entries.data, by_use);
    for (size_t i = 0; folder && i < entries.count && sum > cache->most_bytes; i++) {
        (void)unlinkat(dirfd(folder), entries.data[i].name, 0);
        sum -= entries.data[i].bytes;
    }
    vector_free(&entries);
    if (folder)
        closedir(folder);
}

enum corun_status rewrite_cached(const struct rewrite_cache *cache, const char *name, rewrite_pass *pass,
                                 const char *text, size_t bytes, struct cached_module **module, bool *hit)
{
    char path[PATH_BYTES];
    bool keeps = path_of(cache, name, text, bytes, path);
    *module = keeps ? load(cache, path) : NULL;
    *hit = *module != NULL;
    if (*hit)
        return CORUN_OK;
    enum corun_status status = make(pass, text, bytes, module);
    size_t size = 0;
    uint8_t *data = keeps && status == CORUN_OK ? cached_module_encode(*module, &size) : NULL;
    if (data && size <= cache->most_bytes) {
        store(cache, path, data, size);
        limit(cache);
    }
    free(data);
    return status;
}
