/* SPDX-License-Identifier: MIT */
/* call, direct and through a register. */
#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

/* (a, b) of a call, into parser->arguments. */
static bool parse_list(struct parser *parser)
{
    parser->arguments.count = 0;
    if (!parser_expect(parser, '(', "'('"))
        return false;
    if (parser_accept(parser, ')'))
        return true;
    do {
        struct parsed_operand operand;
        if (!parse_operand(parser, false, &operand))
            return false;
        parser_push(parser, &parser->arguments, operand);
    } while (parser_accept(parser, ','));
    return parser_expect(parser, ')', "',' or ')'");
}

static struct ptx_operand *keep_list(struct parser *parser, uint32_t *count)
{
    *count = (uint32_t)parser->arguments.count;
    if (!*count)
        return NULL;
    struct ptx_operand *kept = parser_allocate(parser, parser->arena, *count * sizeof *kept);
    for (uint32_t i = 0; i < *count; i++)
        kept[i] = parser->arguments.data[i].operand;
    return kept;
}

/* A value passed to a parameter or received from one. */
static bool check_argument(struct parser *parser, const struct ptx_variable *formal, struct parsed_operand *actual,
                           bool is_result)
{
    char wanted[96];
    struct ptx_operand *operand = &actual->operand;
    snprintf(wanted, sizeof wanted, "a .param variable of %llu bytes or a value of type .%s",
             (unsigned long long)formal->bytes, ptx_types[formal->type].word);
    if (operand->kind == PTX_OPERAND_VARIABLE) {
        const struct ptx_variable *variable = operand->variable;
        if (variable->space == PTX_SPACE_PARAM && !operand->offset && formal->space == PTX_SPACE_PARAM &&
            (variable->bytes == formal->bytes || formal->incomplete) && variable->declared != PTX_DECLARED_RETURN)
            return true;
        snprintf(actual->text, sizeof actual->text, "'%.24s' (.%s, %llu bytes)", variable->name,
                 variable->space ? ptx_suffixes[variable->space].word : "reg", (unsigned long long)variable->bytes);
        return check_mismatch(parser, actual, wanted);
    }
    if (!actual->text[0])
        snprintf(actual->text, sizeof actual->text, "another operand");
    if (formal->is_array || formal->vector > 1 || operand->negated ||
        !check_fits(parser, (enum ptx_type)formal->type, operand, is_result))
        return check_mismatch(parser, actual, wanted);
    return true;
}

static bool check_list(struct parser *parser, const struct ptx_call *call, struct ptx_operand *actuals, uint32_t count,
                       const struct ptx_place *places, bool is_result, struct ptx_place place)
{
    const struct ptx_signature *signature = call->signature;
    uint32_t wanted = is_result ? signature->return_count : signature->parameter_count;
    const struct ptx_variable *const *formals = is_result ? signature->returns : signature->parameters;
    bool fits = count == wanted || (!is_result && count + 1 == wanted && ptx_signature_is_open(signature));
    if (!fits) {
        parser_error(parser, CORUN_SYNTAX, place, "'%.40s' %s %u %s%s, found %u", signature->name,
                     is_result ? "returns" : "takes", wanted, is_result ? "value" : "argument", wanted == 1 ? "" : "s",
                     count);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): both are there when count is not 0 */
        struct parsed_operand actual = {.operand = actuals[i], .place = places[i]};
        if (!check_argument(parser, formals[i], &actual, is_result))
            return false;
        actuals[i] = actual.operand;
    }
    return true;
}

/* `, prototype` or `, targets` behind the arguments of an indirect call */
static bool parse_callee_kind(struct parser *parser, struct ptx_call *call)
{
    if (!parser_expect(parser, ',', "',' and a .callprototype"))
        return false;
    struct symbol *symbol = parser->token.kind == TOKEN_WORD ? parser->token.name->symbol : NULL;
    if (symbol && symbol->kind == SYMBOL_PROTOTYPE) {
        call->signature = symbol->signature;
    } else if (symbol && symbol->kind == SYMBOL_CALL_TARGETS) {
        call->targets = symbol->targets->functions;
        call->target_count = symbol->targets->count;
        call->signature = &symbol->targets->functions[0]->signature;
    } else {
        return parser_expected(parser, "a .callprototype or .calltargets");
    }
    parser_next(parser);
    return true;
}

static struct ptx_place *keep_places(struct parser *parser)
{
    size_t count = parser->arguments.count;
    struct ptx_place *places = parser_allocate(parser, parser->scratch, (count + 1) * sizeof *places);
    for (size_t i = 0; i < count; i++)
        places[i] = parser->arguments.data[i].place;
    return places;
}

bool parse_call(struct parser *parser, struct ptx_instruction *instruction)
{
    struct ptx_call *call = parser_allocate(parser, parser->arena, sizeof *call);
    struct ptx_operand *results = NULL, *arguments = NULL;
    struct ptx_place *result_places = NULL, *argument_places = NULL;
    instruction->call = call;
    call->target = PTX_NONE;
    if (parser->token.kind == '(') {
        if (!parse_list(parser) || !parser_expect(parser, ',', "','"))
            return false;
        results = keep_list(parser, &call->result_count);
        result_places = keep_places(parser);
    }
    struct ptx_place place = parser->token.place;
    struct symbol *symbol = parser->token.kind == TOKEN_WORD ? parser_lookup(parser, parser->token.name) : NULL;
    if (symbol && symbol->kind == SYMBOL_FUNCTION && !symbol->function->is_entry) {
        call->function = symbol->function;
        call->signature = &symbol->function->signature;
    } else if (symbol && symbol->kind == SYMBOL_REGISTER &&
               ptx_types[parser->registers.data[symbol->index].type].bits == parser->module->address_bits) {
        call->target = symbol->index;
    } else {
        return parser_expected(parser, "a declared function or a register with its address");
    }
    parser_next(parser);
    if (parser->token.kind == ',') { /* there may be a prototype but no arguments */
        struct lexer before = parser->lexer;
        struct token comma = parser->token;
        parser_next(parser);
        if (parser->token.kind == '(') {
            if (!parse_list(parser))
                return false;
            arguments = keep_list(parser, &call->argument_count);
            argument_places = keep_places(parser);
        } else {
            parser->lexer = before;
            parser->token = comma;
        }
    }
    if (!call->function && !parse_callee_kind(parser, call))
        return false;
    call->results = results;
    call->arguments = arguments;
    return check_list(parser, call, results, call->result_count, result_places, true, place) &&
           check_list(parser, call, arguments, call->argument_count, argument_places, false, place);
}
