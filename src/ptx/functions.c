/* SPDX-License-Identifier: MIT */
/* Functions: signatures, performance directives, bodies. */
#include "corun/source.h"
#include "ptx/parser.h"

#include <string.h>

void parser_note_shared(struct parser *parser, struct symbol *symbol)
{
    if (!parser->function || symbol->variable->space != PTX_SPACE_SHARED || symbol->noted == parser->function)
        return;
    symbol->noted = parser->function;
    parser_push(parser, &parser->shared, symbol->variable);
}

/* (a, b) of a signature; the opening parenthesis is the current token. */
static bool parse_parameters(struct parser *parser, enum ptx_declared declared, bool anonymous,
                             const struct ptx_variable *const **list, uint32_t *count)
{
    parser->parameters.count = 0;
    if (!parser_expect(parser, '(', "'('"))
        return false;
    if (parser->token.kind != ')') {
        do {
            struct ptx_variable *variable;
            if (!parse_parameter(parser, declared, anonymous, &variable))
                return false;
            variable->index = (uint32_t)parser->parameters.count;
            variable->function = parser->function;
            parser_push(parser, &parser->parameters, variable);
        } while (parser_accept(parser, ','));
    }
    *count = (uint32_t)parser->parameters.count;
    *list = parser_copy(parser, parser->parameters.data, *count * sizeof *parser->parameters.data);
    return parser_expect(parser, ')', "',' or ')'");
}

/* Offsets in the parameter block; true size of the block. */
static uint64_t lay_out(const struct ptx_variable *const *parameters, uint32_t count)
{
    uint64_t offset = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct ptx_variable *parameter = (struct ptx_variable *)(uintptr_t)parameters[i]; /* ours until we are done */
        offset = (offset + parameter->align - 1) & ~(uint64_t)(parameter->align - 1);
        parameter->offset = offset;
        offset += parameter->bytes;
    }
    return offset;
}

static bool same_parameters(const struct ptx_variable *const *left, const struct ptx_variable *const *right,
                            uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (ptx_types[left[i]->type].bits != ptx_types[right[i]->type].bits || left[i]->bytes != right[i]->bytes ||
            left[i]->space != right[i]->space)
            return false;
    return true;
}

static bool same_signature(const struct ptx_signature *left, const struct ptx_signature *right)
{
    return left->return_count == right->return_count && left->parameter_count == right->parameter_count &&
           same_parameters(left->returns, right->returns, left->return_count) &&
           same_parameters(left->parameters, right->parameters, left->parameter_count);
}

/* .maxntid 256, 1, 1 and the other directives between signature and body */
static bool parse_numbers(struct parser *parser, uint32_t *numbers, uint32_t limit)
{
    uint32_t count = 0;
    do {
        if (parser->token.kind != TOKEN_INTEGER || parser->token.bits > INT32_MAX || count >= limit)
            return parser_expected(parser, "a number");
        numbers[count++] = (uint32_t)parser->token.bits;
        parser_next(parser);
    } while (parser_accept(parser, ','));
    if (limit == 3)
        for (; count < 3; count++)
            numbers[count] = 1;
    return true;
}

static bool parse_pragma(struct parser *parser, struct ptx_function *function)
{
    do {
        if (parser->token.kind != TOKEN_STRING)
            return parser_expected(parser, "a string");
        char *text = arena_copy_text(parser->arena, parser->token.text + 1, parser->token.length - 2);
        const char **pragmas = parser_allocate(parser, parser->arena, (function->pragma_count + 1u) * sizeof *pragmas);
        if (!text)
            parser_out_of_memory(parser);
        if (function->pragma_count)
            memcpy(pragmas, function->pragmas, function->pragma_count * sizeof *pragmas);
        if (function->pragma_count >= 64) {
            parser_error(parser, CORUN_SYNTAX, parser->token.place, "more than 64 pragmas in one function");
            return false;
        }
        pragmas[function->pragma_count++] = text;
        function->pragmas = pragmas;
        parser_next(parser);
    } while (parser_accept(parser, ','));
    return parser_expect(parser, ';', "';'");
}

