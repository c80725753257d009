/* SPDX-License-Identifier: MIT */
/*
 * Runs warp instructions. One step: fetch the operation, apply the guard, let a lane function or one of the files beside this one do
 * the work, set the next pc, let lanes that have met run together again.
 */
#include "isa/executor.h"

#include "base/bits.h"
#include "isa/archive.h"
#include "isa/bulk.h"
#include "isa/cluster.h"
#include "isa/matrix.h"
#include "isa/meeting.h"
#include "isa/stack.h"
#include "isa/texture.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void leave(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result)
{
    result->diverged = mask && mask != warp->stack.mask;
    warp->stack.pc++;
    if (mask) {
        if (op->kind == OPERATION_RETURN && warp->function != 0) {
            call_return(warp, mask);
        } else {
            simt_remove(&warp->stack, mask, 0);
            if (!call_unwind(warp)) {
                result->outcome = warpgroup_left(warp) ? CORUN_OUTCOME_EXIT : CORUN_OUTCOME_FAULT;
                return;
            }
        }
    }
    simt_settle(&warp->stack);
}

/* No lane continues. */
static void stop(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    if (op->variant == TRAP_ASSERT)
        print_assert(warp, op, mask);
    else if (op->variant == TRAP_FREE)
        free_wrong(warp, op, lowest_bit(mask));
    else
        fault_raise(warp, lowest_bit(mask), "trap");
}

/* Instructions of matrices are of a whole warp. */
static bool execute_matrix(struct corun_warp *warp, const struct operation *op, uint32_t mask,
                           struct corun_issue *result, bool timed)
{
    const struct matrix_work *work = &warp->tb->launch->kernel->matrices[op->target];
    if (mask != CORUN_FULL_MASK) {
        fault_raise(warp, lowest_bit(mask),
                    "an instruction of matrices by %u of the 32 threads of a warp (mask 0x%08x)", count_bits(mask),
                    mask);
        return false;
    }
    switch ((enum operation_kind)op->kind) {
    case OPERATION_MATRIX:
        matrix_multiply(&warp->lanes, work, warp->tb->launch->instance->matrix_unit);
        return true;
    case OPERATION_MATRIX_TRANSPOSE:
        matrix_transpose(&warp->lanes, work);
        return true;
    case OPERATION_MATRIX_ADDRESS:
        matrix_addresses(&warp->lanes, op, work);
        return true;
    case OPERATION_MATRIX_LOAD:
        result->active = matrix_tile_lanes(work);
        if (!access_load(warp, op, result->active, result, timed))
            return false;
        matrix_tiles_loaded(&warp->lanes, op, work);
        return true;
    default:
        result->active = matrix_tile_lanes(work);
        matrix_tiles_stored(&warp->lanes, op, work);
        return access_store(warp, op, result->active, result, timed);
    }
}

/* What warps or thread blocks do together, and what is rare. */
static bool execute_group(struct corun_warp *warp, const struct operation *op, uint32_t mask,
                          struct corun_issue *result, bool timed)
{
    if (op->kind >= OPERATION_MATRIX && op->kind <= OPERATION_MATRIX_STORE)
        return execute_matrix(warp, op, mask, result, timed);
    if (op->kind >= OPERATION_CLUSTER && op->kind <= OPERATION_CLUSTER_WAIT)
        cluster_execute(warp, op, mask, result);
    if (op->kind == OPERATION_PRINT)
        return print_run(warp, op, mask);
    if (op->kind == OPERATION_DEVICE_LAUNCH)
        return device_launch_execute(warp, op, mask);
    return op->kind != OPERATION_STACK || stack_execute(warp, op, mask);
}

/* What the machine is told of an access to an array: where its GPU has these bytes. */
static void arrange(struct corun_warp *warp, const struct operation *op, struct corun_issue *result, bool timed)
{
    if (timed && op->variant & MEMORY_SURFACE) {
        result->shape = 0;
        surface_arrange(warp, result);
    }
}

