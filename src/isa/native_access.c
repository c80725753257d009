/* SPDX-License-Identifier: MIT */
/*
 * Machine code for plain loads and stores. The short way is for two rows of 16 lanes, in each of which addresses are one behind the other, within
 * the allocation that the operation found last. A detour serves loads of one address by all lanes, then any addresses in that allocation, and
 * leaves all the rest to executor_carry_out.
 */
#include "isa/native_maker.h"

#include <string.h>

/* How an element gets from memory to the lanes, and back. */
struct element_code {
    ZydisMnemonic load, store;
    uint8_t shift;        /* log2 of its bytes */
    uint8_t parts;        /* of a register */
    uint8_t vector_bytes; /* in memory, of a part */
};
static const struct element_code element_codes[] = {
    [ELEMENT_U8] = {ZYDIS_MNEMONIC_VPMOVZXBD, ZYDIS_MNEMONIC_VPMOVDB, 0, 2, 16},
    [ELEMENT_S8] = {ZYDIS_MNEMONIC_VPMOVSXBD, ZYDIS_MNEMONIC_VPMOVDB, 0, 2, 16},
    [ELEMENT_U16] = {ZYDIS_MNEMONIC_VPMOVZXWD, ZYDIS_MNEMONIC_VPMOVDW, 1, 2, 32},
    [ELEMENT_S16] = {ZYDIS_MNEMONIC_VPMOVSXWD, ZYDIS_MNEMONIC_VPMOVDW, 1, 2, 32},
    [ELEMENT_32] = {ZYDIS_MNEMONIC_VMOVDQU32, ZYDIS_MNEMONIC_VMOVDQU32, 2, 2, 64},
    [ELEMENT_64] = {ZYDIS_MNEMONIC_VMOVDQU64, ZYDIS_MNEMONIC_VMOVDQU64, 3, 4, 64}};

/* Where an operation's memory is described, as struct memory_cache. */
struct place_code {
    ZydisRegister base;
    int64_t offset;
    bool counts; /* global memory: its bytes are counted */
};

#define ADDRESS at_register(ZYDIS_REGISTER_RAX)
#define ADDRESS_32 at_register(ZYDIS_REGISTER_EAX)
#define HOST ZYDIS_REGISTER_RCX
#define REST at_register(ZYDIS_REGISTER_RDX)
#define LANES_32 at_register(ZYDIS_REGISTER_R8D)
#define LANE at_register(ZYDIS_REGISTER_R9)
#define LANE_32 at_register(ZYDIS_REGISTER_R9D)
static const ZydisRegister row_hosts[2] = {ZYDIS_REGISTER_R10, ZYDIS_REGISTER_R11};

static struct place_code place_of(uint32_t at, const struct operation *op)
{
    if (op->space == CORUN_SPACE_SHARED)
        return (struct place_code){FRAME, offsetof(struct native_frame, shared), false};
    if (op->space == CORUN_SPACE_CONSTANT && op->variant & MEMORY_PARAMETER)
        return (struct place_code){FRAME, offsetof(struct native_frame, parameters), false};
    size_t cache = at % MEMORY_CACHES * sizeof(struct memory_cache);
    return (struct place_code){OWN_SM, (int64_t)(offsetof(struct executor_sm, caches) + cache),
                               op->space != CORUN_SPACE_CONSTANT};
}

static bool is_narrow(const struct operation *op)
{
    return op->variant & MEMORY_ADDRESS_32;
}

/* Of the register with the addresses; 0: the address is a constant. */
static uint32_t address_parts(const struct operation *op)
{
    return op->source[0] & OPERAND_CONSTANT ? 0 : is_narrow(op) ? 2 : 4;
}

static void go_far(struct block_maker *maker, struct detour *detour, ZydisMnemonic jump)
{
    if (detour->far_count == MOST_JUMPS)
        maker->to->failed = true;
    else
        detour->far[detour->far_count++] = assemble_jump(maker->to, jump);
}

