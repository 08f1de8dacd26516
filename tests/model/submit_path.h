/* SPDX-License-Identifier: Apache-2.0 */
/* The real code of the way of one command, and of waits around it. */
#ifndef XS_MODEL_SUBMIT_PATH_H
#define XS_MODEL_SUBMIT_PATH_H

#include "xqueue/gates/gather_open.c"
#include "xqueue/submit/doorbell.c"
#include "xqueue/submit/end_mark.c"
#include "xqueue/submit/in_flight.c"
#include "xqueue/submit/permission.c"
#include "xqueue/submit/progress.c"
#include "xqueue/submit/submit.c"
#include "xqueue/submit/whole.c"
#include "xqueue/submit/turn.c"
#include "xqueue/wait.c"

#endif
