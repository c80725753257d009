/* SPDX-License-Identifier: MIT */
/*
 * The scheduler of a DRAM channel: which command is next, the earliest cycle at which it is legal, and what it changes.
 */
#include "gpu/dram.h"

#include "base/bits.h"
#include "base/later.h"
#include "gpu/clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define NO_ROW UINT64_MAX
#define BURSTS_KEPT 256u /* more do not lie ahead of the cycle that somebody asks about, but at extreme latencies */

enum direction { READ, WRITE, DIRECTIONS };

struct waiting {
    uint64_t row, pushed, sequence;
    uint32_t previous, next; /* in its bank's queue, oldest first; next also links free ones */
    uint32_t token;
    uint16_t bank, kernel;
    uint8_t slice, sectors, bursts, direction;
};

struct queue {
    uint32_t first, last;
    uint32_t hit; /* the oldest request to the open row, NONE if there is none */
    uint64_t first_sequence, hit_sequence;
};

struct bank {
    uint64_t row; /* open row or NO_ROW */
    uint64_t column_ready, precharge_ready, activate_ready;
    uint16_t group;
    bool fresh; /* no column command since its activate */
};

struct choice {
    uint64_t cycle, sequence;
    uint32_t bank, request;
    enum dram_command command;
};

struct dram {
    const struct corun_gpu_config *config;
    uint32_t burst_cycles, column_gap, group_gap;
    uint32_t high, low;  /* watermarks of waiting writes */
    uint32_t age_cap;    /* cycles that a request may wait before its row goes first */
    uint32_t turn;       /* requests that go yet before the other direction may have its turn */
    uint8_t bursts[256]; /* by mask of sectors */
    struct bank *banks;
    struct queue *queues[DIRECTIONS]; /* by bank */
    uint64_t *group_ready;
    uint64_t *open_banks; /* a bit set */
    /* Bit sets: banks with a request of that direction, and those of them with one to their open row. */
    uint64_t *busy_banks[DIRECTIONS], *hit_banks[DIRECTIONS];
    uint32_t bank_words;
    uint64_t column_ready[DIRECTIONS];
    uint64_t activate_ready; /* tRRD */
    uint64_t refresh;        /* when the next one is due */
    struct waiting *waiting;
    uint32_t capacity, first_free, counts[DIRECTIONS];
    uint64_t sequence;
    enum direction mode;
    uint64_t now;         /* of the last push or command */
    struct choice choice; /* the next command */
    struct choice row;    /* the next one of those banks that have no hit, unless row_stale */
    bool row_stale;
    struct dram_fill *fills; /* a ring, capacity a power of two */
    uint32_t fill_capacity, fill_head, fill_count;
    uint64_t bus_busy, burst_count;
    uint64_t burst_ends[BURSTS_KEPT]; /* of the data of the last ones, in turn; later ones have greater ones */
};

static void count_bursts(struct dram *dram)
{
    uint32_t sector = dram->config->l2_sector_bytes, burst = dram->config->dram_burst_bytes;
    for (uint32_t mask = 1; mask < 256; mask++) {
        uint32_t count = 0;
        if (burst <= sector) {
            count = count_bits(mask) * (sector / burst);
        } else {
            uint32_t together = burst / sector >= 8 ? 8 : burst / sector;
            for (uint32_t first = 0; first < 8; first += together)
                count += (mask >> first & ((1u << together) - 1)) != 0;
        }
        dram->bursts[mask] = (uint8_t)count;
    }
}

