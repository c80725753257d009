/* SPDX-License-Identifier: MIT */
/* One instruction: guard, operation, suffixes, operands. What fits together is decided in check_suffixes.c and check_operands.c. */
#include "ptx/bulk.h"
#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

#define LONGEST_MNEMONIC 120u
#define MOST_WORDS 6u /* of the name of an operation: cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes */

struct mnemonic {
    struct token words[MAX_SUFFIXES + 1]; /* the first word, then the suffixes */
    uint32_t count;
    char text[LONGEST_MNEMONIC + 1]; /* as written, possibly shortened */
};

/* Adds a word, at most 40 characters of it, to what has been written. No snprintf: this runs for every word of every instruction. */
static size_t add_word(struct mnemonic *mnemonic, size_t used, const char *word)
{
    size_t length = strnlen(word, 40);
    if (used && used < LONGEST_MNEMONIC)
        mnemonic->text[used++] = '.';
    if (length > LONGEST_MNEMONIC - used)
        length = LONGEST_MNEMONIC - used;
    memcpy(mnemonic->text + used, word, length);
    mnemonic->text[used + length] = 0;
    return used + length;
}

static bool read_mnemonic(struct parser *parser, const struct token *word, struct mnemonic *mnemonic)
{
    mnemonic->words[0] = *word;
    mnemonic->count = 1;
    size_t used = add_word(mnemonic, 0, word->name->text);
    while (parser->token.kind == TOKEN_DOT) {
        if (mnemonic->count > MAX_SUFFIXES)
            return parser_expected(parser, "operands");
        mnemonic->words[mnemonic->count++] = parser->token;
        used = add_word(mnemonic, used, parser->token.name->text);
        parser_next(parser);
    }
    return true;
}

/* The longest operation whose words the mnemonic starts with; *used is the number of those words. */
static enum ptx_opcode find_opcode(struct parser *parser, const struct mnemonic *mnemonic, uint32_t *used)
{
    const struct name *first = mnemonic->words[0].name;
    *used = 1;
    if (first->starts_longer_opcode) {
        char text[MOST_WORDS * 33];
        size_t ends[MOST_WORDS];
        uint32_t words = mnemonic->count < MOST_WORDS ? mnemonic->count : MOST_WORDS;
        size_t length = 0;
        for (uint32_t i = 0; i < words; i++) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%.32s", i ? "." : "",
                                       mnemonic->words[i].name->text);
            ends[i] = length;
        }
        for (uint32_t count = words; count > 1; count--) {
            const struct name *name = name_find(&parser->names, text, ends[count - 1]);
            if (name && name->opcode) {
                *used = count;
                return (enum ptx_opcode)name->opcode;
            }
        }
    }
    return (enum ptx_opcode)first->opcode;
}

static bool not_supported(struct parser *parser, const struct mnemonic *mnemonic)
{
    parser_error(parser, CORUN_UNSUPPORTED, mnemonic->words[0].place, "not supported: %s", mnemonic->text);
    return false;
}

static bool set_type(struct parser *parser, const struct mnemonic *mnemonic, struct ptx_instruction *instruction,
                     const struct token *word)
{
    const struct ptx_opcode_row *row = &ptx_opcodes[instruction->opcode];
    uint32_t limit = ptx_type_limit(instruction->opcode);
    uint64_t allowed = instruction->type_count ? row->second_types : row->types;
    enum ptx_type type = (enum ptx_type)word->name->type;
    if (instruction->type_count < limit && (allowed >> type & 1)) {
        instruction->types[instruction->type_count++] = (uint8_t)type;
        return true;
    }
    if (type >= PTX_TYPE_F16) /* from here on the types that PTX has and we have not */
        return not_supported(parser, mnemonic);
    parser_error(parser, CORUN_SYNTAX, word->place,
                 instruction->type_count < limit ? "'%s' does not take type .%s" : "'%s' has too many types (.%s)",
                 row->word, ptx_types[type].word);
    return false;
}

