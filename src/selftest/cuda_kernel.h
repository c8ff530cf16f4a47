/* SPDX-License-Identifier: MIT */
/*
 * The kernels of the self-test's CUDA program (cuda_work.c), as PTX that the driver translates for
 * its GPU, and where they find things in the page they share with the host.
 *
 * gate: one thread that waits until the page says go.
 * work: each thread goes on where the kernel before it stopped (its x and its number of steps) and
 * steps a linear congruence until the page says stop; meanwhile a pattern lies in shared memory. A
 * kernel that ran twice, not at all or with a lost register leaves an x that does not fit its
 * number of steps. The last block to end counts the kernel in the page.
 */
#ifndef GP_SELFTEST_CUDA_KERNEL_H
#define GP_SELFTEST_CUDA_KERNEL_H

#define GP_CUDA_A       1664525u
#define GP_CUDA_C       1013904223u
#define GP_CUDA_STEPS   4096u /* between looks at the page */
#define GP_CUDA_THREADS 256u  /* of a block */
#define GP_CUDA_WORDS   4096u /* of the pattern in shared memory */

/* Bytes into the page. */
#define GP_CUDA_GO       0
#define GP_CUDA_STOP     64
#define GP_CUDA_PROGRESS 128 /* u64: rounds of the first thread */
#define GP_CUDA_DONE     256 /* u32 of each kernel: how often it ended */
/* Bytes into memory of the GPU beside x and steps. */
#define GP_CUDA_BAD    0  /* u32: words of patterns that were wrong */
#define GP_CUDA_TOLD   32 /* u32: a copy of GP_CUDA_STOP; the host's memory is far away */
#define GP_CUDA_BLOCKS 64 /* u32 of each kernel: blocks that ended */

