// SPDX-License-Identifier: MIT
/* Opening the devices, memory, queues and packets, as the strict checks of 6.12 want them. */
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

#include "abi/aql.h"
#include "conformance.h"

#define NODE "/sys/class/kfd/kfd/topology/nodes/1/properties"

int call(int fd, unsigned long request, void *args)
{
	int result = ioctl(fd, request, args);

	return result < 0 ? -errno : result;
}

static u32 property(const char *text, const char *name)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), "\n%s ", name);
	at = strstr(text, key);
	CHECK(at);
	return (u32)strtoul(at + strlen(key), NULL, 10);
}

/* A driver that does not know of XCCs has one. */
static u32 xccs_of(const char *text)
{
	return strstr(text, "\nnum_xcc ") ? property(text, "num_xcc") : 1;
}

/* kfd_queue.c's arithmetic; older drivers do not publish its results. */
static struct node read_node(void)
{
	char *text = slurp(NODE);
	struct node node;
	u32 cus, waves, limit;

	CHECK(text);
	node = (struct node){
		.xcc_count = xccs_of(text),
		.capability = property(text, "capability"),
		.gfx_version = property(text, "gfx_target_version"),
	};
	cus = property(text, "simd_count") / property(text, "simd_per_cu") / node.xcc_count;
	limit = property(text, "array_count") / node.xcc_count /
		property(text, "simd_arrays_per_engine") * 512;
	waves = cus * 40 < limit ? cus * 40 : limit;
	if (node.gfx_version >= 100100)
		waves = cus * 32;
	node.ctl_stack_bytes =
		(40 + waves * (node.gfx_version >= 100100 ? 12 : 8) + 8 + 4095) & ~4095u;
	/* The vector registers of gfx908, gfx90a and gfx94x are twice as many. */
	node.cwsr_bytes =
		(node.gfx_version >= 90008 && node.gfx_version < 90500 ? 0x80000 : 0x40000);
	node.cwsr_bytes =
		node.ctl_stack_bytes + cus * (node.cwsr_bytes + 0x4000 + 0x10000 + 0x1000);
	node.debug_bytes = (waves * 32 + 63) & ~63u;
	node.area_bytes = (u64)(node.cwsr_bytes + node.debug_bytes) * node.xcc_count;
	node.area_bytes = (node.area_bytes + 4095) & ~4095ull;
	free(text);
	return node;
}

u32 node_property(const char *name)
{
	char *text = slurp(NODE);
	u32 value;

	CHECK(text);
	value = property(text, name);
	free(text);
	return value;
}

void open_kfd(struct self *self)
{
	self->kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	CHECK(self->kfd >= 0);
	CHECK(pipe2(self->pipe, O_CLOEXEC | O_NONBLOCK) == 0);
}

void open_gpu(struct self *self)
{
	struct gp_kfd_process_device_apertures gpu = {0};
	struct gp_kfd_get_process_apertures_new_args apertures = {
		.kfd_process_device_apertures_ptr = (uintptr_t)&gpu, .num_of_nodes = 1};
	struct gp_kfd_acquire_vm_args server;

	if (self->kfd < 0)
		open_kfd(self);
	self->render = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	CHECK(self->render >= 0);
	EXPECT(call(self->kfd, GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &apertures), 0);
	self->gpu_id = gpu.gpu_id;
	server = (struct gp_kfd_acquire_vm_args){.drm_fd = (u32)self->render, .gpu_id = gpu.gpu_id};
	EXPECT(call(self->kfd, GP_KFD_IOC_ACQUIRE_VM, &server), 0);
	self->node = read_node();
}