struct dram *dram_create(const struct corun_gpu_config *config)
{
    struct dram *dram = calloc(1, sizeof *dram);
    if (!dram)
        return NULL;
    uint32_t bus = config->dram_bus_bytes * config->dram_data_rate;
    dram->config = config;
    dram->burst_cycles = (uint32_t)divide_up(config->dram_burst_bytes, bus);
    dram->column_gap = (uint32_t)later(config->dram_tCCD, dram->burst_cycles);
    dram->group_gap = (uint32_t)later(config->dram_tCCDL, dram->burst_cycles);
    dram->high = config->dram_queue - config->dram_queue / 8;
    dram->low = config->dram_queue / 8;
    dram->age_cap = DRAM_AGE_CAP * (config->dram_queue > 64 ? config->dram_queue / 64 : 1);
    dram->refresh = config->dram_tREFI ? config->dram_tREFI : NEVER;
    dram->first_free = NONE;
    dram->row.cycle = NEVER;
    dram->choice.cycle = NEVER;
    dram->bank_words = (uint32_t)BIT_WORDS(config->dram_banks);
    dram->banks = calloc(config->dram_banks, sizeof *dram->banks);
    dram->group_ready = calloc(config->dram_bank_groups, sizeof *dram->group_ready);
    dram->open_banks = calloc(dram->bank_words, sizeof *dram->open_banks);
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        dram->queues[direction] = calloc(config->dram_banks, sizeof **dram->queues);
        dram->busy_banks[direction] = calloc(dram->bank_words, sizeof **dram->busy_banks);
        dram->hit_banks[direction] = calloc(dram->bank_words, sizeof **dram->hit_banks);
    }
    if (!dram->banks || !dram->group_ready || !dram->open_banks || !dram->queues[READ] || !dram->queues[WRITE] ||
        !dram->busy_banks[READ] || !dram->busy_banks[WRITE] || !dram->hit_banks[READ] || !dram->hit_banks[WRITE]) {
        dram_destroy(dram);
        return NULL;
    }
    count_bursts(dram);
    for (uint32_t i = 0; i < config->dram_banks; i++) {
        struct queue empty = {NONE, NONE, NONE, 0, 0};
        dram->banks[i].row = NO_ROW;
        dram->banks[i].group = (uint16_t)(i % config->dram_bank_groups);
        dram->queues[READ][i] = dram->queues[WRITE][i] = empty;
    }
    return dram;
}

void dram_destroy(struct dram *dram)
{
    if (!dram)
        return;
    free(dram->banks);
    free(dram->group_ready);
    free(dram->open_banks);
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        free(dram->queues[direction]);
        free(dram->busy_banks[direction]);
        free(dram->hit_banks[direction]);
    }
    free(dram->waiting);
    free(dram->fills);
    free(dram);
}

uint32_t dram_places(const struct dram *dram, bool write)
{
    uint32_t used = dram->counts[write ? WRITE : READ];
    return used < dram->config->dram_queue ? dram->config->dram_queue - used : 0;
}

uint64_t dram_next(const struct dram *dram)
{
    return dram->choice.cycle;
}

bool dram_empty(const struct dram *dram)
{
    return !(dram->counts[READ] | dram->counts[WRITE]);
}

void dram_retire(struct dram *dram, const struct retired_kernels *retired)
{
    for (int direction = 0; direction < DIRECTIONS; direction++)
        for (uint32_t bank = 0; bank < dram->config->dram_banks; bank++)
            for (uint32_t i = dram->queues[direction][bank].first; i != NONE; i = dram->waiting[i].next)
                dram->waiting[i].kernel = heir_of(retired, dram->waiting[i].kernel);
}

uint32_t dram_read_cycles(const struct dram *dram)
{
    return dram->config->dram_tCL + dram->burst_cycles;
}

/* Data of the last bursts may lie ahead of `cycle`, with gaps between them; bursts before those that are kept are taken to have none. */
uint64_t dram_busy(const struct dram *dram, uint64_t cycle)
{
    uint64_t kept = dram->burst_count < BURSTS_KEPT ? dram->burst_count : BURSTS_KEPT, ahead = 0;
    for (uint64_t i = 1; i <= kept; i++) {
        uint64_t end = dram->burst_ends[(dram->burst_count - i) % BURSTS_KEPT];
        if (end <= cycle)
            break;
        uint64_t length = i == BURSTS_KEPT ? UINT64_MAX : dram->burst_cycles;
        ahead += length < end - cycle ? length : end - cycle;
    }
    return dram->bus_busy > ahead ? dram->bus_busy - ahead : 0;
}

/* ---- what to do next ---- */

static uint64_t row_cycle(const struct dram *dram, const struct bank *bank)
{
    uint64_t ready = bank->row != NO_ROW ? bank->precharge_ready : later(bank->activate_ready, dram->activate_ready);
    return later(dram->now, ready);
}

