// SPDX-License-Identifier: MIT
/*
 * A program's life on a live machine: queues, fork, threads, signals and the debugger's calls, as
 * the driver answers them.
 */
#include "client_program.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#if !__GLIBC_PREREQ(2, 34)
/* glibc has none; the library of the virtual GPU does. */
int close_range(unsigned int first, unsigned int last, int flags) __attribute__((weak));
#endif

#define FREED_BYTES (8u << 20)

/* ---- memory and a queue ---- */

static void *user_buffer(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gp_kfd_alloc_memory_of_gpu_args args = {
		.va_addr = (uintptr_t)at,
		.size = size,
		.mmap_offset = (uintptr_t)at,
		.gpu_id = gpu_id,
		.flags = GP_KFD_ALLOC_USERPTR | GP_KFD_ALLOC_WRITABLE,
	};
	struct gp_kfd_map_memory_to_gpu_args map = {.device_ids_array_ptr = (uintptr_t)&gpu_id,
						    .n_devices = 1};

	CHECK(at != MAP_FAILED);
	CHECK(call(kfd, GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args) == 0);
	map.handle = args.handle;
	CHECK(call(kfd, GP_KFD_IOC_MAP_MEMORY_TO_GPU, &map) == 0);
	return at;
}

/* A copy queue: it needs no save area, so any personality takes it. */
static u32 create_queue(void)
{
	u8 *pointers = user_buffer(4096);
	struct gp_kfd_create_queue_args args = {
		.ring_base_address = (uintptr_t)user_buffer(65536),
		.write_pointer_address = (uintptr_t)pointers,
		.read_pointer_address = (uintptr_t)pointers + 64,
		.ring_size = 65536,
		.gpu_id = gpu_id,
		.queue_type = GP_KFD_QUEUE_SDMA,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
	void *doorbells;

	CHECK(call(kfd, GP_KFD_IOC_CREATE_QUEUE, &args) == 0);
	CHECK(args.doorbell_offset >> GP_KFD_MMAP_TYPE_SHIFT == GP_KFD_MMAP_DOORBELL);
	doorbells = mmap(NULL, GP_KFD_DOORBELL_SLICE, PROT_READ | PROT_WRITE, MAP_SHARED, kfd,
			 (off_t)(args.doorbell_offset & ~(u64)(GP_KFD_DOORBELL_SLICE - 1)));
	CHECK(doorbells != MAP_FAILED);
	munmap(doorbells, GP_KFD_DOORBELL_SLICE);
	return args.queue_id;
}

static int destroy_queue(u32 id)
{
	struct gp_kfd_destroy_queue_args args = {.queue_id = id};

	return call(kfd, GP_KFD_IOC_DESTROY_QUEUE, &args);
}

static void queues_are_in_sysfs_while_they_live(void)
{
	u32 id = create_queue();
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/size", (int)getpid(),
		 id);
	CHECK(access(path, R_OK) == 0);
	CHECK(destroy_queue(id) == 0);
	CHECK(access(path, R_OK) < 0 && errno == ENOENT);
	CHECK(destroy_queue(id) < 0);
}

static void closing_everything_leaves_the_machine_connected(void)
{
	struct gp_kfd_get_available_memory_args memory = {.gpu_id = gpu_id};

	/* What daemons do; our connections are not theirs to close. */
	for (int fd = 3; fd < 4200; fd++)
		if (fd != kfd && fd != render)
			close(fd);
	CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory) == 0);
	CHECK(close_range((unsigned int)(kfd > render ? kfd : render) + 1, ~0u, 0) == 0);
	CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory) == 0);
	CHECK(close_range(3, ~0u, 0) == 0);
	CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory) == -EBADF);
	open_devices();
	CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory) == 0);
	CHECK(memory.available > 0);
}

/* ---- processes ---- */

static u32 at_start; /* descriptors, before the devices were opened */

static void the_process_stays_in_order_without_libc(void)
{
	/* Early libraries and language runtimes call it like this. */
	void *page = mmap64(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED && munmap(page, 4096) == 0);
}

