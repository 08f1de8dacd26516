/* SPDX-License-Identifier: Apache-2.0 */
#include "asks/ask_wire.h"

#include "base/map.h"
#include "base/str.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define MOST_RECORDS (1u << 20) /* of one kind; more is no answer of xserver's */
#define MOST_FOR_MS  (30ull * 24 * 3600 * 1000)

uint32_t xs_ask_layout(void)
{
    static const size_t k_sizes[] = {
        sizeof(struct xs_status_record),   sizeof(struct xs_client_record),
        sizeof(struct xs_queue_record),    sizeof(struct xs_timeline_event),
        sizeof(struct xs_load_point),      sizeof(struct xs_settings_record), offsetof(struct xs_status_record, lv3),
        offsetof(struct xs_client_record, container), offsetof(struct xs_queue_record, until_ns),
    };
    static const char k_version[] = XSCHED_VERSION;
    uint64_t hash = XS_WHYS;

    for (size_t i = 0; i < XS_ARRAY_LEN(k_sizes); i++)
        hash = xs_hash_u64(hash + k_sizes[i]);
    for (size_t i = 0; k_version[i]; i++)
        hash = xs_hash_u64(hash + (unsigned char)k_version[i]);
    return (uint32_t)hash;
}

void xs_ask_pack(const struct xs_request *r, bool for_other, union xs_msg *ret)
{
    const struct xs_request_params *p = &r->params;
    struct xs_msg_ask *m = &ret->ask;

    memset(ret, 0, sizeof(*ret));
    m->layout = xs_ask_layout();
    m->kind = r->kind;
    m->flags = (p->hold ? XS_ASK_HOLD : 0u) | (p->out ? XS_ASK_OUT : 0u) | (p->loads ? XS_ASK_LOADS : 0u) |
               (p->repeat ? XS_ASK_REPEAT : 0u);
    if (for_other) {
        m->flags |= XS_ASK_FOR | (r->asker.known ? XS_ASK_KNOWN : 0u) | (r->asker.all ? XS_ASK_ALL : 0u);
        m->uid = r->asker.uid;
        m->share_key = r->asker.share_key;
        m->asker = r->asker.pid;
    }
    m->pid = p->pid;
    m->handle = p->handle;
    m->threshold = p->threshold;
    m->batch_size = p->batch_size;
    m->value = p->value;
    m->for_ms = p->for_ms;
    m->since = p->since;
    m->policy = p->policy;
    m->level = p->level;
    m->lax_priority = p->lax_priority;
    m->critical_priority = p->critical_priority;
    m->hint = p->hint;
    xs_str_copy(m->policy_name, sizeof(m->policy_name), p->policy_name);
    xs_str_copy(m->display, sizeof(m->display), p->display);
}

static const char *wrong_hint(const struct xs_request_params *p)
{
    const struct xs_hint_row *row;

    if (p->hint == XS_HINT_WINDOW)
        return NULL;
    if ((size_t)p->hint >= xs_hint_rows_count || !xs_hint_rows[p->hint].name)
        return "invalid hint type";
    row = &xs_hint_rows[p->hint];
    if (row->of_queue && !p->handle && !p->pid)
        return "give a handle or a pid";
    if (p->hint == XS_HINT_TIMESLICE && p->value == (int64_t)TIMESLICE_UNLIMITED)
        return NULL;
    if (!xs_value_has(&row->type, p->value))
        return "the value of the hint is out of range";
    return (p->lax_priority != INT32_MIN && p->lax_priority < PRIORITY_NO_EXECUTE) ||
                   (p->critical_priority != INT32_MIN && p->critical_priority < PRIORITY_NO_EXECUTE)
               ? "invalid lax_priority or critical_priority"
               : NULL;
}

const char *xs_ask_unpack(const struct xs_msg_ask *m, struct xs_request *ret)
{
    struct xs_request_params *p = &ret->params;

    if (m->flags & XS_ASK_FOR) {
        ret->asker.uid = m->uid;
        ret->asker.share_key = m->share_key;
        ret->asker.pid = m->asker;
        ret->asker.known = m->flags & XS_ASK_KNOWN;
        ret->asker.all = m->flags & XS_ASK_ALL;
    }
    ret->kind = (enum xs_request_kind)m->kind;
    p->hold = m->flags & XS_ASK_HOLD;
    p->out = m->flags & XS_ASK_OUT;
    p->loads = m->flags & XS_ASK_LOADS;
    p->repeat = m->flags & XS_ASK_REPEAT;
    p->pid = m->pid;
    p->handle = m->handle;
    p->threshold = m->threshold;
    p->batch_size = m->batch_size;
    p->value = m->value;
    p->for_ms = m->for_ms;
    p->since = m->since;
    p->policy = m->policy;
    p->level = m->level;
    p->lax_priority = m->lax_priority;
    p->critical_priority = m->critical_priority;
    p->hint = (enum xs_hint_kind)m->hint;
    memcpy(p->policy_name, m->policy_name, sizeof(p->policy_name));
    memcpy(p->display, m->display, sizeof(p->display));
    if (m->kind >= XS_REQ_FOLLOW)
        return "this xserver does not know the question";
    if (p->for_ms > MOST_FOR_MS)
        return "the time is too long";
    if ((ret->kind == XS_REQ_HOLD || ret->kind == XS_REQ_SWAP) && !p->pid)
        return "give a pid";
    return ret->kind == XS_REQ_HINT ? wrong_hint(p) : NULL;
}