/* Blocks of a cluster, of which no GPU has more than CORUN_LARGEST_CLUSTER. */
static bool parse_cluster(struct parser *parser, struct ptx_place place, uint32_t shape[3])
{
    if (!parse_numbers(parser, shape, 3))
        return false;
    if (shape[0] && shape[1] && shape[2] && shape[0] <= CORUN_LARGEST_CLUSTER && shape[1] <= CORUN_LARGEST_CLUSTER &&
        shape[2] <= CORUN_LARGEST_CLUSTER && shape[0] * shape[1] * shape[2] <= CORUN_LARGEST_CLUSTER)
        return true;
    parser_error(parser, CORUN_UNSUPPORTED, place, "not supported: clusters of %u x %u x %u thread blocks", shape[0],
                 shape[1], shape[2]);
    return false;
}

static bool parse_directives(struct parser *parser, struct ptx_function *function)
{
    uint32_t ignored[3];
    while (parser->token.kind == TOKEN_DOT) {
        bool ok;
        struct ptx_place place = parser->token.place;
        if (parser_accept_dot(parser, "maxntid"))
            ok = parse_numbers(parser, function->maxntid, 3);
        else if (parser_accept_dot(parser, "reqntid"))
            ok = parse_numbers(parser, function->reqntid, 3);
        else if (parser_accept_dot(parser, "minnctapersm"))
            ok = parse_numbers(parser, &function->minnctapersm, 1);
        else if (parser_accept_dot(parser, "maxnctapersm"))
            ok = parse_numbers(parser, &function->maxnctapersm, 1);
        else if (parser_accept_dot(parser, "maxnreg"))
            ok = parse_numbers(parser, &function->maxnreg, 1);
        else if (parser_accept_dot(parser, "noreturn"))
            ok = function->signature.noreturn = true;
        else if (parser_accept_dot(parser, "pragma"))
            ok = parse_pragma(parser, function);
        else if (parser_accept_dot(parser, "abi_preserve") || parser_accept_dot(parser, "abi_preserve_control"))
            ok = parse_numbers(parser, ignored, 1);
        else if (parser_accept_dot(parser, "explicitcluster"))
            ok = function->explicitcluster = true;
        else if (parser_accept_dot(parser, "maxclusterrank"))
            ok = parse_numbers(parser, &function->maxclusterrank, 1);
        else if (parser_accept_dot(parser, "reqnctapercluster"))
            ok = parse_cluster(parser, place, function->reqnctapercluster);
        else if (parser_accept_dot(parser, "blocksareclusters"))
            ok = function->blocksareclusters = true;
        else
            return parser_expected(parser, "a directive of a function, '{' or ';'");
        if (!ok)
            return false;
    }
    if (function->blocksareclusters &&
        !(function->is_entry && function->reqntid[0] && function->reqnctapercluster[0])) {
        parser_error(parser, CORUN_SYNTAX, function->place,
                     ".blocksareclusters is for an .entry with .reqntid and .reqnctapercluster");
        return false;
    }
    return true;
}

static void own_parameters(const struct ptx_function *function, const struct ptx_variable *const *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ((struct ptx_variable *)(uintptr_t)list[i])->function = function;
}

static void bind_parameters(struct parser *parser, const struct ptx_variable *const *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct ptx_variable *variable = (struct ptx_variable *)(uintptr_t)list[i];
        struct name *name = name_intern(&parser->names, variable->name, strlen(variable->name));
        if (!name)
            parser_out_of_memory(parser);
        bool is_register = variable->space == PTX_SUFFIX_NONE;
        struct symbol *symbol =
            parser_bind(parser, name, is_register ? SYMBOL_REGISTER : SYMBOL_VARIABLE, variable->place);
        if (!symbol)
            continue;
        if (is_register)
            symbol->index = variable->parameter_register = parser_add_register(parser, variable->name, variable->type);
        else
            symbol->variable = variable;
    }
}

/* `prototype : .callprototype (.param .b32 _) _ (.param .b64 _);` behind the colon */
static bool parse_prototype(struct parser *parser, struct name *name, struct ptx_place place)
{
    struct ptx_signature *signature = parser_allocate(parser, parser->arena, sizeof *signature);
    signature->name = parser_copy(parser, name->text, name->length + 1u);
    struct symbol *symbol = parser_bind(parser, name, SYMBOL_PROTOTYPE, place);
    if (symbol)
        symbol->signature = signature;
    if (parser->token.kind == '(' &&
        !parse_parameters(parser, PTX_DECLARED_RETURN, true, &signature->returns, &signature->return_count))
        return false;
    if (!parser_expect(parser, TOKEN_WORD, "'_'"))
        return false;
    if (parser->token.kind == '(' &&
        !parse_parameters(parser, PTX_DECLARED_PARAMETER, true, &signature->parameters, &signature->parameter_count))
        return false;
    lay_out(signature->returns, signature->return_count);
    lay_out(signature->parameters, signature->parameter_count);
    signature->noreturn = parser_accept_dot(parser, "noreturn");
    return parser_expect(parser, ';', "';'");
}