static uint64_t column_cycle(const struct dram *dram, const struct bank *bank)
{
    return later(later(bank->column_ready, dram->column_ready[dram->mode]),
                 later(dram->group_ready[bank->group], dram->now));
}

/* Opens the row of the bank's oldest request of the current direction. */
static struct choice choose_row_command(const struct dram *dram, uint32_t index)
{
    const struct bank *bank = &dram->banks[index];
    const struct queue *queue = &dram->queues[dram->mode][index];
    return (struct choice){
        .cycle = row_cycle(dram, bank),
        .sequence = queue->first_sequence,
        .bank = index,
        .request = queue->first,
        .command = bank->row != NO_ROW ? DRAM_PRECHARGE : DRAM_ACTIVATE,
    };
}

/* The oldest request of the bank, which is to another row, has waited too long by then. */
static bool is_overdue(const struct dram *dram, const struct queue *queue, uint64_t cycle)
{
    return cycle > dram->waiting[queue->first].pushed + dram->age_cap;
}

/* The next burst of the oldest request to the bank's open row, unless an older one to another row has waited too long. */
static struct choice choose_column(const struct dram *dram, uint32_t index)
{
    const struct queue *queue = &dram->queues[dram->mode][index];
    struct choice choice = {
        .cycle = column_cycle(dram, &dram->banks[index]),
        .sequence = queue->hit_sequence,
        .bank = index,
        .request = queue->hit,
        .command = DRAM_COLUMN,
    };
    if (queue->hit != queue->first && is_overdue(dram, queue, choice.cycle))
        return choose_row_command(dram, index);
    return choice;
}

static bool goes_before(const struct choice *a, const struct choice *b)
{
    if (a->cycle != b->cycle)
        return a->cycle < b->cycle;
    if (a->command != b->command)
        return a->command < b->command;
    return a->sequence < b->sequence;
}

/* A refresh that is due goes before whatever was chosen. */
static void put_refresh_first(struct dram *dram)
{
    if (dram->choice.cycle == NEVER || dram->choice.cycle < dram->refresh)
        return;
    /* Those that fell into idle time are over, and the last one alone can still be felt. */
    if (dram->now > dram->refresh)
        dram->refresh += (dram->now - dram->refresh) / dram->config->dram_tREFI * dram->config->dram_tREFI;
    dram->choice.command = DRAM_REFRESH;
}

static void compete(struct choice *best, struct choice choice)
{
    if (goes_before(&choice, best))
        *best = choice;
}

/* Columns in order of age; every bank opens the row of its own oldest request meanwhile. */
static void choose_by_age(struct dram *dram)
{
    uint64_t oldest = NEVER;
    uint32_t oldest_bank = 0;
    for (uint32_t word = 0; word < dram->bank_words; word++)
        for (uint64_t left = dram->busy_banks[dram->mode][word]; left; left &= left - 1) {
            uint32_t index = word * 64 + lowest_bit(left);
            const struct queue *queue = &dram->queues[dram->mode][index];
            if (queue->first_sequence < oldest) {
                oldest = queue->first_sequence;
                oldest_bank = index;
            }
            if (queue->hit != queue->first)
                compete(&dram->choice, choose_row_command(dram, index));
        }
    const struct queue *queue = &dram->queues[dram->mode][oldest_bank];
    if (oldest != NEVER && queue->hit == queue->first)
        compete(&dram->choice, choose_column(dram, oldest_bank));
}

/*
 * Order of the candidates as one number: cycle, then precharges after others, then age. The loops below have no branch that depends on it:
 * it could not be foretold.
 */
#define SEQUENCE_BITS 40 /* 2^40 requests of one controller */

struct best {
    uint64_t order;
    uint32_t bank;
};

static uint64_t order_of(const struct dram *dram, uint64_t cycle, bool precharge, uint64_t sequence)
{
    return (cycle - dram->now) << (SEQUENCE_BITS + 1) | (uint64_t)precharge << SEQUENCE_BITS | sequence;
}

static struct best better(struct best best, uint64_t order, uint32_t bank)
{
    best.bank = order < best.order ? bank : best.bank;
    best.order = order < best.order ? order : best.order;
    return best;
}

