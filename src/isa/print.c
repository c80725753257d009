/* SPDX-License-Identifier: MIT */
/*
 * vprintf and __assertfail: calls to the system that a compiler leaves in the PTX.
 *
 * vprintf gets the addresses of a format and of a buffer with the arguments, each aligned to its size: 4 bytes for int and char,
 * 8 for long, pointers and floating point (CUDA C++ Programming Guide, formatted output).
 */
#include "isa/executor.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_LIMIT (16u << 20) /* per SM between two fetches; further text is lost, as on a GPU whose buffer is full */
#define STRING_LIMIT 4096u     /* of a format or of a %s */
#define FIELD_LIMIT 512        /* width and precision */

struct printer {
    struct corun_warp *warp;
    uint32_t lane;
    uint64_t arguments; /* generic address of the next one, before alignment */
    uint32_t taken;     /* arguments so far */
    bool good;
};

static void append(struct executor_sm *sm, const char *text, size_t bytes)
{
    if (sm->printed_taken) {
        sm->printed_bytes = 0;
        sm->printed_taken = false;
    }
    size_t needed = sm->printed_bytes + bytes;
    if (bytes == 0 || needed > TEXT_LIMIT)
        return;
    if (needed > sm->printed_capacity) {
        size_t capacity = needed < 2048 ? 4096 : 2 * needed;
        char *printed = realloc(sm->printed, capacity);
        if (!printed)
            return;
        sm->printed = printed;
        sm->printed_capacity = capacity;
    }
    memcpy(sm->printed + sm->printed_bytes, text, bytes);
    sm->printed_bytes = needed;
}

/* Text at a generic address, cut at the limit. False if it runs out of bounds. */
static bool read_text(struct corun_warp *warp, uint32_t lane, uint64_t address, char text[STRING_LIMIT], size_t limit)
{
    for (size_t i = 0; i < limit && i < STRING_LIMIT - 1; i++) {
        if (!access_read(warp, lane, address + i, &text[i], 1))
            return false;
        if (!text[i])
            return true;
    }
    text[limit < STRING_LIMIT - 1 ? limit : STRING_LIMIT - 1] = 0;
    return true;
}

static uint64_t take(struct printer *printer, uint32_t bytes)
{
    uint64_t value = 0;
    printer->arguments = (printer->arguments + bytes - 1) & ~(uint64_t)(bytes - 1);
    if (printer->good && !access_read(printer->warp, printer->lane, printer->arguments, &value, bytes)) {
        printer->good = false;
        fault_raise(printer->warp, printer->lane, "vprintf: argument %" PRIu32 " at 0x%" PRIx64 " is out of bounds",
                    printer->taken + 1, printer->arguments);
    }
    printer->arguments += bytes;
    printer->taken++;
    return value;
}

/* A number or `*` in a conversion; -1 if there is none. */
static int read_field(struct printer *printer, const char **format)
{
    int value = -1;
    if (**format == '*') {
        ++*format;
        value = (int32_t)take(printer, 4);
    } else {
        for (; **format >= '0' && **format <= '9'; ++*format)
            value = value > FIELD_LIMIT ? value : (value < 0 ? 0 : value) * 10 + (**format - '0');
    }
    return value > FIELD_LIMIT ? FIELD_LIMIT : value;
}

struct conversion {
    char text[16]; /* "%-+ #0*.*" and what snprintf needs behind it */
    int width, precision;
    bool is_long;
    char letter;
};

static void print_integer(struct printer *printer, struct conversion *conversion)
{
    char text[FIELD_LIMIT + 64];
    uint64_t bits = take(printer, conversion->is_long ? 8 : 4);
    bool is_signed = conversion->letter == 'd' || conversion->letter == 'i';
    int64_t value = conversion->is_long ? (int64_t)bits : is_signed ? (int64_t)(int32_t)bits : (int64_t)bits;
    size_t length = strlen(conversion->text);
    snprintf(conversion->text + length, sizeof conversion->text - length, "ll%c", conversion->letter);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int written =
        snprintf(text, sizeof text, conversion->text, conversion->width, conversion->precision, (long long)value);
#pragma GCC diagnostic pop
    if (written > 0)
        append(printer->warp->tb->sm, text, (size_t)written < sizeof text ? (size_t)written : sizeof text - 1);
}