/* The host's address of so many bytes from the address on. */
static void find_host(struct block_maker *maker, struct detour *detour, const struct place_code *place, uint32_t bytes,
                      uint32_t alignment)
{
    struct assembler *to = maker->to;
    const operand offset = at_register(HOST);
    ASSEMBLE(to, MOV, offset, ADDRESS);
    ASSEMBLE(to, SUB, offset, at_memory(place->base, place->offset + (int64_t)offsetof(struct memory_cache, base), 8));
    ASSEMBLE(to, MOV, REST, at_memory(place->base, place->offset + (int64_t)offsetof(struct memory_cache, bytes), 8));
    ASSEMBLE(to, SUB, REST, offset);
    go_far(maker, detour, ZYDIS_MNEMONIC_JB);
    ASSEMBLE(to, CMP, REST, at_number(bytes));
    go_far(maker, detour, ZYDIS_MNEMONIC_JB);
    if (alignment > 1) {
        ASSEMBLE(to, TEST, at_register(ZYDIS_REGISTER_AL), at_number(alignment - 1));
        go_far(maker, detour, ZYDIS_MNEMONIC_JNZ);
    }
    ASSEMBLE(to, ADD, offset, at_memory(place->base, place->offset + (int64_t)offsetof(struct memory_cache, host), 8));
}

/* What the operation's lanes move, of so many bytes each. */
static void count_bytes(struct block_maker *maker, const struct operation *op, const struct place_code *place,
                        uint32_t shift)
{
    struct assembler *to = maker->to;
    const operand sum = at_memory(OWN_SM, offsetof(struct executor_sm, global_bytes), 8);
    if (!place->counts)
        return;
    if (!maker_is_masked(maker, op)) {
        ASSEMBLE(to, ADD, sum, at_number((int64_t)CORUN_WARP_LANES << shift));
        return;
    }
    ASSEMBLE(to, POPCNT, ADDRESS_32, LANES_32);
    if (shift)
        ASSEMBLE(to, SHL, ADDRESS, at_number(shift));
    ASSEMBLE(to, ADD, sum, ADDRESS);
}

/* op->offset onto the address. */
static void add_offset(struct block_maker *maker, const struct operation *op)
{
    struct assembler *to = maker->to;
    if (is_narrow(op)) {
        if ((uint32_t)op->offset)
            ASSEMBLE(to, ADD, ADDRESS_32, at_number((int32_t)op->offset));
    } else if (op->offset == (int32_t)op->offset) {
        if (op->offset)
            ASSEMBLE(to, ADD, ADDRESS, at_number(op->offset));
    } else {
        ASSEMBLE(to, MOV, at_register(HOST), at_number(op->offset));
        ASSEMBLE(to, ADD, ADDRESS, at_register(HOST));
    }
}

/* The address of the lane whose number is in LANE, from those in the frame. */
static void load_address(struct block_maker *maker, const struct operation *op)
{
    ASSEMBLE(maker->to, MOV, is_narrow(op) ? ADDRESS_32 : ADDRESS,
             at_indexed(FRAME, ZYDIS_REGISTER_R9, is_narrow(op) ? 4 : 8, offsetof(struct native_frame, addresses)));
}

static void broadcast_address(struct block_maker *maker, const struct operation *op, uint32_t vector)
{
    assemble_two(maker->to, is_narrow(op) ? ZYDIS_MNEMONIC_VPBROADCASTD : ZYDIS_MNEMONIC_VPBROADCASTQ, at_zmm(vector),
                 is_narrow(op) ? ADDRESS_32 : ADDRESS);
}

/* The address of the first lane in that vector register. */
static void move_first(struct block_maker *maker, const struct operation *op, uint32_t vector)
{
    if (is_narrow(op))
        ASSEMBLE(maker->to, VMOVD, ADDRESS_32, at_xmm(vector));
    else
        ASSEMBLE(maker->to, VMOVQ, ADDRESS, at_xmm(vector));
}

/* Mask `to_mask`: in which lanes of that part of the addresses, of those that run, `expected` is not the address. */
static void compare_part(struct block_maker *maker, const struct operation *op, const struct detour *detour,
                         uint32_t part, uint32_t expected, uint32_t to_mask)
{
    bool masked = maker_is_masked(maker, op);
    if (masked)
        maker_cut_mask(maker, !is_narrow(op), part);
    assemble(maker->to, is_narrow(op) ? ZYDIS_MNEMONIC_VPCMPUD : ZYDIS_MNEMONIC_VPCMPUQ, 5,
             (operand[]){at_mask(to_mask), at_mask(masked ? MASK_PART : 0), at_zmm(expected),
                         at_zmm(detour->address[part]), at_number(4)});
}