static void child_must_open_its_own(void)
{
	struct gp_kfd_get_version_args version;
	int own;

	CHECK(call(kfd, GP_KFD_IOC_GET_VERSION, &version) == -EBADF);
	CHECK(mmap(NULL, GP_KFD_DOORBELL_SLICE, PROT_READ, MAP_SHARED, kfd,
		   (off_t)(GP_KFD_MMAP_DOORBELL << 62)) == MAP_FAILED);
	own = open("/dev/kfd", O_RDWR);
	CHECK(own >= 0);
	CHECK(call(own, GP_KFD_IOC_GET_VERSION, &version) == 0);
	close(kfd);
	close(render);
	open_devices();
	CHECK(destroy_queue(create_queue()) == 0);
	_exit(0);
}

static u32 open_descriptors(void)
{
	DIR *list = opendir("/proc/self/fd");
	u32 count = 0;

	CHECK(list != NULL);
	while (readdir(list))
		count++;
	closedir(list);
	return count;
}

static void finish(pid_t child)
{
	int status;

	CHECK(child > 0);
	while (waitpid(child, &status, 0) < 0)
		CHECK(errno == EINTR);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void forked_children_are_strangers(void)
{
	struct gp_kfd_get_available_memory_args memory = {.gpu_id = gpu_id};
	u32 id = create_queue();
	pid_t child = fork();

	if (!child) {
		/* Of all that the library opened for its parent nothing is left: a process that
		 * keeps the machine's ends of doorbells and queues would keep its parent alive. */
		CHECK(open_descriptors() == at_start + 2);
		child_must_open_its_own();
	}
	finish(child);
	/* Without the C library's knowledge. */
	child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!child)
		child_must_open_its_own();
	finish(child);
	CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory) == 0);
	CHECK(destroy_queue(id) == 0);
}

/* libhsakmt does this in a child, after its first calls of the driver. */
static void a_child_may_unmap_what_its_parent_had_mapped(void)
{
	struct gp_kfd_alloc_memory_of_gpu_args args = {
		.va_addr = 0x7e0000000000,
		.size = FREED_BYTES,
		.gpu_id = gpu_id,
		.flags = GP_KFD_ALLOC_VRAM | GP_KFD_ALLOC_PUBLIC | GP_KFD_ALLOC_WRITABLE,
	};
	struct gp_kfd_free_memory_of_gpu_args release;
	void *at;
	pid_t child;

	CHECK(call(kfd, GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args) == 0);
	at = mmap(NULL, FREED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, render,
		  (off_t)args.mmap_offset);
	CHECK(at != MAP_FAILED);
	child = fork();
	if (!child) {
		struct gp_kfd_create_event_args event = {0};

		open_devices();
		CHECK(munmap(at, FREED_BYTES) == 0);
		CHECK(call(kfd, GP_KFD_IOC_CREATE_EVENT, &event) == 0);
		CHECK(destroy_queue(create_queue()) == 0);
		_exit(0);
	}
	finish(child);
	CHECK(munmap(at, FREED_BYTES) == 0);
	release.handle = args.handle;
	CHECK(call(kfd, GP_KFD_IOC_FREE_MEMORY_OF_GPU, &release) == 0);
}

/* ---- threads ---- */

static void *many_requests(void *context)
{
	struct gp_kfd_get_available_memory_args memory;

	(void)context;
	for (int i = 0; i < 200; i++) {
		memory = (struct gp_kfd_get_available_memory_args){.gpu_id = gpu_id};
		CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory) == 0);
	}
	CHECK(destroy_queue(create_queue()) == 0);
	return NULL;
}

static void threads_have_a_connection_each(void)
{
	pthread_t threads[16];

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < GP_ARRAY_SIZE(threads); i++)
			CHECK(pthread_create(&threads[i], NULL, many_requests, NULL) == 0);
		for (size_t i = 0; i < GP_ARRAY_SIZE(threads); i++)
			pthread_join(threads[i], NULL);
	}
}

/* ---- the debugger's calls, on ourselves ---- */

static struct gp_kfd_dbg_trap_args trap(u32 op)
{
	return (struct gp_kfd_dbg_trap_args){.pid = (u32)getpid(), .op = op};
}

static u32 blocked_queue;

/* A thread that waits in DESTROY_QUEUE, or in RUNTIME_ENABLE. */
struct blocked {
	pthread_t thread;
	_Atomic pid_t tid;
	bool destroys;
	int result;
};