/* Everything but lane functions. */
static void execute(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result,
                    bool timed)
{
    bool good = true;
    switch ((enum operation_kind)op->kind) {
    case OPERATION_BRANCH:
        branch_run(warp, op, mask, result);
        return;
    case OPERATION_BRANCH_TABLE:
        if (!branch_table_run(warp, op, mask, result))
            result->outcome = CORUN_OUTCOME_FAULT;
        return;
    case OPERATION_RETURN:
    case OPERATION_EXIT:
        leave(warp, op, mask, result);
        return;
    case OPERATION_MEETING:
        meeting_come(warp, op, mask);
        return;
    case OPERATION_BARRIER:
        if (warp->stack.depth && barrier_gives_way(warp, op, mask))
            return;
        break;
    case OPERATION_SURFACE: /* with no lane, too: the access behind it asks its predicate */
        good = surface_address(warp, op, mask);
        break;
    default:
        break;
    }
    if (mask && good) {
        switch ((enum operation_kind)op->kind) {
        case OPERATION_LOAD:
            good = access_load(warp, op, mask, result, timed);
            arrange(warp, op, result, timed);
            break;
        case OPERATION_STORE:
            good = access_store(warp, op, mask, result, timed);
            arrange(warp, op, result, timed);
            break;
        case OPERATION_BULK:
            good = bulk_issue(warp, op, mask, result, timed);
            break;
        case OPERATION_TEXTURE:
            good = texture_fetch(warp, op, mask, result, timed);
            break;
        case OPERATION_TEXTURE_QUERY:
            good = texture_answer(warp, op, mask);
            break;
        case OPERATION_ATOMIC:
            good = access_atomic(warp, op, mask, result, timed);
            break;
        case OPERATION_SPECIAL_REGISTER:
            special_register_read(warp, op, mask);
            break;
        case OPERATION_CALL:
            result->diverged = mask != warp->stack.mask;
            good = call_enter(warp, op, mask);
            if (good)
                return;
            break;
        case OPERATION_BARRIER:
            good = barrier_arrive(warp, op, mask, result);
            break;
        case OPERATION_TRAP:
            stop(warp, op, mask);
            good = false;
            break;
        default:
            good = execute_group(warp, op, mask, result, timed);
            break;
        }
    }
    if (!good) {
        result->outcome = CORUN_OUTCOME_FAULT;
        return;
    }
    warp->stack.pc++;
    simt_settle(&warp->stack);
}

bool executor_carry_out(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    struct corun_issue result;
    switch ((enum operation_kind)op->kind) {
    case OPERATION_LOAD:
        return (op->quick && access_load_quick(warp, op, mask)) || access_load(warp, op, mask, &result, false);
    case OPERATION_STORE:
        return (op->quick && access_store_quick(warp, op, mask)) || access_store(warp, op, mask, &result, false);
    case OPERATION_ATOMIC:
        return access_atomic_quick(warp, op, mask) || access_atomic(warp, op, mask, &result, false);
    default:
        special_register_read(warp, op, mask);
        return true;
    }
}

static inline void prefetch_slot(const void *slot)
{
    __builtin_prefetch(slot);
    __builtin_prefetch((const uint8_t *)slot + SLOT_BYTES / 2);
}

/*
 * Many other instructions of the SM come between two of a warp, and push its registers out of the host's first cache.
 * The code has one more operation behind its last, so that where a warp has ended there is something to look at.
 */
static inline void prefetch_operands(const struct corun_warp *warp, const struct operation *op)
{
    prefetch_slot(lanes_source(&warp->lanes, op->source[0]));
    prefetch_slot(lanes_source(&warp->lanes, op->source[1]));
    prefetch_slot(lanes_source(&warp->lanes, op->source[2]));
    prefetch_slot(lanes_source(&warp->lanes, op->destination));
}

