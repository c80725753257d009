/* SPDX-License-Identifier: MIT */
/* Messages in received bytes, and the rows of messages. */
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct wire_row rows[] = {
#define FROM_CLIENT(name, structure, most, meaning) {#name, meaning, sizeof(structure), most, true},
#define FROM_DAEMON(name, structure, most, meaning) {#name, meaning, sizeof(structure), most, false},
#include "wire/messages.def"
};

const struct wire_row *wire_row(uint32_t type)
{
    return type < sizeof rows / sizeof *rows ? &rows[type] : NULL;
}

enum wire_taken wire_take(const uint8_t *data, size_t bytes, bool from_client, struct wire_frame *frame)
{
    struct wire_header header;
    if (bytes < sizeof header)
        return WIRE_PARTIAL;
    memcpy(&header, data, sizeof header);
    const struct wire_row *row = wire_row(header.type);
    if (!row || row->from_client != from_client || header.bytes < row->bytes || header.bytes - row->bytes > row->most)
        return WIRE_WRONG;
    if (bytes - sizeof header < header.bytes)
        return WIRE_PARTIAL;
    *frame = (struct wire_frame){(enum wire_type)header.type, data + sizeof header, data + sizeof header + row->bytes,
                                 header.bytes - row->bytes, sizeof header + header.bytes};
    return WIRE_WHOLE;
}

bool wire_text(const char *text, size_t bytes)
{
    return memchr(text, 0, bytes) != NULL;
}

static const char *const goal_words[] = {[CORUN_GOAL_NONE] = "none",
                                         [CORUN_GOAL_FRACTION] = "fraction",
                                         [CORUN_GOAL_IPC] = "ipc",
                                         [CORUN_GOAL_MILLISECONDS] = "ms",
                                         [CORUN_GOAL_FRAMES_PER_SECOND] = "fps"};

const char *wire_goal_word(enum corun_goal_kind kind)
{
    return kind <= CORUN_GOAL_FRAMES_PER_SECOND ? goal_words[kind] : goal_words[CORUN_GOAL_NONE];
}

enum corun_goal_kind wire_goal_kind(const char *word)
{
    for (int kind = CORUN_GOAL_IPC; word && kind <= CORUN_GOAL_FRAMES_PER_SECOND; kind++)
        if (!strcmp(word, goal_words[kind]))
            return (enum corun_goal_kind)kind;
    return CORUN_GOAL_FRACTION;
}

bool wire_socket_path(const char *given, char *path, size_t bytes)
{
    const char *named = given ? given : getenv("CORUN_DAEMON_SOCKET"), *folder = getenv("XDG_RUNTIME_DIR");
    int written = named && *named ? snprintf(path, bytes, "%s", named)
                                  : snprintf(path, bytes, "%s/corund.sock", folder && *folder ? folder : "/run");
    return written > 0 && (size_t)written < bytes;
}