static int enable_runtime(u32 mode)
{
	struct gp_kfd_runtime_enable_args args = {.mode_mask = mode};

	return call(kfd, GP_KFD_IOC_RUNTIME_ENABLE, &args);
}

static void *blocking(void *context)
{
	struct gp_kfd_get_available_memory_args memory = {.gpu_id = gpu_id};
	struct blocked *blocked = context;

	/* The thread's connection stands before anybody watches it sleep. */
	CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory) == 0);
	blocked->tid = (pid_t)syscall(SYS_gettid);
	blocked->result = blocked->destroys ? destroy_queue(blocked_queue) : enable_runtime(0);
	return NULL;
}

/* Starts the thread and returns when it sleeps in its call. */
static void start(struct blocked *blocked, bool destroys)
{
	char path[64], text[512], *state = NULL;

	blocked->tid = 0;
	blocked->destroys = destroys;
	CHECK(pthread_create(&blocked->thread, NULL, blocking, blocked) == 0);
	while (!state || state[2] != 'S') {
		size_t got = 0;
		FILE *file;

		sched_yield();
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)blocked->tid);
		file = blocked->tid ? fopen(path, "r") : NULL;
		if (file) {
			got = fread(text, 1, sizeof(text) - 1, file);
			fclose(file);
		}
		text[got] = '\0';
		state = strrchr(text, ')');
	}
}

static int end(struct blocked *blocked)
{
	pthread_join(blocked->thread, NULL);
	return blocked->result;
}

/* Asks the server in the middle of whatever the thread was asking it. */
static void handler(int number)
{
	struct gp_kfd_get_available_memory_args memory = {.gpu_id = gpu_id};

	(void)number;
	CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory) == 0);
}

static void suspend(u32 *ids, u32 count, int expected)
{
	struct gp_kfd_dbg_trap_args args = trap(GP_KFD_DBG_SUSPEND_QUEUES);

	args.suspend_queues.queue_array_ptr = (uintptr_t)ids;
	args.suspend_queues.num_queues = count;
	args.suspend_queues.grace_period = 1;
	CHECK(call(kfd, GP_KFD_IOC_DBG_TRAP, &args) == expected);
}

static void suspended_queue_cannot_be_destroyed(void)
{
	struct sigaction action = {.sa_handler = handler};
	u32 ids[2] = {blocked_queue, 900};
	struct gp_kfd_dbg_trap_args args;
	struct blocked blocked;

	sigaction(SIGUSR1, &action, NULL);
	suspend(ids, 2, 1);
	CHECK(ids[0] == blocked_queue && ids[1] == (900 | GP_KFD_DBG_QUEUE_INVALID));
	start(&blocked, true);
	pthread_kill(blocked.thread, SIGUSR1);
	CHECK(end(&blocked) == -EINTR);
	start(&blocked, true);
	args = trap(GP_KFD_DBG_RESUME_QUEUES);
	CHECK(call(kfd, GP_KFD_IOC_DBG_TRAP, &args) == 1);
	CHECK(end(&blocked) == 0);
}

static void runtime_enable_is_not_restarted(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct blocked blocked;

	/* With a debugger there it waits for the debugger's answer, which nobody gives. */
	sigaction(SIGUSR1, &action, NULL);
	start(&blocked, false);
	pthread_kill(blocked.thread, SIGUSR1);
	CHECK(end(&blocked) == -EINTR);
}

static void devices_can_be_listed(void)
{
	/* Entries of the caller's own size: what the driver does not fill stays. */
	struct {
		struct gp_kfd_dbg_device_info_entry entry;
		u64 more;
	} devices[2] = {{.more = 7}, {.more = 7}};
	struct gp_kfd_dbg_trap_args args = trap(GP_KFD_DBG_GET_DEVICE_SNAPSHOT);

	args.device_snapshot.snapshot_buf_ptr = (uintptr_t)devices;
	args.device_snapshot.num_devices = 2;
	args.device_snapshot.entry_size = sizeof(devices[0]);
	CHECK(call(kfd, GP_KFD_IOC_DBG_TRAP, &args) == 0);
	CHECK(devices[0].entry.gpu_id == gpu_id && devices[0].more == 7);
	CHECK(args.device_snapshot.entry_size == sizeof(devices[0].entry));
	args = trap(GP_KFD_DBG_QUERY_EXCEPTION_INFO);
	args.query_exception_info.exception_code = GP_KFD_EC_PROCESS_RUNTIME;
	CHECK(call(kfd, GP_KFD_IOC_DBG_TRAP, &args) < 0);
}

