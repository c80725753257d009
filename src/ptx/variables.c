/* SPDX-License-Identifier: MIT */
/* Declarations: registers, variables with their initial values, parameters. */
#include "ptx/parser.h"

#include <string.h>

/* A type word; NONE after an error was reported. */
static enum ptx_type parse_type(struct parser *parser)
{
    enum ptx_type type = parser->token.kind == TOKEN_DOT ? parser->token.name->type : PTX_TYPE_NONE;
    if (type == PTX_TYPE_NONE) {
        parser_expected(parser, "a type such as .u32");
    } else if ((ptx_types[type].kind == PTX_KIND_OPAQUE && (parser->depth || type == PTX_TYPE_SAMPLERREF)) ||
               (ptx_types[type].kind == PTX_KIND_PACKED && ptx_types[type].bits < 8)) {
        parser_error(parser, CORUN_UNSUPPORTED, parser->token.place, "not supported: .%s here", ptx_types[type].word);
        type = PTX_TYPE_NONE;
    }
    if (type != PTX_TYPE_NONE)
        parser_next(parser);
    return type;
}

/* One name of a .reg declaration: %x or %r<9>. */
static bool parse_register_name(struct parser *parser, enum ptx_type type)
{
    if (parser->token.kind != TOKEN_WORD)
        return parser_expected(parser, "the name of a register");
    struct name *name = parser->token.name;
    struct ptx_place place = parser->token.place;
    parser_next(parser);
    if (parser_accept(parser, '<')) {
        uint64_t count = parser->token.bits;
        if (parser->token.kind != TOKEN_INTEGER)
            return parser_expected(parser, "the number of registers");
        parser_next(parser);
        if (!parser_expect(parser, '>', "'>'"))
            return false;
        parser_bind_range(parser, name, count, type, place);
        return true;
    }
    struct symbol *symbol = parser_bind(parser, name, SYMBOL_REGISTER, place);
    if (symbol)
        symbol->index = parser_add_register(parser, name->text, type);
    return true;
}

bool parse_registers(struct parser *parser)
{
    if (parser_at_dot(parser, "v2") || parser_at_dot(parser, "v4")) {
        parser_error(parser, CORUN_UNSUPPORTED, parser->token.place, "not supported: .reg .%s",
                     parser->token.name->text);
        return false;
    }
    enum ptx_type type = parse_type(parser);
    if (type == PTX_TYPE_NONE)
        return false;
    do {
        if (!parse_register_name(parser, type))
            return false;
    } while (parser_accept(parser, ','));
    return parser_expect(parser, ';', "',' or ';'");
}

static bool parse_align(struct parser *parser, uint32_t *align)
{
    struct ptx_place place = parser->token.place;
    uint64_t value = parser->token.bits;
    if (!parser_expect(parser, TOKEN_INTEGER, "an alignment in bytes"))
        return false;
    if (!value || value > 1u << 20 || (value & (value - 1))) {
        parser_error(parser, CORUN_SYNTAX, place, "an alignment must be a power of two up to 1048576");
        return false;
    }
    *align = (uint32_t)value;
    return true;
}

/* .ptr, .ptr .global, .ptr .global .align 8: what is known of a pointer parameter */
static bool parse_pointer(struct parser *parser, struct ptx_variable *variable)
{
    static const uint8_t spaces[] = {PTX_SPACE_GLOBAL, PTX_SPACE_SHARED, PTX_SPACE_CONST, PTX_SPACE_LOCAL};
    variable->is_pointer = true;
    for (size_t i = 0; i < sizeof spaces; i++)
        if (parser_accept_dot(parser, ptx_suffixes[spaces[i]].word))
            variable->pointer_space = spaces[i];
    return !parser_accept_dot(parser, "align") || parse_align(parser, &variable->pointer_align);
}

