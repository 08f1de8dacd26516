/* SPDX-License-Identifier: Apache-2.0 */
/* Linked in place of an object that does not exist yet: names only. */
extern int xs_nothing;
int xs_nothing;
