/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_PARSE_H
#define SIMGPU_PTX_PARSE_H

/* The whole text, from the lexer's current token to its end. */

struct parser;

int module_parse(struct parser *p);

#endif