/* Digits at *text, up to three; 0: there are none. */
static uint16_t read_number(const char **text)
{
    uint16_t number = 0;
    for (uint32_t i = 0; i < 3 && **text >= '0' && **text <= '9'; i++)
        number = (uint16_t)(number * 10 + (uint32_t)(*(*text)++ - '0'));
    return number;
}

/* m64n128k16: a warpgroup has too many shapes for a word each. */
static bool set_warpgroup_shape(struct ptx_instruction *instruction, const char *word)
{
    if (!ptx_is_warpgroup_product(instruction->opcode) || instruction->shape || strncmp(word, "m64n", 4) != 0)
        return false;
    const char *rest = word + 4;
    uint16_t columns = read_number(&rest);
    if (*rest++ != 'k' || word[4] == '0' || *rest == '0')
        return false;
    uint16_t inner = read_number(&rest);
    if (!columns || !inner || *rest)
        return false;
    instruction->shape = PTX_SHAPE_M64;
    instruction->columns = columns;
    instruction->inner = inner;
    return true;
}

/* The first field of the operation that the word may set and that is not set yet. *twice: there are only others. */
static bool set_field(struct ptx_instruction *instruction, const struct name *name, bool *twice)
{
    const struct ptx_opcode_row *row = &ptx_opcodes[instruction->opcode];
    for (size_t i = 0; i < NAME_SUFFIXES && name->suffixes[i]; i++) {
        uint8_t field = ptx_suffixes[name->suffixes[i]].field;
        if (!(row->fields >> field & 1))
            continue;
        if (!instruction->fields[field]) {
            instruction->fields[field] = name->suffixes[i];
            return true;
        }
        *twice = true;
    }
    return false;
}

static bool set_suffix(struct parser *parser, const struct mnemonic *mnemonic, struct ptx_instruction *instruction,
                       const struct token *word)
{
    const struct ptx_opcode_row *row = &ptx_opcodes[instruction->opcode];
    const struct name *name = word->name->stands_for ? word->name->stands_for : word->name;
    bool twice = false, atomic = instruction->opcode == PTX_OP_ATOM || instruction->opcode == PTX_OP_RED;
    if (!atomic && !strcmp(name->text, "v8"))
        return not_supported(parser, mnemonic);
    if (set_warpgroup_shape(instruction, name->text))
        return true;
    if (set_field(instruction, word->name, &twice) || (name != word->name && set_field(instruction, name, &twice)))
        return true;
    if (name->type)
        return set_type(parser, mnemonic, instruction, word);
    if (name->unsupported)
        return not_supported(parser, mnemonic);
    uint64_t of_memory =
        UINT64_C(1) << PTX_FIELD_SPACE | UINT64_C(1) << PTX_FIELD_COPY_TO | UINT64_C(1) << PTX_FIELD_PREFETCH;
    if (name->hint && row->fields & of_memory) {
        if (row->fields >> PTX_FIELD_LEVEL & 1)
            instruction->level = PTX_LEVEL_L2;
        return true;
    }
    parser_error(parser, CORUN_SYNTAX, word->place,
                 twice ? "'.%.40s' is one suffix too many for '%s'" : "'.%.40s' is not a suffix of '%s'", name->text,
                 row->word);
    return false;
}

static bool set_suffixes(struct parser *parser, const struct mnemonic *mnemonic, struct ptx_instruction *instruction)
{
    uint32_t used;
    instruction->opcode = (uint16_t)find_opcode(parser, mnemonic, &used);
    const struct ptx_opcode_row *row = &ptx_opcodes[instruction->opcode];
    if (instruction->opcode == PTX_OP_NONE) {
        parser_error(parser, CORUN_SYNTAX, mnemonic->words[0].place, "expected an operation, found '%.40s'",
                     mnemonic->words[0].name->text);
        return false;
    }
    if (!row->supported)
        return not_supported(parser, mnemonic);
    for (uint32_t i = used; i < mnemonic->count; i++)
        if (!set_suffix(parser, mnemonic, instruction, &mnemonic->words[i]))
            return false;
    instruction->opcode = ptx_bulk_opcode(instruction);
    uint32_t wanted = ptx_type_fewest(instruction->opcode);
    if (instruction->type_count < wanted) {
        parser_error(parser, CORUN_SYNTAX, mnemonic->words[0].place,
                     instruction->type_count == 1  ? "'%s' needs a second type"
                     : instruction->type_count > 1 ? "'%s' needs one more type"
                                                   : "'%s' needs a type",
                     mnemonic->text);
        return false;
    }
    return true;
}