/* .align, .v2, .attribute and the type, in the orders that compilers use */
static bool parse_shape(struct parser *parser, struct ptx_variable *variable)
{
    variable->vector = 1;
    for (;;) {
        if (parser_accept_dot(parser, "align")) {
            if (!parse_align(parser, &variable->align))
                return false;
        } else if (parser_at_dot(parser, "v2") || parser_at_dot(parser, "v4")) {
            variable->vector = parser_at_dot(parser, "v2") ? 2 : 4;
            parser_next(parser);
        } else if (parser_accept_dot(parser, "attribute")) { /* .attribute(.managed): every variable is managed here */
            if (!parser_expect(parser, '(', "'('"))
                return false;
            while (parser->token.kind != ')' && parser->token.kind != ';' && parser->token.kind != TOKEN_END)
                parser_next(parser);
            if (!parser_expect(parser, ')', "')'"))
                return false;
        } else {
            break;
        }
    }
    variable->type = (uint8_t)parse_type(parser);
    if (variable->type == PTX_TYPE_PRED) {
        parser_error(parser, CORUN_SYNTAX, parser->token.place, "a variable cannot be a predicate");
        return false;
    }
    return variable->type != PTX_TYPE_NONE;
}

static uint64_t element_bytes(const struct ptx_variable *variable)
{
    return (uint64_t)ptx_types[variable->type].bits / 8 * variable->vector;
}

static bool set_bytes(struct parser *parser, struct ptx_variable *variable, struct ptx_place place)
{
    uint64_t bytes = element_bytes(variable);
    for (uint32_t i = variable->dimension_count; i-- > 0;) { /* the first one last: it alone may be 0 */
        if (!variable->dimensions[i] && i) {
            parser_error(parser, CORUN_SYNTAX, place, "'%.40s' has an inner dimension of 0", variable->name);
            return false;
        }
        if (variable->dimensions[i] > MAX_VARIABLE_BYTES / bytes) {
            parser_error(parser, CORUN_SYNTAX, place, "'%.40s' is larger than a tebibyte", variable->name);
            return false;
        }
        bytes *= variable->dimensions[i];
    }
    variable->bytes = bytes;
    return true;
}

/* [24], [], [4][8] */
static bool parse_dimensions(struct parser *parser, struct ptx_variable *variable)
{
    uint64_t dimensions[MAX_DIMENSIONS];
    uint32_t count = 0;
    while (parser_accept(parser, '[')) {
        if (count >= MAX_DIMENSIONS)
            return parser_expected(parser, "at most 8 dimensions");
        dimensions[count] = 0;
        if (parser->token.kind != ']' || count) {
            if (!parse_integer(parser, &dimensions[count]))
                return false;
        } else {
            variable->incomplete = true;
        }
        count++;
        if (!parser_expect(parser, ']', "']'"))
            return false;
    }
    variable->is_array = count > 0;
    variable->dimension_count = count;
    variable->dimensions = parser_copy(parser, dimensions, count * sizeof *dimensions);
    return true;
}

static void put_initial(struct parser *parser, uint64_t offset, uint64_t bits, uint64_t bytes)
{
    while (parser->initial.count < offset + bytes)
        parser_push(parser, &parser->initial, 0);
    for (uint64_t i = 0; i < bytes; i++)
        parser->initial.data[offset + i] = (uint8_t)(bits >> (8 * i));
}

/* name, name+4, generic(name), generic(name)+4; true with *found = false if it is no address */
static bool parse_address_value(struct parser *parser, struct ptx_relocation *relocation, bool *found)
{
    bool generic = parser->token.kind == TOKEN_WORD && !strcmp(parser->token.name->text, "generic");
    *found = generic || (parser->token.kind == TOKEN_WORD && strcmp(parser->token.name->text, "WARP_SZ"));
    if (!*found)
        return true;
    if (generic) {
        parser_next(parser);
        if (!parser_expect(parser, '(', "'('"))
            return false;
        relocation->generic = true;
    }
    struct symbol *symbol = parser->token.kind == TOKEN_WORD ? parser->token.name->symbol : NULL;
    if (symbol && symbol->kind == SYMBOL_VARIABLE && symbol->variable->declared <= PTX_DECLARED_FUNCTION)
        relocation->variable = symbol->variable;
    else if (symbol && symbol->kind == SYMBOL_FUNCTION)
        relocation->function = symbol->function;
    else
        return parser_expected(parser, "the name of a variable or function");
    parser_next(parser);
    if (generic && !parser_expect(parser, ')', "')'"))
        return false;
    if (parser->token.kind == '+' || parser->token.kind == '-') {
        uint64_t addend;
        if (!parse_integer(parser, &addend)) /* the sign belongs to the expression */
            return false;
        relocation->addend = (int64_t)addend;
    }
    return true;
}

