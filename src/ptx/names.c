/* SPDX-License-Identifier: MIT */
/* The names of one parse: each spelled once, found by hash; the words of the vocabulary are entered first. */
#include "ptx/lexer.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_NUMBER 9u /* digits: a register number must fit 32 bits */

static uint32_t hash_text(const char *text, size_t length)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return hash;
}

static struct name **find_slot(const struct name_table *table, const char *text, size_t length, uint32_t hash)
{
    size_t index = hash & (table->capacity - 1);
    for (;;) {
        struct name **slot = &table->slots[index];
        if (!*slot || ((*slot)->hash == hash && (*slot)->length == length && !memcmp((*slot)->text, text, length)))
            return slot;
        index = (index + 1) & (table->capacity - 1);
    }
}

struct name *name_find(const struct name_table *table, const char *text, size_t length)
{
    return *find_slot(table, text, length, hash_text(text, length));
}

static bool grow(struct name_table *table)
{
    struct name_table bigger = *table;
    bigger.capacity = table->capacity * 2;
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < table->capacity; i++) {
        struct name *name = table->slots[i];
        if (name)
            *find_slot(&bigger, name->text, name->length, name->hash) = name;
    }
    free(table->slots);
    *table = bigger;
    return true;
}

/* "%r17" is number 17 of "%r"; "%r017" and "17" are not numbered names. */
static bool split_number(struct name_table *table, struct name *name)
{
    uint32_t digits = 0;
    while (digits < name->length && name->text[name->length - 1 - digits] >= '0' &&
           name->text[name->length - 1 - digits] <= '9')
        digits++;
    if (!digits || digits > LONGEST_NUMBER || digits == name->length ||
        (digits > 1 && name->text[name->length - digits] == '0'))
        return true;
    for (uint32_t i = name->length - digits; i < name->length; i++)
        name->number = name->number * 10 + (uint32_t)(name->text[i] - '0');
    name->prefix = name_intern(table, name->text, name->length - digits);
    return name->prefix;
}

struct name *name_intern(struct name_table *table, const char *text, size_t length)
{
    uint32_t hash = hash_text(text, length);
    struct name **slot = find_slot(table, text, length, hash);
    if (*slot)
        return *slot;
    if (length > UINT32_MAX || (table->count * 2 >= table->capacity && !grow(table)))
        return NULL;
    struct name *name = ARENA_NEW(table->arena, struct name);
    if (!name || !(name->text = arena_copy_text(table->arena, text, length)))
        return NULL;
    name->length = (uint32_t)length;
    name->hash = hash;
    *find_slot(table, text, length, hash) = name;
    table->count++;
    return split_number(table, name) ? name : NULL;
}

static bool add_opcode(struct name_table *table, const char *word, enum ptx_opcode opcode)
{
    struct name *name = name_intern(table, word, strlen(word));
    if (!name)
        return false;
    name->opcode = (uint16_t)opcode;
    const char *dot = strchr(word, '.');
    if (!dot)
        return true;
    struct name *first = name_intern(table, word, (size_t)(dot - word));
    return first && (first->starts_longer_opcode = true);
}

static bool add_suffix(struct name_table *table, enum ptx_suffix suffix)
{
    struct name *name = name_intern(table, ptx_suffixes[suffix].word, strlen(ptx_suffixes[suffix].word));
    if (!name)
        return false;
    for (size_t i = 0; i < NAME_SUFFIXES; i++) {
        if (!name->suffixes[i]) {
            name->suffixes[i] = (uint8_t)suffix;
            return true;
        }
    }
    return false;
}

static bool add_unsupported(struct name_table *table, const char *word)
{
    struct name *name = name_intern(table, word, strlen(word));
    return name && (name->unsupported = true);
}

static bool add_hint(struct name_table *table, const char *word)
{
    struct name *name = name_intern(table, word, strlen(word));
    return name && (name->hint = true);
}

static bool add_suffix_alias(struct name_table *table, const char *word, const char *meant)
{
    struct name *name = name_intern(table, word, strlen(word));
    return name && (name->stands_for = name_intern(table, meant, strlen(meant)));
}

static bool add_vocabulary(struct name_table *table)
{
    bool ok = true;
    for (uint32_t i = 1; i < PTX_OP_COUNT; i++)
        ok &= add_opcode(table, ptx_opcodes[i].word, (enum ptx_opcode)i);
#define OP(name, word, operands, types, second_types, fields, supported, meaning)
#define OP_ALIAS(word, name) ok &= add_opcode(table, word, PTX_OP_##name);
#include "ptx/opcodes.def"
#undef OP_ALIAS
#undef OP
    for (uint32_t i = 1; i < PTX_SUFFIX_COUNT; i++)
        ok &= add_suffix(table, (enum ptx_suffix)i);
#define S(field, name, word, meaning)
#define U(word) ok &= add_unsupported(table, word);
#define H(word) ok &= add_hint(table, word);
#define A(word, meant) ok &= add_suffix_alias(table, word, meant);
#include "ptx/suffixes.def"
#undef A
#undef H
#undef U
#undef S
    for (uint32_t i = 1; i < PTX_TYPE_COUNT; i++) {
        struct name *name = name_intern(table, ptx_types[i].word, strlen(ptx_types[i].word));
        if (name)
            name->type = (uint8_t)i;
        ok &= name != NULL;
    }
    for (uint32_t i = 0; i < PTX_SPECIAL_COUNT; i++) {
        const char *text = ptx_special_registers[i].text;
        struct name *name = name_intern(table, text, strlen(text));
        if (name)
            name->special = (uint8_t)(i + 1);
        ok &= name != NULL;
    }
#define R(name, text, type, meaning)
#define U(text) ok &= add_unsupported(table, text);
#include "ptx/special_registers.def"
#undef U
#undef R
    return ok;
}

bool name_table_create(struct name_table *table, struct arena *arena)
{
    *table = (struct name_table){.arena = arena, .capacity = 2048};
    table->slots = calloc(table->capacity, sizeof *table->slots);
    return table->slots && add_vocabulary(table);
}

void name_table_destroy(struct name_table *table)
{
    free(table->slots);
    table->slots = NULL;
}