/* What a row command may do changes with row commands, pushes and the end of a bank's hits, not with every column. */
static void choose_row(struct dram *dram)
{
    const struct queue *queues = dram->queues[dram->mode];
    struct best best = {NEVER, 0};
    uint64_t activate_ready = later(dram->now, dram->activate_ready);
    for (uint32_t word = 0; word < dram->bank_words; word++) {
        uint64_t banks = dram->busy_banks[dram->mode][word] & ~dram->hit_banks[dram->mode][word];
        for (uint64_t left = banks & ~dram->open_banks[word]; left; left &= left - 1) {
            uint32_t index = word * 64 + lowest_bit(left);
            uint64_t cycle = later(dram->banks[index].activate_ready, activate_ready);
            best = better(best, order_of(dram, cycle, false, queues[index].first_sequence), index);
        }
        for (uint64_t left = banks & dram->open_banks[word]; left; left &= left - 1) {
            uint32_t index = word * 64 + lowest_bit(left);
            uint64_t cycle = later(dram->banks[index].precharge_ready, dram->now);
            best = better(best, order_of(dram, cycle, true, queues[index].first_sequence), index);
        }
    }
    dram->row.cycle = NEVER;
    if (best.order != NEVER)
        dram->row = choose_row_command(dram, best.bank);
    dram->row_stale = false;
}

static void choose_by_row_hits(struct dram *dram)
{
    const struct queue *queues = dram->queues[dram->mode];
    struct best best = {NEVER, 0};
    uint64_t column_ready = later(dram->now, dram->column_ready[dram->mode]);
    if (dram->row_stale)
        choose_row(dram);
    dram->choice = dram->row;
    for (uint32_t word = 0; word < dram->bank_words; word++)
        for (uint64_t left = dram->hit_banks[dram->mode][word]; left; left &= left - 1) {
            uint32_t index = word * 64 + lowest_bit(left);
            const struct bank *bank = &dram->banks[index];
            uint64_t cycle = later(later(bank->column_ready, column_ready), dram->group_ready[bank->group]);
            if (queues[index].hit != queues[index].first && is_overdue(dram, &queues[index], cycle)) {
                compete(&dram->choice, choose_row_command(dram, index));
                continue;
            }
            best = better(best, order_of(dram, cycle, false, queues[index].hit_sequence), index);
        }
    if (best.order != NEVER)
        compete(&dram->choice, choose_column(dram, best.bank));
}

static void choose(struct dram *dram)
{
    dram->choice.cycle = NEVER;
    if (dram->config->dram_scheduler == CORUN_DRAM_SCHEDULER_FCFS)
        choose_by_age(dram);
    else
        choose_by_row_hits(dram);
    put_refresh_first(dram);
}

/* Turns have an end: those of one direction that come while the turn lasts do not hold up the other's. */
static bool change_mode(struct dram *dram)
{
    uint32_t reads = dram->counts[READ], writes = dram->counts[WRITE];
    enum direction mode = dram->mode;
    if (mode == READ && writes && (!reads || (writes >= dram->high && !dram->turn)))
        mode = WRITE;
    else if (mode == WRITE && reads && (!writes || !dram->turn))
        mode = READ;
    if (mode == dram->mode)
        return false;
    dram->mode = mode;
    dram->turn = mode == READ ? reads : writes > dram->low ? writes - dram->low : 0;
    dram->row_stale = true;
    return true;
}

static void set_hit(struct dram *dram, uint32_t index, enum direction direction, uint32_t hit)
{
    struct queue *queue = &dram->queues[direction][index];
    queue->hit = hit;
    if (hit == NONE) {
        bits_clear(dram->hit_banks[direction], index);
    } else {
        bits_set(dram->hit_banks[direction], index);
        queue->hit_sequence = dram->waiting[hit].sequence;
    }
}

/* The first request to the open row from `at` on. */
static uint32_t find_hit(const struct dram *dram, const struct bank *bank, uint32_t at)
{
    while (at != NONE && dram->waiting[at].row != bank->row)
        at = dram->waiting[at].next;
    return at;
}

/* ---- pushes ---- */