/* [texture, {x, y}]: behind the comma; `texture` is what stood before it. */
static bool parse_texel(struct parser *parser, const struct ptx_operand *texture, struct ptx_operand *operand)
{
    struct ptx_operand elements[1 + MAX_VECTOR];
    struct parsed_operand coordinates = {0};
    if (!parse_operand(parser, false, &coordinates))
        return false;
    if (parser->token.kind == ',') {
        parser_error(parser, CORUN_UNSUPPORTED, coordinates.place, "not supported: a sampler beside a texture");
        return false;
    }
    bool vector = coordinates.operand.kind == PTX_OPERAND_VECTOR;
    uint16_t count = vector ? coordinates.operand.element_count : 1;
    if (count > MAX_VECTOR)
        return parser_expected(parser, "at most 8 coordinates");
    elements[0] = *texture;
    memcpy(&elements[1], vector ? coordinates.operand.elements : &coordinates.operand, count * sizeof *elements);
    *operand = (struct ptx_operand){.kind = PTX_OPERAND_TEXEL, .element_count = (uint16_t)(count + 1)};
    operand->elements = parser_copy(parser, elements, (count + 1u) * sizeof *elements);
    return true;
}

/* After the opening bracket of an address. */
static bool parse_address(struct parser *parser, struct ptx_operand *operand)
{
    operand->kind = PTX_OPERAND_ADDRESS_ABSOLUTE;
    if (parser->token.kind == TOKEN_WORD && strcmp(parser->token.name->text, "WARP_SZ")) {
        struct symbol *symbol = parser_lookup(parser, parser->token.name);
        if (symbol && symbol->kind == SYMBOL_REGISTER) {
            operand->kind = PTX_OPERAND_ADDRESS;
            operand->index = symbol->index;
        } else if (symbol && symbol->kind == SYMBOL_VARIABLE) {
            operand->kind = PTX_OPERAND_ADDRESS_VARIABLE;
            operand->variable = symbol->variable;
            parser_note_shared(parser, symbol);
        } else {
            return parser_expected(parser, "a register, variable or constant address");
        }
        parser_next(parser);
        if (parser_accept(parser, ',')) {
            struct ptx_operand texture = *operand;
            texture.kind = operand->kind == PTX_OPERAND_ADDRESS ? PTX_OPERAND_REGISTER : PTX_OPERAND_VARIABLE;
            return parse_texel(parser, &texture, operand);
        }
        if (parser->token.kind == ']')
            return true;
        if (parser->token.kind != '+' && parser->token.kind != '-')
            return parser_expected(parser, "'+' or ']'");
        if (parser->token.kind == '+')
            parser_next(parser); /* what follows may have a sign of its own: [%rd1+-4] */
    }
    return parse_integer(parser, &operand->bits);
}

/* What stands from `open` to `end`, quoted and shortened, for messages. */
static void show_vector(const char *end, const char *open, char text[64])
{
    size_t length = (size_t)(end - open), most = 40, shown = length < most ? length : most;
    snprintf(text, 64, "'%.*s%s'", (int)shown, open, shown < length ? "..." : "");
    for (char *at = text; *at; at++)
        *at = *at == '\n' || *at == '\t' || *at == '\r' ? ' ' : *at;
}