/* Vector registers for all that is needed; none is taken after this until the operation is done. */
static void take_vectors(struct block_maker *maker, const struct operation *op, struct detour *detour, uint32_t results)
{
    for (uint32_t part = 0; part < address_parts(op); part++)
        detour->address[part] = maker_get(maker, part_of(op->source[0], part));
    detour->first = maker_new(maker);
    detour->expected = maker_new(maker);
    detour->results = results;
    for (uint32_t part = 0; part < results; part++)
        detour->result[part] = maker_new(maker);
    memcpy(detour->held, maker->held, sizeof detour->held);
}

/* The lanes that run, and addresses where each can be looked at. Gives the jump that is taken where no lane runs; 0: there is none. */
static size_t begin_masked(struct block_maker *maker, const struct operation *op, const struct detour *detour)
{
    struct assembler *to = maker->to;
    size_t none = 0;
    maker_lanes_to_eax(maker, op);
    ASSEMBLE(to, MOV, LANES_32, ADDRESS_32);
    ASSEMBLE(to, KMOVD, at_mask(MASK_ALL), LANES_32);
    if (op->guard != NO_PREDICATE) {
        ASSEMBLE(to, TEST, LANES_32, LANES_32);
        none = assemble_jump(to, ZYDIS_MNEMONIC_JZ);
    }
    for (uint32_t part = 0; part < address_parts(op); part++)
        assemble_two(
            to, ZYDIS_MNEMONIC_VMOVDQA32,
            at_memory(FRAME, (int64_t)(offsetof(struct native_frame, addresses) + part * PART_BYTES), PART_BYTES),
            at_zmm(detour->address[part]));
    for (uint32_t row = 0; row < 2 && op->kind == OPERATION_STORE; row++)
        ASSEMBLE(to, MOV, at_register(row_hosts[row]), at_register(FRAME)); /* of a row without lanes */
    return none;
}

/* The address that the row's first lane has or would have. Gives the jump that is taken where no lane of the row runs; 0: there is none. */
static size_t find_row(struct block_maker *maker, const struct operation *op, const struct detour *detour, uint32_t row,
                       uint32_t shift)
{
    struct assembler *to = maker->to;
    bool narrow = is_narrow(op);
    if (!maker_is_masked(maker, op)) {
        uint32_t vector = detour->address[narrow ? row : 2 * row];
        move_first(maker, op, vector);
        assemble_two(to, narrow ? ZYDIS_MNEMONIC_VPBROADCASTD : ZYDIS_MNEMONIC_VPBROADCASTQ, at_zmm(detour->first),
                     at_xmm(vector));
        return 0;
    }
    ASSEMBLE(to, MOV, LANE_32, LANES_32);
    ASSEMBLE(to, AND, LANE_32, at_number(row ? -0x10000 : 0xffff));
    size_t none = assemble_jump(to, ZYDIS_MNEMONIC_JZ);
    ASSEMBLE(to, TZCNT, LANE_32, LANE_32);
    load_address(maker, op);
    if (row)
        ASSEMBLE(to, SUB, LANE_32, at_number(16));
    if (shift)
        ASSEMBLE(to, SHL, LANE_32, at_number(shift));
    ASSEMBLE(to, SUB, narrow ? ADDRESS_32 : ADDRESS, narrow ? LANE_32 : LANE);
    broadcast_address(maker, op, detour->first);
    return none;
}

