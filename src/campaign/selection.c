/* SPDX-License-Identifier: MIT */
/* Keys of all cases are computed and looked up in the results file; shards and lists choose among them. */
#include "campaign/selection.h"

#include "base/text_file.h"
#include "base/text_table.h"
#include "campaign/campaign_file.h"
#include "campaign/campaign_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX_BYTES (UINT32_C(256) << 20)

/* Cases in the order in which shards take turns. */
struct order {
    const struct content_key *keys;
    uint32_t *indices;
    size_t count;
};

static int compare_keys(const void *a, const void *b, void *user)
{
    const struct content_key *keys = user;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int order = strcmp(keys[left].hex, keys[right].hex);
    return order ? order : left < right ? -1 : left > right;
}

/* By their keys, which mixes long and short ones; a case that is there twice counts once, as the earlier one. */
static void order_all(struct selection *selection, struct order *order)
{
    size_t count = corun_campaign_count(selection->campaign), kept = 0;
    for (size_t i = 0; i < count; i++)
        order->indices[i] = (uint32_t)i;
    qsort_r(order->indices, count, sizeof *order->indices, compare_keys, selection->keys);
    for (size_t i = 0; i < count; i++) {
        if (!kept || strcmp(selection->keys[order->indices[i]].hex, selection->keys[order->indices[kept - 1]].hex) != 0)
            order->indices[kept++] = order->indices[i];
    }
    order->count = kept;
}

/* One line of the list, without its end. */
static enum corun_status take_line(const char *path, uint32_t line, const char *text, size_t length,
                                   struct text_table *wanted, struct corun_diagnostics *list)
{
    size_t known;
    if (!length || (line == 1 && length == 3 && !memcmp(text, "key", 3))) /* the heading of `corun query --csv` */
        return CORUN_OK;
    if (length != CONTENT_KEY_LENGTH || strspn(text, "0123456789abcdef") < length)
        return corun_report(list, CORUN_SYNTAX, (struct corun_place){path, line, 1}, "'%.*s' is not the key of a case",
                            (int)(length < 80 ? length : 80), text);
    return text_table_find_or_add(wanted, text, length, wanted->count, &known)
               ? CORUN_OK
               : corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
}

/* Keeps those of the list, in its order. */
static enum corun_status order_listed(const char *path, const char *text, struct order *order,
                                      struct corun_diagnostics *list)
{
    struct text_table wanted = {0};
    enum corun_status status = CORUN_OK;
    uint32_t line = 1;
    for (const char *at = text; *at && !status; line++) {
        size_t length = strcspn(at, "\n");
        size_t trimmed = length && at[length - 1] == '\r' ? length - 1 : length;
        status = take_line(path, line, at, trimmed, &wanted, list);
        at += length + (at[length] == '\n');
    }
    size_t found = 0, place;
    uint32_t *listed = calloc(wanted.count + 1, sizeof *listed);
    if (!listed) {
        text_table_free(&wanted);
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    }
    for (size_t i = 0; i < order->count && !status; i++) {
        if (text_table_find(&wanted, order->keys[order->indices[i]].hex, CONTENT_KEY_LENGTH, &place)) {
            listed[place] = order->indices[i];
            found++;
        }
    }
    if (!status && found < wanted.count)
        status =
            corun_report(list, CORUN_ARGUMENT, (struct corun_place){path, 0, 0},
                         "%zu of these %zu cases are none of the campaign: did something that it consists of change?",
                         wanted.count - found, wanted.count);
    if (!status) {
        memcpy(order->indices, listed, found * sizeof *listed);
        order->count = found;
    }
    free(listed);
    text_table_free(&wanted);
    return status;
}

static enum corun_status choose(const struct selection_request *request, struct selection *selection,
                                struct corun_diagnostics *list)
{
    struct order order = {.keys = selection->keys,
                          .indices = calloc(corun_campaign_count(selection->campaign) + 1, sizeof *order.indices)};
    if (!order.indices)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    enum corun_status status = CORUN_OK;
    order_all(selection, &order);
    if (request->only) {
        char *text = NULL;
        size_t bytes = 0;
        status = text_file_read(request->only, LIST_MAX_BYTES, list, &text, &bytes);
        if (!status)
            status = order_listed(request->only, text, &order, list);
        free(text);
    }
    for (size_t i = 0; i < order.count && !status; i++) {
        if (!request->shards || i % request->shards == request->shard - 1) {
            selection->states[order.indices[i]] = SELECTION_MISSING;
            selection->total++;
        }
    }
    selection->missing = selection->total;
    free(order.indices);
    return status;
}

enum corun_status selection_create(const struct selection_request *request, struct corun_diagnostics *list,
                                   struct selection *selection)
{
    *selection = (struct selection){.campaign = request->campaign};
    selection->states = calloc(corun_campaign_count(request->campaign) + 1, 1);
    enum corun_status status = CORUN_OK;
    if (!selection->states)
        status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    if (!status)
        status = campaign_keys(request->campaign, request->data_directory, list, &selection->keys);
    if (!status)
        status = choose(request, selection, list);
    if (status)
        selection_free(selection);
    return status;
}

enum corun_status selection_look_up(struct selection *selection, struct store *store, bool retry,
                                    struct corun_diagnostics *list)
{
    selection->found = selection->failed = selection->missing = 0;
    for (size_t i = 0; i < corun_campaign_count(selection->campaign); i++) {
        enum store_state state;
        if (selection->states[i] == SELECTION_NOT_ASKED)
            continue;
        enum corun_status status = store_find(store, selection->keys[i].hex, list, &state, NULL);
        if (status)
            return status;
        selection->states[i] = state == STORE_FINISHED           ? SELECTION_FOUND
                               : state == STORE_FAILED && !retry ? SELECTION_FAILED
                                                                 : SELECTION_MISSING;
        selection->found += selection->states[i] == SELECTION_FOUND;
        selection->failed += selection->states[i] == SELECTION_FAILED;
        selection->missing += selection->states[i] == SELECTION_MISSING;
    }
    return CORUN_OK;
}

void selection_free(struct selection *selection)
{
    free(selection->keys);
    free(selection->states);
    *selection = (struct selection){0};
}

static int heavier(const void *a, const void *b)
{
    const struct selected_case *left = a, *right = b;
    if (left->weight != right->weight)
        return left->weight < right->weight ? 1 : -1;
    return left->index < right->index ? -1 : left->index > right->index;
}

size_t selection_missing(const struct selection *selection, struct store *store, size_t first, size_t end,
                         struct selected_case *selected)
{
    const struct corun_campaign *campaign = selection->campaign;
    double *seconds = calloc(campaign->isolated + 1, sizeof *seconds);
    size_t count = 0;
    if (!seconds)
        return SIZE_MAX;
    for (size_t i = 0; i < campaign->isolated; i++) {
        seconds[i] = store_seconds(store, selection->keys[i].hex);
        seconds[i] = isnan(seconds[i]) ? 1 : seconds[i];
    }
    for (size_t i = first; i < end; i++) {
        if (selection->states[i] != SELECTION_MISSING)
            continue;
        double weight = campaign->alone ? 0 : 1;
        for (uint32_t a = 0; campaign->alone && a < corun_campaign_get(campaign, i)->application_count; a++)
            weight += seconds[campaign->alone[i][a]];
        selected[count++] = (struct selected_case){i, weight};
    }
    free(seconds);
    qsort(selected, count, sizeof *selected, heavier);
    return count;
}
