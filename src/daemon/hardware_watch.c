/* SPDX-License-Identifier: MIT */
/* On which part of the SMs each program on a GPU of hardware may be, over time. */
#include "daemon/hardware_state.h"

/* The SMs of its workers as a part of all; 0: its launches are no workers, or nobody limits them. */
uint32_t hardware_sms_of(const struct client *client)
{
    const struct sms *sms = client->gpu->gate.sms;
    uint32_t word = atomic_load(&client->board->obeys) ? atomic_load(&client->board->sms) : 0;
    uint32_t all = sms ? sms_of_gpu(sms) : 0;
    if (!board_sms_is_listed(word))
        return word;
    uint32_t own = all ? sms_count(sms, client->number) * BOARD_SMS / all : 0;
    return own ? board_sms(0, own) : board_sms(1, 1);
}

/* Hundredths; who is not limited may be on all. */
static uint32_t part_of(const struct client *client)
{
    uint32_t sms = hardware_sms_of(client);
    return sms ? (uint32_t)(100 * board_sms_share(sms) + 0.5) : 100;
}

/* What it was since the look before holds until this one: it changes in looks alone. */
static void watch_client(struct watched *watched, uint32_t part, uint64_t now_ns)
{
    if (!watched->looked_ns)
        watched->looked_ns = watched->sampled_ns = now_ns;
    watched->sum += watched->part * (now_ns - watched->looked_ns);
    watched->looked_ns = now_ns;
    watched->part = part;
    uint64_t passed = now_ns - watched->sampled_ns, samples = passed / HARDWARE_SAMPLE_NS;
    for (uint64_t i = 0; i < samples && i < WIRE_MOST_SAMPLES; i++)
        watched->samples[watched->count++ % WIRE_MOST_SAMPLES] = (uint32_t)(watched->sum / passed);
    if (samples) {
        watched->sum = 0;
        watched->sampled_ns = now_ns;
    }
}

void hardware_watch(struct hardware *hardware, uint64_t now_ns)
{
    enum gate_policy policy = hardware->settings->rules.policy;
    bool divides = policy == GATE_PARTITION || policy == GATE_WORKERS;
    for (struct client *client = hardware->clients; client; client = client->next)
        if (client->board && divides)
            watch_client(&client->watched, part_of(client), now_ns);
        else if (client->watched.looked_ns)
            client->watched = (struct watched){.count = 0};
}

uint32_t hardware_samples(const struct client *client, uint32_t samples[WIRE_MOST_SAMPLES])
{
    const struct watched *watched = &client->watched;
    uint32_t count = watched->count < WIRE_MOST_SAMPLES ? (uint32_t)watched->count : WIRE_MOST_SAMPLES;
    for (uint32_t i = 0; i < count; i++)
        samples[i] = watched->samples[(watched->count - count + i) % WIRE_MOST_SAMPLES];
    return count;
}