static inline __attribute__((always_inline)) void step(struct corun_warp *warp, struct corun_issue *result, bool timed)
{
    uint32_t pc = warp->stack.pc, mask = warp->stack.mask;
    const struct operation *op = &warp->code[pc];
    if (op->guard != NO_PREDICATE) {
        uint32_t guard = warp->lanes.predicates[op->guard];
        mask &= op->guard_negated ? ~guard : guard;
    }
    result->active = mask;
    result->outcome = CORUN_OUTCOME_NEXT;
    if (op->kind == OPERATION_LANES) {
        if (mask)
            op->run(op, &warp->lanes, mask);
        warp->stack.pc = pc + 1;
        simt_settle(&warp->stack);
    } else {
        execute(warp, op, mask, result, timed);
        if (warp->stack.looked_at && result->outcome < CORUN_OUTCOME_EXIT && !turns_follow(warp, op, result->active))
            result->outcome = CORUN_OUTCOME_FAULT;
    }
    if (warp->stack.apart && result->outcome < CORUN_OUTCOME_EXIT && !meeting_go_on(warp))
        result->outcome = CORUN_OUTCOME_FAULT;
    if (timed) {
        prefetch_operands(warp, &warp->code[warp->stack.pc]);
        result->pc = warp->stack.pc;
        result->jumped = warp->stack.pc != pc + 1;
    }
}

static void issue(struct corun_warp *warp, struct corun_issue *result)
{
    step(warp, result, true);
}

void executor_step(struct corun_warp *warp, struct corun_issue *result)
{
    step(warp, result, false);
}

struct executor_sm *executor_sm_create(struct corun_module_instance *instance, uint32_t index, bool direct)
{
    struct executor_sm *sm = calloc(1, sizeof *sm);
    if (!sm)
        return NULL;
    sm->instance = instance;
    sm->memory = instance->memory;
    sm->index = index;
    sm->direct = direct;
    sm->shapes = shapes_find();
    sm->generation = memory_generation(instance->memory);
    return sm;
}

void executor_sm_destroy(struct executor_sm *sm)
{
    if (!sm)
        return;
    store_buffer_free(&sm->stores);
    atomic_pool_free(&sm->atomics);
    pending_free(&sm->pending);
    bulk_pool_free(&sm->bulk);
    vector_free(&sm->freed_blocks.entries);
    device_launches_free(&sm->launches);
    tb_storage_free(&sm->spares);
    free(sm->printed);
    free(sm);
}

bool executor_have_sms(struct corun_module_instance *instance, uint32_t sm_count)
{
    if (sm_count <= instance->sm_count)
        return true;
    struct executor_sm **sms = realloc(instance->sms, sm_count * sizeof *sms);
    if (!sms)
        return false;
    instance->sms = sms;
    for (uint32_t i = instance->sm_count; i < sm_count; i++) {
        sms[i] = executor_sm_create(instance, i, false);
        if (!sms[i])
            return false;
        instance->sm_count = i + 1;
    }
    return true;
}

bool executor_attach(struct launch *launch, uint32_t sm_count, uint32_t clock_khz)
{
    launch->clock_khz = clock_khz;
    if (!executor_have_sms(launch->instance, sm_count))
        return false;
    if (sm_count > launch->sm_count) {
        struct launch_sm *sms = realloc(launch->sms, sm_count * sizeof *sms);
        if (!sms)
            return false;
        memset(sms + launch->sm_count, 0, (sm_count - launch->sm_count) * sizeof *sms);
        launch->sms = sms;
        launch->sm_count = sm_count;
    }
    return true;
}

static enum corun_status attach(const struct corun_grid *grid, uint32_t sm_count, uint32_t clock_khz)
{
    return executor_attach((struct launch *)grid, sm_count, clock_khz) ? CORUN_OK : CORUN_MEMORY;
}

