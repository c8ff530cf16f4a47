// SPDX-License-Identifier: MIT
/*
 * Where memory comes from a pool or a graph, and copies that are described by a structure: pools of
 * the user, allocations of a graph, events of another process, advice, copies in the style of the
 * driver's interface, and batches of copies. Checked by content.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "hip_check.h"

#define BYTES (1u << 20)

#if HIP_VERSION_MAJOR >= 6

static void check_all(const void *device, unsigned char value, size_t size)
{
	unsigned char *out = new_bytes(size, 0);

	HIP(hipMemcpy(out, device, size, hipMemcpyDeviceToHost));
	for (size_t i = 0; i < size; i++)
		CHECK(out[i] == value);
	free(out);
}

static void own_pool(hipStream_t stream)
{
	hipMemPoolProps properties = {.allocType = hipMemAllocationTypePinned};
	uint64_t threshold = UINT64_MAX, reserved = 0, used = 1;
	unsigned char *first, *second;
	hipMemPool_t pool, own;

	properties.location.type = hipMemLocationTypeDevice;
	HIP(hipMemPoolCreate(&pool, &properties));
	HIP(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold));
	HIP(hipMallocFromPoolAsync((void **)&first, BYTES, pool, stream));
	HIP(hipMemsetAsync(first, 0x51, BYTES, stream));
	HIP(hipStreamSynchronize(stream));
	check_all(first, 0x51, BYTES);
	HIP(hipFreeAsync(first, stream));
	/* As the pool of the device. */
	HIP(hipDeviceGetMemPool(&own, 0));
	HIP(hipDeviceSetMemPool(0, pool));
	HIP(hipMallocAsync((void **)&second, BYTES, stream));
	HIP(hipMemsetAsync(second, 0x52, BYTES, stream));
	HIP(hipStreamSynchronize(stream));
	check_all(second, 0x52, BYTES);
	HIP(hipFreeAsync(second, stream));
	HIP(hipStreamSynchronize(stream));
	HIP(hipDeviceSetMemPool(0, own));
	HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrReservedMemCurrent, &reserved));
	CHECK(reserved >= BYTES);
	HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used));
	CHECK(used == 0);
	HIP(hipMemPoolTrimTo(pool, 0));
	HIP(hipMemPoolDestroy(pool));
}

/* Allocates, fills, copies out and frees, twice; the second time to another place. */
static void graph_memory(hipStream_t stream)
{
	hipMemAllocNodeParams memory = {.bytesize = BYTES};
	hipMemsetParams what = {.elementSize = 1, .value = 0x53, .width = BYTES, .height = 1};
	hipGraphNode_t make, fill, back, away;
	unsigned char *out = new_bytes(BYTES, 0), *other = new_bytes(BYTES, 0);
	hipGraphExec_t executable;
	hipGraph_t graph;

	memory.poolProps.allocType = hipMemAllocationTypePinned;
	memory.poolProps.location.type = hipMemLocationTypeDevice;
	HIP(hipGraphCreate(&graph, 0));
	HIP(hipGraphAddMemAllocNode(&make, graph, NULL, 0, &memory));
	what.dst = memory.dptr;
	what.pitch = BYTES;
	HIP(hipGraphAddMemsetNode(&fill, graph, &make, 1, &what));
	HIP(hipGraphAddMemcpyNode1D(&back, graph, &fill, 1, out, memory.dptr, BYTES,
				    hipMemcpyDeviceToHost));
	HIP(hipGraphAddMemFreeNode(&away, graph, &back, 1, memory.dptr));
	HIP(hipGraphInstantiate(&executable, graph, NULL, NULL, 0));
	HIP(hipGraphLaunch(executable, stream));
	HIP(hipStreamSynchronize(stream));
	for (size_t i = 0; i < BYTES; i++)
		CHECK(out[i] == 0x53);
	memset(out, 0, BYTES);
	/* HIP 6.4 copies at once, from memory that only a launch maps. */
	if (HIP_VERSION_MAJOR >= 7)
		HIP(hipGraphExecMemcpyNodeSetParams1D(executable, back, other, memory.dptr, BYTES,
						      hipMemcpyDeviceToHost));
	HIP(hipGraphLaunch(executable, stream));
	HIP(hipStreamSynchronize(stream));
	for (size_t i = 0; i < BYTES; i++)
		CHECK((HIP_VERSION_MAJOR >= 7 ? other : out)[i] == 0x53);
	HIP(hipGraphExecDestroy(executable));
	HIP(hipGraphDestroy(graph));
	HIP(hipDeviceGraphMemTrim(0));
	free(out);
	free(other);
}

