/* SPDX-License-Identifier: Apache-2.0 */
/* What queue.c, hwq.c, control_thread.c and the submit path call and the model of sessions never reaches. */
#ifndef XS_MODEL_SESSION_STUBS_H
#define XS_MODEL_SESSION_STUBS_H

#define STUB { mc_check(false, __func__); return 0; }
#define STUB_VOID { mc_check(false, __func__); }

XResult XQueueResume(XQueueHandle xq, int64_t flags) { (void)xq, (void)flags; STUB }
XResult XQueueWaitAll(XQueueHandle xq) { (void)xq; STUB }
void xs_agent_run(struct xs_state *st) { (void)st; STUB_VOID }
void xs_local_run(struct xs_state *st) { (void)st; STUB_VOID }
bool xs_auto_enabled(void) STUB
size_t xs_deferred_drop(struct xs_queue *q) { (void)q; STUB }
void xs_queue_complete(struct xs_queue *q, uint64_t n, bool consume) { (void)q, (void)n, (void)consume; }
void xs_queue_defaults_from_env(struct xs_queue_defaults *ret) { memset(ret, 0, sizeof(*ret)); }
void xs_queue_defaults_plain(struct xs_queue_defaults *ret) { memset(ret, 0, sizeof(*ret)); }
void xs_queue_look_slow(struct xs_queue *q, bool late) { (void)q, (void)late; }
bool xs_queue_mark_device(struct xs_queue *q, uint64_t key, uint32_t est) { (void)q, (void)key, (void)est; STUB }
bool xs_queue_mark_now(struct xs_queue *q) { (void)q; return true; }
void xs_queue_push_mark(struct xs_queue *q, uint64_t n, uint64_t key, uint32_t est) { (void)q, (void)n, (void)key, (void)est; }
int xs_thread_start(void *(*main)(void *), void *arg, size_t stack_bytes) { (void)main, (void)arg, (void)stack_bytes; STUB }
void xsched_priv_mark_lost(struct xs_queue *q, uint64_t n) { (void)q, (void)n; }

void xs_queue_tell_marked(struct xs_queue *q) { (void)q; }
_Atomic uint32_t xsched_priv_intra;
void xs_queue_inherit_on(struct xs_queue *q, int32_t priority)
{
    (void)q, (void)priority;
}

#endif
