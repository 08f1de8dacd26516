/* SPDX-License-Identifier: Apache-2.0 */
/* Events and what is called when they are complete. */
#include "internal.h"

#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

cl_event fake_event_new(cl_command_queue queue)
{
    cl_event e = fake_new(sizeof(*e));

    e->record = calloc(1, sizeof(*e->record));
    e->queue = queue;
    if (queue)
        fake_retain(queue);
    return e;
}

void fake_event_release(cl_event e)
{
    cl_command_queue queue = e->queue;

    if (!fake_release(e))
        return;
    free(e);
    if (queue)
        fake_queue_release(queue);
}

void fake_event_complete(void *event)
{
    cl_event e = event;
    struct fake_callback *list, *next, *in_order = NULL;

    pthread_mutex_lock(&fake_lock);
    e->record->done = true;
    list = e->callbacks;
    e->callbacks = NULL;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
    for (; list; list = next) {
        next = list->next;
        list->next = in_order;
        in_order = list;
    }
    for (; in_order; in_order = next) {
        next = in_order->next;
        in_order->fn(e, CL_COMPLETE, in_order->data);
        free(in_order);
    }
}

void fake_record_wait(struct fake_record *record)
{
    pthread_mutex_lock(&fake_lock);
    while (!record->done)
        pthread_cond_wait(&fake_changed, &fake_lock);
    pthread_mutex_unlock(&fake_lock);
}

API cl_int clWaitForEvents(cl_uint count, const cl_event *list)
{
    if (!count || !list)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++)
        fake_record_wait(list[i]->record);
    return CL_SUCCESS;
}

API cl_int clRetainEvent(cl_event e)
{
    fake_retain(e);
    return CL_SUCCESS;
}

API cl_int clReleaseEvent(cl_event e)
{
    fake_event_release(e);
    return CL_SUCCESS;
}

API cl_int clGetEventInfo(cl_event e, cl_event_info name, size_t size, void *ret, size_t *ret_size)
{
    cl_uint references;
    cl_int status;

    pthread_mutex_lock(&fake_lock);
    references = (cl_uint)e->head.references;
    status = e->record->done ? CL_COMPLETE : CL_SUBMITTED;
    pthread_mutex_unlock(&fake_lock);
    switch (name) {
    case CL_EVENT_COMMAND_QUEUE:
        return fake_answer(&e->queue, sizeof(e->queue), size, ret, ret_size);
    case CL_EVENT_EXECUTION_STATUS:
        return fake_answer(&status, sizeof(status), size, ret, ret_size);
    case CL_EVENT_REFERENCE_COUNT:
        return fake_answer(&references, sizeof(references), size, ret, ret_size);
    default:
        return CL_INVALID_VALUE;
    }
}

API cl_int clSetEventCallback(cl_event e, cl_int type, void (*fn)(cl_event, cl_int, void *), void *data)
{
    struct fake_callback *cb;
    bool done;

    if (!fn || type != CL_COMPLETE)
        return CL_INVALID_VALUE;
    cb = malloc(sizeof(*cb));
    pthread_mutex_lock(&fake_lock);
    done = e->record->done;
    *cb = (struct fake_callback){fn, data, e->callbacks};
    if (!done)
        e->callbacks = cb;
    pthread_mutex_unlock(&fake_lock);
    if (done) {
        free(cb);
        fn(e, CL_COMPLETE, data);
    }
    return CL_SUCCESS;
}

API cl_event clCreateUserEvent(cl_context c, cl_int *err)
{
    (void)c;
    if (err)
        *err = CL_SUCCESS;
    return fake_event_new(NULL);
}

API cl_int clSetUserEventStatus(cl_event e, cl_int status)
{
    if (e->queue || e->record->done || status != CL_COMPLETE)
        return CL_INVALID_OPERATION;
    fake_event_complete(e);
    return CL_SUCCESS;
}