static void a_process_can_debug_itself(void)
{
	struct gp_kfd_runtime_info info = {.runtime_state = 99};
	struct gp_kfd_queue_snapshot_entry entries[2];
	struct gp_kfd_dbg_trap_args args = trap(GP_KFD_DBG_ENABLE);
	int fds[2], error = enable_runtime(GP_KFD_RUNTIME_ENABLE);

	/* The machine may have done it for us. */
	CHECK(error == 0 || error == -EBUSY);
	CHECK(pipe(fds) == 0);
	args.enable.dbg_fd = (u32)fds[1];
	args.enable.rinfo_ptr = 8;
	args.enable.rinfo_size = sizeof(info);
	CHECK(call(kfd, GP_KFD_IOC_DBG_TRAP, &args) == -EFAULT);
	args.enable.rinfo_ptr = (uintptr_t)&info;
	args.enable.dbg_fd = 3999;
	CHECK(call(kfd, GP_KFD_IOC_DBG_TRAP, &args) == -EBADF);
	args.enable.dbg_fd = (u32)fds[1];
	CHECK(call(kfd, GP_KFD_IOC_DBG_TRAP, &args) == 0);
	CHECK(info.runtime_state == GP_KFD_RUNTIME_ENABLED);
	blocked_queue = create_queue();
	args = trap(GP_KFD_DBG_GET_QUEUE_SNAPSHOT);
	args.queue_snapshot.exception_mask = GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW);
	args.queue_snapshot.snapshot_buf_ptr = (uintptr_t)entries;
	args.queue_snapshot.num_queues = 2;
	args.queue_snapshot.entry_size = sizeof(entries[0]);
	CHECK(call(kfd, GP_KFD_IOC_DBG_TRAP, &args) == 0);
	CHECK(args.queue_snapshot.num_queues == 1);
	CHECK(entries[0].queue_id == blocked_queue && entries[0].gpu_id == gpu_id);
	args.queue_snapshot.snapshot_buf_ptr = 8;
	CHECK(call(kfd, GP_KFD_IOC_DBG_TRAP, &args) == -EFAULT);
	devices_can_be_listed();
	suspended_queue_cannot_be_destroyed();
	args = trap(GP_KFD_DBG_SUSPEND_QUEUES);
	args.suspend_queues.num_queues = 1;
	args.suspend_queues.queue_array_ptr = 8;
	CHECK(call(kfd, GP_KFD_IOC_DBG_TRAP, &args) == -EFAULT);
	runtime_enable_is_not_restarted();
	args = trap(GP_KFD_DBG_DISABLE);
	CHECK(call(kfd, GP_KFD_IOC_DBG_TRAP, &args) == 0);
}

