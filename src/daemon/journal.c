/* SPDX-License-Identifier: MIT */
/* The journal of a node. */
#include "daemon/journal.h"

#include "daemon/journal_line.h"

#include <stdio.h>
#include <stdlib.h>

struct node_journal {
    FILE *file;
    const struct node *node;
    uint32_t allowed[WIRE_MOST_GPUS][CORUN_MAX_APPLICATIONS]; /* SMs, when it was told last */
    bool told[WIRE_MOST_GPUS];
};

static void print_text(struct node_journal *journal, const char *text)
{
    journal_line_text(journal->file, text);
}

/* Up to its arguments. */
static void begin(struct node_journal *journal, const struct device *device, const char *phase, uint64_t cycle,
                  const char *name)
{
    uint32_t khz = device->configuration.core_clock_khz;
    journal_line_begin(journal->file, phase, device->index + 1, (double)cycle * 1e3 / khz, name);
}

/* A full disk ends the journal, and nothing else. */
static void keep(struct node_journal *journal, bool written)
{
    if (written)
        return;
    fclose(journal->file);
    journal->file = NULL;
}

static void end(struct node_journal *journal)
{
    keep(journal, journal_line_end(journal->file));
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
    *journal = (struct node_journal){.file = fopen(path, node->settings.goes_on ? "ae" : "we"), .node = node};
    if (!journal->file) {
        free(journal);
        return NULL;
    }
    if (node->settings.goes_on && fseek(journal->file, 0, SEEK_END) == 0 && ftell(journal->file) > 0)
        return journal;
    fputs("[\n", journal->file);
    for (uint32_t i = 0; i < node->device_count && writes(journal); i++) {
        keep(journal, journal_line_process(journal->file, i + 1, node->devices[i].configuration.name));
        node_journal_note(journal, &node->devices[i], NULL, "policy", node->devices[i].policy_text);
    }
    return journal;
}

void node_journal_close(struct node_journal *journal)
{
    if (!journal)
        return;
    if (journal->file) {
        for (uint32_t i = 1; i <= journal->node->device_count; i++)
            fprintf(journal->file,
                    "{\"ph\":\"M\",\"pid\":%u,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"policy\"}}%s\n",
                    i, i < journal->node->device_count ? "," : "");
        fputs("]\n", journal->file);
        fclose(journal->file);
    }
    free(journal);
}

void node_journal_note(struct node_journal *journal, const struct device *device, const struct session *session,
                       const char *what, const char *text)
{
    if (!writes(journal) || !device)
        return;
    begin(journal, device, "i", corun_gpu_cycles(device->gpu), what);
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
static const struct space *space_at(const struct device *device, uint32_t slot)
{
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++) {
        const struct space *space = device->spaces[i];
        if (space && space->application != CORUN_NO_APPLICATION && corun_application_slot(space->application) == slot)
            return space;
    }
    return NULL;
}

/* Its arguments: a number for each application, called by client and program. */
static void print_numbers(struct node_journal *journal, const struct device *device,
                          const double numbers[CORUN_MAX_APPLICATIONS])
{
    char name[WIRE_NAME_BYTES + 16];
    bool any = false;
    for (uint32_t slot = 0; slot < CORUN_MAX_APPLICATIONS; slot++) {
        const struct space *space = space_at(device, slot);
        if (!space)
            continue;
        snprintf(name, sizeof name, "%u %s", space->session->number, space->session->join.name);
        fputs(any ? "," : "", journal->file);
        print_text(journal, name);
        fprintf(journal->file, ":%.6g", numbers[slot]);
        any = true;
    }
}

void node_journal_moment(struct node_journal *journal, const struct device *device,
                         const struct corun_observation *seen)
{
    static const char *const names[] = {"ARRIVE", "LEAVE",        "KERNEL_START",  "RUN_COMPLETE",
                                        "EPOCH",  "QUOTAS_SPENT", "LIMIT_REACHED", "TB_COMPLETE"};
    double numbers[CORUN_MAX_APPLICATIONS] = {0};
    bool changed = false;
    if (!writes(journal) || !seen->allowances)
        return;
    for (uint32_t slot = 0; slot < CORUN_MAX_APPLICATIONS; slot++) {
        uint32_t allowed = 0;
        for (uint32_t s = 0; s < device->configuration.sms; s++)
            allowed += seen->allowances->tb_limit[s * CORUN_MAX_APPLICATIONS + slot] != 0;
        changed |= allowed != journal->allowed[device->index][slot];
        journal->allowed[device->index][slot] = allowed;
        numbers[slot] = allowed;
    }
    if (!changed && journal->told[device->index])
        return;
    journal->told[device->index] = true;
    begin(journal, device, "i", seen->cycle, names[seen->event]);
    print_numbers(journal, device, numbers);
    end(journal);
}

void node_journal_sample(struct node_journal *journal, const struct device *device, uint64_t cycle)
{
    double numbers[CORUN_MAX_APPLICATIONS] = {0};
    uint32_t samples[WIRE_MOST_SAMPLES];
    if (!writes(journal))
        return;
    for (uint32_t slot = 0; slot < CORUN_MAX_APPLICATIONS; slot++) {
        uint32_t count = watch_samples(device, slot, samples);
        numbers[slot] = count ? samples[count - 1] / 100.0 : 0;
    }
    begin(journal, device, "C", cycle, "SMs");
    print_numbers(journal, device, numbers);
    end(journal);
}
