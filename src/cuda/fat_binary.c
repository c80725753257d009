/* SPDX-License-Identifier: MIT */
/* Fat binaries: their entries found and unpacked, and the best text chosen. */
#include "cuda/fat_binary.h"

#include <inttypes.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define TEXT_LIMIT (UINT64_C(1) << 30)
#define KIND_PTX 1u
#define FLAG_LZ4 UINT64_C(0x2000)
#define FLAG_ZSTD UINT64_C(0x8000)

/* Offsets in a container's header and in the header of an entry. */
enum { CONTAINER_VERSION = 4, CONTAINER_HEADER = 6, CONTAINER_SIZE = 8, CONTAINER_LEAST = 16 };
enum {
    ENTRY_KIND = 0,
    ENTRY_HEADER = 4,
    ENTRY_PAYLOAD = 8,
    ENTRY_COMPRESSED = 16,
    ENTRY_ARCHITECTURE = 28,
    ENTRY_FLAGS = 40,
    ENTRY_UNCOMPRESSED = 56,
    ENTRY_LEAST = 64
};

static uint64_t number_at(const uint8_t *data, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, data, bytes);
    return value;
}

static enum corun_status broken(struct corun_diagnostics *list, const char *what)
{
    return corun_report(list, CORUN_SYNTAX, CORUN_NOWHERE, "fat binary: %s", what);
}

enum corun_status fat_binary_unpack(bool zstd, const uint8_t *data, size_t bytes, uint64_t expected, char **text,
                                    size_t *text_bytes)
{
    /* The size that is stored can be too small for LZ4: grow and try again. */
    for (uint64_t room = expected > 4096 ? expected : 4096; room <= TEXT_LIMIT; room *= 2) {
        char *unpacked = malloc(room + 1);
        if (!unpacked)
            return CORUN_MEMORY;
        size_t got;
        bool good;
        if (zstd) {
            got = ZSTD_decompress(unpacked, room, data, bytes);
            good = !ZSTD_isError(got);
        } else {
            int written =
                bytes <= INT32_MAX ? LZ4_decompress_safe((const char *)data, unpacked, (int)bytes, (int)room) : -1;
            good = written >= 0;
            got = good ? (size_t)written : 0;
        }
        if (good) {
            unpacked[got] = 0;
            *text = unpacked;
            *text_bytes = got;
            return CORUN_OK;
        }
        free(unpacked);
        /* LZ4 packs at most 255 to one: if that was not enough, it is not a matter of room. */
        if (room / 256 > bytes)
            break;
    }
    return CORUN_SYNTAX;
}

static enum corun_status read_text(struct fat_binary *binary, const uint8_t *entry, const uint8_t *payload,
                                   uint64_t payload_bytes, struct corun_diagnostics *list)
{
    uint64_t flags = number_at(entry + ENTRY_FLAGS, 8);
    uint64_t compressed = number_at(entry + ENTRY_COMPRESSED, 4);
    struct fat_binary_text text = {.architecture = (uint32_t)number_at(entry + ENTRY_ARCHITECTURE, 4)};
    enum corun_status status = CORUN_OK;
    if (flags & (FLAG_LZ4 | FLAG_ZSTD)) {
        if (!compressed || compressed > payload_bytes)
            compressed = payload_bytes;
        status = fat_binary_unpack(flags & FLAG_ZSTD, payload, compressed, number_at(entry + ENTRY_UNCOMPRESSED, 8),
                                   &text.text, &text.bytes);
        if (status == CORUN_SYNTAX)
            return broken(list, "PTX that cannot be unpacked");
    } else {
        text.bytes = payload_bytes;
        text.text = payload_bytes <= TEXT_LIMIT ? malloc(payload_bytes + 1) : NULL;
        if (!text.text)
            status = CORUN_MEMORY;
        else
            memcpy(text.text, payload, payload_bytes);
    }
    if (status == CORUN_OK) {
        text.text[text.bytes] = 0;
        text.bytes = strlen(text.text);
        if (vector_push(&binary->texts, text))
            return CORUN_OK;
        free(text.text);
    }
    return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for the PTX of a fat binary");
}

/* The entries of one container. */
static enum corun_status read_entries(struct fat_binary *binary, const uint8_t *data, uint64_t bytes,
                                      struct corun_diagnostics *list)
{
    while (bytes >= ENTRY_LEAST) {
        uint64_t header = number_at(data + ENTRY_HEADER, 4), payload = number_at(data + ENTRY_PAYLOAD, 8);
        if (header < ENTRY_LEAST || header > bytes || payload > bytes - header)
            return broken(list, "an entry that is larger than what holds it");
        if (number_at(data + ENTRY_KIND, 2) == KIND_PTX) {
            enum corun_status status = read_text(binary, data, data + header, payload, list);
            if (status != CORUN_OK)
                return status;
        } else {
            binary->machine_codes++;
            binary->machine_code_architecture = (uint32_t)number_at(data + ENTRY_ARCHITECTURE, 4);
        }
        data += header + payload;
        bytes -= header + payload;
    }
    return CORUN_OK;
}

