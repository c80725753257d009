/* SPDX-License-Identifier: MIT */
/* An argument's text is parsed into type, size and contents; buffers are filled by rule or from a file. */
#include "case/argument.h"

#include "base/host_memory.h"
#include "base/kernel_name.h"
#include "base/number.h"
#include "corun/workload.h"
#include "isa/memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BUFFER_LIMIT (UINT64_C(1) << CORUN_APPLICATION_SHIFT) /* an application's range of addresses */

static const struct {
    const char *word;
    uint32_t bytes;
    bool is_float;
} scalars[] = {
#define SCALAR_ROW(name, word, bytes, is_float) {word, bytes, is_float},
    ARGUMENT_SCALARS(SCALAR_ROW)
#undef SCALAR_ROW
};
#define SCALAR_COUNT (sizeof scalars / sizeof scalars[0])

static enum corun_status malformed(const char *text, const char *expected, struct corun_diagnostics *list)
{
    return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "argument `%s`: expected %s", text, expected);
}

static bool parse_signed(const char *text, uint64_t *bits)
{
    bool negative = text[0] == '-';
    uint64_t magnitude;
    if (!number_parse(text + negative, 1000, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *bits = negative ? 0 - magnitude : magnitude;
    return true;
}

/* A float may also be given as 0x and its bits. */
static bool parse_float(const char *text, bool is_double, uint64_t *bits)
{
    double value;
    if (text[0] == '0' && (text[1] | 32) == 'x')
        return number_parse(text, 1000, bits) && (is_double || *bits <= UINT32_MAX);
    bool negative = text[0] == '-';
    if (!strcmp(text + negative, "inf"))
        value = negative ? -(double)INFINITY : (double)INFINITY;
    else if (!strcmp(text, "nan"))
        value = (double)NAN;
    else if (!number_parse_real(text, &value) || strchr(text, '%'))
        return false;
    if (is_double) {
        memcpy(bits, &value, sizeof value);
        return true;
    }
    float narrow = (float)value;
    uint32_t narrow_bits;
    memcpy(&narrow_bits, &narrow, sizeof narrow);
    *bits = narrow_bits;
    return true;
}

static enum corun_status parse_scalar(const char *value, struct corun_diagnostics *list, struct argument *argument)
{
    const char *text = argument->text;
    uint64_t bits = 0;
    switch (argument->kind) {
    case ARGUMENT_F32:
    case ARGUMENT_F64:
        if (!parse_float(value, argument->kind == ARGUMENT_F64, &bits))
            return malformed(text, "a number", list);
        break;
    case ARGUMENT_I32:
    case ARGUMENT_I64:
        if (!parse_signed(value, &bits))
            return malformed(text, "an integer that fits 64 bits", list);
        if (argument->kind == ARGUMENT_I32 && (int64_t)bits != (int32_t)bits)
            return malformed(text, "an integer from -2147483648 to 2147483647", list);
        break;
    default:
        if (!number_parse(value, 1000, &bits))
            return malformed(text, "an unsigned integer that fits 64 bits", list);
        if (argument->kind == ARGUMENT_U32 && bits > UINT32_MAX)
            return malformed(text, "an unsigned integer up to 4294967295", list);
    }
    argument->bits = bits;
    return CORUN_OK;
}

static enum corun_status read_file(const char *path, struct arena *arena, struct corun_diagnostics *list,
                                   struct argument *argument)
{
    struct corun_place place = {path, 0, 0};
    FILE *file = fopen(path, "re");
    if (!file)
        return corun_report(list, errno == ENOENT || errno == ENOTDIR ? CORUN_NOT_FOUND : CORUN_FILE, place,
                            "cannot open the file: %s", strerror(errno));
    enum corun_status status = CORUN_OK;
    struct stat information;
    if (fstat(fileno(file), &information) || !S_ISREG(information.st_mode))
        status = corun_report(list, CORUN_FILE, place, "it is not a regular file");
    else if (!information.st_size)
        status = corun_report(list, CORUN_ARGUMENT, place, "it is empty, so there is nothing to give to the kernel");
    if (status == CORUN_OK)
        status = host_memory_check((uint64_t)information.st_size * 2, argument->text, CORUN_NOWHERE, list);
    if (status == CORUN_OK) {
        argument->bytes = (uint64_t)information.st_size;
        void *data = arena_allocate(arena, argument->bytes);
        argument->data = data;
        if (!data)
            status = corun_report(list, CORUN_MEMORY, place, "no memory for its %llu bytes",
                                  (unsigned long long)argument->bytes);
        else if (fread(data, 1, argument->bytes, file) != argument->bytes)
            status = corun_report(list, CORUN_FILE, place, "it cannot be read to its end: %s",
                                  ferror(file) ? strerror(errno) : "it became shorter");
    }
    fclose(file);
    return status;
}

static bool parse_fill(const char *fill, struct argument *argument)
{
    argument->fill_value = 0;
    if (!strcmp(fill, "iota")) {
        argument->fill = ARGUMENT_FILL_IOTA;
        return true;
    }
    if (!strncmp(fill, "random:", 7)) {
        argument->fill = ARGUMENT_FILL_RANDOM;
        return number_parse(fill + 7, 1000, &argument->fill_value);
    }
    if (!strncmp(fill, "f32=", 4)) {
        argument->fill = ARGUMENT_FILL_F32;
        return parse_float(fill + 4, false, &argument->fill_value);
    }
    if (!strncmp(fill, "u32=", 4)) {
        argument->fill = ARGUMENT_FILL_U32;
        return number_parse(fill + 4, 1000, &argument->fill_value) && argument->fill_value <= UINT32_MAX;
    }
    return false;
}

static enum corun_status parse_buffer(const char *value, struct arena *arena, struct corun_diagnostics *list,
                                      struct argument *argument)
{
    argument->kind = ARGUMENT_BUFFER;
    if (value[0] == '@') {
        argument->fill = ARGUMENT_FILL_FILE;
        return read_file(value + 1, arena, list, argument);
    }
    const char *colon = strchr(value, ':');
    size_t length = colon ? (size_t)(colon - value) : strlen(value);
    char *size = arena_copy_text(arena, value, length);
    if (!size)
        return CORUN_MEMORY;
    if (!number_parse(size, 1024, &argument->bytes) || !argument->bytes)
        return malformed(argument->text, "buf=BYTES (from 1; K, M, G), or buf=@FILE", list);
    if (argument->bytes >= BUFFER_LIMIT)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "argument `%s`: a buffer has less than %llu bytes",
                            argument->text, (unsigned long long)BUFFER_LIMIT);
    argument->fill = ARGUMENT_FILL_ZERO;
    if (colon && !parse_fill(colon + 1, argument))
        return malformed(argument->text, "`random:SEED`, `iota`, `f32=X` or `u32=N` after the size", list);
    return CORUN_OK;
}

enum corun_status argument_parse(const char *text, struct arena *arena, struct corun_diagnostics *list,
                                 struct argument *argument)
{
    *argument = (struct argument){.text = text};
    const char *value = strchr(text, '=');
    size_t length = value ? (size_t)(value - text) : 0;
    for (uint32_t i = 0; value && i < SCALAR_COUNT; i++) {
        if (length == strlen(scalars[i].word) && !strncmp(text, scalars[i].word, length)) {
            argument->kind = (enum argument_kind)i;
            return parse_scalar(value + 1, list, argument);
        }
    }
    if (length == 3 && !strncmp(text, "buf", 3))
        return parse_buffer(value + 1, arena, list, argument);
    if (length == 5 && !strncmp(text, "bytes", 5) && value[1] == '@') {
        argument->kind = ARGUMENT_BYTES;
        return read_file(value + 2, arena, list, argument);
    }
    return malformed(text, "u32=, i32=, u64=, i64=, f32=, f64=, buf=BYTES, buf=@FILE or bytes=@FILE", list);
}

enum corun_status argument_place(struct argument *argument, struct corun_memory *memory, struct corun_diagnostics *list)
{
    if (argument->kind != ARGUMENT_BUFFER)
        return CORUN_OK;
    enum corun_status status = CORUN_OK;
    if (argument->fill != ARGUMENT_FILL_ZERO && argument->fill != ARGUMENT_FILL_FILE) /* zeroes cost nothing yet */
        status = host_memory_check(argument->bytes, argument->text, CORUN_NOWHERE, list);
    if (status != CORUN_OK)
        return status;
    if (corun_memory_allocate(memory, argument->bytes, &argument->address) != CORUN_OK ||
        !memory_name(memory, argument->address, "argument %s", argument->text))
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "argument `%s`: no memory for its %llu bytes",
                            argument->text, (unsigned long long)argument->bytes);
    if (argument->fill == ARGUMENT_FILL_ZERO)
        return CORUN_OK;
    uint32_t *words = corun_memory_pointer(memory, argument->address, argument->bytes);
    if (!words)
        return CORUN_MEMORY;
    if (argument->fill == ARGUMENT_FILL_FILE) {
        memcpy(words, argument->data, argument->bytes);
        return CORUN_OK;
    }
    uint64_t state = argument->fill_value;
    for (uint64_t i = 0; i < argument->bytes / sizeof *words; i++) {
        if (argument->fill == ARGUMENT_FILL_RANDOM) {
            float value = corun_random_unit(&state);
            memcpy(&words[i], &value, sizeof value);
        } else {
            words[i] = argument->fill == ARGUMENT_FILL_IOTA ? (uint32_t)i : (uint32_t)argument->fill_value;
        }
    }
    return CORUN_OK;
}