/* The middle of a box, with structures of both interfaces. */
static void described(hipStream_t stream)
{
	enum { WIDTH = 48, HEIGHT = 12, DEPTH = 4, SIZE = WIDTH * HEIGHT * DEPTH };
	unsigned char *in = new_bytes(SIZE, 21), *out = new_bytes(SIZE, 0), *device;
	hip_Memcpy2D plane = {.srcMemoryType = hipMemoryTypeHost,
			      .dstMemoryType = hipMemoryTypeDevice,
			      .srcPitch = WIDTH,
			      .dstPitch = WIDTH,
			      .WidthInBytes = WIDTH,
			      .Height = HEIGHT * DEPTH};
	HIP_MEMCPY3D box = {.srcMemoryType = hipMemoryTypeDevice,
			    .dstMemoryType = hipMemoryTypeHost,
			    .srcXInBytes = 8,
			    .srcY = 2,
			    .srcZ = 1,
			    .srcPitch = WIDTH,
			    .srcHeight = HEIGHT,
			    .dstPitch = WIDTH,
			    .dstHeight = HEIGHT,
			    .WidthInBytes = 32,
			    .Height = 8,
			    .Depth = 2};

	HIP(hipMalloc((void **)&device, SIZE));
	plane.srcHost = in;
	plane.dstDevice = device;
	HIP(hipMemcpyParam2DAsync(&plane, stream));
	HIP(hipStreamSynchronize(stream));
	box.srcDevice = device;
	box.dstHost = out;
	HIP(hipDrvMemcpy3DAsync(&box, stream));
	HIP(hipStreamSynchronize(stream));
	for (size_t z = 0; z < DEPTH; z++) {
		for (size_t y = 0; y < HEIGHT; y++) {
			for (size_t x = 0; x < WIDTH; x++) {
				size_t from = ((z + 1) * HEIGHT + y + 2) * WIDTH + x + 8;
				int inside = x < 32 && y < 8 && z < 2;

				CHECK(out[(z * HEIGHT + y) * WIDTH + x] == (inside ? in[from] : 0));
			}
		}
	}
	HIP(hipFree(device));
	free(in);
	free(out);
}

static void advised(void)
{
	unsigned char *shared;
	int reader = -1;

	HIP(hipMallocManaged((void **)&shared, BYTES, hipMemAttachGlobal));
	HIP(hipMemAdvise(shared, BYTES, hipMemAdviseSetPreferredLocation, 0));
	HIP(hipMemAdvise(shared, BYTES, hipMemAdviseSetAccessedBy, 0));
	HIP(hipMemRangeGetAttribute(&reader, sizeof(reader), hipMemRangeAttributePreferredLocation,
				    shared, BYTES));
	CHECK(reader == 0);
	memset(shared, 0x54, BYTES);
	check_all(shared, 0x54, BYTES);
	HIP(hipFree(shared));
}

/* The child waits for an event that the parent records behind a copy. */
static int other_process(int in)
{
	hipIpcEventHandle_t handle;
	hipEvent_t event;

	CHECK(read(in, &handle, sizeof(handle)) == (ssize_t)sizeof(handle));
	HIP(hipIpcOpenEventHandle(&event, handle));
	HIP(hipEventSynchronize(event));
	HIP(hipEventDestroy(event));
	return 0;
}

static void event_of_another_process(const char *program)
{
	hipIpcEventHandle_t handle;
	hipEvent_t event;
	int to[2], status;
	void *device;
	pid_t child;

	CHECK(!pipe(to));
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		char in[16];

		snprintf(in, sizeof(in), "%d", to[0]);
		close(to[1]);
		execl(program, program, in, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming | hipEventInterprocess));
	HIP(hipIpcGetEventHandle(&handle, event));
	HIP(hipMalloc(&device, BYTES));
	HIP(hipMemsetAsync(device, 1, BYTES, NULL));
	HIP(hipEventRecord(event, NULL));
	CHECK(write(to[1], &handle, sizeof(handle)) == (ssize_t)sizeof(handle));
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	HIP(hipFree(device));
	HIP(hipEventDestroy(event));
}

int main(int argc, char **argv)
{
	hipStream_t stream;

	if (argc == 2)
		return other_process(atoi(argv[1]));
	event_of_another_process(argv[0]); /* before this process has a GPU: fork() */
	HIP(hipStreamCreate(&stream));
	own_pool(stream);
	graph_memory(stream);
	described(stream);
	advised();
	HIP(hipStreamDestroy(stream));
	return 0;
}

#else

int main(void)
{
	return NOT_APPLICABLE;
}

#endif