/* `targets : .calltargets f, g;` behind the colon */
static bool parse_call_targets(struct parser *parser, struct name *name, struct ptx_place place)
{
    parser->targets.count = 0;
    do {
        struct symbol *function = parser->token.kind == TOKEN_WORD ? parser->token.name->symbol : NULL;
        if (!function || function->kind != SYMBOL_FUNCTION)
            return parser_expected(parser, "the name of a function");
        parser_push(parser, &parser->targets, function->function);
        parser_next(parser);
    } while (parser_accept(parser, ','));
    struct call_targets *targets = parser_allocate(parser, parser->scratch, sizeof *targets);
    targets->count = (uint32_t)parser->targets.count;
    targets->functions = parser_copy(parser, parser->targets.data, targets->count * sizeof *parser->targets.data);
    struct symbol *symbol = parser_bind(parser, name, SYMBOL_CALL_TARGETS, place);
    if (symbol)
        symbol->targets = targets;
    return parser_expect(parser, ';', "',' or ';'");
}

/* `targets : .branchtargets a, b;` behind the colon; the labels may follow later. */
static bool parse_branch_targets(struct parser *parser, struct name *name, struct ptx_place place)
{
    struct label_use *last = NULL;
    uint32_t count = 0;
    do {
        struct token label = parser->token;
        if (!parser_expect(parser, TOKEN_WORD, "a label"))
            return false;
        struct label_use *use = parser_allocate(parser, parser->scratch, sizeof *use);
        *use = (struct label_use){last, label.name, NULL, label.place};
        last = use;
        count++;
    } while (parser_accept(parser, ','));
    struct ptx_operand *labels = parser_allocate(parser, parser->arena, count * sizeof *labels);
    struct branch_targets *targets = parser_allocate(parser, parser->scratch, sizeof *targets);
    struct scope *scope = &parser->scopes[parser->depth];
    *targets = (struct branch_targets){labels, count};
    for (struct label_use *use = last, *next; use; use = next) {
        next = use->next;
        use->operand = &labels[--count];
        use->operand->kind = PTX_OPERAND_LABEL;
        use->next = scope->uses;
        scope->uses = use;
    }
    struct symbol *symbol = parser_bind(parser, name, SYMBOL_BRANCH_TARGETS, place);
    if (symbol)
        symbol->branch_targets = targets;
    return parser_expect(parser, ';', "',' or ';'");
}

/* Behind `name :` */
static bool parse_label(struct parser *parser, struct name *name, struct ptx_place place)
{
    if (parser_accept_dot(parser, "callprototype"))
        return parse_prototype(parser, name, place);
    if (parser_accept_dot(parser, "calltargets"))
        return parse_call_targets(parser, name, place);
    if (parser_accept_dot(parser, "branchtargets"))
        return parse_branch_targets(parser, name, place);
    struct symbol *symbol = parser_bind(parser, name, SYMBOL_LABEL, place);
    if (!symbol)
        return true; /* reported; the statement behind the label is fine */
    symbol->index = (uint32_t)parser->labels.count;
    struct ptx_label label = {parser_copy(parser, name->text, name->length + 1u), (uint32_t)parser->instructions.count,
                              place, false};
    parser_push(parser, &parser->labels, label);
    return true;
}

/* .pragma "nounroll" behind the label of a loop. */
static void note_pragma(struct parser *parser)
{
    static const char nounroll[] = "\"nounroll\"";
    if (parser->token.kind != TOKEN_STRING || parser->token.length != sizeof nounroll - 1 ||
        memcmp(parser->token.text, nounroll, sizeof nounroll - 1) != 0)
        return;
    for (size_t i = parser->labels.count; i-- > 0 && parser->labels.data[i].instruction == parser->instructions.count;)
        parser->labels.data[i].nounroll = true;
}