/* 0xFF00(name): one byte of an address */
static bool parse_masked_address(struct parser *parser, struct ptx_relocation *relocation, bool *found)
{
    *found = false;
    if (parser->token.kind != TOKEN_INTEGER)
        return true;
    struct lexer before = parser->lexer;
    struct token number = parser->token;
    parser_next(parser);
    if (parser->token.kind != '(') {
        parser->lexer = before;
        parser->token = number;
        return true;
    }
    uint32_t shift = number.bits ? (uint32_t)__builtin_ctzll(number.bits) : 1;
    if (shift % 8 || number.bits >> shift != 0xff) {
        parser_error(parser, CORUN_SYNTAX, number.place, "the mask of an address must select one byte, as 0xFF00 does");
        return false;
    }
    parser_next(parser);
    relocation->shift = shift;
    bool address;
    if (!parse_address_value(parser, relocation, &address))
        return false;
    if (!address)
        return parser_expected(parser, "the name of a variable or function");
    *found = true;
    return parser_expect(parser, ')', "')'");
}

static bool convert_initial(struct parser *parser, struct ptx_operand value, enum ptx_type type, struct ptx_place place,
                            uint64_t *bits)
{
    *bits = value.bits;
    if (value.kind == PTX_OPERAND_INTEGER) {
        if (!ptx_type_is_float(type))
            return true;
        double real = (double)value.offset; /* ptxas takes 1 for 1.0 in initial values */
        float single = (float)real;
        if (type == PTX_TYPE_F64)
            memcpy(bits, &real, sizeof real);
        else if (type == PTX_TYPE_F32)
            *bits = 0, memcpy(bits, &single, sizeof single);
        return type == PTX_TYPE_F32 || type == PTX_TYPE_F64 || parser_expected(parser, "an untyped value");
    }
    if (type == PTX_TYPE_F32 && value.kind == PTX_OPERAND_F64) {
        double real;
        memcpy(&real, &value.bits, sizeof real);
        float single = (float)real;
        *bits = 0;
        memcpy(bits, &single, sizeof single);
        return true;
    }
    if (type == PTX_TYPE_F64 && value.kind == PTX_OPERAND_F32) {
        float single;
        memcpy(&single, &value.bits, sizeof single);
        double real = (double)single;
        memcpy(bits, &real, sizeof real);
        return true;
    }
    bool fits = ptx_types[type].bits == (value.kind == PTX_OPERAND_F32 ? 32 : 64) &&
                (ptx_type_is_float(type) || ptx_types[type].kind == PTX_KIND_BITS);
    if (!fits)
        parser_error(parser, CORUN_SYNTAX, place, "a floating point value does not fit type .%s", ptx_types[type].word);
    return fits;
}

static bool parse_element(struct parser *parser, const struct ptx_variable *variable, uint64_t offset)
{
    enum ptx_type type = variable->type;
    uint64_t bytes = ptx_types[type].bits / 8;
    struct ptx_place place = parser->token.place;
    struct ptx_relocation relocation = {.offset = offset, .bytes = (uint32_t)bytes};
    bool is_address;
    if (!parse_masked_address(parser, &relocation, &is_address) ||
        (!is_address && !parse_address_value(parser, &relocation, &is_address)))
        return false;
    uint64_t bits = 0;
    if (is_address) {
        bool whole = !relocation.shift && bytes > 1;
        if (ptx_type_is_float(type) || (whole && bytes < 4)) {
            parser_error(parser, CORUN_SYNTAX, place, "an address does not fit type .%s", ptx_types[type].word);
            return false;
        }
        parser_push(parser, &parser->relocations, relocation);
    } else {
        struct ptx_operand value;
        if (!parse_constant(parser, &value) || !convert_initial(parser, value, type, place, &bits))
            return false;
    }
    put_initial(parser, offset, bits, bytes);
    return true;
}

