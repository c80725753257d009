/* SPDX-License-Identifier: MIT */
/*
 * PTX text within a body that is written anew: instructions of a template, which is a kernel in a text of its own, between those of the body.
 *
 *     splice_create(…, text, …)              parses the template
 *     splice_bind(splice, "x", register)     its %x is that register of the body; all others become new ones
 *     splice_variable(splice, "w", variable) its variable or parameter w is that of the body. All have to be bound
 *     splice_until(splice, PTX_OP_PMEVENT)   writes instructions up to the next one of that operation, which is left out
 *     splice_label(splice, "END")            a label of the template, for jumps from the body
 *     splice_rest(splice)                    writes those that remain
 *
 * Everything but splice_create is used between ptx_body_begin and ptx_body_end.
 */
#ifndef CORUN_REWRITE_SPLICE_H
#define CORUN_REWRITE_SPLICE_H

#include "ptx/builder.h"

struct splice;

/* The text is one of ours: it is well-formed. NULL when out of memory. */
struct splice *splice_create(const char *text, size_t bytes);
void splice_destroy(struct splice *splice);

/* The body that is being written; again for the same text once more. False when out of memory. */
bool splice_begin(struct splice *splice, struct ptx_builder *builder, uint32_t function);
void splice_bind(struct splice *splice, const char *name, uint32_t register_index);
void splice_variable(struct splice *splice, const char *name, const struct ptx_variable *variable);
/* The register of the body that a register of the template is. */
uint32_t splice_register(struct splice *splice, const char *name);
uint32_t splice_label(const struct splice *splice, const char *name);
void splice_until(struct splice *splice, enum ptx_opcode opcode);
void splice_rest(struct splice *splice);

#endif