static bool parse_body_directive(struct parser *parser)
{
    if (parser_accept_dot(parser, "reg"))
        return parse_registers(parser);
    if (parser_at_dot(parser, "loc")) {
        parse_source_line(parser);
        return true;
    }
    if (parser_at_dot(parser, "file")) {
        parse_source_file(parser);
        return true;
    }
    if (parser_accept_dot(parser, "pragma")) { /* hints about loops, for an optimiser */
        while (parser->token.kind == TOKEN_STRING || parser->token.kind == ',') {
            note_pragma(parser);
            parser_next(parser);
        }
        return parser_expect(parser, ';', "';'");
    }
    if (parser_at_dot(parser, "local") || parser_at_dot(parser, "param") || parser_at_dot(parser, "shared") ||
        parser_at_dot(parser, "global") || parser_at_dot(parser, "const"))
        return parse_variables(parser, PTX_LINKAGE_NONE);
    if (parser_accept_dot(parser, "extern")) {
        if (parser_at_dot(parser, "shared") || parser_at_dot(parser, "global") || parser_at_dot(parser, "const"))
            return parse_variables(parser, PTX_LINKAGE_EXTERN);
        return parser_expected(parser, "a variable");
    }
    return parser_expected(parser, "an instruction or a directive such as .reg");
}

/* One statement of a body that is neither a brace nor a semicolon; false after an error. */
static bool parse_statement(struct parser *parser)
{
    if (parser->token.kind == TOKEN_DOT)
        return parse_body_directive(parser);
    if (parser->token.kind == '@')
        return parse_instruction(parser, NULL);
    if (parser->token.kind != TOKEN_WORD)
        return parser_expected(parser, "an instruction, a label or '}'");
    struct token word = parser->token;
    parser_next(parser);
    if (parser_accept(parser, ':'))
        return parse_label(parser, word.name, word.place);
    return parse_instruction(parser, &word);
}

static void parse_body(struct parser *parser)
{
    uint32_t outside = parser->depth;
    note_source_unknown(parser, parser->token.place.line);
    parser_push_scope(parser);
    parser_next(parser);
    while (parser->depth > outside) {
        switch (parser->token.kind) {
        case TOKEN_END:
            parser_expected(parser, "'}' at the end of a function");
            while (parser->depth > outside)
                parser_pop_scope(parser);
            break;
        case '{':
            parser_push_scope(parser);
            parser_next(parser);
            break;
        case '}':
            parser_pop_scope(parser);
            parser_next(parser);
            break;
        case ';':
            parser_next(parser);
            break;
        default:
            if (!parse_statement(parser))
                parser_skip_statement(parser);
        }
    }
}

static void begin_function(struct parser *parser, struct ptx_function *function)
{
    parser->function = function;
    parser->registers.count = parser->labels.count = parser->instructions.count = 0;
    parser->locals.count = parser->shared.count = 0;
}

/* Every use of the carry flag is one of a register that stands for it: the last one. */
static void add_carry_flag(struct parser *parser)
{
    uint32_t flag = PTX_NONE;
    for (size_t i = 0; i < parser->instructions.count; i++) {
        struct ptx_instruction *instruction = &parser->instructions.data[i];
        if (instruction->carry_flag == PTX_NONE)
            continue;
        if (flag == PTX_NONE)
            flag = parser_add_register(parser, "", PTX_TYPE_PRED);
        instruction->carry_flag = flag;
    }
}

static void finish_function(struct parser *parser)
{
    struct ptx_function *function = parser->function;
    add_carry_flag(parser);
    parser_split_registers(parser);
    function->has_body = true;
#define KEEP(field, vector) \
    function->field##_count = (uint32_t)parser->vector.count; \
    function->field##s = parser_copy(parser, parser->vector.data, parser->vector.count * sizeof *parser->vector.data)
    KEEP(register, registers);
    KEEP(label, labels);
    KEEP(instruction, instructions);
    KEEP(variable, locals);
#undef KEEP
    function->shared_count = (uint32_t)parser->shared.count;
    function->shared = parser_copy(parser, parser->shared.data, parser->shared.count * sizeof *parser->shared.data);
    parser->function = NULL;
}

/* The function that a name stands for: a new one, or the one declared before. NULL after an error. */
static struct ptx_function *declare(struct parser *parser, struct name *name, bool is_entry, struct ptx_place place)
{
    struct symbol *symbol = name->symbol;
    if (symbol && symbol->kind == SYMBOL_FUNCTION && symbol->function->is_entry == is_entry)
        return symbol->function;
    symbol = parser_bind(parser, name, SYMBOL_FUNCTION, place);
    if (!symbol)
        return NULL;
    struct ptx_function *function = parser_allocate(parser, parser->arena, sizeof *function);
    symbol->function = function;
    function->name = parser_copy(parser, name->text, name->length + 1u);
    function->is_entry = is_entry;
    function->place = place;
    function->index = (uint32_t)parser->functions.count;
    function->signature.name = function->name;
    parser_push(parser, &parser->functions, function);
    return function;
}

