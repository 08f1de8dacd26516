/* SPDX-License-Identifier: Apache-2.0 */
/* What several processes of a test share: one clock that moves only when all of them sleep, one GPU on
 * which their channel groups take turns, and NVIDIA's kernel driver as level 3 sees it. It lies in a folder,
 * named by FAKE_WORLD:
 *
 *   world       this structure
 *   nvidiactl   what open("/dev/nvidiactl") opens
 *   version     what open("/sys/module/nvidia/version") opens
 *
 * A program takes part when libfakeworld.so is preloaded (process.c); the conductor makes the folder and moves the
 * clock. With --real it only makes it: then there is no common clock or GPU, but there are channel groups. */
#ifndef FAKE_WORLD_H
#define FAKE_WORLD_H

#include "fakes/rm/state.h"
#include "fakes/vtime.h"
#include "fakes/world/gpu.h"

#include <stdatomic.h>

#define WORLD_PROCESSES 16
#define WORLD_SLOTS     32

struct world_process {
    _Atomic int pid;              /* 0: free. Writer: the process; after its death the conductor */
    _Atomic uint32_t asked;       /* writer: the conductor: look at the clock, and at memory that commands wait for */
    _Atomic uint32_t answered;    /* writer: the process: it has */
    _Atomic uint32_t polls;       /* bit i: commands of device i wait for memory */
    _Alignas(64) unsigned char sleepers[VTIME_SHARED_BYTES];
};

/* A channel group. */
struct world_slot {
    _Atomic int pid;              /* 0: free */
    uint32_t client, group;       /* of the resource manager; 0: it knows none */
    _Atomic uint64_t left_ns;     /* writer: its process, of a kernel that begins; else the conductor */
    _Atomic uint32_t ended;       /* counts kernels; a futex */
};

struct world {
    _Atomic uint32_t ready;       /* WORLD_READY once the rest is set up */
    bool real;
    _Atomic uint64_t now_ns, round; /* writer of both: the conductor */
    uint64_t control_ns;          /* what each control of a channel group takes */
    uint64_t late_ns;             /* what each sleep lasts beyond what was asked for */
    _Atomic uint64_t activity;    /* commands that devices took on */
    struct world_process processes[WORLD_PROCESSES];
    struct world_slot slots[WORLD_SLOTS];
    struct fake_rm_state rm;
};
#define WORLD_READY 0x57a7e001u

/* For the fake driver, which looks for these weakly. */
/** Whether there is a common clock. */
bool fake_world_virtual(void);
/** A channel group of this process. @return its number, or -1 */
int fake_world_slot(uint32_t client, uint32_t group);
void fake_world_slot_ends(int slot);
/** Returns when the GPU has given this group so much time. */
void fake_world_run(int slot, uint64_t ns);
/** A command is about to be taken on. Returns when everybody has done what else is to be done at this time. */
void fake_world_turn(void);
/** Commands of this device wait for memory to change: poke is called now and then. */
void fake_world_polls(int dev, bool on, void (*poke)(void));

#endif
