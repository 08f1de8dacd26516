/* SPDX-License-Identifier: Apache-2.0 */
/* Text: comparison and numbers, independent of locale and of the C library's newer symbols. */
#ifndef XS_STR_H
#define XS_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** ASCII only. */
bool xs_str_equal_nocase(const char *a, const char *b);
/** A whole decimal number with an optional sign; or 0x... hexadecimal.
 *  @return 0, -EINVAL (no number, or something behind it), -ERANGE */
int xs_str_parse_i64(const char *text, int64_t *ret_value);
/** Whole number; base 10 or 16 (an optional 0x for 16). @return as above */
int xs_str_parse_u64(const char *text, int base, uint64_t *ret_value);
/** ON, 1, TRUE, YES or OFF, 0, FALSE, NO in any case. @return 0 or -EINVAL */
int xs_str_parse_bool(const char *text, bool *ret_value);
/** Copies at most size - 1 bytes and always ends the text. @return false when it cut the text */
bool xs_str_copy(char *dst, size_t size, const char *src);

#endif