/* Behind the opening brace, which is at `open`. */
static bool parse_vector(struct parser *parser, const char *open, struct parsed_operand *parsed)
{
    struct ptx_operand elements[MAX_FRAGMENT];
    struct parsed_operand nested = {0}; /* %tid */
    uint16_t count = 0;
    do {
        struct parsed_operand element = {0};
        if (count >= parser->vector_limit)
            return parser_expected(parser,
                                   parser->vector_limit > MAX_VECTOR ? "at most 128 elements" : "at most 8 elements");
        if (parser->token.kind == '{')
            return parser_expected(parser, "an element of a vector");
        if (!parse_operand(parser, false, &element))
            return false;
        if (element.operand.kind == PTX_OPERAND_VECTOR)
            nested = element;
        elements[count++] = element.operand;
    } while (parser_accept(parser, ','));
    if (parser->token.kind == '}')
        show_vector(parser->token.text + 1, open, parsed->text);
    parsed->operand.kind = PTX_OPERAND_VECTOR;
    parsed->operand.element_count = count;
    parsed->operand.elements = parser_copy(parser, elements, count * sizeof *elements);
    return parser_expect(parser, '}', "',' or '}'") &&
           (nested.operand.kind != PTX_OPERAND_VECTOR || check_mismatch(parser, &nested, "an element of a vector"));
}

/* A component of a special register, as %tid.x; NULL: there is none. */
static const struct name *find_component(const struct parser *parser, const struct name *name, const char *component)
{
    char text[64];
    size_t length = (size_t)snprintf(text, sizeof text, "%.20s.%.20s", name->text, component);
    return name_find(&parser->names, text, length);
}

/* Components are .x, .y, .z and .w, or .r, .g, .b and .a (PTX ISA, "Vectors as Operands"). */
static const char *component_of(const char *word)
{
    static const char *const words[][2] = {{"r", "x"}, {"g", "y"}, {"b", "z"}, {"a", "w"}};
    for (uint32_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i][0]))
            return words[i][1];
    return word;
}

/* %tid alone: the vector of its components. False if it has none. */
static bool take_components(struct parser *parser, const struct name *name, struct ptx_operand *operand)
{
    static const char *const words[] = {"x", "y", "z", "w"};
    struct ptx_operand elements[4] = {0};
    for (uint32_t i = 0; i < 4; i++) {
        const struct name *component = find_component(parser, name, words[i]);
        if (!component || !component->special)
            return false;
        elements[i] = (struct ptx_operand){.kind = PTX_OPERAND_SPECIAL, .index = component->special - 1u};
    }
    operand->kind = PTX_OPERAND_VECTOR;
    operand->element_count = 4;
    operand->elements = parser_copy(parser, elements, sizeof elements);
    return true;
}

static bool parse_special(struct parser *parser, struct ptx_operand *operand)
{
    const struct name *name = parser->token.name;
    struct lexer before = parser->lexer;
    struct token word = parser->token;
    parser_next(parser);
    if (parser->token.kind == TOKEN_DOT)
        name = find_component(parser, name, component_of(parser->token.name->text));
    else if (take_components(parser, name, operand))
        return true;
    if (name && name->unsupported) {
        parser_error(parser, CORUN_UNSUPPORTED, word.place, "not supported: %s", name->text);
        return false;
    }
    if (!name || !name->special) {
        parser->lexer = before;
        parser->token = word;
        return parser_expected(parser, "a declared name");
    }
    if (parser->token.kind == TOKEN_DOT)
        parser_next(parser);
    operand->kind = PTX_OPERAND_SPECIAL;
    operand->index = name->special - 1u;
    return true;
}

/* Behind a register: .b0 and its like. */
static bool parse_part(struct parser *parser, struct ptx_operand *operand)
{
    static const char *const words[] = {"b0", "b1", "b2", "b3", "h0", "h1"};
    for (uint32_t i = 0; i < sizeof words / sizeof *words; i++)
        if (parser_accept_dot(parser, words[i])) {
            operand->bits = PTX_PART_B0 + i;
            return true;
        }
    return parse_selector(parser, operand) || parser_expected(parser, "',' or ';'");
}