/* { a, b, { c, d } }: `level` dimensions are open. The elements of one brace lie `stride` bytes apart. */
static bool parse_braces(struct parser *parser, const struct ptx_variable *variable, uint32_t level, uint64_t offset,
                         uint64_t limit)
{
    uint64_t scalar = ptx_types[variable->type].bits / 8;
    uint64_t row = scalar;
    uint32_t levels = variable->dimension_count + (variable->vector > 1);
    for (uint32_t i = level + 1; i < levels; i++) /* of a nested brace at this level */
        row *= i < variable->dimension_count ? variable->dimensions[i] : variable->vector;
    uint64_t at = offset;
    while (parser->token.kind != '}') {
        uint64_t step = parser->token.kind == '{' ? row : scalar;
        if (limit != UINT64_MAX && (at >= limit || limit - at < step)) {
            parser_error(parser, CORUN_SYNTAX, parser->token.place, "more initial values than '%.40s' has elements",
                         variable->name);
            return false;
        }
        if (at > MAX_INITIAL_BYTES || step > MAX_INITIAL_BYTES) {
            parser_error(parser, CORUN_SYNTAX, parser->token.place, "initial values reach beyond %u MiB",
                         (unsigned)(MAX_INITIAL_BYTES >> 20));
            return false;
        }
        if (parser->token.kind == '{') {
            if (level + 1 >= levels || (at - offset) % row)
                return parser_expected(parser, "an initial value");
            parser_next(parser);
            if (!parse_braces(parser, variable, level + 1, at, at + row))
                return false;
        } else if (!parse_element(parser, variable, at)) {
            return false;
        }
        at += step;
        if (!parser_accept(parser, ','))
            break;
    }
    if (variable->incomplete && !level && parser->initial.count < at)
        put_initial(parser, at - 1, 0, 1); /* so that an unsized array counts its last, empty row */
    return parser_expect(parser, '}', "',' or '}'");
}

static bool parse_initial(struct parser *parser, struct ptx_variable *variable, struct ptx_place place)
{
    parser->initial.count = parser->relocations.count = 0;
    if (variable->space != PTX_SPACE_GLOBAL && variable->space != PTX_SPACE_CONST) {
        parser_error(parser, CORUN_SYNTAX, place, "only .global and .const variables can have initial values");
        return false;
    }
    if (parser_accept(parser, '{')) {
        if (!variable->is_array && variable->vector == 1)
            return parser_expected(parser, "one initial value");
        if (!parse_braces(parser, variable, 0, 0, variable->incomplete ? UINT64_MAX : variable->bytes))
            return false;
    } else if (!parse_element(parser, variable, 0)) {
        return false;
    }
    if (variable->incomplete) { /* the first dimension follows from the values */
        uint64_t row = element_bytes(variable);
        for (uint32_t i = 1; i < variable->dimension_count; i++)
            row *= variable->dimensions[i];
        uint64_t dimensions[MAX_DIMENSIONS];
        memcpy(dimensions, variable->dimensions, variable->dimension_count * sizeof *dimensions);
        dimensions[0] = row ? (parser->initial.count + row - 1) / row : 0;
        variable->dimensions = parser_copy(parser, dimensions, variable->dimension_count * sizeof *dimensions);
        variable->incomplete = false;
        variable->bytes = dimensions[0] * row;
    }
    uint64_t used = parser->initial.count; /* zeros at the end need not be kept */
    while (used && !parser->initial.data[used - 1])
        used--;
    variable->initial = parser_copy(parser, parser->initial.data, used);
    variable->initial_bytes = used;
    variable->relocation_count = (uint32_t)parser->relocations.count;
    variable->relocations =
        parser_copy(parser, parser->relocations.data, parser->relocations.count * sizeof *parser->relocations.data);
    return true;
}

/* Puts a variable where its kind belongs and binds its name. */
static void add_variable(struct parser *parser, struct ptx_variable *variable, struct name *name)
{
    struct symbol *symbol = parser_bind(parser, name, SYMBOL_VARIABLE, variable->place);
    if (!symbol)
        return;
    symbol->variable = variable;
    if (variable->space == PTX_SPACE_LOCAL || variable->space == PTX_SPACE_PARAM) {
        variable->index = (uint32_t)parser->locals.count;
        parser_push(parser, &parser->locals, variable);
        return;
    }
    variable->index = (uint32_t)parser->variables.count;
    parser_push(parser, &parser->variables, variable);
    parser_note_shared(parser, symbol);
}