/* Without storage. */
static struct corun_tb *tb_make(struct launch *launch, const struct executor_sm *sm, struct launch_sm *list)
{
    const struct corun_kernel *kernel = launch->kernel;
    uint32_t warps = launch->grid.tb_warps;
    size_t tb_bytes = tb_aligned(sizeof(struct corun_tb) + warps * sizeof(struct corun_warp));
    struct corun_tb *tb = aligned_alloc(64, tb_bytes);
    if (!tb)
        return NULL;
    memset(tb, 0, tb_bytes);
    tb->launch = launch;
    tb->home = sm->index;
    tb->ordinal = list->made++;
    tb->next_made = list->all;
    list->all = tb;
    for (uint32_t i = 0; i < warps; i++) {
        struct corun_warp *warp = &tb->warps[i];
        warp->lanes.constants = launch->instance->constants[kernel->index];
        warp->code = kernel->code;
        warp->tb = tb;
        warp->index = i;
    }
    return tb;
}

void executor_sm_settle(struct executor_sm *sm)
{
    if (sm->generation != memory_generation(sm->memory)) {
        memset(sm->caches, 0, sizeof sm->caches);
        sm->generation = memory_generation(sm->memory);
    }
}

static void tb_settle(struct corun_tb *tb, struct executor_sm *sm)
{
    executor_sm_settle(sm);
    tb->sm = sm;
}

struct corun_tb *executor_tb_begin(struct launch *launch, struct executor_sm *sm, struct launch_sm *list,
                                   uint32_t index)
{
    const struct corun_kernel *kernel = launch->kernel;
    uint32_t warps = launch->grid.tb_warps;
    struct corun_tb *tb = list->free;
    bool used = true;
    if (!tb && !(tb = tb_make(launch, sm, list)))
        return NULL;
    if (!tb->storage && !tb_storage_take(tb, sm, &used)) {
        if (tb != list->free)
            executor_tb_end(tb, list);
        return NULL;
    }
    if (tb == list->free)
        list->free = tb->next_free;
    /* Nothing of an earlier thread block may show: results would depend on which one it was. */
    if (used && list == &launch->functional)
        tb_storage_clear_read(tb);
    else if (used)
        tb_storage_clear(tb);
    tb_settle(tb, sm);
    tb->index = index;
    tb->position = cluster_position(launch, index);
    tb->cluster = NULL;
    tb->rank = 0;
    tb->fault[0] = 0;
    memset(tb->reductions, 0, sizeof tb->reductions);
    memset(tb->parts, 0, sizeof tb->parts);
    memset(tb->meetings, 0, sizeof tb->meetings);
    uint32_t threads = launch->grid.tb_threads;
    for (uint32_t i = 0; i < warps; i++) {
        struct corun_warp *warp = &tb->warps[i];
        uint32_t lanes = threads - i * CORUN_WARP_LANES;
        simt_start(&warp->stack, 0, lanes >= CORUN_WARP_LANES ? CORUN_FULL_MASK : (1u << lanes) - 1);
        warp->frame = 0;
        warp->function = 0;
        warp->local_used = kernel->functions[0].frame_bytes;
        warp->saved_bytes = 0;
        warp->reductions = 0;
        warp->cluster_arrived = warp->cluster_late = warp->cluster_passing = 0;
        warp->slot = i;
        warp->sm_count = 1;
        warp->cycle = NULL;
        turns_start(&warp->turns);
    }
    return tb;
}

void executor_tb_end(struct corun_tb *tb, struct launch_sm *list)
{
    if (tb->storage && !tb->sm->direct)
        tb_storage_give(tb);
    tb->next_free = list->free;
    list->free = tb;
}

static void tb_free(struct corun_tb *tb, uint32_t warps)
{
    for (uint32_t i = 0; tb && i < warps; i++)
        free(tb->warps[i].saved);
    if (tb)
        free(tb->storage);
    free(tb);
}

