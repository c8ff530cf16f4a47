// SPDX-License-Identifier: MIT
/*
 * Memory that is shared or mapped by hand, checked byte by byte: stream-ordered allocation, virtual
 * memory management (create, map, set access, export), and IPC handles between processes.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "hip_check.h"

#define BYTES (4u << 20)

static void stream_ordered(void)
{
	hipStream_t stream;

	HIP(hipStreamCreate(&stream));
	for (unsigned int round = 0; round < 8; round++) {
		unsigned char *out = new_bytes(BYTES, 0), *device;

		HIP(hipMallocAsync((void **)&device, BYTES, stream));
		HIP(hipMemsetAsync(device, 0x40 + (int)round, BYTES, stream));
		HIP(hipMemcpyAsync(out, device, BYTES, hipMemcpyDeviceToHost, stream));
		HIP(hipFreeAsync(device, stream));
		HIP(hipStreamSynchronize(stream));
		for (size_t i = 0; i < BYTES; i++)
			CHECK(out[i] == 0x40 + round);
		free(out);
	}
	if (HIP_VERSION_MAJOR >= 6) /* 5.2.3 does not return from it after hipFreeAsync() */
		HIP(hipStreamDestroy(stream));
}

#if HIP_VERSION_MAJOR >= 6

static void check_device(const void *device, unsigned int seed)
{
	unsigned char *expected = new_bytes(BYTES, seed), *out = new_bytes(BYTES, 0);

	HIP(hipMemcpy(out, device, BYTES, hipMemcpyDeviceToHost));
	CHECK(!memcmp(out, expected, BYTES));
	free(expected);
	free(out);
}

static void fill_device(void *device, unsigned int seed)
{
	unsigned char *in = new_bytes(BYTES, seed);

	HIP(hipMemcpy(device, in, BYTES, hipMemcpyHostToDevice));
	free(in);
}

static hipMemAllocationProp on_device(int device)
{
	hipMemAllocationProp properties;

	memset(&properties, 0, sizeof(properties));
	properties.type = hipMemAllocationTypePinned;
	properties.location.type = hipMemLocationTypeDevice;
	properties.location.id = device;
	properties.requestedHandleType = hipMemHandleTypePosixFileDescriptor;
	return properties;
}

static void set_access(void *at, size_t size, int device)
{
	hipMemAccessDesc access = {.flags = hipMemAccessFlagsProtReadWrite};

	access.location.type = hipMemLocationTypeDevice;
	access.location.id = device;
	HIP(hipMemSetAccess(at, size, &access, 1));
}

/* Two pieces in one range, the second mapped twice; then the same through a descriptor. */
static void mapped_by_hand(int devices)
{
	hipMemAllocationProp properties = on_device(0);
	hipMemGenericAllocationHandle_t handles[2], imported;
	size_t granularity, piece;
	unsigned char *range, *again;
	int fd = -1;

	HIP(hipMemGetAllocationGranularity(&granularity, &properties,
					   hipMemAllocationGranularityRecommended));
	piece = (BYTES + granularity - 1) / granularity * granularity;
	HIP(hipMemAddressReserve((void **)&range, piece * 2, 0, NULL, 0));
	for (int i = 0; i < 2; i++) {
		HIP(hipMemCreate(&handles[i], piece, &properties, 0));
		HIP(hipMemMap(range + (size_t)i * piece, piece, 0, handles[i], 0));
	}
	set_access(range, piece * 2, 0);
	fill_device(range, 3);
	fill_device(range + piece, 4);
	check_device(range, 3);
	check_device(range + piece, 4);
	if (devices > 1) {
		set_access(range, piece * 2, 1);
		HIP(hipSetDevice(1));
		check_device(range + piece, 4);
		HIP(hipSetDevice(0));
	}
	HIP(hipMemExportToShareableHandle(&fd, handles[1], hipMemHandleTypePosixFileDescriptor, 0));
	CHECK(fd >= 0);
	/* ROCm 6 takes the address of the descriptor, ROCm 7 its value as CUDA does. */
	HIP(hipMemImportFromShareableHandle(&imported,
					    HIP_VERSION_MAJOR < 7 ? (void *)&fd
								  : (void *)(intptr_t)fd,
					    hipMemHandleTypePosixFileDescriptor));
	close(fd);
	HIP(hipMemAddressReserve((void **)&again, piece, 0, NULL, 0));
	HIP(hipMemMap(again, piece, 0, imported, 0));
	set_access(again, piece, 0);
	check_device(again, 4);
	fill_device(again, 5);
	check_device(range + piece, 5);
	HIP(hipMemUnmap(again, piece));
	HIP(hipMemRelease(imported));
	HIP(hipMemAddressFree(again, piece));
	HIP(hipMemUnmap(range, piece));
	HIP(hipMemUnmap(range + piece, piece));
	for (int i = 0; i < 2; i++)
		HIP(hipMemRelease(handles[i]));
	HIP(hipMemAddressFree(range, piece * 2));
}

/* The child: reads what the parent wrote, writes back, says so. */
static int other_process(int in, int out)
{
	hipIpcMemHandle_t handle;
	void *device;
	char byte = 1;

	CHECK(read(in, &handle, sizeof(handle)) == (ssize_t)sizeof(handle));
	HIP(hipIpcOpenMemHandle(&device, handle, hipIpcMemLazyEnablePeerAccess));
	check_device(device, 6);
	fill_device(device, 7);
	HIP(hipDeviceSynchronize());
	HIP(hipIpcCloseMemHandle(device));
	CHECK(write(out, &byte, 1) == 1);
	return 0;
}

static void between_processes(const char *program)
{
	hipIpcMemHandle_t handle;
	int to[2], from[2], status;
	void *device;
	char byte = 0;
	pid_t child;

	CHECK(!pipe(to) && !pipe(from));
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		char in[16], out[16];

		snprintf(in, sizeof(in), "%d", to[0]);
		snprintf(out, sizeof(out), "%d", from[1]);
		close(to[1]);
		close(from[0]);
		execl(program, program, in, out, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	HIP(hipMalloc(&device, BYTES));
	fill_device(device, 6);
	HIP(hipIpcGetMemHandle(&handle, device));
	CHECK(write(to[1], &handle, sizeof(handle)) == (ssize_t)sizeof(handle));
	CHECK(read(from[0], &byte, 1) == 1 && byte == 1);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	check_device(device, 7);
	HIP(hipFree(device));
}

int main(int argc, char **argv)
{
	int devices;

	/* Until ROCm 7 IPC handles use a call by default that only the driver of AMD has. */
	setenv("HSA_ENABLE_IPC_MODE_LEGACY", "0", 1);
	if (argc == 3)
		return other_process(atoi(argv[1]), atoi(argv[2]));
	between_processes(argv[0]); /* before this process has a GPU: fork() */
	HIP(hipGetDeviceCount(&devices));
	stream_ordered();
	mapped_by_hand(devices);
	return 0;
}

#else

/* 5.2.3 cannot map by hand, and its IPC handles need a call that only the driver of AMD has. */
int main(void)
{
	stream_ordered();
	return 0;
}

#endif
