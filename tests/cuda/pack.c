/* SPDX-License-Identifier: MIT */
/*
 * Puts PTX into a fat binary, as a compiler does: pack OUTPUT {raw|lz4|zstd} [empty] {ARCHITECTURE FILE}... With
 * `empty`, an empty container comes first, as in programs that are compiled to be linked.
 */
#include <lz4.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct container {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
};

struct entry {
    uint16_t kind, flags_of_kind;
    uint32_t header_bytes;
    uint64_t payload_bytes;
    uint32_t compressed_bytes, unknown;
    uint16_t minor, major;
    uint32_t architecture;
    uint64_t more[1], flags, again;
    uint64_t uncompressed_bytes;
};

static char *read_text(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "pack: %s cannot be opened\n", path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    char *text = calloc(1, (size_t)length + 1);
    *bytes = fread(text, 1, (size_t)length, file) + 1; /* with its NUL */
    fclose(file);
    return text;
}

static void write_entry(FILE *out, const char *how, uint32_t architecture, const char *path)
{
    size_t bytes, room, packed = 0;
    char *text = read_text(path, &bytes);
    struct entry entry = {.kind = 1,
                          .flags_of_kind = 0x0101,
                          .header_bytes = sizeof entry,
                          .major = 6,
                          .minor = 3,
                          .architecture = architecture};
    room = ZSTD_compressBound(bytes) + (size_t)LZ4_compressBound((int)bytes) + 8;
    char *payload = calloc(1, room);
    if (!strcmp(how, "zstd")) {
        packed = ZSTD_compress(payload, room, text, bytes, 3);
        entry.flags = 0x8000;
    } else if (!strcmp(how, "lz4")) {
        packed = (size_t)LZ4_compress_default(text, payload, (int)bytes, (int)room);
        entry.flags = 0x2000;
    } else {
        memcpy(payload, text, bytes);
    }
    entry.compressed_bytes = (uint32_t)packed;
    entry.uncompressed_bytes = packed ? bytes : 0;
    entry.payload_bytes = ((packed ? packed : bytes) + 7) & ~(uint64_t)7;
    fwrite(&entry, sizeof entry, 1, out);
    fwrite(payload, 1, entry.payload_bytes, out);
    free(payload);
    free(text);
}

int main(int argc, char **argv)
{
    struct container container = {0xba55ed50, 1, sizeof container, 0};
    int at = 3;
    FILE *out = argc >= 5 ? fopen(argv[1], "wb") : NULL;
    if (!out)
        return 1;
    _Static_assert(sizeof(struct entry) == 64, "an entry's header");
    if (!strcmp(argv[at], "empty")) {
        fwrite(&container, sizeof container, 1, out);
        at++;
    }
    long start = ftell(out);
    fwrite(&container, sizeof container, 1, out);
    for (; at + 1 < argc; at += 2)
        write_entry(out, argv[2], (uint32_t)atoi(argv[at]), argv[at + 1]);
    container.bytes = (uint64_t)(ftell(out) - start) - sizeof container;
    fseek(out, start, SEEK_SET);
    fwrite(&container, sizeof container, 1, out);
    return fclose(out) != 0;
}