static bool grow(struct dram *dram)
{
    uint32_t capacity = dram->capacity ? dram->capacity * 2 : 64;
    struct waiting *waiting = capacity > dram->capacity ? realloc(dram->waiting, capacity * sizeof *waiting) : NULL;
    if (!waiting)
        return false;
    memset(waiting + dram->capacity, 0,
           (capacity - dram->capacity) * sizeof *waiting); /* checkpoints have free ones, too */
    for (uint32_t i = dram->capacity; i < capacity; i++)
        waiting[i].next = i + 1 < capacity ? i + 1 : NONE;
    dram->first_free = dram->capacity;
    dram->waiting = waiting;
    dram->capacity = capacity;
    return true;
}

bool dram_push(struct dram *dram, uint64_t cycle, const struct dram_access *access)
{
    if (dram->first_free == NONE && !grow(dram))
        return false;
    assert(access->sectors && cycle >= dram->now);
    uint32_t index = dram->first_free;
    struct waiting *request = &dram->waiting[index];
    dram->first_free = request->next;
    enum direction direction = access->write ? WRITE : READ;
    struct queue *queue = &dram->queues[direction][access->bank];
    *request = (struct waiting){
        .row = access->row,
        .pushed = cycle,
        .sequence = dram->sequence++,
        .previous = queue->last,
        .next = NONE,
        .token = access->token,
        .bank = access->bank,
        .kernel = access->kernel,
        .slice = access->slice,
        .sectors = access->sectors,
        .bursts = dram->bursts[access->sectors],
        .direction = (uint8_t)direction,
    };
    if (queue->first == NONE) {
        queue->first = index;
        queue->first_sequence = request->sequence;
        bits_set(dram->busy_banks[direction], access->bank);
    } else {
        dram->waiting[queue->last].next = index;
    }
    queue->last = index;
    if (queue->hit == NONE && dram->banks[access->bank].row == access->row)
        set_hit(dram, access->bank, direction, index);
    dram->counts[direction]++;
    dram->now = cycle;
    bool changed = change_mode(dram);
    if (direction != dram->mode && !changed)
        return true;
    /* Of another bank than those chosen, the push only competes; it cannot change what they do. */
    if (changed || dram->choice.cycle == NEVER || dram->choice.bank == access->bank || dram->row.bank == access->bank ||
        dram->choice.command == DRAM_REFRESH || dram->config->dram_scheduler == CORUN_DRAM_SCHEDULER_FCFS) {
        dram->row_stale = true;
        choose(dram);
        return true;
    }
    if (queue->hit != NONE) {
        compete(&dram->choice, choose_column(dram, access->bank));
    } else {
        struct choice choice = choose_row_command(dram, access->bank);
        compete(&dram->choice, choice);
        compete(&dram->row, choice);
    }
    put_refresh_first(dram);
    return true;
}

/* ---- commands ---- */

static void close_row(struct dram *dram, uint32_t index)
{
    dram->banks[index].row = NO_ROW;
    bits_clear(dram->open_banks, index);
    set_hit(dram, index, READ, NONE);
    set_hit(dram, index, WRITE, NONE);
    dram->row_stale = true;
}

static void refresh(struct dram *dram)
{
    uint64_t start = dram->refresh;
    for (uint32_t i = 0; i < dram->config->dram_banks; i++) {
        const struct bank *bank = &dram->banks[i];
        start =
            later(start, bank->row == NO_ROW ? bank->activate_ready : bank->precharge_ready + dram->config->dram_tRP);
    }
    for (uint32_t i = 0; i < dram->config->dram_banks; i++) {
        struct bank *bank = &dram->banks[i];
        close_row(dram, i);
        bank->activate_ready = start + dram->config->dram_tRFC;
    }
    dram->refresh += dram->config->dram_tREFI;
}

static void activate(struct dram *dram, uint32_t index, uint64_t row, uint64_t cycle)
{
    struct bank *bank = &dram->banks[index];
    const struct corun_gpu_config *config = dram->config;
    bank->row = row;
    bits_set(dram->open_banks, index);
    bank->fresh = true;
    bank->column_ready = cycle + config->dram_tRCD;
    bank->precharge_ready = cycle + config->dram_tRAS;
    bank->activate_ready = cycle + config->dram_tRC;
    dram->activate_ready = cycle + config->dram_tRRD;
    for (int direction = 0; direction < DIRECTIONS; direction++)
        set_hit(dram, index, direction, find_hit(dram, bank, dram->queues[direction][index].first));
    dram->row_stale = true;
}