static void map_buffer(struct self *self, void *at, size_t size)
{
	struct gp_kfd_alloc_memory_of_gpu_args args = {
		.va_addr = (uintptr_t)at,
		.size = size,
		.mmap_offset = (uintptr_t)at,
		.gpu_id = self->gpu_id,
		.flags = (self->secondary ? GP_KFD_ALLOC_GTT : GP_KFD_ALLOC_USERPTR) |
			 GP_KFD_ALLOC_WRITABLE | GP_KFD_ALLOC_EXECUTABLE,
	};
	struct gp_kfd_map_memory_to_gpu_args map = {.device_ids_array_ptr =
							    (uintptr_t)&self->gpu_id,
						    .n_devices = 1};

	EXPECT(call(self->kfd, GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args), 0);
	map.handle = args.handle;
	EXPECT(call(self->kfd, GP_KFD_IOC_MAP_MEMORY_TO_GPU, &map), 0);
	if (self->secondary)
		CHECK(mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, self->render,
			   (off_t)args.mmap_offset) == at);
}

void *gpu_buffer(struct self *self, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(at != MAP_FAILED);
	map_buffer(self, at, size);
	return at;
}

struct gp_kfd_create_queue_args good_queue(struct self *self, u32 type)
{
	u8 *pointers = gpu_buffer(self, 4096);
	u8 *ring = gpu_buffer(self, RING_BYTES);

	for (u32 i = 0; i < RING_BYTES; i += GP_AQL_PACKET_BYTES)
		ring[i] = GP_AQL_INVALID;
	if (!self->eop)
		self->eop = gpu_buffer(self, 4096);
	return (struct gp_kfd_create_queue_args){
		.ring_base_address = (uintptr_t)ring,
		.write_pointer_address = (uintptr_t)pointers,
		.read_pointer_address = (uintptr_t)pointers + 64,
		.ring_size = RING_BYTES,
		.gpu_id = self->gpu_id,
		.queue_type = type,
		.queue_percentage = 100,
		.queue_priority = 7,
		.eop_buffer_address = type == COMPUTE ? (uintptr_t)self->eop : 0,
		.eop_buffer_size = type == COMPUTE ? 4096 : 0,
		.ctx_save_restore_address =
			type == COMPUTE ? (uintptr_t)gpu_buffer(self, self->node.area_bytes) : 0,
		.ctx_save_restore_size = type == COMPUTE ? self->node.cwsr_bytes : 0,
		.ctl_stack_size = type == COMPUTE ? self->node.ctl_stack_bytes : 0,
	};
}

int create_queue(struct self *self, struct gp_kfd_create_queue_args *args)
{
	int error = call(self->kfd, GP_KFD_IOC_CREATE_QUEUE, args);
	struct queue *queue;

	if (error)
		return error;
	CHECK(args->queue_id < MAX_QUEUES);
	if (!self->doorbells) {
		self->doorbells =
			mmap(NULL, GP_KFD_DOORBELL_SLICE, PROT_READ | PROT_WRITE, MAP_SHARED,
			     self->kfd,
			     (off_t)(args->doorbell_offset & ~(u64)(GP_KFD_DOORBELL_SLICE - 1)));
		CHECK(self->doorbells != MAP_FAILED);
	}
	queue = &self->queues[args->queue_id];
	*queue = (struct queue){
		.used = true,
		.args = *args,
		.write_index = (u64 *)(uintptr_t)args->write_pointer_address,
		.read_index = (u64 *)(uintptr_t)args->read_pointer_address,
		.doorbell = self->doorbells +
			    (args->doorbell_offset & (GP_KFD_DOORBELL_SLICE - 1)) / sizeof(u64),
	};
	return 0;
}

u32 must_create(struct self *self, u32 type)
{
	struct gp_kfd_create_queue_args args = good_queue(self, type);

	EXPECT(create_queue(self, &args), 0);
	return args.queue_id;
}

/*
 * Kernels whose workgroups are long, by name. Names come from ROCr's list of code objects, so this
 * program stands in as one: its own file has the symbols, at the addresses it was loaded to.
 */
#define DESCRIPTOR(variable, name)                                 \
	extern struct gp_kernel_descriptor variable __asm__(name); \
	struct gp_kernel_descriptor variable __attribute__((aligned(4096)))

DESCRIPTOR(long_kernel, "conformance_200ms.kd");
DESCRIPTOR(slow_kernel, "conformance_900ms.kd");
DESCRIPTOR(endless_kernel, "conformance_endless.kd");