/* 16 lanes whose addresses are one behind the other: where they are in the host's memory. */
static size_t make_row(struct block_maker *maker, const struct operation *op, struct detour *detour, uint32_t row)
{
    struct assembler *to = maker->to;
    const uint32_t shift = element_codes[op->quick].shift, parts = is_narrow(op) ? 1 : 2;
    const struct place_code place = place_of(maker->at, op);
    const size_t strides = is_narrow(op) ? offsetof(struct native_numbers, strides32[shift])
                                         : offsetof(struct native_numbers, strides64[shift]);
    size_t none = find_row(maker, op, detour, row, shift);
    for (uint32_t part = 0; part < parts; part++) {
        assemble_three(to, is_narrow(op) ? ZYDIS_MNEMONIC_VPADDD : ZYDIS_MNEMONIC_VPADDQ, at_zmm(detour->expected),
                       at_zmm(detour->first), at_memory(NUMBERS, (int64_t)(strides + part * PART_BYTES), PART_BYTES));
        compare_part(maker, op, detour, row * parts + part, detour->expected, 1 + part);
    }
    if (is_narrow(op))
        ASSEMBLE(to, KORTESTW, at_mask(1), at_mask(1));
    else
        ASSEMBLE(to, KORTESTB, at_mask(1), at_mask(2));
    detour->apart[detour->apart_count++] = assemble_jump(to, ZYDIS_MNEMONIC_JNZ);
    add_offset(maker, op);
    find_host(maker, detour, &place, 16u << shift, 1u << shift);
    return none;
}

static void load_rows(struct block_maker *maker, const struct operation *op, struct detour *detour)
{
    const struct element_code *element = &element_codes[op->quick];
    uint32_t each = element->parts / 2;
    for (uint32_t row = 0; row < 2; row++) {
        size_t none = make_row(maker, op, detour, row);
        for (uint32_t part = 0; part < each; part++)
            assemble_two(maker->to, element->load, at_zmm(detour->result[row * each + part]),
                         at_memory(HOST, (int64_t)part * element->vector_bytes, element->vector_bytes));
        if (none)
            assemble_target(maker->to, none);
    }
    const struct place_code place = place_of(maker->at, op);
    count_bytes(maker, op, &place, element->shift);
}

static void store_rows(struct block_maker *maker, const struct operation *op, struct detour *detour)
{
    struct assembler *to = maker->to;
    const struct element_code *element = &element_codes[op->quick];
    const struct place_code place = place_of(maker->at, op);
    bool masked = maker_is_masked(maker, op);
    for (uint32_t row = 0; row < 2; row++) { /* before anything is stored */
        size_t none = make_row(maker, op, detour, row);
        ASSEMBLE(to, MOV, at_register(row_hosts[row]), at_register(HOST));
        if (none)
            assemble_target(to, none);
    }
    for (uint32_t part = 0; part < element->parts; part++) {
        uint32_t each = element->parts / 2u;
        if (masked)
            maker_cut_mask(maker, element->parts == 4, part);
        assemble(to, element->store, 3,
                 (operand[]){at_memory(row_hosts[part / each], (int64_t)(part % each) * element->vector_bytes,
                                       element->vector_bytes),
                             at_mask(masked ? MASK_PART : 0), at_zmm(detour->value[part])});
    }
    count_bytes(maker, op, &place, element->shift);
}

/* The element at the address, for all lanes. */
static void load_uniform(struct block_maker *maker, const struct operation *op, struct detour *detour)
{
    struct assembler *to = maker->to;
    const struct element_code *element = &element_codes[op->quick];
    const struct place_code place = place_of(detour->operation, op);
    const uint32_t *result = detour->result;
    bool sign = op->quick == ELEMENT_S8 || op->quick == ELEMENT_S16;
    find_host(maker, detour, &place, 1u << element->shift, 1u << element->shift);
    const operand there = at_memory(HOST, 0, 1u << element->shift);
    if (element->shift < 2) {
        assemble(to, sign ? ZYDIS_MNEMONIC_MOVSX : ZYDIS_MNEMONIC_MOVZX, 2, (operand[]){ADDRESS_32, there});
        assemble_two(to, ZYDIS_MNEMONIC_VPBROADCASTD, at_zmm(result[0]), ADDRESS_32);
    } else {
        assemble_two(to, element->shift == 3 ? ZYDIS_MNEMONIC_VPBROADCASTQ : ZYDIS_MNEMONIC_VPBROADCASTD,
                     at_zmm(result[0]), there);
    }
    for (uint32_t part = 1; part < element->parts; part++)
        assemble_two(to, ZYDIS_MNEMONIC_VMOVDQA32, at_zmm(result[part]), at_zmm(result[0]));
    count_bytes(maker, op, &place, element->shift);
}