/* `.extern .global x;` and later its definition are one variable: the earlier object becomes the definition. */
static struct ptx_variable *find_declared(struct parser *parser, const struct name *name,
                                          const struct ptx_variable *variable)
{
    struct symbol *symbol = name->symbol;
    if (!symbol || symbol->depth != parser->depth || symbol->kind != SYMBOL_VARIABLE)
        return NULL;
    struct ptx_variable *old = symbol->variable;
    bool declaration = old->linkage == PTX_LINKAGE_EXTERN || variable->linkage == PTX_LINKAGE_EXTERN;
    return declaration && old->space == variable->space && old->type == variable->type ? old : NULL;
}

static bool parse_variable(struct parser *parser, const struct ptx_variable *shape)
{
    if (parser->token.kind != TOKEN_WORD)
        return parser_expected(parser, "the name of a variable");
    struct name *name = parser->token.name;
    struct ptx_variable *variable = parser_allocate(parser, parser->arena, sizeof *variable);
    *variable = *shape;
    variable->place = parser->token.place;
    variable->name = parser_copy(parser, name->text, name->length + 1u);
    variable->function = parser->function;
    variable->declared = parser->function ? PTX_DECLARED_FUNCTION : PTX_DECLARED_MODULE;
    parser_next(parser);
    if (parser->token.kind == '<') { /* .param .b32 p<4>: legal, but no compiler writes it */
        parser_error(parser, CORUN_UNSUPPORTED, parser->token.place, "not supported: parameterised variable names");
        return false;
    }
    if (!parse_dimensions(parser, variable) || !set_bytes(parser, variable, variable->place))
        return false;
    if (!variable->align)
        variable->align = (uint32_t)element_bytes(variable);
    struct ptx_variable *declared = find_declared(parser, name, variable);
    if (declared && variable->linkage == PTX_LINKAGE_EXTERN)
        return true;
    if (!declared)
        add_variable(parser, variable, name); /* before the initial value: it may name the variable itself */
    bool ok = !parser_accept(parser, '=') || parse_initial(parser, variable, variable->place);
    if (variable->incomplete && variable->linkage != PTX_LINKAGE_EXTERN && ok) {
        parser_error(parser, CORUN_SYNTAX, variable->place, "'%.40s' has no size", variable->name);
        ok = false;
    }
    if (declared) {
        variable->index = declared->index;
        *declared = *variable;
    }
    return ok;
}

bool parse_variables(struct parser *parser, enum ptx_linkage linkage)
{
    struct ptx_variable shape = {.linkage = (uint8_t)linkage};
    shape.space = parser->token.name->suffixes[0];
    parser_next(parser);
    if (parser->token.kind == '[') { /* .const[3]: the banks of old PTX */
        parser_error(parser, CORUN_UNSUPPORTED, parser->token.place, "not supported: constant banks");
        return false;
    }
    if (!parse_shape(parser, &shape))
        return false;
    do {
        if (!parse_variable(parser, &shape))
            return false;
    } while (parser_accept(parser, ','));
    return parser_expect(parser, ';', "',' or ';'");
}

bool parse_parameter(struct parser *parser, enum ptx_declared declared, bool anonymous, struct ptx_variable **parameter)
{
    struct ptx_variable *variable = parser_allocate(parser, parser->arena, sizeof *variable);
    *parameter = variable;
    bool in_register = parser_accept_dot(parser, "reg");
    if (!in_register && !parser_accept_dot(parser, "param"))
        return parser_expected(parser, "a parameter (.param or .reg)");
    variable->space = in_register ? PTX_SUFFIX_NONE : PTX_SPACE_PARAM;
    variable->declared = (uint8_t)declared;
    variable->parameter_register = PTX_NONE;
    if (in_register && parser_at_dot(parser, "pred")) {
        variable->type = PTX_TYPE_PRED;
        variable->vector = 1;
        parser_next(parser);
    } else if (!parse_shape(parser, variable)) {
        return false;
    }
    if (parser_accept_dot(parser, "ptr") && !parse_pointer(parser, variable))
        return false;
    if (parser->token.kind != TOKEN_WORD)
        return parser_expected(parser, anonymous ? "'_' or a name" : "the name of a parameter");
    variable->place = parser->token.place;
    variable->name = parser_copy(parser, parser->token.name->text, parser->token.name->length + 1u);
    parser_next(parser);
    if (!parse_dimensions(parser, variable) || !set_bytes(parser, variable, variable->place))
        return false;
    if (!variable->align)
        variable->align = in_register ? 1 : (uint32_t)element_bytes(variable);
    return true;
}