/* The fake GPU of kernel/testbed knows no names: it reads the time here. */
static const u64 workgroup_ns[] = {
	[LONG] = 200000000, [SLOW] = 900000000, [ENDLESS] = 1000000000000};

static char program[] = "file:///proc/self/exe";
static struct link_map code_object = {.l_name = program};
extern struct r_debug _amdgpu_r_debug;
struct r_debug _amdgpu_r_debug = {.r_version = 1, .r_map = &code_object};

static u64 kernel_object(struct self *self, enum kernel kernel)
{
	static bool mapped[ENDLESS + 1];
	struct gp_kernel_descriptor *descriptors[] = {
		[LONG] = &long_kernel, [SLOW] = &slow_kernel, [ENDLESS] = &endless_kernel};

	/* Not in a static program, which no machine looks into. */
	if (_r_debug.r_map)
		code_object.l_addr = _r_debug.r_map->l_addr;
	if (kernel == PLAIN) {
		if (!self->kernel)
			self->kernel = gpu_buffer(self, 4096);
		return (uintptr_t)self->kernel;
	}
	if (!mapped[kernel]) {
		memcpy(descriptors[kernel]->reserved1, &workgroup_ns[kernel], sizeof(u64));
		map_buffer(self, descriptors[kernel], 4096);
	}
	mapped[kernel] = true;
	return (uintptr_t)descriptors[kernel];
}

/* One workgroup on each CU at a time: it asks for all the LDS there is. */
#define CUS          80
#define WORKGROUP_US 1000

void submit_kernel(struct self *self, u32 id, enum kernel kernel, u32 rounds)
{
	struct queue *queue = &self->queues[id];
	struct gp_aql_dispatch *packet;

	CHECK(queue->used);
	packet = (struct gp_aql_dispatch *)(uintptr_t)queue->args.ring_base_address +
		 queue->written % (queue->args.ring_size / GP_AQL_PACKET_BYTES);
	*packet = (struct gp_aql_dispatch){
		.header = GP_AQL_INVALID,
		.setup = 1,
		.workgroup_x = 64,
		.workgroup_y = 1,
		.workgroup_z = 1,
		.grid_x = rounds * CUS * 64,
		.grid_y = 1,
		.grid_z = 1,
		.group_segment_bytes = GP_GFX9_LDS_MAX,
		.kernel_object = kernel_object(self, kernel),
	};
	__atomic_store_n(&packet->header, GP_AQL_KERNEL_DISPATCH | GP_AQL_HEADER_BARRIER,
			 __ATOMIC_RELEASE);
	queue->written++;
	__atomic_store_n(queue->write_index, queue->written, __ATOMIC_RELEASE);
	__atomic_store_n(queue->doorbell, queue->written - 1, __ATOMIC_RELEASE);
}

void submit(struct self *self, u32 id, u32 microseconds)
{
	submit_kernel(self, id, PLAIN, microseconds / WORKGROUP_US);
}

int update_queue(struct self *self, u32 id, u32 percentage, u32 priority)
{
	struct gp_kfd_update_queue_args args = {
		.ring_base_address = id < MAX_QUEUES ? self->queues[id].args.ring_base_address : 0,
		.ring_size = RING_BYTES,
		.queue_id = id,
		.queue_percentage = percentage,
		.queue_priority = priority,
	};

	return call(self->kfd, GP_KFD_IOC_UPDATE_QUEUE, &args);
}

int destroy_queue(struct self *self, u32 id)
{
	struct gp_kfd_destroy_queue_args args = {.queue_id = id};

	return call(self->kfd, GP_KFD_IOC_DESTROY_QUEUE, &args);
}

int enable_runtime(struct self *self, u32 mode)
{
	struct gp_kfd_runtime_enable_args args = {.r_debug = 0x1234, .mode_mask = mode};

	return call(self->kfd, GP_KFD_IOC_RUNTIME_ENABLE, &args);
}