static bool parse_symbol(struct parser *parser, struct symbol *symbol, bool label, struct parsed_operand *parsed)
{
    struct ptx_operand *operand = &parsed->operand;
    switch (symbol->kind) {
    case SYMBOL_REGISTER:
        operand->kind = PTX_OPERAND_REGISTER;
        operand->index = symbol->index;
        break;
    case SYMBOL_VARIABLE:
        operand->kind = PTX_OPERAND_VARIABLE;
        operand->variable = symbol->variable;
        parser_note_shared(parser, symbol);
        break;
    case SYMBOL_FUNCTION:
        operand->kind = PTX_OPERAND_FUNCTION;
        operand->function = symbol->function;
        break;
    case SYMBOL_BRANCH_TARGETS:
        if (!label)
            return parser_expected(parser, "a register, variable, function or constant");
        operand->kind = PTX_OPERAND_TARGETS;
        operand->elements = symbol->branch_targets->labels;
        operand->index = symbol->branch_targets->count;
        break;
    default:
        if (!label)
            return parser_expected(parser, "a register, variable, function or constant");
        operand->kind = PTX_OPERAND_LABEL;
        parsed->label = symbol->name;
    }
    parser_next(parser);
    if (operand->kind == PTX_OPERAND_REGISTER && parser->token.kind == TOKEN_DOT)
        return parse_part(parser, operand);
    if (operand->kind == PTX_OPERAND_VARIABLE && (parser->token.kind == '+' || parser->token.kind == '-'))
        return parse_integer(parser, &operand->bits); /* the sign belongs to the expression */
    return true;
}

static bool parse_word_operand(struct parser *parser, bool label, struct parsed_operand *parsed)
{
    struct name *name = parser->token.name;
    struct symbol *symbol = parser_lookup(parser, name);
    if (symbol)
        return parse_symbol(parser, symbol, label, parsed);
    if (!strcmp(name->text, "_")) {
        parsed->operand.kind = PTX_OPERAND_DISCARD;
        parser_next(parser);
        return true;
    }
    if (!strcmp(name->text, "WARP_SZ"))
        return parse_constant(parser, &parsed->operand);
    if (label) {
        parsed->operand.kind = PTX_OPERAND_LABEL;
        parsed->label = name;
        parser_next(parser);
        return true;
    }
    if (name->text[0] == '%')
        return parse_special(parser, &parsed->operand);
    return parser_expected(parser, "a declared name");
}

bool parse_operand(struct parser *parser, bool label, struct parsed_operand *parsed)
{
    *parsed = (struct parsed_operand){.place = parser->token.place};
    parser_token_text(parser, parsed->text);
    switch (parser->token.kind) {
    case '[':
        parser_next(parser);
        if (!parse_address(parser, &parsed->operand) || !parser_expect(parser, ']', "']'"))
            return false;
        parser_accept_dot(parser, "unified"); /* a variable with that attribute, which says nothing that matters here */
        return true;
    case '{': {
        const char *open = parser->token.text;
        parser_next(parser);
        return parse_vector(parser, open, parsed);
    }
    case '-':
    case '!': {
        struct lexer before = parser->lexer;
        struct token mark = parser->token;
        parser_next(parser);
        struct symbol *symbol = parser->token.kind == TOKEN_WORD ? parser_lookup(parser, parser->token.name) : NULL;
        if (symbol && symbol->kind == SYMBOL_REGISTER) {
            parsed->operand.kind = PTX_OPERAND_REGISTER;
            parsed->operand.index = symbol->index;
            parsed->operand.negated = true;
            parser_next(parser);
            return parser->token.kind != TOKEN_DOT || parse_part(parser, &parsed->operand);
        }
        parser->lexer = before;
        parser->token = mark;
        return parse_constant(parser, &parsed->operand);
    }
    case TOKEN_WORD:
        return parse_word_operand(parser, label, parsed);
    case TOKEN_INTEGER:
    case TOKEN_F32:
    case TOKEN_F64:
    case '+':
    case '~':
    case '(':
        return parse_constant(parser, &parsed->operand);
    default:
        return parser_expected(parser, "an operand");
    }
}

/* @%p or @!%p */
static bool parse_guard(struct parser *parser, struct ptx_instruction *instruction)
{
    parser_next(parser);
    instruction->guard_negated = parser_accept(parser, '!');
    struct symbol *symbol = parser->token.kind == TOKEN_WORD ? parser_lookup(parser, parser->token.name) : NULL;
    if (!symbol || symbol->kind != SYMBOL_REGISTER || parser->registers.data[symbol->index].type != PTX_TYPE_PRED)
        return parser_expected(parser, "a predicate register");
    instruction->guard = symbol->index;
    parser_next(parser);
    return true;
}