/* Only by a call. */
static void make_far_access(struct block_maker *maker, const struct operation *op)
{
    maker_store(maker);
    maker_call_executor(maker, maker->at, false);
    maker_forget(maker);
    if (op->guard != NO_PREDICATE)
        maker_count_guard(maker, op);
}

static void make_load(struct block_maker *maker, const struct operation *op, struct detour *detour)
{
    struct assembler *to = maker->to;
    const struct element_code *element = &element_codes[op->quick];
    bool masked = maker_is_masked(maker, op);
    uint32_t old[4] = {0};
    for (uint32_t part = 0; masked && part < element->parts; part++)
        old[part] = maker_get(maker, part_of(op->destination, part));
    take_vectors(maker, op, detour, element->parts);
    size_t none = masked ? begin_masked(maker, op, detour) : 0;
    if (op->source[0] & OPERAND_CONSTANT) {
        ASSEMBLE(to, MOV, ADDRESS,
                 at_memory(ALL_CONSTANTS, (int64_t)(op->source[0] & ~OPERAND_CONSTANT) * SLOT_BYTES, 8));
        add_offset(maker, op);
        load_uniform(maker, op, detour);
    } else {
        load_rows(maker, op, detour);
    }
    detour->loaded = to->length;
    if (none)
        assemble_target(to, none);
    for (uint32_t part = 0; masked && part < element->parts; part++)
        maker_blend(maker, element->parts == 4, part, detour->result[part], old[part]);
    detour->back = to->length;
    for (uint32_t part = 0; part < element->parts; part++)
        maker_bind(maker, detour->result[part], part_of(op->destination, part));
}

static void make_store(struct block_maker *maker, const struct operation *op, struct detour *detour)
{
    for (uint32_t part = 0; part < element_codes[op->quick].parts; part++)
        detour->value[part] = maker_get(maker, part_of(op->source[1], part));
    take_vectors(maker, op, detour, 0);
    size_t none = maker_is_masked(maker, op) ? begin_masked(maker, op, detour) : 0;
    store_rows(maker, op, detour);
    if (none)
        assemble_target(maker->to, none);
    detour->back = maker->to->length;
}

static bool is_near(const struct block_maker *maker, const struct operation *op)
{
    bool access = op->kind == OPERATION_LOAD || op->kind == OPERATION_STORE;
    return access && !maker->kernel->maps && op->quick != ELEMENT_NONE && op->quick != ELEMENT_WORDS &&
           !(op->kind == OPERATION_STORE && op->source[0] & OPERAND_CONSTANT);
}

bool native_make_access(struct block_maker *maker, const struct operation *op)
{
    if (!is_near(maker, op)) {
        make_far_access(maker, op);
        return true;
    }
    struct detour detour = {.operation = maker->at};
    if (op->kind == OPERATION_LOAD)
        make_load(maker, op, &detour);
    else
        make_store(maker, op, &detour);
    if (op->guard != NO_PREDICATE)
        maker_count_guard(maker, op);
    return vector_push(&maker->detours, detour);
}

/* Have all lanes that run one address? Then the way goes back where results are those of all lanes. */
static void try_uniform(struct block_maker *maker, const struct operation *op, struct detour *detour)
{
    struct assembler *to = maker->to;
    bool narrow = is_narrow(op);
    if (maker_is_masked(maker, op)) {
        ASSEMBLE(to, TZCNT, LANE_32, LANES_32);
        load_address(maker, op);
    } else {
        move_first(maker, op, detour->address[0]);
    }
    broadcast_address(maker, op, detour->first);
    for (uint32_t part = 0; part < address_parts(op); part++)
        compare_part(maker, op, detour, part, detour->first, 1 + part);
    ASSEMBLE(to, KORW, at_mask(1), at_mask(1), at_mask(2));
    if (!narrow) {
        ASSEMBLE(to, KORW, at_mask(3), at_mask(3), at_mask(4));
        ASSEMBLE(to, KORW, at_mask(1), at_mask(1), at_mask(3));
    }
    ASSEMBLE(to, KORTESTW, at_mask(1), at_mask(1));
    size_t apart = assemble_jump(to, ZYDIS_MNEMONIC_JNZ);
    add_offset(maker, op);
    load_uniform(maker, op, detour);
    assemble_jump_back(to, ZYDIS_MNEMONIC_JMP, detour->loaded);
    assemble_target(to, apart);
}