static void smi_events_have_a_descriptor(void)
{
	struct gp_kfd_smi_events_args args = {.gpuid = gpu_id};
	u64 mask = ~0ull >> 1;
	char text[256];

	CHECK(call(kfd, GP_KFD_IOC_SMI_EVENTS, &args) == 0);
	CHECK(write((int)args.anon_fd, &mask, sizeof(mask)) == sizeof(mask));
	CHECK(read((int)args.anon_fd, text, sizeof(text)) < 0 && errno == EAGAIN);
	CHECK(close((int)args.anon_fd) == 0);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS_FREED
#endif
#endif

/* free() unmaps large blocks without a call of munmap(): the driver would see it all the same. That
 * of the sanitizer keeps them. */
static void freed_memory_is_not_registered_any_more(void)
{
	const size_t bytes = sizeof(struct gp_kfd_svm_args) + sizeof(struct gp_kfd_svm_attribute);
	struct gp_kfd_svm_args *set = calloc(1, bytes);
	struct gp_kfd_alloc_memory_of_gpu_args args = {
		.size = FREED_BYTES,
		.gpu_id = gpu_id,
		.flags = GP_KFD_ALLOC_VRAM | GP_KFD_ALLOC_WRITABLE,
	};
	struct gp_kfd_free_memory_of_gpu_args end;
	u64 first;
	void *block;

	mallopt(M_MMAP_THRESHOLD, FREED_BYTES);
	block = malloc(FREED_BYTES + 8192);
	CHECK(block && set);
	first = ((uintptr_t)block + 4095) & ~4095ull;
	set->start_addr = args.va_addr = first;
	set->size = FREED_BYTES;
	set->op = GP_KFD_SVM_SET;
	set->nattr = 1;
	set->attrs[0] = (struct gp_kfd_svm_attribute){GP_KFD_SVM_ACCESS, gpu_id};
	CHECK(call(kfd, _IOC(_IOC_READ | _IOC_WRITE, 'K', _IOC_NR(GP_KFD_IOC_SVM), bytes), set) ==
	      0);
	free(set);
	CHECK(call(kfd, GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args) == -EADDRINUSE);
	free(block);
#ifndef KEEPS_FREED
	if (getenv("KEEPS_FREED")) /* so does this allocator */
		return;
	CHECK(mmap((void *)(uintptr_t)first, FREED_BYTES, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
		   0) == (void *)(uintptr_t)first);
	CHECK(call(kfd, GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args) == 0);
	end.handle = args.handle;
	CHECK(call(kfd, GP_KFD_IOC_FREE_MEMORY_OF_GPU, &end) == 0);
	CHECK(munmap((void *)(uintptr_t)first, FREED_BYTES) == 0);
#else
	(void)end;
#endif
}

static void memory_ends(void)
{
	struct gp_kfd_get_available_memory_args memory = {.gpu_id = gpu_id};
	struct gp_kfd_alloc_memory_of_gpu_args args = {.va_addr = 1ull << 40,
						       .gpu_id = gpu_id,
						       .flags = GP_KFD_ALLOC_VRAM};
	struct gp_kfd_free_memory_of_gpu_args release;
	u64 before;

	CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory) == 0);
	before = memory.available;
	args.size = before;
	CHECK(call(kfd, GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args) == 0);
	release.handle = args.handle;
	args.size = 4ull << 20;
	CHECK(call(kfd, GP_KFD_IOC_ALLOC_MEMORY_OF_GPU, &args) == -ENOMEM);
	CHECK(call(kfd, GP_KFD_IOC_FREE_MEMORY_OF_GPU, &release) == 0);
	CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory) == 0);
	CHECK(memory.available == before);
}

/* ---- a machine that goes away ---- */

/* Says when it is ready; the test ends the machine and writes a line. */
static void outlives_the_machine(void)
{
	struct gp_kfd_get_available_memory_args memory = {.gpu_id = gpu_id};
	struct gp_kfd_get_version_args version;
	u32 id = create_queue();
	char line[16];

	CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory) == 0);
	puts("ready");
	fflush(stdout);
	CHECK(fgets(line, sizeof(line), stdin) != NULL);
	CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory) == -ENODEV);
	CHECK(call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory) == -ENODEV);
	CHECK(call(kfd, GP_KFD_IOC_GET_VERSION, &version) == -ENODEV);
	CHECK(destroy_queue(id) == -ENODEV);
	CHECK(open("/dev/kfd", O_RDWR) < 0 && errno == ENODEV);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "absent")) {
		CHECK(open("/dev/kfd", O_RDWR) < 0 && errno == ENODEV);
		CHECK(open("/dev/dri/renderD128", O_RDWR) < 0 && errno == ENODEV);
		return 0;
	}
	at_start = open_descriptors();
	open_devices();
	if (argc > 1 && !strcmp(argv[1], "outlive")) {
		outlives_the_machine();
		return 0;
	}
	queues_are_in_sysfs_while_they_live();
	threads_have_a_connection_each();
	forked_children_are_strangers();
	a_child_may_unmap_what_its_parent_had_mapped();
	a_process_can_debug_itself();
	the_process_stays_in_order_without_libc();
	freed_memory_is_not_registered_any_more();
	memory_ends();
	smi_events_have_a_descriptor();
	closing_everything_leaves_the_machine_connected();
	return 0;
}