static bool append_fill(struct dram *dram, const struct waiting *request, uint64_t cycle)
{
    if (dram->fill_count == dram->fill_capacity) {
        uint32_t capacity = dram->fill_capacity ? dram->fill_capacity * 2 : 64;
        struct dram_fill *fills = capacity ? malloc(capacity * sizeof *fills) : NULL;
        if (!fills)
            return false;
        for (uint32_t i = 0; i < dram->fill_count; i++)
            fills[i] = dram->fills[(dram->fill_head + i) & (dram->fill_capacity - 1)];
        free(dram->fills);
        dram->fills = fills;
        dram->fill_capacity = capacity;
        dram->fill_head = 0;
    }
    dram->fills[(dram->fill_head + dram->fill_count++) & (dram->fill_capacity - 1)] =
        (struct dram_fill){cycle, request->token, request->slice, request->sectors};
    return true;
}

static void remove_request(struct dram *dram, uint32_t index)
{
    struct waiting *request = &dram->waiting[index];
    struct queue *queue = &dram->queues[request->direction][request->bank];
    uint32_t hit = find_hit(dram, &dram->banks[request->bank], request->next);
    set_hit(dram, request->bank, request->direction, hit);
    dram->row_stale |= hit == NONE;
    if (request->previous == NONE)
        queue->first = request->next;
    else
        dram->waiting[request->previous].next = request->next;
    if (request->next == NONE)
        queue->last = request->previous;
    else
        dram->waiting[request->next].previous = request->previous;
    if (queue->first == NONE)
        bits_clear(dram->busy_banks[request->direction], request->bank);
    else
        queue->first_sequence = dram->waiting[queue->first].sequence;
    dram->counts[request->direction]--;
    if (request->direction == dram->mode && dram->turn)
        dram->turn--;
    request->next = dram->first_free;
    dram->first_free = index;
}

static bool issue_column(struct dram *dram, struct bank *bank, uint32_t index, struct dram_event *event)
{
    const struct corun_gpu_config *config = dram->config;
    struct waiting *request = &dram->waiting[index];
    uint64_t cycle = dram->now, data_end;
    if (request->direction == READ) {
        data_end = cycle + config->dram_tCL + dram->burst_cycles;
        bank->precharge_ready = later(bank->precharge_ready, cycle + config->dram_tRTPL);
        dram->column_ready[READ] = cycle + dram->column_gap;
        /* Write data may follow read data on the bus after two idle cycles. */
        uint64_t turned = data_end + 2 > config->dram_tWL ? data_end + 2 - config->dram_tWL : 0;
        dram->column_ready[WRITE] = later(turned, cycle + dram->column_gap);
    } else {
        data_end = cycle + config->dram_tWL + dram->burst_cycles;
        bank->precharge_ready = later(bank->precharge_ready, data_end + config->dram_tWR);
        dram->column_ready[WRITE] = cycle + dram->column_gap;
        dram->column_ready[READ] = data_end + config->dram_tCDLR;
    }
    dram->group_ready[bank->group] = cycle + dram->group_gap;
    dram->bus_busy += dram->burst_cycles;
    dram->burst_ends[dram->burst_count++ % BURSTS_KEPT] = data_end;
    event->kernel = request->kernel;
    event->write = request->direction == WRITE;
    event->row_hit = !bank->fresh;
    event->left = request->bursts == 1;
    bank->fresh = false;
    if (--request->bursts)
        return true;
    if (request->direction == READ && !append_fill(dram, request, data_end))
        return false;
    remove_request(dram, index);
    return true;
}

