/* SPDX-License-Identifier: Apache-2.0 */
/* What queue.c, hwq.c, control_thread.c and the submit path call and the model of sessions never reaches. */
#ifndef XS_MODEL_SESSION_STUBS_H
#define XS_MODEL_SESSION_STUBS_H

#define STUB { mc_check(false, __func__); return 0; }
#define STUB_VOID { mc_check(false, __func__); }

XResult XQueueResume(XQueueHandle xq, int64_t flags) { (void)xq, (void)flags; STUB }
XResult XQueueWaitAll(XQueueHandle xq) { (void)xq; STUB }
void xs_agent_run(struct xs_state *st, uint32_t changes) { (void)st; (void)changes; STUB_VOID }
void xs_local_run(struct xs_state *st, uint32_t changes) { (void)st; (void)changes; STUB_VOID }
bool xs_auto_enabled(void) STUB
void xs_shim_expect(const struct xs_hal_ops *ops, int mode) { (void)ops, (void)mode; }
size_t xs_deferred_drop(struct xs_queue *q) { (void)q; STUB }
void xs_queue_defaults_from_env(struct xs_queue_defaults *ret) { memset(ret, 0, sizeof(*ret)); }
void xs_queue_defaults_plain(struct xs_queue_defaults *ret) { memset(ret, 0, sizeof(*ret)); }
int xs_thread_start(void *(*main)(void *), void *arg, size_t stack_bytes) { (void)main, (void)arg, (void)stack_bytes; STUB }

#endif