/* Behind a destination: `|p`, the second destination */
static bool parse_pair(struct parser *parser, struct ptx_instruction *instruction)
{
    struct parsed_operand pair;
    if (!parse_operand(parser, false, &pair))
        return false;
    bool predicate = pair.operand.kind == PTX_OPERAND_REGISTER && !pair.operand.negated &&
                     parser->registers.data[pair.operand.index].type == PTX_TYPE_PRED;
    if (!predicate && pair.operand.kind != PTX_OPERAND_DISCARD) {
        parser_error(parser, CORUN_SYNTAX, pair.place, "expected a predicate register or '_', found %s", pair.text);
        return false;
    }
    instruction->pair = pair.operand;
    return true;
}

/* tex.v4 {…}|p: whether the texels are there, which is false of sparse arrays alone; there is none, so p is true behind the fetch. */
static bool parse_residency(struct parser *parser, struct ptx_instruction *instruction)
{
    struct parsed_operand operands[2] = {{.operand = instruction->pair},
                                         {.operand = {.kind = PTX_OPERAND_INTEGER, .bits = 1}}};
    instruction->pair = (struct ptx_operand){0};
    if (operands[0].operand.kind != PTX_OPERAND_REGISTER)
        return true;
    struct ptx_instruction move = {.opcode = PTX_OP_MOV,
                                   .type_count = 1,
                                   .place = instruction->place,
                                   .guard = instruction->guard,
                                   .guard_negated = instruction->guard_negated,
                                   .carry_flag = PTX_NONE};
    move.types[0] = PTX_TYPE_PRED;
    if (!check_operands(parser, &move, operands, 2, "mov.pred"))
        return false;
    struct ptx_operand *kept = parser_allocate(parser, parser->arena, 2 * sizeof *kept);
    kept[0] = operands[0].operand;
    kept[1] = operands[1].operand;
    move.operands = kept;
    move.operand_count = 2;
    parser_push(parser, &parser->instructions, *instruction);
    *instruction = move;
    return true;
}

/* The last operand where .L2::cache_hint is: it is left out, as the word was. */
static bool check_policy(struct parser *parser, const struct parsed_operand *policy)
{
    if (policy->operand.kind == PTX_OPERAND_REGISTER &&
        ptx_types[parser->registers.data[policy->operand.index].type].bits == 64)
        return true;
    parser_error(parser, CORUN_SYNTAX, policy->place, "expected a cache policy in a 64-bit register, found %s",
                 policy->text);
    return false;
}

static bool has_policy(const struct mnemonic *mnemonic)
{
    bool found = false;
    for (uint32_t i = 1; i < mnemonic->count; i++)
        found |= mnemonic->words[i].name->hint && !strcmp(mnemonic->words[i].name->text, "L2::cache_hint");
    return found;
}

/* createpolicy makes the value of such a register; nothing looks at it, so it is 0. */
static bool parse_createpolicy(struct parser *parser, struct ptx_instruction *instruction)
{
    struct parsed_operand operands[2];
    if (!parse_operand(parser, false, &operands[0]))
        return false;
    while (parser->token.kind != ';' && parser->token.kind != TOKEN_END)
        parser_next(parser);
    operands[1] = operands[0];
    operands[1].operand = (struct ptx_operand){.kind = PTX_OPERAND_INTEGER};
    instruction->opcode = PTX_OP_MOV;
    instruction->space = instruction->level = PTX_SUFFIX_NONE;
    if (!check_operands(parser, instruction, operands, 2, "createpolicy"))
        return false;
    struct ptx_operand *kept = parser_allocate(parser, parser->arena, 2 * sizeof *kept);
    kept[0] = operands[0].operand;
    kept[1] = operands[1].operand;
    instruction->operands = kept;
    instruction->operand_count = 2;
    return true;
}