void executor_tb_free_all(struct launch_sm *list)
{
    for (struct corun_tb *tb = list->all, *next; tb; tb = next) {
        next = tb->next_made;
        tb_free(tb, tb->launch->grid.tb_warps);
    }
    *list = (struct launch_sm){0};
}

/* ---- from launch to launch ---- */

static struct spare_tb spare_of(const struct launch *launch, struct corun_tb *tb)
{
    return (struct spare_tb){.tb = tb,
                             .warps = launch->grid.tb_warps,
                             .register_bytes = launch->warp_register_bytes,
                             .local_bytes = launch->warp_local_bytes,
                             .shared_bytes = shared_whole(launch->grid.tb_shared_bytes)};
}

void executor_tb_take_spare(struct launch *launch)
{
    struct spare_tb *spare = launch->instance->spares ? &launch->instance->spares[launch->kernel->index] : NULL;
    if (!spare || !spare->tb || launch->functional.all)
        return;
    struct spare_tb wanted = spare_of(launch, spare->tb);
    if (spare->warps == wanted.warps && spare->register_bytes == wanted.register_bytes &&
        spare->local_bytes == wanted.local_bytes && spare->shared_bytes == wanted.shared_bytes) {
        spare->tb->launch = launch;
        launch->functional = (struct launch_sm){.free = spare->tb, .all = spare->tb, .made = 1};
    } else {
        tb_free(spare->tb, spare->warps);
    }
    spare->tb = NULL;
}

void executor_tb_leave_spare(struct launch *launch)
{
    struct corun_module_instance *instance = launch->instance;
    struct launch_sm *list = &launch->functional;
    if (!instance->spares)
        instance->spares = calloc(instance->module->kernel_count, sizeof *instance->spares);
    /* More than one were in flight together: they have places of their own in the range of local memory. */
    if (!instance->spares || list->made != 1 || !list->free || instance->spares[launch->kernel->index].tb)
        return;
    instance->spares[launch->kernel->index] = spare_of(launch, list->free);
    *list = (struct launch_sm){0};
}

void executor_tb_free_spares(struct corun_module_instance *instance)
{
    for (uint32_t k = 0; instance->spares && k < instance->module->kernel_count; k++)
        tb_free(instance->spares[k].tb, instance->spares[k].warps);
    free(instance->spares);
    instance->spares = NULL;
}

static struct corun_tb *tb_begin(const struct corun_grid *grid, uint32_t index, uint32_t sm, struct corun_warp **warps)
{
    struct launch *launch = (struct launch *)grid;
    assert(sm < launch->sm_count && index < grid->tb_count);
    uint32_t size = cluster_size(launch);
    const struct cluster *cluster = size > 1 ? cluster_find(launch, index / size) : NULL;
    struct corun_tb *tb = cluster    ? cluster->tbs[index % size]
                          : size > 1 ? NULL
                                     : executor_tb_begin(launch, launch->instance->sms[sm], &launch->sms[sm], index);
    if (tb)
        for (uint32_t i = 0; i < grid->tb_warps; i++)
            warps[i] = &tb->warps[i];
    return tb;
}

static void tb_end(struct corun_tb *tb)
{
    if (!tb->cluster) /* otherwise others may still use its shared memory */
        executor_tb_end(tb, &tb->launch->sms[tb->sm->index]);
}

static enum corun_status begin_cluster(const struct corun_grid *grid, uint32_t number, const uint32_t *sms)
{
    struct launch *launch = (struct launch *)grid;
    struct executor_sm *places[CORUN_LARGEST_CLUSTER];
    struct launch_sm *lists[CORUN_LARGEST_CLUSTER];
    for (uint32_t rank = 0; rank < grid->cluster_tbs; rank++) {
        places[rank] = launch->instance->sms[sms[rank]];
        lists[rank] = &launch->sms[sms[rank]];
    }
    return cluster_begin(launch, number, places, lists) ? CORUN_OK : CORUN_MEMORY;
}

