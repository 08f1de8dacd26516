/* SPDX-License-Identifier: Apache-2.0 */
/* What NVML (NVIDIA's management library, libnvidia-ml.so.1) tells of devices: a process of its own reads it.
 * So xsched-http has no vendor's code in its process, and waits for none. The program is xsched-http again, with
 * another argument. It ends when no question comes for some seconds, and then uses the driver no longer: an
 * administrator can reset a device. */
#ifndef XS_HTTP_NVML_READER_H
#define XS_HTTP_NVML_READER_H

#include "gpus/processes.h"
#include "http/devices/device_state.h"

#include <stdbool.h>

#define XS_NVML_READ "--read-nvml" /* the argument that makes xsched-http the reader */

#define XS_NVML_ALL "all" /* in place of an address: the answer is a list of processes */

struct xs_nvml_question {
    char pci[24];
};

struct xs_nvml_answer {
    char pci[24], model[96]; /* model: "" where it did not tell */
    struct xs_device_state state;
};

/** The reader: answers the questions that come as packets on descriptor 0. @return the status to exit with */
int xs_nvml_reader_run(void);

#endif
