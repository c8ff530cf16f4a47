// SPDX-License-Identifier: MIT
/*
 * The kernel that `gpreempt selftest` stops and continues. It is compiled for several GPUs when
 * gpreempt is built (OpenCL C), and for others by hiprtc when the test runs (HIP). It does nothing
 * but check itself until it is told to stop: whatever of a wave a preemption fails to bring back
 * shows as a wrong value.
 *
 * Every work item fills vector registers with values of its own, turns them over with steps that
 * can be undone, undoes them and compares. Values of the group stand in scalar registers, values of
 * a neighbour in LDS, lanes take ways of different length, and on CDNA accumulation registers hold
 * values, too. Nothing is atomic: a work item writes only its own two words, as not every PCIe root
 * can do more.
 */
#ifdef __HIP_DEVICE_COMPILE__
#define KERNEL extern "C" __global__ __launch_bounds__(GROUP)
#define DEVICE static __device__ inline
#define GLOBAL volatile
#define LOCAL  __shared__
typedef unsigned int gp_uint;
#else
#define KERNEL kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
#define DEVICE static inline
#define GLOBAL volatile global
#define LOCAL  local
typedef uint gp_uint;
#endif

/* A test that runs it on a CPU changes values here, as a bad preemption would. */
#ifndef PREEMPTED
#define PREEMPTED(v, s, words)
#endif

#define GROUP        256 /* work items: GP_WORK_GROUP in work.h */
#define VECTORS      40
#define SCALARS      12
#define WORDS        8 /* of LDS, for each work item */
#define ACCUMULATORS 8

/* What a work item found wrong, in its word of `bad`. */
#define BAD_VECTOR      1u
#define BAD_SCALAR      2u
#define BAD_LDS         4u
#define BAD_LANES       8u
#define BAD_ACCUMULATOR 16u

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || \
	defined(__gfx942__) || defined(__gfx950__)
#define HAS_ACCUMULATORS 1
#endif

DEVICE gp_uint turn(gp_uint x, gp_uint by)
{
	return x << by | x >> (32 - by);
}

DEVICE gp_uint mix(gp_uint a, gp_uint b)
{
	gp_uint x = a * 0x9e3779b9u + b;

	x = (x ^ x >> 16) * 0x85ebca6bu;
	x = (x ^ x >> 13) * 0xc2b2ae35u;
	return x ^ x >> 16;
}

/* One step, and the one that undoes it: each value depends on its neighbour, so that one wrong
 * register makes many wrong. */
#define FORTH(v, n, r)                                                       \
	for (int i = 0; i < (n); i++)                                        \
		(v)[i] = turn((v)[i], 7) + ((v)[(i + 1) % (n)] ^ (r))
#define BACK(v, n, r)                                                        \
	for (int i = (n)-1; i >= 0; i--)                                     \
		(v)[i] = turn((v)[i] - ((v)[(i + 1) % (n)] ^ (r)), 25)

/* Lanes with other numbers go another way: what is off in EXEC must stay off, and come back. */
DEVICE gp_uint stray(gp_uint lane, gp_uint seed)
{
	gp_uint x = mix(seed, lane), begin = x, ways = lane % 13;

	for (gp_uint i = 0; i < ways; i++)
		x = turn(x, 3) + mix(seed, i);
	for (gp_uint i = ways; i > 0; i--)
		x = turn(x - mix(seed, i - 1), 29);
	return x ^ begin;
}

DEVICE gp_uint round_trip(gp_uint item, gp_uint lane, gp_uint group, gp_uint seed, gp_uint steps)
{
	gp_uint v[VECTORS], s[SCALARS], wrong_v = 0, wrong_s = 0, wrong_a = 0;
#ifdef HAS_ACCUMULATORS
	gp_uint a[ACCUMULATORS];

	for (int i = 0; i < ACCUMULATORS; i++) {
		gp_uint value = mix(item + 7, (gp_uint)i);

		__asm__ volatile("v_accvgpr_write_b32 %0, %1" : "=a"(a[i]) : "v"(value));
	}
#endif
	for (int i = 0; i < VECTORS; i++)
		v[i] = mix(item, (gp_uint)i);
	for (int i = 0; i < SCALARS; i++)
		s[i] = (gp_uint)__builtin_amdgcn_readfirstlane(
			(int)mix(group + seed, (gp_uint)i));
	for (gp_uint r = 0; r < steps; r++) {
		FORTH(v, VECTORS, r + seed);
		FORTH(s, SCALARS, r);
	}
	PREEMPTED(v, s, 0);
	for (gp_uint r = steps; r > 0; r--) {
		BACK(v, VECTORS, r - 1 + seed);
		BACK(s, SCALARS, r - 1);
	}
	for (int i = 0; i < VECTORS; i++)
		wrong_v |= v[i] ^ mix(item, (gp_uint)i);
	for (int i = 0; i < SCALARS; i++)
		wrong_s |= s[i] ^ mix(group + seed, (gp_uint)i);
#ifdef HAS_ACCUMULATORS
	for (int i = 0; i < ACCUMULATORS; i++) {
		gp_uint value;

		__asm__ volatile("v_accvgpr_read_b32 %0, %1" : "=v"(value) : "a"(a[i]));
		wrong_a |= value ^ mix(item + 7, (gp_uint)i);
	}
#endif
	return (wrong_v ? BAD_VECTOR : 0) | (wrong_s ? BAD_SCALAR : 0) |
	       (stray(lane, seed) ? BAD_LANES : 0) | (wrong_a ? BAD_ACCUMULATOR : 0);
}

/*
 * stop: a word in host memory that ends it; most: rounds after which it ends by itself; steps: of a
 * round, forth and as many back; done, bad: a word for each work item. `done` counts how often this
 * item ran to its end.
 */
KERNEL void gpreempt_selftest(GLOBAL gp_uint *stop, GLOBAL gp_uint *done, GLOBAL gp_uint *bad,
			      gp_uint seed, gp_uint steps, gp_uint most)
{
	LOCAL volatile gp_uint words[GROUP * WORDS];
	gp_uint lane = __builtin_amdgcn_workitem_id_x(), group = __builtin_amdgcn_workgroup_id_x();
	gp_uint item = group * GROUP + lane, next = (lane + 1) % GROUP, found = 0;

	for (gp_uint i = 0; i < WORDS; i++)
		words[lane * WORDS + i] = mix(item + seed, i);
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
	for (gp_uint i = 0; i < most; i++) {
		found |= round_trip(item, lane, group, seed + i, steps);
		if (*stop)
			break;
	}
	PREEMPTED(0, 0, words);
	for (gp_uint i = 0; i < WORDS; i++)
		if (words[next * WORDS + i] != mix(group * GROUP + next + seed, i))
			found |= BAD_LDS;
	bad[item] |= found;
	done[item] += 1;
}
