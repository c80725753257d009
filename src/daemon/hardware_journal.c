/* SPDX-License-Identifier: MIT */
/* The journal of a GPU of hardware. */
#include "daemon/hardware_journal.h"

#include "daemon/hardware_state.h"
#include "daemon/journal_line.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLE_NS UINT64_C(100000000)

/* Of a place on the gate, when it was told last. */
struct told {
    uint64_t wanted_ns, behind; /* `behind`: looks since */
    int64_t ended;
};

struct hardware_journal {
    FILE *file;
    uint64_t begun_ns, sampled_ns, looks; /* since it was sampled */
    struct told told[WIRE_MOST_GPUS * GATE_MOST_CLIENTS];
};

static bool writes(const struct hardware_journal *journal)
{
    return journal && journal->file;
}

/* A full disk ends the journal, and nothing else. */
static void keep(struct hardware_journal *journal, bool written)
{
    if (written)
        return;
    fclose(journal->file);
    journal->file = NULL;
}

static double microseconds(const struct hardware_journal *journal, uint64_t now_ns)
{
    return (double)(now_ns - journal->begun_ns) / 1e3;
}

struct hardware_journal *hardware_journal_open(const char *path, const char *gpu, const char *policy, uint64_t now_ns)
{
    struct hardware_journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return NULL;
    *journal = (struct hardware_journal){.file = fopen(path, "we"), .begun_ns = now_ns, .sampled_ns = now_ns};
    if (!journal->file) {
        free(journal);
        return NULL;
    }
    fputs("[\n", journal->file);
    keep(journal, journal_line_process(journal->file, 1, gpu));
    hardware_journal_note(journal, NULL, "policy", policy, now_ns);
    return journal;
}

uint64_t hardware_journal_begun(const struct hardware_journal *journal)
{
    return journal ? journal->begun_ns : 0;
}

struct hardware_journal *hardware_journal_continue(const char *path, uint64_t begun_ns, uint64_t now_ns)
{
    struct hardware_journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return NULL;
    *journal = (struct hardware_journal){.file = fopen(path, "ae"), .begun_ns = begun_ns, .sampled_ns = now_ns};
    if (!journal->file) {
        free(journal);
        return NULL;
    }
    hardware_journal_note(journal, NULL, "corund", "another version", now_ns);
    return journal;
}

void hardware_journal_close(struct hardware_journal *journal)
{
    if (writes(journal)) {
        fputs("{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"policy\"}}\n]\n",
              journal->file);
        fclose(journal->file);
    }
    free(journal);
}

void hardware_journal_note(struct hardware_journal *journal, const struct client *client, const char *what,
                           const char *text, uint64_t now_ns)
{
    if (!writes(journal))
        return;
    journal_line_begin(journal->file, "i", 1, microseconds(journal, now_ns), what);
    if (client) {
        fprintf(journal->file, "\"client\":%u,\"pid\":%u,\"uid\":%u,\"program\":", hardware_number(client),
                client->peer.pid, client->peer.uid);
        journal_line_text(journal->file, client->attach.name);
        fputc(',', journal->file);
    }
    fputs("\"is\":", journal->file);
    journal_line_text(journal->file, text);
    keep(journal, journal_line_end(journal->file));
}

/* How fast it was since, beside itself alone; below 0: that is not known. */
static double of_alone(const struct rate *rate, const struct told *told)
{
    double alone = rate_alone_per_second(&rate->alone);
    uint64_t wanted = rate->wanted_ns - told->wanted_ns;
    int64_t ended = rate->ended - told->ended;
    bool same = rate->wanted_ns > told->wanted_ns && ended >= 0; /* else another program has the place now */
    return alone > 0 && same ? (double)ended * 1e9 / (double)wanted / alone : -1;
}

static void print_numbers(struct hardware_journal *journal, const struct hardware *hardware, const char *name,
                          bool behind, uint64_t now_ns)
{
    bool any = false;
    for (const struct client *client = hardware->clients; client; client = client->next) {
        if (!client->board)
            continue;
        const struct rate *rate = &client->gpu->gate.clients[client->number].rate;
        const struct told *told = &journal->told[hardware_number(client)];
        double number = behind ? (double)told->behind / (double)journal->looks : of_alone(rate, told);
        char title[WIRE_NAME_BYTES + 16];
        if (number < 0 || (behind && rate->goal == CORUN_GOAL_NONE))
            continue;
        snprintf(title, sizeof title, "%u %s", hardware_number(client), client->attach.name);
        if (!any)
            journal_line_begin(journal->file, "C", 1, microseconds(journal, now_ns), name);
        else
            fputc(',', journal->file);
        journal_line_text(journal->file, title);
        fprintf(journal->file, ":%.4g", number);
        any = true;
    }
    if (any)
        keep(journal, journal_line_end(journal->file));
}

/* On how many SMs each may be, under a policy that limits that. */
static void print_sms(struct hardware_journal *journal, const struct hardware *hardware, uint64_t now_ns)
{
    bool any = false;
    for (const struct client *client = hardware->clients; client; client = client->next) {
        const struct sms *sms = client->board ? client->gpu->gate.sms : NULL;
        char title[WIRE_NAME_BYTES + 16];
        if (!sms || !sms_has_part(sms, client->number))
            continue;
        snprintf(title, sizeof title, "%u %s", hardware_number(client), client->attach.name);
        if (!any)
            journal_line_begin(journal->file, "C", 1, microseconds(journal, now_ns), "SMs");
        else
            fputc(',', journal->file);
        journal_line_text(journal->file, title);
        fprintf(journal->file, ":%u", sms_count(sms, client->number));
        any = true;
    }
    if (any)
        keep(journal, journal_line_end(journal->file));
}

void hardware_journal_look(struct hardware_journal *journal, const struct hardware *hardware, uint64_t now_ns)
{
    if (!writes(journal))
        return;
    journal->looks++;
    for (const struct client *client = hardware->clients; client; client = client->next)
        if (client->board)
            journal->told[hardware_number(client)].behind +=
                rate_is_behind(&client->gpu->gate.clients[client->number].rate);
    if (now_ns - journal->sampled_ns < SAMPLE_NS)
        return;
    print_sms(journal, hardware, now_ns);
    if (!writes(journal))
        return;
    print_numbers(journal, hardware, "of alone", false, now_ns);
    if (writes(journal))
        print_numbers(journal, hardware, "behind", true, now_ns);
    memset(journal->told, 0, sizeof journal->told);
    for (const struct client *client = hardware->clients; client; client = client->next) {
        if (!client->board)
            continue;
        const struct rate *rate = &client->gpu->gate.clients[client->number].rate;
        journal->told[hardware_number(client)] = (struct told){.wanted_ns = rate->wanted_ns, .ended = rate->ended};
    }
    journal->looks = 0;
    journal->sampled_ns = now_ns;
}