/* ---- any addresses ---- */

/* Addresses become their distances from the place's first byte, or addresses again, by what is in `first`. */
static void move_addresses(struct block_maker *maker, const struct operation *op, const struct detour *detour,
                           bool back)
{
    ZydisMnemonic how = is_narrow(op) ? back ? ZYDIS_MNEMONIC_VPSUBD : ZYDIS_MNEMONIC_VPADDD
                        : back        ? ZYDIS_MNEMONIC_VPSUBQ
                                      : ZYDIS_MNEMONIC_VPADDQ;
    for (uint32_t part = 0; part < address_parts(op); part++) {
        const operand address = at_zmm(detour->address[part]);
        assemble_three(maker->to, how, address, address, at_zmm(detour->first));
    }
}

static void broadcast_rest(struct block_maker *maker, const struct operation *op, uint32_t vector)
{
    assemble_two(maker->to, is_narrow(op) ? ZYDIS_MNEMONIC_VPBROADCASTD : ZYDIS_MNEMONIC_VPBROADCASTQ, at_zmm(vector),
                 is_narrow(op) ? at_register(ZYDIS_REGISTER_EDX) : REST);
}

/* Mask 1: the lanes that run of which a part of the addresses and `expected` have something in common, or which are beyond it. */
static void test_addresses(struct block_maker *maker, const struct operation *op, const struct detour *detour,
                           bool beyond)
{
    struct assembler *to = maker->to;
    bool masked = maker_is_masked(maker, op), narrow = is_narrow(op);
    const operand expected = at_zmm(detour->expected);
    for (uint32_t part = 0; part < address_parts(op); part++) {
        const operand address = at_zmm(detour->address[part]), lanes = at_mask(masked ? MASK_PART : 0);
        if (masked)
            maker_cut_mask(maker, !narrow, part);
        if (beyond)
            assemble(to, narrow ? ZYDIS_MNEMONIC_VPCMPUD : ZYDIS_MNEMONIC_VPCMPUQ, 5,
                     (operand[]){at_mask(2), lanes, address, expected, at_number(6)});
        else
            assemble(to, narrow ? ZYDIS_MNEMONIC_VPTESTMD : ZYDIS_MNEMONIC_VPTESTMQ, 4,
                     (operand[]){at_mask(2), lanes, address, expected});
        if (beyond && part == 0)
            ASSEMBLE(to, KMOVW, at_mask(1), at_mask(2));
        else
            ASSEMBLE(to, KORW, at_mask(1), at_mask(1), at_mask(2));
    }
}

/* Which eight or 16 lanes of a gather or scatter run, into MASK_PART. */
static void part_lanes(struct block_maker *maker, const struct operation *op, uint32_t part, bool eight)
{
    if (maker_is_masked(maker, op))
        maker_cut_mask(maker, eight, part);
    else
        ASSEMBLE(maker->to, KXNORW, at_mask(MASK_PART), at_mask(MASK_PART), at_mask(MASK_PART));
}

/* Lanes of a part in the place, at the distances of vector register `distance`. */
static operand in_place(ZydisRegister distance, uint32_t bytes)
{
    operand place = at_indexed(HOST, distance, bytes, 0);
    place.mem.scale = 1;
    return place;
}

/*
 * A gather or scatter has as many lanes as fit a vector with their distances or their values, the wider of both. Where distances are wider,
 * the results of two lie in one vector register.
 */