bool dram_issue(struct dram *dram, struct dram_event *event)
{
    struct choice choice = dram->choice;
    assert(choice.cycle != NEVER);
    struct bank *bank = &dram->banks[choice.bank];
    *event = (struct dram_event){.cycle = choice.cycle, .command = choice.command, .bank = (uint16_t)choice.bank};
    dram->now = choice.cycle;
    bool done = true;
    switch (choice.command) {
    case DRAM_REFRESH:
        refresh(dram);
        break;
    case DRAM_PRECHARGE:
        close_row(dram, choice.bank);
        bank->activate_ready = later(bank->activate_ready, choice.cycle + dram->config->dram_tRP);
        break;
    case DRAM_ACTIVATE:
        activate(dram, choice.bank, dram->waiting[choice.request].row, choice.cycle);
        break;
    case DRAM_COLUMN:
        done = issue_column(dram, bank, choice.request, event);
        break;
    }
    change_mode(dram);
    choose(dram);
    return done;
}

const struct dram_fill *dram_first_fill(const struct dram *dram)
{
    return dram->fill_count ? &dram->fills[dram->fill_head] : NULL;
}

void dram_drop_fill(struct dram *dram)
{
    dram->fill_head = (dram->fill_head + 1) & (dram->fill_capacity - 1);
    dram->fill_count--;
}

/* ---- checkpoints ---- */

#define MOST_WAITING ((size_t)1 << 26)

static void archive_waiting(struct corun_archive *archive, struct dram *dram)
{
    size_t capacity = dram->capacity, fills = dram->fill_count;
    archive_count(archive, &capacity, MOST_WAITING);
    archive_count(archive, &fills, MOST_WAITING);
    if (archive->reads && archive_fine(archive)) {
        size_t room = 1;
        while (room < fills)
            room *= 2;
        free(dram->waiting);
        free(dram->fills);
        dram->waiting = calloc(capacity ? capacity : 1, sizeof *dram->waiting);
        dram->fills = calloc(room, sizeof *dram->fills);
        dram->capacity = dram->waiting ? (uint32_t)capacity : 0;
        dram->fill_capacity = dram->fills ? (uint32_t)room : 0;
        dram->fill_head = 0;
        dram->fill_count = (uint32_t)fills;
        if (!dram->waiting || !dram->fills) {
            dram->fill_count = 0;
            archive_fail(archive, CORUN_MEMORY, "out of memory");
        }
    }
    archive_bytes(archive, dram->waiting, dram->capacity * sizeof *dram->waiting);
    for (uint32_t i = 0; i < dram->fill_count && archive_fine(archive); i++) {
        struct dram_fill *fill = &dram->fills[(dram->fill_head + i) & (dram->fill_capacity - 1)];
        ARCHIVE(archive, fill->cycle);
        ARCHIVE(archive, fill->token);
        ARCHIVE(archive, fill->slice);
        ARCHIVE(archive, fill->sectors);
    }
}

void dram_archive(struct corun_archive *archive, struct dram *dram)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct dram, config),        ARCHIVE_HOLE(struct dram, banks),
        ARCHIVE_HOLE(struct dram, queues),        ARCHIVE_HOLE(struct dram, group_ready),
        ARCHIVE_HOLE(struct dram, open_banks),    ARCHIVE_HOLE(struct dram, busy_banks),
        ARCHIVE_HOLE(struct dram, hit_banks),     ARCHIVE_HOLE(struct dram, waiting),
        ARCHIVE_HOLE(struct dram, capacity),      ARCHIVE_HOLE(struct dram, fills),
        ARCHIVE_HOLE(struct dram, fill_capacity), ARCHIVE_HOLE(struct dram, fill_head),
        ARCHIVE_HOLE(struct dram, fill_count),    ARCHIVE_HOLE(struct dram, bank_words)};
    uint32_t banks = dram->config->dram_banks;
    ARCHIVE_RECORD(archive, dram, holes);
    archive_bytes(archive, dram->banks, banks * sizeof *dram->banks);
    archive_bytes(archive, dram->group_ready, dram->config->dram_bank_groups * sizeof *dram->group_ready);
    archive_bytes(archive, dram->open_banks, dram->bank_words * sizeof *dram->open_banks);
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        archive_bytes(archive, dram->queues[direction], banks * sizeof **dram->queues);
        archive_bytes(archive, dram->busy_banks[direction], dram->bank_words * sizeof **dram->busy_banks);
        archive_bytes(archive, dram->hit_banks[direction], dram->bank_words * sizeof **dram->hit_banks);
    }
    archive_waiting(archive, dram);
}
