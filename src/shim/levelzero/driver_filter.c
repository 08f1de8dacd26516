/* SPDX-License-Identifier: Apache-2.0 */
/* An object without anything in it: the linker makes it a filter of a driver (CMakeLists.txt). */
extern int xs_nothing_of_a_filter;
