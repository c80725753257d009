/* SPDX-License-Identifier: MIT */
/*
 * Fat binaries: containers in which a compiler puts the device code of a program, PTX and machine code of several
 * architectures, raw or compressed.
 */
#ifndef CORUN_CUDA_FAT_BINARY_H
#define CORUN_CUDA_FAT_BINARY_H

#include "base/vector.h"
#include "corun/status.h"

#define FAT_BINARY_WRAPPER_MAGIC UINT32_C(0x466243b1)
#define FAT_BINARY_MAGIC UINT32_C(0xba55ed50)

/* What a program registers: points at a container; version 2 in addition at those of which it was linked. */
struct fat_binary_wrapper {
    uint32_t magic, version;
    const void *container;
    const void *const *linked; /* version 2: containers, up to a NULL; version 1: a file name or NULL */
};

struct fat_binary_text {
    char *text; /* ends with NUL */
    size_t bytes;
    uint32_t architecture; /* 75 */
};

/* It has the translation units of a program that was compiled to be linked (-rdc=true). */
static inline bool fat_binary_is_linked(const struct fat_binary_wrapper *wrapper)
{
    return wrapper->version == 2 && wrapper->linked && wrapper->linked[0];
}

/* What is inside. Zeroed is empty; fat_binary_free ends it. */
struct fat_binary {
    VECTOR(struct fat_binary_text) texts;
    uint32_t machine_codes;             /* entries that are no PTX */
    uint32_t machine_code_architecture; /* of the last one */
};

/*
 * Reads the containers that lie one behind the other at `data`: at most `limit` bytes, or as far as they say themselves
 * if limit is 0. What is broken is SYNTAX; what was read before stays. PTX is unpacked.
 */
enum corun_status fat_binary_read(struct fat_binary *binary, const void *data, size_t limit,
                                  struct corun_diagnostics *list);
/*
 * The text for a GPU of that architecture: the newest that it knows, else the oldest there is. NULL if there is none.
 */
const struct fat_binary_text *fat_binary_best(const struct fat_binary *binary, uint32_t architecture);
/* Why it has no text: a message for the list. `name` is what the message calls it. */
void fat_binary_tell_no_text(const struct fat_binary *binary, const char *name, struct corun_diagnostics *list);
void fat_binary_free(struct fat_binary *binary);

/* A container with one text, as it is: *data is to be freed. `bytes` are without the NUL behind. NULL: out of memory. */
void *fat_binary_make(const char *text, size_t bytes, uint32_t architecture, size_t *made_bytes);

/* Unpacks `bytes` bytes of LZ4 or zstd; *text is to be freed. SYNTAX if it cannot be, MEMORY. For fat_binary_read. */
enum corun_status fat_binary_unpack(bool zstd, const uint8_t *data, size_t bytes, uint64_t expected, char **text,
                                    size_t *text_bytes);

#endif