static void print_real(struct printer *printer, struct conversion *conversion)
{
    char text[2 * FIELD_LIMIT + 512]; /* 1e308 with all its digits */
    uint64_t bits = take(printer, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    size_t length = strlen(conversion->text);
    snprintf(conversion->text + length, sizeof conversion->text - length, "%c", conversion->letter);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int written = snprintf(text, sizeof text, conversion->text, conversion->width, conversion->precision, value);
#pragma GCC diagnostic pop
    if (written > 0)
        append(printer->warp->tb->sm, text, (size_t)written < sizeof text ? (size_t)written : sizeof text - 1);
}

static void print_padded(struct printer *printer, const struct conversion *conversion, const char *text, size_t length)
{
    char spaces[FIELD_LIMIT];
    bool left = conversion->width < 0 || strchr(conversion->text, '-') != NULL;
    size_t width = (size_t)(conversion->width < 0 ? -(int64_t)conversion->width : conversion->width);
    size_t padding = width > length ? width - length : 0;
    if (padding > sizeof spaces)
        padding = sizeof spaces;
    memset(spaces, ' ', padding);
    if (!left)
        append(printer->warp->tb->sm, spaces, padding);
    append(printer->warp->tb->sm, text, length);
    if (left)
        append(printer->warp->tb->sm, spaces, padding);
}

static void print_string(struct printer *printer, const struct conversion *conversion)
{
    char text[STRING_LIMIT];
    uint64_t address = take(printer, 8);
    size_t limit = conversion->precision >= 0 ? (size_t)conversion->precision : STRING_LIMIT;
    if (!printer->good)
        return;
    if (address == 0) {
        print_padded(printer, conversion, "(null)", 6);
    } else if (read_text(printer->warp, printer->lane, address, text, limit)) {
        print_padded(printer, conversion, text, strlen(text));
    } else {
        printer->good = false;
        fault_raise(printer->warp, printer->lane, "vprintf: the string at 0x%" PRIx64 " is out of bounds", address);
    }
}

/* One conversion; *format is behind its '%'. An unknown one is printed as it is. */
static void print_conversion(struct printer *printer, const char **format)
{
    const char *start = *format - 1;
    struct conversion conversion = {.text = "%"};
    size_t used = 1;
    for (; **format && strchr("-+ #0", **format); ++*format)
        if (!strchr(conversion.text, **format)) {
            conversion.text[used++] = **format;
            conversion.text[used] = 0;
        }
    int width = read_field(printer, format);
    conversion.width = width == -1 ? 0 : width < -FIELD_LIMIT ? -FIELD_LIMIT : width;
    conversion.precision = -1;
    if (**format == '.') {
        ++*format;
        int precision = read_field(printer, format);
        conversion.precision = precision == -1 ? 0 : precision;
    }
    memcpy(conversion.text + used, "*.*", 4);
    for (; **format && strchr("hlLqjzt", **format); ++*format)
        conversion.is_long |= **format != 'h';
    conversion.letter = **format;
    if (conversion.letter)
        ++*format;
    switch (conversion.letter) {
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
        print_integer(printer, &conversion);
        break;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        print_real(printer, &conversion);
        break;
    case 'c': {
        char letter = (char)take(printer, 4);
        print_padded(printer, &conversion, &letter, 1);
        break;
    }
    case 'p': {
        char text[32];
        int length = snprintf(text, sizeof text, "0x%" PRIx64, take(printer, 8));
        print_padded(printer, &conversion, text, (size_t)length);
        break;
    }
    case 's':
        print_string(printer, &conversion);
        break;
    case '%':
        append(printer->warp->tb->sm, "%", 1);
        break;
    default:
        append(printer->warp->tb->sm, start, (size_t)(*format - start));
    }
}

static bool print_lane(struct corun_warp *warp, const struct call_site *site, uint32_t lane)
{
    char format[STRING_LIMIT];
    uint64_t format_address = 0;
    struct printer printer = {.warp = warp, .lane = lane, .good = true};
    call_value_read(warp, &site->arguments[0], warp->frame, lane, (uint8_t *)&format_address);
    call_value_read(warp, &site->arguments[1], warp->frame, lane, (uint8_t *)&printer.arguments);
    if (!read_text(warp, lane, format_address, format, STRING_LIMIT)) {
        fault_raise(warp, lane, "vprintf: the format at 0x%" PRIx64 " is out of bounds", format_address);
        return false;
    }
    const char *at = format;
    while (*at && printer.good) {
        size_t plain = strcspn(at, "%");
        append(warp->tb->sm, at, plain);
        at += plain;
        if (*at == '%') {
            at++;
            print_conversion(&printer, &at);
        }
    }
    if (site->result_count && !site->results[0].discarded && site->results[0].bytes == 4)
        call_value_write(warp, &site->results[0], warp->frame, lane, (const uint8_t *)&printer.taken);
    return printer.good;
}

bool print_run(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    const struct call_site *site = &warp->tb->launch->kernel->calls[op->target];
    for (; mask; mask &= mask - 1)
        if (!print_lane(warp, site, lowest_bit(mask)))
            return false;
    return true;
}

/* __assertfail(const char *message, const char *file, unsigned line, const char *function, size_t char_bytes) */
void print_assert(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    const struct call_site *site = &warp->tb->launch->kernel->calls[op->target];
    uint32_t lane = lowest_bit(mask);
    uint64_t address[4] = {0};
    char text[3][STRING_LIMIT];
    for (uint32_t i = 0; i < 4; i++)
        call_value_read(warp, &site->arguments[i], warp->frame, lane, (uint8_t *)&address[i]);
    static const uint8_t texts[3] = {0, 1, 3};
    for (uint32_t i = 0; i < 3; i++)
        if (!read_text(warp, lane, address[texts[i]], text[i], STRING_LIMIT))
            memcpy(text[i], "?", 2);
    fault_raise(warp, lane, "assertion `%.200s' failed at %.100s:%" PRIu32 " in %.100s", text[0], text[1],
                (uint32_t)address[2], text[2]);
}
