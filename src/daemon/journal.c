/* SPDX-License-Identifier: MIT */
/* The journal of a node. */
#include "daemon/journal.h"

#include <stdio.h>
#include <stdlib.h>

#define NODE_PROCESS 1u

struct node_journal {
    FILE *file;
    const struct node *node;
    uint32_t allowed[CORUN_MAX_APPLICATIONS]; /* SMs, when it was told last */
    bool told;
};

/* What is no plain text becomes question marks: nothing of a client's ends a text of ours. */
static void print_text(struct node_journal *journal, const char *text)
{
    fputc('"', journal->file);
    for (; *text; text++)
        fputc(*text >= ' ' && *text <= '~' && *text != '"' && *text != '\\' ? *text : '?', journal->file);
    fputc('"', journal->file);
}

/* Up to its arguments. */
static void begin(struct node_journal *journal, const char *phase, uint64_t cycle, const char *name)
{
    uint32_t khz = journal->node->settings.configuration.core_clock_khz;
    fprintf(journal->file, "{\"ph\":\"%s\",\"pid\":%u,\"tid\":1,\"ts\":%.3f,%s\"name\":", phase, NODE_PROCESS,
            (double)cycle * 1e3 / khz, *phase == 'i' ? "\"s\":\"p\"," : "");
    print_text(journal, name);
    fputs(",\"args\":{", journal->file);
}

/* A full disk ends the journal, and nothing else. */
static void end(struct node_journal *journal)
{
    fputs("}},\n", journal->file);
    if (fflush(journal->file) == 0)
        return;
    fclose(journal->file);
    journal->file = NULL;
}

static bool writes(const struct node_journal *journal)
{
    return journal && journal->file;
}

struct node_journal *node_journal_open(const char *path, const struct node *node)
{
    struct node_journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return NULL;
    *journal = (struct node_journal){.file = fopen(path, "we"), .node = node};
    if (!journal->file) {
        free(journal);
        return NULL;
    }
    fprintf(journal->file,
            "[\n{\"ph\":\"M\",\"pid\":%u,\"tid\":1,\"name\":\"process_name\",\"args\":{\"name\":", NODE_PROCESS);
    print_text(journal, node->settings.configuration.name);
    end(journal);
    node_journal_note(journal, NULL, "policy", node->policy);
    return journal;
}

void node_journal_close(struct node_journal *journal)
{
    if (!journal)
        return;
    if (journal->file) {
        fprintf(journal->file,
                "{\"ph\":\"M\",\"pid\":%u,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"policy\"}}\n]\n",
                NODE_PROCESS);
        fclose(journal->file);
    }
    free(journal);
}

void node_journal_note(struct node_journal *journal, const struct session *session, const char *what, const char *text)
{
    if (!writes(journal))
        return;
    begin(journal, "i", corun_gpu_cycles(journal->node->gpu), what);
    if (session) {
        fprintf(journal->file, "\"client\":%u,\"pid\":%u,\"uid\":%u,\"program\":", session->number, session->pid,
                session->uid);
        print_text(journal, session->join.name);
        fputc(',', journal->file);
    }
    fputs("\"is\":", journal->file);
    print_text(journal, text);
    end(journal);
}

/* The first space whose application has the slot; NULL: none. */
static const struct space *space_at(const struct node *node, uint32_t slot)
{
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++) {
        const struct space *space = node->spaces[i];
        if (space && space->application != CORUN_NO_APPLICATION && corun_application_slot(space->application) == slot)
            return space;
    }
    return NULL;
}

/* Its arguments: a number for each application, called by client and program. */
static void print_numbers(struct node_journal *journal, const double numbers[CORUN_MAX_APPLICATIONS])
{
    char name[WIRE_NAME_BYTES + 16];
    bool any = false;
    for (uint32_t slot = 0; slot < CORUN_MAX_APPLICATIONS; slot++) {
        const struct space *space = space_at(journal->node, slot);
        if (!space)
            continue;
        snprintf(name, sizeof name, "%u %s", space->session->number, space->session->join.name);
        fputs(any ? "," : "", journal->file);
        print_text(journal, name);
        fprintf(journal->file, ":%.6g", numbers[slot]);
        any = true;
    }
}

void node_journal_moment(struct node_journal *journal, const struct corun_observation *seen)
{
    static const char *const names[] = {"ARRIVE", "LEAVE",        "KERNEL_START",  "RUN_COMPLETE",
                                        "EPOCH",  "QUOTAS_SPENT", "LIMIT_REACHED", "TB_COMPLETE"};
    double numbers[CORUN_MAX_APPLICATIONS] = {0};
    bool changed = false;
    if (!writes(journal) || !seen->allowances)
        return;
    for (uint32_t slot = 0; slot < CORUN_MAX_APPLICATIONS; slot++) {
        uint32_t allowed = 0;
        for (uint32_t s = 0; s < journal->node->settings.configuration.sms; s++)
            allowed += seen->allowances->tb_limit[s * CORUN_MAX_APPLICATIONS + slot] != 0;
        changed |= allowed != journal->allowed[slot];
        journal->allowed[slot] = allowed;
        numbers[slot] = allowed;
    }
    if (!changed && journal->told)
        return;
    journal->told = true;
    begin(journal, "i", seen->cycle, names[seen->event]);
    print_numbers(journal, numbers);
    end(journal);
}

void node_journal_sample(struct node_journal *journal, uint64_t cycle)
{
    double numbers[CORUN_MAX_APPLICATIONS] = {0};
    uint32_t samples[WIRE_MOST_SAMPLES];
    if (!writes(journal))
        return;
    for (uint32_t slot = 0; slot < CORUN_MAX_APPLICATIONS; slot++) {
        uint32_t count = watch_samples(journal->node, slot, samples);
        numbers[slot] = count ? samples[count - 1] / 100.0 : 0;
    }
    begin(journal, "C", cycle, "SMs");
    print_numbers(journal, numbers);
    end(journal);
}