enum corun_status fat_binary_read(struct fat_binary *binary, const void *start, size_t limit,
                                  struct corun_diagnostics *list)
{
    const uint8_t *data = start;
    bool first = true;
    for (uint64_t left = limit ? limit : UINT64_MAX;; first = false) {
        /* Without a limit the program's word counts; containers are aligned to 8 bytes, so the magic can be read. */
        if (left < CONTAINER_LEAST || number_at(data, 4) != FAT_BINARY_MAGIC)
            return first ? broken(list, "no container begins here") : CORUN_OK;
        uint64_t header = number_at(data + CONTAINER_HEADER, 2), bytes = number_at(data + CONTAINER_SIZE, 8);
        if (number_at(data + CONTAINER_VERSION, 2) != 1)
            return broken(list, "a container of a version other than 1");
        if (header < CONTAINER_LEAST || header > left || bytes > left - header)
            return broken(list, "a container that is larger than what holds it");
        enum corun_status status = read_entries(binary, data + header, bytes, list);
        if (status != CORUN_OK)
            return status;
        data += header + bytes;
        left -= header + bytes;
        /* Only an empty container is certain to have another one behind it. */
        if (!limit && bytes)
            return CORUN_OK;
    }
}

const struct fat_binary_text *fat_binary_best(const struct fat_binary *binary, uint32_t architecture)
{
    const struct fat_binary_text *best = NULL;
    for (size_t i = 0; i < binary->texts.count; i++) {
        const struct fat_binary_text *text = &binary->texts.data[i];
        bool fits = text->architecture <= architecture, best_fits = best && best->architecture <= architecture;
        if (!best || (fits && (!best_fits || text->architecture > best->architecture)) ||
            (!fits && !best_fits && text->architecture < best->architecture))
            best = text;
    }
    return best;
}

void fat_binary_tell_no_text(const struct fat_binary *binary, const char *name, struct corun_diagnostics *list)
{
    if (binary->machine_codes)
        corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                     "%s holds machine code for sm_%" PRIu32 " and no PTX: compile with -gencode arch=compute_%" PRIu32
                     ",code=compute_%" PRIu32 " (or -arch=sm_%" PRIu32 ", which includes it)",
                     name, binary->machine_code_architecture, binary->machine_code_architecture,
                     binary->machine_code_architecture, binary->machine_code_architecture);
    else
        corun_report(list, CORUN_SYNTAX, CORUN_NOWHERE, "%s holds no device code", name);
}

void fat_binary_free(struct fat_binary *binary)
{
    for (size_t i = 0; i < binary->texts.count; i++)
        free(binary->texts.data[i].text);
    vector_free(&binary->texts);
}

static void put_number(uint8_t *to, uint64_t value, size_t bytes)
{
    memcpy(to, &value, bytes);
}

void *fat_binary_make(const char *text, size_t bytes, uint32_t architecture, size_t *made_bytes)
{
    enum { VERSION = 1, VERSION_OF_PTX = 0x0101, ENTRY_VERSION = 2 };
    size_t payload = (bytes + 1 + 7) / 8 * 8; /* with the NUL */
    uint8_t *data = calloc(1, CONTAINER_LEAST + ENTRY_LEAST + payload);
    if (!data)
        return NULL;
    uint8_t *entry = data + CONTAINER_LEAST;
    put_number(data, FAT_BINARY_MAGIC, 4);
    put_number(data + CONTAINER_VERSION, VERSION, 2);
    put_number(data + CONTAINER_HEADER, CONTAINER_LEAST, 2);
    put_number(data + CONTAINER_SIZE, ENTRY_LEAST + payload, 8);
    put_number(entry + ENTRY_KIND, KIND_PTX, 2);
    put_number(entry + ENTRY_VERSION, VERSION_OF_PTX, 2);
    put_number(entry + ENTRY_HEADER, ENTRY_LEAST, 4);
    put_number(entry + ENTRY_PAYLOAD, payload, 8);
    put_number(entry + ENTRY_ARCHITECTURE, architecture, 4);
    memcpy(entry + ENTRY_LEAST, text, bytes);
    *made_bytes = CONTAINER_LEAST + ENTRY_LEAST + payload;
    return data;
}