static void end_cluster(const struct corun_grid *grid, uint32_t number)
{
    cluster_end((struct launch *)grid, number, NULL);
}

static void tb_move(struct corun_tb *tb, uint32_t sm)
{
    assert(sm < tb->launch->sm_count);
    tb_settle(tb, tb->launch->instance->sms[sm]);
}

static void warp_place(struct corun_warp *warp, uint32_t warp_slot, uint32_t sm_count, const uint64_t *cycle)
{
    warp->slot = warp_slot;
    warp->sm_count = sm_count;
    warp->cycle = cycle;
}

static uint32_t warp_pc(const struct corun_warp *warp)
{
    return warp->stack.pc;
}

static uint64_t digest_of(uint64_t digest, const void *words, size_t count)
{
    const uint32_t *next = words;
    for (size_t i = 0; i < count; i++) {
        digest = (digest ^ next[i]) * UINT64_C(0x9e3779b97f4a7c15);
        digest ^= digest >> 29;
    }
    return digest;
}

/*
 * What lies on the stack below its top, and in the registers of callers, stays as it is as long as the warp goes in circles, but for the stack of one
 * whose paths take turns.
 */
static uint64_t warp_state(const struct corun_warp *warp)
{
    const struct launch *launch = warp->tb->launch;
    uint32_t place[] = {warp->stack.pc, warp->stack.mask, warp->stack.depth, warp->function, warp->frame};
    uint64_t digest = digest_of(1, place, sizeof place / sizeof place[0]);
    for (uint32_t i = 0; warp->turns.taken && i < warp->stack.depth; i++) {
        const struct simt_entry *entry = &warp->stack.entries[i];
        const uint32_t below[] = {entry->pc, entry->mask};
        digest = digest_of(digest, below, sizeof below / sizeof below[0]);
    }
    digest = digest_of(digest, warp->lanes.registers, launch->warp_register_bytes / sizeof(uint32_t));
    return digest_of(digest, warp->lanes.predicates, launch->kernel->predicate_slots);
}

static struct executor_sm *sm_of(const struct corun_grid *grid, uint32_t sm)
{
    return ((const struct launch *)grid)->instance->sms[sm];
}

static void perform(const struct corun_grid *grid, uint32_t sm, uint32_t ticket, uint32_t lanes)
{
    struct atomic_ticket *atomic = &sm_of(grid, sm)->atomics.tickets[ticket];
    for (lanes &= atomic->lanes & ~atomic->performed; lanes; lanes &= lanes - 1) {
        uint32_t lane = lowest_bit(lanes);
        if (atomic->remote >> lane & 1u) {
            cluster_perform(atomic, lane);
            continue;
        }
        if (bulk_reduction_number(atomic->op) == BULK_REDUCTIONS)
            pending_remove(&sm_of(grid, sm)->pending, atomic->address[lane], ticket, lane);
        struct atomic_value old = atomic_ticket_apply(atomic, lane, atomic->host[lane], true);
        atomic->old[lane] = old.low;
        atomic->high[lane].old = old.high;
    }
}

static void complete(const struct corun_grid *grid, uint32_t sm, uint32_t ticket)
{
    struct atomic_pool *pool = &sm_of(grid, sm)->atomics;
    const struct atomic_ticket *atomic = &pool->tickets[ticket];
    const struct operation *op = atomic->op;
    for (uint32_t rest = atomic->remote; rest; rest &= rest - 1)
        cluster_complete(atomic, lowest_bit(rest));
    uint32_t lanes = atomic->lanes & ~atomic->remote;
    if (lanes && op->destination != OPERAND_DISCARD) {
        void *to = lanes_destination(&atomic->warp->lanes, op->destination);
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            uint32_t lane = lowest_bit(rest);
            if (op->extend & EXTEND_WIDE)
                ((uint64_t *)to)[lane] = atomic->old[lane];
            else
                ((uint32_t *)to)[lane] = (uint32_t)atomic->old[lane];
            if (op->width_bytes > 8)
                ((uint64_t *)lanes_destination(&atomic->warp->lanes, op->source[3]))[lane] = atomic->high[lane].old;
        }
    }
    atomic_pool_give(pool, ticket);
}

