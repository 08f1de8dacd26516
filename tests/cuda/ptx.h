/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for programs that run on the fake driver and on a real one, where they are compiled by the driver. The fake
 * knows them by name. Checked with ptxas.
 *
 * nop
 * work(u64 ns, u32 *log, u32 tag): takes ns by the device's clock, then appends tag to log, whose first word counts
 * grind(u64 rounds, u64 *sum): takes time in proportion to rounds, and adds a number that depends on each of them */
#ifndef XS_TEST_PTX_H
#define XS_TEST_PTX_H

static const char k_ptx[] =
    ".version 7.0\n"
    ".target sm_75\n"
    ".address_size 64\n"
    ".visible .entry nop() { ret; }\n"
    ".visible .entry work(.param .u64 ns, .param .u64 log, .param .u32 tag)\n"
    "{\n"
    "  .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<8>;\n"
    "  ld.param.u64 %d1, [ns]; ld.param.u64 %d5, [log]; ld.param.u32 %r1, [tag];\n"
    "  mov.u64 %d2, %globaltimer; add.u64 %d3, %d2, %d1;\n"
    "L1: mov.u64 %d4, %globaltimer; setp.lt.u64 %p, %d4, %d3; @%p bra L1;\n"
    "  setp.eq.u64 %p, %d5, 0; @%p bra L2;\n"
    "  atom.global.add.u32 %r2, [%d5], 1;\n"
    "  mul.wide.u32 %d6, %r2, 4; add.u64 %d6, %d6, %d5; st.global.u32 [%d6+4], %r1;\n"
    "L2: ret;\n"
    "}\n"
    ".visible .entry grind(.param .u64 rounds, .param .u64 sum)\n"
    "{\n"
    "  .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<8>;\n"
    "  ld.param.u64 %d1, [rounds]; ld.param.u64 %d2, [sum];\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 1024, %r2; cvt.u64.u32 %d3, %r3;\n"
    "  add.u64 %d3, %d3, 88172645463325252;\n"
    "L3: setp.eq.u64 %p, %d1, 0; @%p bra L4;\n"
    "  mad.lo.u64 %d3, %d3, 6364136223846793005, 1442695040888963407;\n"
    "  mad.lo.u64 %d3, %d3, 6364136223846793005, 1442695040888963407;\n"
    "  mad.lo.u64 %d3, %d3, 6364136223846793005, 1442695040888963407;\n"
    "  mad.lo.u64 %d3, %d3, 6364136223846793005, 1442695040888963407;\n"
    "  sub.u64 %d1, %d1, 1; bra L3;\n"
    "L4: shr.u64 %d3, %d3, 32; atom.global.add.u64 %d4, [%d2], %d3; ret;\n"
    "}\n";

#endif