static void gather(struct block_maker *maker, const struct operation *op, const struct detour *detour)
{
    struct assembler *to = maker->to;
    const struct element_code *element = &element_codes[op->quick];
    bool narrow = is_narrow(op), wide = element->parts == 4;
    for (uint32_t part = 0; part < (narrow && !wide ? 2u : 4u); part++) {
        uint32_t result = wide || narrow ? detour->result[part]
                          : part % 2     ? detour->expected
                                         : detour->result[part / 2];
        uint32_t distance = detour->address[narrow && wide ? part / 2 : part];
        part_lanes(maker, op, part, !(narrow && !wide));
        if (narrow && wide) { /* eight distances of 32 bits */
            if (part % 2)
                ASSEMBLE(to, VEXTRACTI64X4, at_ymm(detour->expected), at_mask(0), at_zmm(distance), at_number(1));
            else
                assemble_two(to, ZYDIS_MNEMONIC_VMOVDQA32, at_zmm(detour->expected), at_zmm(distance));
            ASSEMBLE(to, VPGATHERDQ, at_zmm(result), at_mask(MASK_PART),
                     in_place((ZydisRegister)(ZYDIS_REGISTER_YMM0 + detour->expected), 8));
        } else if (narrow) {
            ASSEMBLE(to, VPGATHERDD, at_zmm(result), at_mask(MASK_PART),
                     in_place((ZydisRegister)(ZYDIS_REGISTER_ZMM0 + distance), 4));
        } else if (wide) {
            ASSEMBLE(to, VPGATHERQQ, at_zmm(result), at_mask(MASK_PART),
                     in_place((ZydisRegister)(ZYDIS_REGISTER_ZMM0 + distance), 8));
        } else {
            ASSEMBLE(to, VPGATHERQD, at_ymm(result), at_mask(MASK_PART),
                     in_place((ZydisRegister)(ZYDIS_REGISTER_ZMM0 + distance), 4));
            if (part % 2)
                ASSEMBLE(to, VINSERTI64X4, at_zmm(detour->result[part / 2]), at_mask(0),
                         at_zmm(detour->result[part / 2]), at_ymm(result), at_number(1));
        }
    }
    for (uint32_t part = 0; part < 2 && element->shift < 2; part++) { /* the element is at the bottom of a word */
        const operand result = at_zmm(detour->result[part]), bits = at_number(32 - (8 << element->shift));
        bool sign = op->quick == ELEMENT_S8 || op->quick == ELEMENT_S16;
        ASSEMBLE(to, VPSLLD, result, at_mask(0), result, bits);
        assemble(to, sign ? ZYDIS_MNEMONIC_VPSRAD : ZYDIS_MNEMONIC_VPSRLD, 4,
                 (operand[]){result, at_mask(0), result, bits});
    }
}

static void scatter(struct block_maker *maker, const struct operation *op, const struct detour *detour)
{
    struct assembler *to = maker->to;
    bool narrow = is_narrow(op), wide = element_codes[op->quick].parts == 4;
    for (uint32_t part = 0; part < (narrow && !wide ? 2u : 4u); part++) {
        uint32_t value = detour->value[wide || narrow ? part : part / 2];
        uint32_t distance = detour->address[narrow && wide ? part / 2 : part];
        part_lanes(maker, op, part, !(narrow && !wide));
        if (narrow && wide) {
            if (part % 2)
                ASSEMBLE(to, VEXTRACTI64X4, at_ymm(detour->expected), at_mask(0), at_zmm(distance), at_number(1));
            else
                assemble_two(to, ZYDIS_MNEMONIC_VMOVDQA32, at_zmm(detour->expected), at_zmm(distance));
            ASSEMBLE(to, VPSCATTERDQ, in_place((ZydisRegister)(ZYDIS_REGISTER_YMM0 + detour->expected), 8),
                     at_mask(MASK_PART), at_zmm(value));
        } else if (narrow) {
            ASSEMBLE(to, VPSCATTERDD, in_place((ZydisRegister)(ZYDIS_REGISTER_ZMM0 + distance), 4), at_mask(MASK_PART),
                     at_zmm(value));
        } else if (wide) {
            ASSEMBLE(to, VPSCATTERQQ, in_place((ZydisRegister)(ZYDIS_REGISTER_ZMM0 + distance), 8), at_mask(MASK_PART),
                     at_zmm(value));
        } else {
            if (part % 2)
                ASSEMBLE(to, VEXTRACTI64X4, at_ymm(detour->expected), at_mask(0), at_zmm(value), at_number(1));
            ASSEMBLE(to, VPSCATTERQD, in_place((ZydisRegister)(ZYDIS_REGISTER_ZMM0 + distance), 4), at_mask(MASK_PART),
                     at_ymm(part % 2 ? detour->expected : value));
        }
    }
}

