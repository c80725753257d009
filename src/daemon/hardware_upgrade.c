/* SPDX-License-Identifier: MIT */
/*
 * At SIGUSR2, corund on a GPU of hardware becomes the corund that its file is by now (upgrade.c). It keeps its socket, policy, and rates alone. Boards
 * are not handed over: programs run on without a corund meanwhile, as after its end, and come again.
 */
#include "daemon/hardware_state.h"
#include "daemon/upgrade.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 4u

/* What the next one gets. */
struct handed {
    char version[HANDOVER_TEXT_BYTES];
    int32_t listener;
    uint32_t handed_over;
    char path[sizeof((struct hardware_settings *)0)->path];
    char policy_text[WIRE_MOST_POLICY], configured[WIRE_MOST_POLICY];
    uint64_t journal_begun_ns;
    uint32_t known_count, known_next;
    struct known known[MOST_KNOWN];
};

const char *hardware_version(char text[HANDOVER_TEXT_BYTES])
{
    snprintf(text, HANDOVER_TEXT_BYTES, "corund hardware handover=%u wire=%u sizes=%zu,%zu", VERSION, WIRE_VERSION,
             sizeof(struct handed), sizeof(struct board));
    return text;
}

static void stay(struct hardware *hardware, const char *why)
{
    const struct hardware_settings *settings = hardware->settings;
    if (settings->tell)
        settings->tell(settings->user, "it stays the corund that it is", why);
}

bool hardware_hand_over(const struct hardware *hardware, struct buffer *state)
{
    struct handed *own = calloc(1, sizeof *own);
    if (!own)
        return false;
    *own = (struct handed){.listener = hardware->socket,
                           .handed_over = hardware->handed_over,
                           .journal_begun_ns = hardware_journal_begun(hardware->journal),
                           .known_count = hardware->known_count,
                           .known_next = hardware->known_next};
    (void)hardware_version(own->version);
    memcpy(own->path, hardware->settings->path, sizeof own->path);
    memcpy(own->policy_text, hardware->settings->policy_text, sizeof own->policy_text);
    memcpy(own->configured, hardware->settings->configured, sizeof own->configured);
    memcpy(own->known, hardware->known, sizeof own->known);
    bool room = buffer_add(state, own, sizeof *own);
    free(own);
    return room;
}

void hardware_become(struct hardware *hardware)
{
    static const struct gate_rules none = {.policy =
                                               GATE_LEFT_OVER}; /* nobody stands at a gate that nobody will open */
    char version[HANDOVER_TEXT_BYTES];
    struct hardware_settings *settings = hardware->settings;
    const char *why =
        *hardware->file ? upgrade_problem(hardware->file, hardware_version(version)) : "its file is not known";
    for (const struct client *client = hardware->clients; !why && client; client = client->next)
        if (client->board)
            hardware_keep_known(hardware, client);
    struct buffer state = {.data = NULL};
    if (!why && !hardware_hand_over(hardware, &state))
        why = "out of memory";
    if (why) {
        free(state.data);
        stay(hardware, why);
        return;
    }
    (void)hardware_set_rules(hardware, &none, NULL);
    (void)fflush(NULL);
    int problem = upgrade_become(hardware->file, &state, &hardware->socket, 1);
    (void)hardware_set_rules(hardware, &settings->rules, NULL);
    free(state.data);
    stay(hardware, strerror(problem));
}

enum corun_status hardware_take_state(struct hardware *hardware, const void *data, size_t bytes,
                                      uint64_t *journal_begun_ns, struct corun_diagnostics *list)
{
    char version[HANDOVER_TEXT_BYTES];
    struct hardware_settings *settings = hardware->settings;
    struct gate_rules rules;
    struct handed before;
    if (bytes == sizeof before)
        memcpy(&before, data, sizeof before);
    if (bytes != sizeof before || strncmp(before.version, hardware_version(version), sizeof before.version) != 0)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "what it is to take over is of another version");
    (void)fcntl(before.listener, F_SETFD, FD_CLOEXEC);
    hardware->socket = before.listener;
    hardware->handed_over = before.handed_over;
    memcpy(settings->path, before.path, sizeof before.path);
    settings->path[sizeof settings->path - 1] = before.policy_text[sizeof before.policy_text - 1] = 0;
    hardware->known_count = before.known_count < MOST_KNOWN ? before.known_count : MOST_KNOWN;
    hardware->known_next = before.known_next % MOST_KNOWN;
    memcpy(hardware->known, before.known, sizeof before.known);
    for (uint32_t i = 0; i < MOST_KNOWN; i++)
        hardware->known[i].name[WIRE_NAME_BYTES - 1] = 0;
    *journal_begun_ns = before.journal_begun_ns;
    if (strncmp(before.configured, settings->configured, sizeof before.configured) != 0)
        return CORUN_OK; /* the file is another by now, and decides */
    enum corun_status status = gate_rules_choose(before.policy_text, &settings->policies, &rules, list);
    if (status == CORUN_OK) {
        memcpy(settings->policy_text, before.policy_text, sizeof before.policy_text);
        settings->rules = rules;
    }
    return status;
}

/* Its socket is there whatever else is wrong: what cannot be read means that it is not one's own. */
enum corun_status hardware_take_over(struct hardware *hardware, uint64_t *journal_begun_ns,
                                     struct corun_diagnostics *list)
{
    uint8_t *data = NULL;
    size_t bytes = 0;
    bool good = upgrade_state(&data, &bytes);
    enum corun_status status = hardware_take_state(hardware, data, good ? bytes : 0, journal_begun_ns, list);
    free(data);
    return status;
}
