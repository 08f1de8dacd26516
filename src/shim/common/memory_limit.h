/* SPDX-License-Identifier: Apache-2.0 */
/* XSCHED_MEM_LIMIT: the amount of memory of each device that this process may have. The shims count the
 * program's allocations, in all threads and contexts, and refuse those that exceed the limit. Any thread;
 * none of this lies on the way of a launch, and nothing of it happens without a limit. */
#ifndef XS_SHIM_COMMON_MEMORY_LIMIT_H
#define XS_SHIM_COMMON_MEMORY_LIMIT_H

#include "base/xs_base.h"

/** The kind of a key's object; keys of different kinds may be equal. */
enum xs_mem_kind { XS_MEM_POINTER, XS_MEM_HANDLE, XS_MEM_ARRAY, XS_MEM_KINDS };

/** Whether there is a limit. An invalid value gives one warning and no limit. */
bool xs_mem_limited(void);

/** @param id  the platform's name of a device, not 0
 *  @return the device's number here, or -1: not seen yet */
int xs_mem_find(uint64_t id);
/** @param total_bytes  the device's memory, for limits in percent; 0: unknown
 *  @return its number, or -1: there are too many, it has no limit */
int xs_mem_add(uint64_t id, uint64_t total_bytes);

/** Counts the bytes. @return false when they would exceed the limit; then it counts nothing */
bool xs_mem_take(int device, uint64_t bytes);
void xs_mem_give(int device, uint64_t bytes);
/** Counts what the program has already, even beyond the limit. */
void xs_mem_count(int device, uint64_t bytes);
/** Adjusts the total and free bytes to the limit; each may be NULL. */
void xs_mem_view(int device, uint64_t *free_bytes, uint64_t *total_bytes);

/** Remembers taken bytes under the name of the object that has them. If it cannot (no memory), it gives them
 *  back at once: rather too little counts than too much.
 *  @param owner  with whose end it ends too (a context) */
void xs_mem_note(enum xs_mem_kind kind, uint64_t key, int device, uint64_t bytes, const void *owner);

struct xs_mem_entry;
/** Takes it out of the table before the vendor frees it, since another object may have its name right after.
 *  @return NULL: unknown */
struct xs_mem_entry *xs_mem_out(enum xs_mem_kind kind, uint64_t key);
/** After the vendor's answer: gives the bytes back, or puts the entry back if the vendor did not free it. */
void xs_mem_settle(struct xs_mem_entry *e, bool freed);

/** Before a call of the vendor's that may free something, whose name another thread may get before the call
 *  returns. The functions below ignore entries noted after this. @return `before`, for them */
uint64_t xs_mem_before(void);
/** One more, or one less, that holds it (mappings, further handles); the last one gives the bytes back.
 *  @return whether the table has it */
bool xs_mem_hold(enum xs_mem_kind kind, uint64_t key);
void xs_mem_unhold(enum xs_mem_kind kind, uint64_t key, uint64_t before);
/** A range of addresses at which the program maps a handle; each range holds it. */
void xs_mem_map(uint64_t address, uint64_t bytes, uint64_t handle);
void xs_mem_unmap(uint64_t address, uint64_t bytes, uint64_t before);
/** All entries of the owner. */
void xs_mem_owner_gone(const void *owner, uint64_t before);

#endif