uint32_t xs_answer_flags(enum xs_request_kind kind)
{
    if (kind == XS_REQ_SETTINGS)
        return XS_ANSWER_SETTINGS;
    return kind == XS_REQ_METRICS || kind == XS_REQ_STATUS || kind == XS_REQ_POLICY || kind == XS_REQ_TIMELINE ? XS_ANSWER_STATE
                                                                                                               : 0;
}

void xs_answer_pack(const struct xs_request *r, bool records, union xs_msg *ret)
{
    struct xs_msg_answer *m = &ret->answer;

    memset(ret, 0, sizeof(*ret));
    m->layout = xs_ask_layout();
    m->status = (uint32_t)r->status;
    m->now_ns = r->now_ns;
    m->work_ns = r->work_ns;
    m->events_next = r->events_next;
    m->events_end = r->events_end;
    m->events_lost = r->events_lost;
    m->events_now_ns = r->events_now_ns;
    m->flags = (r->events_more ? XS_ANSWER_MORE : 0u) | (r->asker.all ? XS_ANSWER_ALL : 0u);
    xs_str_copy(m->text, sizeof(m->text), r->text);
    if (!records)
        return;
    m->flags |= xs_answer_flags(r->kind);
    m->clients = (uint32_t)r->n_clients;
    m->ended = (uint32_t)r->n_ended;
    m->queues = (uint32_t)r->n_queues;
    m->events = (uint32_t)r->n_events;
    m->loads = (uint32_t)r->n_loads;
}

int xs_answer_unpack(const struct xs_msg_answer *m, struct xs_request *r)
{
    if (m->clients > MOST_RECORDS || m->queues > MOST_RECORDS || m->ended > XS_HISTORY_LENGTH || m->events > XS_TIMELINE_ANSWER ||
        m->loads > XS_LOADS_LENGTH || (m->ended && r->kind != XS_REQ_CLIENTS) || (m->events && r->kind != XS_REQ_TIMELINE) ||
        (m->loads && !r->params.loads))
        return -EBADMSG;
    r->status = (int)m->status;
    r->now_ns = m->now_ns;
    r->work_ns = m->work_ns;
    r->events_next = m->events_next;
    r->events_end = m->events_end;
    r->events_lost = m->events_lost;
    r->events_now_ns = m->events_now_ns;
    r->events_more = m->flags & XS_ANSWER_MORE;
    r->asker.all = m->flags & XS_ANSWER_ALL;
    r->other_build = m->layout != xs_ask_layout();
    memcpy(r->text, m->text, sizeof(r->text));
    if (!xs_request_make_room(r, m->queues, m->clients))
        return -ENOMEM;
    r->n_clients = m->clients;
    r->n_ended = m->ended;
    r->n_queues = m->queues;
    r->n_events = m->events;
    r->n_loads = m->loads;
    return 0;
}

void xs_answer_parts(struct xs_request *r, uint32_t flags, struct xs_answer_part ret[XS_ANSWER_PARTS])
{
    const struct xs_answer_part parts[XS_ANSWER_PARTS] = {
        {&r->state, sizeof(r->state), (flags & XS_ANSWER_STATE) != 0},
        {&r->settings, sizeof(r->settings), (flags & XS_ANSWER_SETTINGS) != 0},
        {r->clients, sizeof(*r->clients), r->n_clients},
        {r->ended, sizeof(*r->ended), r->n_ended},    {r->queues, sizeof(*r->queues), r->n_queues},
        {r->events, sizeof(*r->events), r->n_events}, {r->loads, sizeof(*r->loads), r->n_loads},
    };

    memcpy(ret, parts, sizeof(parts));
}

size_t xs_answer_next(const struct xs_answer_part parts[XS_ANSWER_PARTS], unsigned *part, size_t *at, char **ret)
{
    size_t bytes;

    while (*part < XS_ANSWER_PARTS && *at == parts[*part].bytes * parts[*part].n) {
        ++*part;
        *at = 0;
    }
    if (*part == XS_ANSWER_PARTS)
        return 0;
    bytes = XS_MIN(parts[*part].bytes * parts[*part].n - *at, (size_t)XS_ASK_PACKET);
    *ret = (char *)parts[*part].records + *at;
    return bytes;
}
