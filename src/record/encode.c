/* SPDX-License-Identifier: MIT */
#include "record/encode.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 512u /* of one instruction: 32 addresses of 10 bytes and 32 spaces are less */

bool record_bytes_grow(struct record_bytes *bytes, size_t more)
{
    if (bytes->capacity - bytes->count >= more)
        return true;
    size_t capacity = 2 * bytes->capacity + more;
    uint8_t *data = realloc(bytes->data, capacity);
    if (!data)
        return false;
    bytes->data = data;
    bytes->capacity = capacity;
    return true;
}

static void put(struct record_bytes *bytes, uint64_t byte)
{
    bytes->data[bytes->count++] = (uint8_t)byte;
}

static void put_number(struct record_bytes *bytes, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        put(bytes, 0x80u | (number & 0x7f));
    put(bytes, number);
}

static void put_difference(struct record_bytes *bytes, uint64_t from, uint64_t to)
{
    put_number(bytes, record_fold(to - from));
}

void record_stream_begin(struct record_stream *stream, uint64_t base, uint64_t local)
{
    stream->control.count = stream->addresses.count = 0;
    stream->lanes = stream->lanes_before = 0;
    stream->run = 0;
    stream->base = base;
    stream->local = local;
    memset(stream->places, 0, sizeof stream->places);
}

void record_stream_free(struct record_stream *stream)
{
    free(stream->control.data);
    free(stream->addresses.data);
    *stream = (struct record_stream){0};
}

static void end_run(struct record_stream *stream)
{
    if (stream->run)
        put(&stream->control, stream->run - 1);
    stream->run = 0;
}

static void put_lanes(struct record_stream *stream, uint32_t lanes)
{
    uint32_t before = stream->lanes_before;
    stream->lanes_before = stream->lanes;
    stream->lanes = lanes;
    if (lanes == before) {
        put(&stream->control, RECORD_SWAP);
        return;
    }
    put(&stream->control, RECORD_LANES);
    for (uint32_t i = 0; i < 4; i++)
        put(&stream->control, lanes >> (8 * i) & 0xff);
}

/* An address as the record has it: without application and warp. */
static uint64_t address_of(const struct record_stream *stream, uint32_t space, uint64_t address)
{
    if (record_is_ranged(space))
        address -= stream->base;
    return space == CORUN_SPACE_LOCAL ? address - stream->local : address;
}

/* Addresses of no rule: as few bytes for each as the farthest wants, so that they are read without a branch. */
static void put_list(struct record_bytes *to, const uint64_t *address, uint32_t lanes)
{
    uint64_t first = address[lowest_bit(lanes)], all = 16, farthest = 0;
    for (uint32_t rest = lanes & (lanes - 1); rest; rest &= rest - 1) {
        uint64_t distance = address[lowest_bit(rest)] - first;
        all |= distance;
        farthest |= distance ^ (uint64_t)((int64_t)distance >> 63);
    }
    uint32_t shift = lowest_bit(all), width = 0;
    farthest >>= shift;
    while (width < 3 && farthest >> ((8u << width) - 1))
        width++;
    put(to, width | shift << 2);
    for (uint32_t rest = lanes & (lanes - 1); rest; rest &= rest - 1) {
        uint64_t distance = (uint64_t)((int64_t)(address[lowest_bit(rest)] - first) >> shift);
        for (uint32_t i = 0; i < 1u << width; i++)
            put(to, distance >> (8 * i) & 0xff);
    }
}

static void add_access(struct record_stream *stream, const struct corun_instruction *code, uint32_t pc,
                       const struct corun_issue *issue)
{
    struct record_bytes *to = &stream->addresses;
    uint64_t *place = &stream->places[record_place(pc)], address[CORUN_WARP_LANES];
    uint32_t lanes = issue->active, first = lowest_bit(lanes);
    bool mixed = issue->space == CORUN_SPACE_GENERIC;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        address[lane] = address_of(stream, mixed ? issue->lane_space[lane] : issue->space, issue->address[lane]);
    }
    uint64_t stride = 0;
    bool regular = !mixed;
    uint32_t rest = lanes & (lanes - 1);
    if (rest) {
        uint32_t second = lowest_bit(rest);
        stride = address[second] - address[first];
        regular = regular && (second - first == 1 || stride == 0);
    }
    for (; rest && regular; rest &= rest - 1)
        regular = address[lowest_bit(rest)] == address[first] + stride * (lowest_bit(rest) - first);
    if (!mixed && issue->space != code->space) {
        put(&stream->control, RECORD_SPACE);
        put(&stream->control, issue->space);
    }
    put_difference(to, *place, address[first]);
    *place = address[first];
    if (!regular) {
        put(&stream->control, mixed ? RECORD_MIXED : RECORD_LIST);
        put_list(to, address, lanes);
        for (rest = lanes; mixed && rest; rest &= rest - 1)
            put(to, issue->lane_space[lowest_bit(rest)]);
        return;
    }
    put(&stream->control, !stride ? RECORD_UNIFORM : stride == code->access_bytes ? RECORD_UNIT : RECORD_STRIDE);
    if (stride && stride != code->access_bytes)
        put_difference(to, 0, stride);
}

bool record_stream_add(struct record_stream *stream, const struct corun_instruction *code, uint32_t pc,
                       const struct corun_issue *issue)
{
    if (!record_bytes_grow(&stream->control, MOST_BYTES) || !record_bytes_grow(&stream->addresses, MOST_BYTES))
        return false;
    if (issue->active != stream->lanes) {
        end_run(stream);
        put_lanes(stream, issue->active);
    }
    bool accesses = record_accesses(code) && issue->active, leads = issue->pc != pc + 1;
    bool ends = issue->outcome == CORUN_OUTCOME_EXIT, meets = issue->outcome == CORUN_OUTCOME_BARRIER;
    bool diverged = code->flags & CORUN_BRANCH && issue->diverged;
    if (!accesses && !ends && !meets && !leads && !diverged) {
        if (++stream->run == RECORD_RUNS)
            end_run(stream);
        return true;
    }
    end_run(stream);
    if (ends) {
        put(&stream->control, RECORD_EXIT);
    } else if (!accesses && !meets) {
        put(&stream->control, diverged ? RECORD_DIVERGE : RECORD_JUMP);
        put_difference(&stream->control, pc + UINT64_C(1), issue->pc);
    } else {
        if (leads) {
            put(&stream->control, RECORD_THEN);
            put_difference(&stream->control, pc + UINT64_C(1), issue->pc);
        }
        if (accesses) {
            add_access(stream, code, pc, issue);
        } else {
            put(&stream->control, RECORD_BARRIER);
            put(&stream->control, issue->barrier | (issue->barrier_waits ? 0x80u : 0));
            put_number(&stream->control, issue->barrier_threads);
        }
    }
    return true;
}

bool record_stream_part(struct record_stream *stream)
{
    if (!record_bytes_grow(&stream->control, MOST_BYTES))
        return false;
    end_run(stream);
    put(&stream->control, RECORD_PART);
    return true;
}