/* The addresses are moved while they are used. */
static bool stores_address(const struct operation *op)
{
    return op->source[0] == op->source[1];
}

/* Are the addresses of all lanes that run in the place? Then lane by lane, in the order of lanes. */
static void try_anywhere(struct block_maker *maker, const struct operation *op, struct detour *detour)
{
    struct assembler *to = maker->to;
    const struct element_code *element = &element_codes[op->quick];
    const struct place_code place = place_of(detour->operation, op);
    const uint32_t each = element->shift < 2 ? 4 : 1u << element->shift; /* words are loaded where bytes are wanted */
    bool narrow = is_narrow(op), load = op->kind == OPERATION_LOAD;
    if ((narrow && op->space != CORUN_SPACE_SHARED) || (!load && (element->shift < 2 || stores_address(op))))
        return;
    ASSEMBLE(to, MOV, REST, at_memory(place.base, place.offset + (int64_t)offsetof(struct memory_cache, bytes), 8));
    ASSEMBLE(to, SUB, REST, at_number(each));
    go_far(maker, detour, ZYDIS_MNEMONIC_JB);
    broadcast_rest(maker, op, detour->expected);
    ASSEMBLE(to, MOV, REST, at_number(op->offset));
    ASSEMBLE(to, SUB, REST, at_memory(place.base, place.offset + (int64_t)offsetof(struct memory_cache, base), 8));
    broadcast_rest(maker, op, detour->first);
    move_addresses(maker, op, detour, false);
    test_addresses(maker, op, detour, true);
    if (element->shift) {
        ASSEMBLE(to, MOV, at_register(ZYDIS_REGISTER_EDX), at_number((1 << element->shift) - 1));
        broadcast_rest(maker, op, detour->expected);
        test_addresses(maker, op, detour, false);
    }
    ASSEMBLE(to, KORTESTW, at_mask(1), at_mask(1));
    size_t outside = assemble_jump(to, ZYDIS_MNEMONIC_JNZ);
    ASSEMBLE(to, MOV, at_register(HOST),
             at_memory(place.base, place.offset + (int64_t)offsetof(struct memory_cache, host), 8));
    if (load)
        gather(maker, op, detour);
    else
        scatter(maker, op, detour);
    move_addresses(maker, op, detour, true);
    count_bytes(maker, op, &place, element->shift);
    assemble_jump_back(to, ZYDIS_MNEMONIC_JMP, load ? detour->loaded : detour->back);
    assemble_target(to, outside);
    move_addresses(maker, op, detour, true);
}

void native_make_detour(struct block_maker *maker, const struct detour *planned)
{
    struct assembler *to = maker->to;
    struct detour detour = *planned;
    const struct operation *op = &maker->kernel->code[detour.operation];
    for (uint32_t i = 0; i < detour.apart_count; i++)
        assemble_target(to, detour.apart[i]);
    if (detour.apart_count && op->kind == OPERATION_LOAD)
        try_uniform(maker, op, &detour);
    if (detour.apart_count)
        try_anywhere(maker, op, &detour);
    for (uint32_t i = 0; i < detour.far_count; i++)
        assemble_target(to, detour.far[i]);
    maker_store_operand(maker, detour.held, op->source[0], address_parts(op));
    if (op->kind == OPERATION_STORE)
        maker_store_operand(maker, detour.held, op->source[1], element_codes[op->quick].parts);
    else if (maker_is_masked(maker, op)) /* other lanes keep what they have */
        maker_store_operand(maker, detour.held, op->destination, detour.results);
    maker_call_executor(maker, detour.operation, true);
    for (uint32_t part = 0; part < detour.results; part++)
        maker_load(maker, detour.result[part], part_of(op->destination, part));
    assemble_jump_back(to, ZYDIS_MNEMONIC_JMP, detour.back);
}