/* "u32 n" as messages call a parameter; `number` counts from 0, as --save does. */
static const char *describe(struct arena *arena, const struct corun_parameter *parameter, uint32_t number)
{
    const char *text = arena_format(arena, "parameter %u `%s` (.%s, %u bytes)", number, parameter->name,
                                    parameter->type, parameter->bytes);
    return text ? text : "a parameter";
}

static enum corun_status pack_scalar(const struct argument *argument, const struct corun_parameter *parameter,
                                     const char *described, struct corun_diagnostics *list, void *destination)
{
    uint32_t bytes = scalars[argument->kind].bytes;
    bool is_float = scalars[argument->kind].is_float, wants_float = parameter->type[0] == 'f';
    bool is_integer = parameter->type[0] == 'u' || parameter->type[0] == 's';
    if (is_float ? is_integer : wants_float)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "argument `%s` does not fit %s: one is a float",
                            argument->text, described);
    /* Small integers are given as u32 or i32: there is no other way to write them. */
    bool is_small = bytes == 4 && !is_float && parameter->bytes < 4;
    if (is_small) {
        uint32_t bits = parameter->bytes * 8;
        int64_t value = (int64_t)argument->bits;
        if (value < -(INT64_C(1) << (bits - 1)) || value >= INT64_C(1) << bits)
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "argument `%s` does not fit %s: its value is too large", argument->text, described);
    } else if (bytes != parameter->bytes) {
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "argument `%s` (%u bytes) does not fit %s",
                            argument->text, bytes, described);
    }
    memcpy(destination, &argument->bits, parameter->bytes);
    return CORUN_OK;
}

