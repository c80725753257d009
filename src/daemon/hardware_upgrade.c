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

#define VERSION 1u

/* What the next one gets. */
struct handed {
    char version[HANDOVER_TEXT_BYTES];
    int listener;
    bool handed_over;
    char path[sizeof((struct hardware_settings *)0)->path];
    char policy_text[WIRE_MOST_POLICY];
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

void hardware_become(struct hardware *hardware)
{
    static const struct gate_rules none = {.policy =
                                               GATE_LEFT_OVER}; /* nobody stands at a gate that nobody will open */
    char version[HANDOVER_TEXT_BYTES];
    struct hardware_settings *settings = hardware->settings;
    const char *why =
        *hardware->file ? upgrade_problem(hardware->file, hardware_version(version)) : "its file is not known";
    struct handed *own = calloc(1, sizeof *own);
    if (!own)
        why = "out of memory";
    if (why) {
        free(own);
        stay(hardware, why);
        return;
    }
    for (const struct client *client = hardware->clients; client; client = client->next)
        if (client->board)
            hardware_keep_known(hardware, client);
    *own = (struct handed){.listener = hardware->socket,
                           .handed_over = hardware->handed_over,
                           .journal_begun_ns = hardware_journal_begun(hardware->journal),
                           .known_count = hardware->known_count,
                           .known_next = hardware->known_next};
    memcpy(own->version, version, sizeof version);
    memcpy(own->path, settings->path, sizeof own->path);
    memcpy(own->policy_text, settings->policy_text, sizeof own->policy_text);
    memcpy(own->known, hardware->known, sizeof own->known);
    struct buffer state = {.data = (uint8_t *)own, .bytes = sizeof *own};
    hardware_set_rules(hardware, &none);
    (void)fflush(NULL);
    int problem = upgrade_become(hardware->file, &state, &hardware->socket, 1);
    hardware_set_rules(hardware, &settings->rules);
    free(own);
    stay(hardware, strerror(problem));
}

/* Its socket is there whatever else is wrong: what cannot be read means that it is not one's own. */
enum corun_status hardware_take_over(struct hardware *hardware, uint64_t *journal_begun_ns,
                                     struct corun_diagnostics *list)
{
    char version[HANDOVER_TEXT_BYTES];
    struct hardware_settings *settings = hardware->settings;
    struct gate_rules rules;
    uint8_t *data = NULL;
    size_t bytes = 0;
    struct handed before;
    bool good = upgrade_state(&data, &bytes) && bytes == sizeof before;
    if (good)
        memcpy(&before, data, sizeof before);
    free(data);
    if (!good || strncmp(before.version, hardware_version(version), sizeof before.version) != 0)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "what it is to take over is of another version");
    (void)fcntl(before.listener, F_SETFD, FD_CLOEXEC);
    hardware->socket = before.listener;
    hardware->handed_over = before.handed_over;
    memcpy(settings->path, before.path, sizeof before.path);
    settings->path[sizeof settings->path - 1] = before.policy_text[sizeof before.policy_text - 1] = 0;
    hardware->known_count = before.known_count < MOST_KNOWN ? before.known_count : MOST_KNOWN;
    hardware->known_next = before.known_next % MOST_KNOWN;
    memcpy(hardware->known, before.known, sizeof before.known);
    *journal_begun_ns = before.journal_begun_ns;
    enum corun_status status = gate_rules_read(before.policy_text, &rules, list);
    if (status == CORUN_OK) {
        memcpy(settings->policy_text, before.policy_text, sizeof before.policy_text);
        settings->rules = rules;
    }
    return status;
}