static bool copy_next(const struct corun_grid *grid, uint32_t sm, uint32_t copy, uint32_t line_bytes,
                      struct corun_copy_part *part)
{
    return bulk_next(sm_of(grid, sm), copy, line_bytes, part);
}

static bool copy_done(const struct corun_grid *grid, uint32_t sm, uint32_t copy)
{
    return bulk_done(sm_of(grid, sm), copy);
}

static void commit(const struct corun_grid *grid, uint32_t sm)
{
    store_buffer_commit(&sm_of(grid, sm)->stores);
    heap_commit(sm_of(grid, sm));
}

static bool dirty(const struct corun_grid *grid, uint32_t sm)
{
    return sm_of(grid, sm)->stores.count != 0;
}

static const char *fault(const struct corun_warp *warp, struct corun_place *place)
{
    if (place)
        *place = (struct corun_place){warp->tb->launch->grid.file, warp->tb->fault_line, 0};
    return warp->tb->fault;
}

static const char *printed(const struct corun_grid *grid, uint32_t sm, size_t *bytes)
{
    struct executor_sm *state = sm_of(grid, sm);
    *bytes = state->printed_taken ? 0 : state->printed_bytes;
    state->printed_taken = true;
    return *bytes ? state->printed : "";
}

/* ---- names in checkpoints ---- */

bool executor_tb_add(struct launch *launch, uint32_t sm)
{
    return tb_make(launch, launch->instance->sms[sm], &launch->sms[sm]) != NULL;
}

uint64_t executor_tb_number(const struct corun_tb *tb)
{
    return ((uint64_t)tb->home << 32 | tb->ordinal) + 1;
}

struct corun_tb *executor_tb_find(const struct launch *launch, uint64_t number)
{
    uint64_t home = (number - 1) >> 32;
    struct corun_tb *tb = number && home < launch->sm_count ? launch->sms[home].all : NULL;
    while (tb && executor_tb_number(tb) != number)
        tb = tb->next_made;
    return tb;
}

uint64_t executor_warp_number(const struct corun_warp *warp)
{
    return executor_tb_number(warp->tb) * MAX_TB_WARPS + warp->index;
}

struct corun_warp *executor_warp_find(const struct launch *launch, uint64_t number)
{
    struct corun_tb *tb = executor_tb_find(launch, number / MAX_TB_WARPS);
    return tb && number % MAX_TB_WARPS < launch->grid.tb_warps ? &tb->warps[number % MAX_TB_WARPS] : NULL;
}

static struct corun_tb *tb_of(const struct corun_grid *grid, uint64_t number)
{
    return executor_tb_find((const struct launch *)grid, number);
}

static struct corun_warp *warp_of(const struct corun_grid *grid, uint64_t number)
{
    return executor_warp_find((const struct launch *)grid, number);
}

const struct corun_source_operations executor_operations = {
    .attach = attach,
    .tb_begin = tb_begin,
    .tb_end = tb_end,
    .tb_move = tb_move,
    .warp_place = warp_place,
    .warp_pc = warp_pc,
    .warp_state = warp_state,
    .issue = issue,
    .perform = perform,
    .complete = complete,
    .copy_next = copy_next,
    .copy_done = copy_done,
    .cluster_begin = begin_cluster,
    .cluster_end = end_cluster,
    .commit = commit,
    .barrier_met = barrier_met,
    .dirty = dirty,
    .fault = fault,
    .deadlock = barrier_deadlock,
    .printed = printed,
    .launched = device_launched,
    .run_untimed = executor_run_untimed,
    .tb_number = executor_tb_number,
    .warp_number = executor_warp_number,
    .tb_of = tb_of,
    .warp_of = warp_of,
};