static enum corun_status pack_one(const struct argument *argument, const struct corun_parameter *parameter,
                                  const char *described, struct corun_diagnostics *list, void *destination)
{
    switch (argument->kind) {
    case ARGUMENT_BUFFER:
        if (parameter->bytes != sizeof argument->address || parameter->type[0] == 'f')
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "argument `%s` is a buffer, but %s cannot hold its address", argument->text, described);
        memcpy(destination, &argument->address, sizeof argument->address);
        return CORUN_OK;
    case ARGUMENT_BYTES:
        if (parameter->bytes != argument->bytes)
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "argument `%s` (%llu bytes) does not fit %s",
                                argument->text, (unsigned long long)argument->bytes, described);
        memcpy(destination, argument->data, argument->bytes);
        return CORUN_OK;
    default:
        return pack_scalar(argument, parameter, described, list, destination);
    }
}

static enum corun_status wrong_count(size_t count, const struct corun_kernel_info *kernel, struct arena *arena,
                                     struct corun_diagnostics *list)
{
    const char *names = "";
    for (uint32_t i = 0; i < kernel->parameter_count && names; i++)
        names = arena_format(arena, "%s%s.%s %s", names, i ? ", " : "", kernel->parameters[i].type,
                             kernel->parameters[i].name);
    if (count > kernel->parameter_count)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "kernel %s has %u parameters (%s), but %zu arguments are given", KERNEL_NAME(kernel->name),
                            kernel->parameter_count, names ? names : "", count);
    return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                        "kernel %s has %u parameters (%s), but %zu arguments are given: `%s` is missing",
                        KERNEL_NAME(kernel->name), kernel->parameter_count, names ? names : "", count,
                        kernel->parameters[count].name);
}

enum corun_status argument_pack(const struct argument *arguments, size_t count, const struct corun_kernel_info *kernel,
                                struct arena *arena, struct corun_diagnostics *list, void **block)
{
    if (count != kernel->parameter_count)
        return wrong_count(count, kernel, arena, list);
    char *bytes = arena_allocate(arena, kernel->parameter_bytes + 1);
    if (!bytes)
        return CORUN_MEMORY;
    enum corun_status worst = CORUN_OK; /* every argument is looked at, so that all messages come at once */
    for (uint32_t i = 0; i < count; i++) {
        const struct corun_parameter *parameter = &kernel->parameters[i];
        enum corun_status status =
            pack_one(&arguments[i], parameter, describe(arena, parameter, i), list, bytes + parameter->offset_bytes);
        worst = worst == CORUN_OK ? status : worst;
    }
    *block = bytes;
    return worst;
}
