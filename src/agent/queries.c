/* SPDX-License-Identifier: MIT */
/* Queries from their arrival to their end: in the table that the policy sees, or before it. */
#include "agent/running.h"

#include <stdlib.h>

#define BUCKET_BITS 12

bool queries_begin(struct agent *agent)
{
    agent->buckets = calloc((size_t)1 << BUCKET_BITS, sizeof(struct query *));
    agent->waiting_end = &agent->waiting;
    return agent->buckets;
}

static struct query **bucket_of(const struct agent *agent, const struct connection *connection, uint64_t number)
{
    uint64_t mixed = (number ^ (uint64_t)(uintptr_t)connection) * UINT64_C(0x9e3779b97f4a7c15);
    return &agent->buckets[mixed >> (64 - BUCKET_BITS)];
}

struct query *query_find(const struct agent *agent, const struct connection *connection, uint64_t number)
{
    struct query *query = *bucket_of(agent, connection, number);
    while (query && (query->connection != connection || query->number != number))
        query = query->next_in_bucket;
    return query;
}

/* As many as the table has room for, in order of arrival. */
static void admit(struct agent *agent)
{
    while (agent->waiting && !agent->status) {
        struct query *query = agent->waiting;
        uint32_t entry = governor_free_entry(&agent->governor);
        if (entry == CORUN_HOST_NONE)
            return;
        agent->waiting = query->next_waiting;
        if (!agent->waiting)
            agent->waiting_end = &agent->waiting;
        query->next_waiting = NULL;
        query->entry = entry;
        agent->entries[entry] = query;
        agent_keep(agent, governor_arrive(&agent->governor, agent->now_ns, entry, query->tenant, query->id, query->size,
                                          query->arrived_ns));
    }
}

void query_arrive(struct agent *agent, struct connection *connection, uint64_t number, double size, uint64_t at_ns)
{
    if (query_find(agent, connection, number)) {
        connection_end(agent, connection, "this query is there already", true);
        return;
    }
    struct query *query = agent->waiting_count < AGENT_WAITING ? calloc(1, sizeof *query) : NULL;
    if (!query) {
        connection_end(agent, connection, "too many queries wait", true);
        return;
    }
    struct query **bucket = bucket_of(agent, connection, number);
    *query = (struct query){.id = agent->next_id++,
                            .number = number,
                            .arrived_ns = at_ns,
                            .size = size,
                            .tenant = connection->tenant,
                            .entry = CORUN_HOST_NONE,
                            .connection = connection,
                            .next_of_connection = connection->queries,
                            .next_in_bucket = *bucket};
    if (connection->queries)
        connection->queries->previous_of_connection = query;
    connection->queries = *bucket = query;
    *agent->waiting_end = query;
    agent->waiting_end = &query->next_waiting;
    agent->waiting_count++;
    admit(agent);
}

static void forget(struct agent *agent, struct query *query)
{
    struct query **link = bucket_of(agent, query->connection, query->number);
    while (*link != query)
        link = &(*link)->next_in_bucket;
    *link = query->next_in_bucket;
    if (query->previous_of_connection)
        query->previous_of_connection->next_of_connection = query->next_of_connection;
    else
        query->connection->queries = query->next_of_connection;
    if (query->next_of_connection)
        query->next_of_connection->previous_of_connection = query->previous_of_connection;
    if (query->entry == CORUN_HOST_NONE) { /* it waits before the table */
        for (link = &agent->waiting; *link != query;)
            link = &(*link)->next_waiting;
        *link = query->next_waiting;
        if (!query->next_waiting)
            agent->waiting_end = link;
    } else {
        agent->entries[query->entry] = NULL;
    }
    if (!query->running)
        agent->waiting_count--;
    free((pid_t *)query->threads);
    free(query);
}

void query_end(struct agent *agent, struct query *query, uint64_t at_ns, bool lost)
{
    uint32_t entry = query->entry;
    if (!lost)
        measure_ended(agent, query, at_ns);
    outcome_note(agent, query, at_ns, lost);
    if (query->running)
        query->connection->busy--;
    if (entry != CORUN_HOST_NONE && !agent->status && !agent->ending) {
        agent_keep(agent, governor_end(&agent->governor, agent->now_ns, entry));
    }
    forget(agent, query);
    admit(agent);
}

void queries_end(struct agent *agent)
{
    free(agent->buckets);
    agent->buckets = NULL;
}
