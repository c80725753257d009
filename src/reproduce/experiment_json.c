/* SPDX-License-Identifier: MIT */
/* An experiment as one JSON object: campaigns, tables and the paper's numbers, as the Python package reads them. */
#include "reproduce/experiment_json.h"

#include "report/json_writer.h"

/* Nesting ends with that of the YAML tree. */
static json_t *node(struct json_writer *writer, const struct yaml_node *from)
{
    json_t *array = json_array(), *value = NULL;
    json_push(writer, array, json_count(from->place.line));
    json_push(writer, array, json_count(from->place.column));
    if (from->kind == YAML_TEXT) {
        value = json_text(from->text);
    } else if (from->kind == YAML_LIST) {
        value = json_array();
        for (const struct yaml_node *entry = from->first; entry; entry = entry->next)
            json_push(writer, value, node(writer, entry));
    } else {
        json_t *keys = json_array();
        value = json_object();
        for (const struct yaml_node *entry = from->first; entry; entry = entry->next) {
            json_t *pair = json_array();
            json_push(writer, pair, json_text(entry->key));
            json_push(writer, pair, node(writer, entry));
            json_push(writer, keys, pair);
        }
        json_put(writer, value, "keys", keys);
    }
    json_push(writer, array, value);
    return array;
}

static json_t *words(struct json_writer *writer, const struct corun_campaign_case *item)
{
    json_t *row = json_array(), *applications = json_array(), *options = json_array();
    for (uint32_t a = 0; a < item->application_count; a++)
        json_push(writer, applications, json_text(item->applications[a]));
    for (uint32_t o = 0; o < item->option_count; o++) {
        json_t *pair = json_array();
        json_push(writer, pair, json_text(item->options[o].name));
        json_push(writer, pair, json_text(item->options[o].value ? item->options[o].value : ""));
        json_push(writer, options, pair);
    }
    json_push(writer, row, json_text(item->gpu));
    json_push(writer, row, json_text(item->policy));
    json_push(writer, row, applications);
    json_push(writer, row, json_boolean(item->isolated));
    json_push(writer, row, options);
    return row;
}

/* None of a campaign that has not been made. */
static json_t *cases_of(struct json_writer *writer, const struct corun_campaign *campaign)
{
    json_t *cases = json_array();
    for (size_t c = 0; campaign && c < corun_campaign_count(campaign); c++)
        json_push(writer, cases, words(writer, corun_campaign_get(campaign, c)));
    return cases;
}

enum corun_status json_experiment(const struct experiment *experiment, uint64_t cycles,
                                  struct corun_campaign *const *campaigns, struct corun_campaign *const *drawn,
                                  FILE *stream)
{
    struct json_writer writer = {false};
    json_t *object = json_object(), *parts = json_array();
    json_put(&writer, object, "path", json_text(experiment->path));
    json_put(&writer, object, "tree", node(&writer, experiment->root));
    json_put(&writer, object, "cycles", json_count(cycles));
    for (uint32_t i = 0; i < experiment->part_count; i++) {
        const struct corun_campaign *campaign = campaigns ? campaigns[i] : NULL;
        json_t *part = json_object();
        json_put(&writer, part, "name", json_text(experiment->parts[i].name));
        json_put(&writer, part, "campaign", json_text(experiment->parts[i].campaign));
        json_put(&writer, part, "combinations", json_count(campaign ? experiment_combinations(campaign) : 0));
        json_put(&writer, part, "sampled", json_count(campaign ? experiment_sampled(campaign) : 0));
        json_put(&writer, part, "cases", cases_of(&writer, campaign));
        json_put(&writer, part, "drawn", cases_of(&writer, drawn ? drawn[i] : NULL));
        json_push(&writer, parts, part);
    }
    json_put(&writer, object, "parts", parts);
    return json_write(&writer, object, stream);
}