static const char gp_cuda_kernels[] =
	".version 6.0\n"
	".target sm_50\n"
	".address_size 64\n"
	".visible .entry gate(.param .u64 p_page)\n"
	"{\n"
	"  .reg .pred %p<2>;\n"
	"  .reg .b32 %r<4>;\n"
	"  .reg .b64 %d<2>;\n"
	"  ld.param.u64 %d0, [p_page];\n"
	"L_wait:\n"
	"  ld.volatile.global.u32 %r0, [%d0];\n"
	"  setp.eq.u32 %p0, %r0, 0;\n"
	"  @%p0 bra L_wait;\n"
	"  ld.volatile.global.u32 %r1, [%d0+256];\n"
	"  add.u32 %r1, %r1, 1;\n"
	"  st.volatile.global.u32 [%d0+256], %r1;\n"
	"  membar.sys;\n"
	"  ret;\n"
	"}\n"
	".visible .entry work(.param .u64 p_page, .param .u64 p_x, .param .u64 p_steps,\n"
	"                     .param .u64 p_aside, .param .u32 p_index)\n"
	"{\n"
	"  .reg .pred %p<10>;\n"
	"  .reg .b32 %r<28>;\n"
	"  .reg .b64 %d<16>;\n"
	"  .shared .align 4 .b8 pattern[16384];\n"
	"  .shared .align 4 .u32 stop;\n"
	"  ld.param.u64 %d0, [p_page];\n"
	"  ld.param.u64 %d1, [p_x];\n"
	"  ld.param.u64 %d2, [p_steps];\n"
	"  ld.param.u64 %d3, [p_aside];\n"
	"  ld.param.u32 %r0, [p_index];\n"
	"  mov.u32 %r1, %tid.x;\n"
	"  mov.u32 %r2, %ctaid.x;\n"
	"  mov.u32 %r3, %ntid.x;\n"
	"  mad.lo.u32 %r4, %r2, %r3, %r1;\n" /* r4: thread */
	"  mul.wide.u32 %d4, %r4, 4;\n"
	"  add.u64 %d4, %d4, %d1;\n"
	"  ld.global.u32 %r5, [%d4];\n" /* r5: x */
	"  mul.wide.u32 %d5, %r4, 8;\n"
	"  add.u64 %d5, %d5, %d2;\n"
	"  ld.global.u64 %d6, [%d5];\n" /* d6: steps */
	"  mad.lo.u32 %r6, %r2, 7919, %r0;\n"
	"  mov.u32 %r7, pattern;\n"
	"  mov.u32 %r8, %r1;\n"
	"L_fill:\n"
	"  setp.ge.u32 %p0, %r8, 4096;\n"
	"  @%p0 bra L_filled;\n"
	"  mad.lo.u32 %r9, %r8, 31, %r6;\n"
	"  shl.b32 %r10, %r8, 2;\n"
	"  add.u32 %r10, %r10, %r7;\n"
	"  st.shared.u32 [%r10], %r9;\n"
	"  add.u32 %r8, %r8, %r3;\n"
	"  bra L_fill;\n"
	"L_filled:\n"
	"  mov.u64 %d7, 0;\n"
	"  setp.ne.u32 %p1, %r1, 0;\n" /* p1: not the first of its block */
	"  setp.ne.u32 %p2, %r4, 0;\n" /* p2: not the first of all */
	"L_round:\n"
	"  mov.u32 %r11, 4096;\n"
	"L_step:\n"
	"  mad.lo.u32 %r5, %r5, 1664525, 1013904223;\n"
	"  sub.u32 %r11, %r11, 1;\n"
	"  setp.ne.u32 %p3, %r11, 0;\n"
	"  @%p3 bra L_step;\n"
	"  add.u64 %d6, %d6, 4096;\n"
	"  @%p2 bra L_look;\n"
	"  ld.volatile.global.u64 %d7, [%d0+128];\n"
	"  add.u64 %d7, %d7, 1;\n"
	"  st.volatile.global.u64 [%d0+128], %d7;\n"
	"L_look:\n"
	"  @%p1 bra L_told;\n"
	"  @%p2 bra L_copy;\n"
	"  ld.volatile.global.u32 %r12, [%d0+64];\n"
	"  st.volatile.global.u32 [%d3+32], %r12;\n"
	"  bra L_tell;\n"
	"L_copy:\n"
	"  ld.volatile.global.u32 %r12, [%d3+32];\n"
	"L_tell:\n"
	"  st.shared.u32 [stop], %r12;\n"
	"L_told:\n"
	"  bar.sync 0;\n"
	"  ld.shared.u32 %r13, [stop];\n"
	"  bar.sync 0;\n"
	"  setp.eq.u32 %p4, %r13, 0;\n"
	"  @%p4 bra L_round;\n"
	"  st.global.u32 [%d4], %r5;\n"
	"  st.global.u64 [%d5], %d6;\n"
	"  mov.u32 %r14, %r1;\n"
	"L_check:\n"
	"  setp.ge.u32 %p5, %r14, 4096;\n"
	"  @%p5 bra L_checked;\n"
	"  mad.lo.u32 %r15, %r14, 31, %r6;\n"
	"  shl.b32 %r16, %r14, 2;\n"
	"  add.u32 %r16, %r16, %r7;\n"
	"  ld.shared.u32 %r17, [%r16];\n"
	"  add.u32 %r14, %r14, %r3;\n"
	"  setp.eq.u32 %p6, %r17, %r15;\n"
	"  @%p6 bra L_check;\n"
	"  atom.global.add.u32 %r18, [%d3], 1;\n"
	"  bra L_check;\n"
	"L_checked:\n"
	"  membar.gl;\n"
	"  bar.sync 0;\n"
	"  @%p1 bra L_end;\n"
	"  mul.wide.u32 %d8, %r0, 4;\n"
	"  add.u64 %d9, %d3, %d8;\n"
	"  mov.u32 %r19, %nctaid.x;\n"
	"  sub.u32 %r19, %r19, 1;\n"
	"  atom.global.inc.u32 %r20, [%d9+64], %r19;\n"
	"  setp.ne.u32 %p7, %r20, %r19;\n"
	"  @%p7 bra L_end;\n"
	"  add.u64 %d10, %d0, %d8;\n"
	"  ld.volatile.global.u32 %r21, [%d10+256];\n"
	"  add.u32 %r21, %r21, 1;\n"
	"  st.volatile.global.u32 [%d10+256], %r21;\n"
	"  membar.sys;\n"
	"L_end:\n"
	"  ret;\n"
	"}\n";

#endif