/* What this declaration says must agree with what an earlier one said. */
static bool merge(struct parser *parser, struct ptx_function *function, const struct ptx_function *seen, bool is_new)
{
    if (!is_new && !same_signature(&function->signature, &seen->signature)) {
        parser_error(parser, CORUN_SYNTAX, seen->place, "'%.40s' was declared with other parameters at line %u",
                     function->name, function->place.line);
        return false;
    }
    if (parser->token.kind == '{' && function->has_body) {
        parser_error(parser, CORUN_SYNTAX, seen->place, "'%.40s' is defined already", function->name);
        return false;
    }
    if (is_new || parser->token.kind == '{') {
        bool noreturn = function->signature.noreturn || seen->signature.noreturn;
        function->signature = seen->signature;
        function->signature.name = function->name;
        function->signature.noreturn = noreturn;
        function->place = seen->place;
        memcpy(function->maxntid, seen->maxntid, sizeof seen->maxntid);
        memcpy(function->reqntid, seen->reqntid, sizeof seen->reqntid);
        function->minnctapersm = seen->minnctapersm;
        function->maxnctapersm = seen->maxnctapersm;
        function->maxnreg = seen->maxnreg;
        memcpy(function->reqnctapercluster, seen->reqnctapercluster, sizeof seen->reqnctapercluster);
        function->maxclusterrank = seen->maxclusterrank;
        function->explicitcluster = seen->explicitcluster;
        function->blocksareclusters = seen->blocksareclusters;
        function->pragmas = seen->pragmas;
        function->pragma_count = seen->pragma_count;
    }
    if (function->linkage == PTX_LINKAGE_NONE || function->linkage == PTX_LINKAGE_EXTERN)
        function->linkage = seen->linkage;
    function->parameter_bytes = lay_out(function->signature.parameters, function->signature.parameter_count);
    lay_out(function->signature.returns, function->signature.return_count);
    own_parameters(function, function->signature.returns, function->signature.return_count);
    own_parameters(function, function->signature.parameters, function->signature.parameter_count);
    return true;
}

bool parse_function(struct parser *parser, enum ptx_linkage linkage)
{
    struct ptx_function seen = {.linkage = (uint8_t)linkage, .is_entry = parser_at_dot(parser, "entry")};
    struct ptx_signature *signature = &seen.signature;
    parser_next(parser);
    if (parser_accept_dot(parser, "attribute")) { /* .attribute(.unified(…)) says nothing that matters here */
        while (parser->token.kind != TOKEN_WORD && parser->token.kind != TOKEN_END)
            parser_next(parser);
    }
    if (!seen.is_entry && parser->token.kind == '(' &&
        !parse_parameters(parser, PTX_DECLARED_RETURN, true, &signature->returns, &signature->return_count))
        return false;
    if (parser->token.kind != TOKEN_WORD)
        return parser_expected(parser, "the name of a function");
    struct name *name = parser->token.name;
    seen.place = parser->token.place;
    size_t known = parser->functions.count;
    struct ptx_function *function = declare(parser, name, seen.is_entry, seen.place);
    parser_next(parser);
    parser->function = function; /* whose parameters they are */
    bool ok = parser->token.kind != '(' || parse_parameters(parser, PTX_DECLARED_PARAMETER, true,
                                                            &signature->parameters, &signature->parameter_count);
    parser->function = NULL;
    ok = ok && parse_directives(parser, &seen);
    if (ok && parser->token.kind != '{' && parser->token.kind != ';')
        ok = parser_expected(parser, "'{' or ';'");
    bool is_new = parser->functions.count > known;
    if (!ok || !function || !merge(parser, function, &seen, is_new))
        return false;
    if (parser_accept(parser, ';'))
        return true;
    begin_function(parser, function);
    parser_push_scope(parser);
    bind_parameters(parser, function->signature.returns, function->signature.return_count);
    bind_parameters(parser, function->signature.parameters, function->signature.parameter_count);
    parse_body(parser);
    parser_pop_scope(parser);
    finish_function(parser);
    return true;
}
