// SPDX-License-Identifier: MIT
/*
 * rocm_actor MODE: what Debian's ROCm libraries do with queues, step by step, for the conformance
 * test to look at from outside. Prints a line after each step and waits for one before the next.
 * Exit status 77 when the library of the mode is not installed.
 *
 *   hsakmt  a queue of each priority from -3 to 3
 *   rocr    a queue, its priority set to high, then to low
 *   kernel  RUNTIME_ENABLE by hand, then a queue with a kernel that does not end
 *   hip     six streams of each priority
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "abi/kfd_debug.h"
#include "hsa_program.h"

#define NOT_INSTALLED 77
#define RING_BYTES    4096
#define STREAMS       6 /* more than HIP has queues for one priority */
#define MANY          0xfffffc0u

static void step(void)
{
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		exit(0);
}

static void *open_library(const char *name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);

	if (!library)
		exit(NOT_INSTALLED);
	return library;
}

static void *symbol(void *library, const char *name)
{
	void *function = dlsym(library, name);

	CHECK(function);
	return function;
}

/* ---- libhsakmt, by the layout of its 5.2.3 header ---- */

#define KMT_QUEUE_COMPUTE_AQL 21
#define KMT_HOST_ACCESS       (1u << 6) /* bits of HsaMemFlags */
#define KMT_EXECUTE_ACCESS    (1u << 12)

struct kmt_queue {
	uint64_t id, doorbell;
	uint64_t *write_index, *read_index;
	int64_t *error_reason;
};

/* A page that the GPU sees too: the driver looks for the mapping. */
static void *kmt_page(void *library)
{
	int (*alloc)(uint32_t, uint64_t, uint32_t, void **) = symbol(library, "hsaKmtAllocMemory");
	int (*map)(void *, uint64_t, uint64_t *) = symbol(library, "hsaKmtMapMemoryToGPU");
	uint64_t alternative = 0;
	void *page = NULL;

	CHECK(alloc(0, RING_BYTES, KMT_HOST_ACCESS | KMT_EXECUTE_ACCESS, &page) == 0);
	CHECK(map(page, RING_BYTES, &alternative) == 0);
	return page;
}

static void hsakmt(void)
{
	void *library = open_library("libhsakmt.so.1");
	int (*open_kfd)(void) = symbol(library, "hsaKmtOpenKFD");
	int (*properties)(void *) = symbol(library, "hsaKmtAcquireSystemProperties");
	/* The enumeration of priorities is as wide as its largest value makes it. */
	int (*create)(uint32_t, int, uint32_t, int64_t, void *, uint64_t, void *,
		      struct kmt_queue *) = symbol(library, "hsaKmtCreateQueue");
	uint32_t system[16];

	CHECK(open_kfd() == 0);
	CHECK(properties(system) == 0);
	for (int priority = -3; priority <= 3; priority++) {
		uint64_t *indices = kmt_page(library);
		unsigned char *ring = kmt_page(library);
		struct kmt_queue queue = {.write_index = indices, .read_index = indices + 8};

		memset(indices, 0, RING_BYTES);
		memset(ring, 1, RING_BYTES); /* packets that are none */
		CHECK(create(1, KMT_QUEUE_COMPUTE_AQL, 100, priority, ring, RING_BYTES, NULL,
			     &queue) == 0);
	}
	step();
}

/* ---- ROCr ---- */

static void rocr(void)
{
	struct hsa_program program = hsa_program_begin();
	hsa_queue_t *queue = hsa_program_queue(&program, 1024);

	step();
	HSA(hsa_amd_queue_set_priority(queue, HSA_AMD_QUEUE_PRIORITY_HIGH));
	step();
	HSA(hsa_amd_queue_set_priority(queue, HSA_AMD_QUEUE_PRIORITY_LOW));
	step();
}

static void kernel(void)
{
	struct gp_kfd_runtime_enable_args runtime = {.mode_mask = GP_KFD_RUNTIME_ENABLE};
	int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	hsa_kernel_dispatch_packet_t packet;
	struct hsa_program program;

	CHECK(kfd >= 0 && ioctl(kfd, GP_KFD_IOC_RUNTIME_ENABLE, &runtime) == 0);
	program = hsa_program_begin();
	packet = hsa_program_dispatch(hsa_program_kernel(&program), MANY, 0);
	hsa_program_submit(hsa_program_queue(&program, 1024), &packet);
	step();
}

/* ---- HIP ---- */

static void hip(void)
{
	void *library = open_library("libamdhip64.so.5");
	int (*allocate)(void **, size_t) = symbol(library, "hipMalloc");
	int (*create)(void **, unsigned int, int) = symbol(library, "hipStreamCreateWithPriority");
	int (*fill)(void *, int, size_t, void *) = symbol(library, "hipMemsetAsync");
	int (*synchronize)(void *) = symbol(library, "hipStreamSynchronize");
	void *memory, *stream;

	CHECK(allocate(&memory, 4096) == 0);
	for (int i = 0; i < STREAMS; i++)
		for (int priority = -1; priority <= 1; priority++) {
			CHECK(create(&stream, 0, priority) == 0);
			CHECK(fill(memory, i, 4096, stream) == 0);
			CHECK(synchronize(stream) == 0);
		}
	step();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (strcmp(mode, "hsakmt") == 0)
		hsakmt();
	else if (strcmp(mode, "rocr") == 0)
		rocr();
	else if (strcmp(mode, "kernel") == 0)
		kernel();
	else if (strcmp(mode, "hip") == 0)
		hip();
	else
		return 2;
	_exit(0); /* the libraries' own way out is not what is looked at */
}