static bool parse_operands(struct parser *parser, struct ptx_instruction *instruction, const struct mnemonic *words)
{
    const char *pattern = ptx_opcodes[instruction->opcode].operands, *mnemonic = words->text;
    struct parsed_operand operands[MAX_OPERANDS];
    uint32_t count = 0;
    bool policy = has_policy(words);
    while (parser->token.kind != ';') {
        if (!*pattern || count >= MAX_OPERANDS)
            return parser_expected(parser, "';'");
        bool label = pattern[0] == 'L' || (pattern[1] == 'T' && count == 1);
        if (!parse_operand(parser, label, &operands[count++]))
            return false;
        if (count == 1 && *pattern && pattern[1] == '|' && parser_accept(parser, '|') &&
            !parse_pair(parser, instruction))
            return false;
        if (parser->token.kind != ';' && !parser_expect(parser, ',', "',' or ';'"))
            return false;
    }
    if (policy && count-- == 0)
        return parser_expected(parser, "a cache policy");
    if (policy && !check_policy(parser, &operands[count]))
        return false;
    if (instruction->vector && (instruction->opcode == PTX_OP_ATOM || instruction->opcode == PTX_OP_RED))
        return parse_vector_atomic(parser, instruction, operands, count, mnemonic);
    if (instruction->vector && instruction->opcode == PTX_OP_MOV)
        return parse_vector_move(parser, instruction, operands, count, mnemonic);
    if (instruction->opcode == PTX_OP_LOP3_OR || instruction->opcode == PTX_OP_LOP3_AND)
        return parse_predicate_logic(parser, instruction, operands, count, mnemonic);
    if (ptx_is_video(instruction->opcode) || ptx_is_video_pair_comparison(instruction->opcode))
        return parse_simd_video(parser, instruction, operands, count, mnemonic);
    if (instruction->types[0] == PTX_TYPE_B128)
        return parse_wide(parser, instruction, operands, count, mnemonic);
    if (!check_operands(parser, instruction, operands, count, mnemonic))
        return false;
    struct ptx_operand *kept = count ? parser_allocate(parser, parser->arena, count * sizeof *kept) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        kept[i] = operands[i].operand;
        if (kept[i].kind == PTX_OPERAND_LABEL) {
            struct label_use *use = parser_allocate(parser, parser->scratch, sizeof *use);
            struct scope *scope = &parser->scopes[parser->depth];
            *use = (struct label_use){scope->uses, operands[i].label, &kept[i], operands[i].place};
            scope->uses = use;
        }
    }
    instruction->operands = kept;
    instruction->operand_count = (uint8_t)count;
    return !ptx_is_fetch(instruction->opcode) || parse_residency(parser, instruction);
}

static bool uses_carry_flag(const struct ptx_instruction *instruction)
{
    return instruction->carry || instruction->opcode == PTX_OP_ADDC || instruction->opcode == PTX_OP_SUBC ||
           instruction->opcode == PTX_OP_MADC;
}

bool parse_instruction(struct parser *parser, const struct token *word)
{
    struct ptx_instruction instruction = {.guard = PTX_NONE};
    struct token first;
    struct mnemonic mnemonic;
    instruction.place = word ? word->place : parser->token.place;
    if (!word) {
        if (!parse_guard(parser, &instruction))
            return false;
        first = parser->token;
        if (!parser_expect(parser, TOKEN_WORD, "an operation"))
            return false;
        word = &first;
    }
    if (!read_mnemonic(parser, word, &mnemonic) || !set_suffixes(parser, &mnemonic, &instruction) ||
        !check_suffixes(parser, &instruction, mnemonic.text, word->place))
        return false;
    parser->vector_limit = ptx_is_warpgroup_product(instruction.opcode) ? MAX_FRAGMENT : MAX_VECTOR;
    instruction.carry_flag = uses_carry_flag(&instruction) ? 0 : PTX_NONE; /* its register follows in the end */
    bool good = instruction.opcode == PTX_OP_CALL           ? parse_call(parser, &instruction)
                : instruction.opcode == PTX_OP_CREATEPOLICY ? parse_createpolicy(parser, &instruction)
                                                            : parse_operands(parser, &instruction, &mnemonic);
    if (!good)
        return false;
    parser_push(parser, &parser->instructions, instruction);
    return parser_expect(parser, ';', "';'");
}
