// SPDX-License-Identifier: MIT
/* Section 1.1: how any ioctl is looked up, copied in and out, and whose a descriptor is. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "conformance.h"

#define NR(nr, dir, size) _IOC(dir, 'K', nr, size)

static void version_by_its_encoding(struct self *me)
{
	struct gp_kfd_get_version_args args = {0};

	open_kfd(me);
	EXPECT(call(me->kfd, 0x80084b01, &args), 0);
	EXPECT(args.major_version, 1);
	EXPECT(args.minor_version >= 17, true);
}

/* Its last field was padding, which older drivers do not look at. */
static void version_with_flags_of_the_process(struct self *me)
{
	struct gp_kfd_get_version_args version = {0};
	struct gp_kfd_set_memory_policy_args policy = {.pad = 1};

	open_gpu(me);
	policy.gpu_id = me->gpu_id;
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_VERSION, &version), 0);
	EXPECT(version.minor_version, GP_KFD_MINOR_LINUX_6_16);
	EXPECT(call(me->kfd, GP_KFD_IOC_SET_MEMORY_POLICY, &policy), 0);
}

static void version_of_the_older_era(struct self *me)
{
	struct gp_kfd_get_version_args args = {0};

	open_kfd(me);
	EXPECT(call(me->kfd, 0x80084b01, &args), 0);
	EXPECT(args.minor_version, GP_KFD_MINOR_DEBUG);
}

static void version_before_the_debugger(struct self *me)
{
	static const u32 later[] = {0x24, 0x25, 0x26}; /* EXPORT_DMABUF, RUNTIME_ENABLE, DBG_TRAP */
	struct gp_kfd_get_version_args args = {0};
	u64 bytes[8] = {0};

	open_kfd(me);
	EXPECT(call(me->kfd, 0x80084b01, &args), 0);
	EXPECT(args.major_version, 1);
	EXPECT(args.minor_version, 11);
	for (size_t i = 0; i < GP_ARRAY_SIZE(later); i++)
		EXPECT(call(me->kfd, NR(later[i], _IOC_READ | _IOC_WRITE, 16), bytes), -ENOTTY);
}

static void direction_and_letter_do_not_matter(struct self *me)
{
	struct gp_kfd_get_version_args args = {0};
	struct gp_kfd_destroy_queue_args destroy = {.queue_id = 900};

	open_kfd(me);
	EXPECT(call(me->kfd, NR(0x01, _IOC_NONE, 8), &args), 0);
	EXPECT(args.major_version, 1);
	args.major_version = 0;
	EXPECT(call(me->kfd, _IOC(_IOC_WRITE, 'x', 0x01, 8), &args), 0);
	EXPECT(args.major_version, 1);
	/* Number 3 reads its argument although the caller says it does not. */
	EXPECT(call(me->kfd, NR(0x03, _IOC_NONE, 8), &destroy), -EINVAL);
}

static void shorter_create_queue(struct self *me)
{
	struct gp_kfd_create_queue_args args;

	open_gpu(me);
	args = good_queue(me, COMPUTE);
	args.sdma_engine_id = 0xdeadbeef; /* not read */
	args.queue_id = 77;
	EXPECT(call(me->kfd, NR(0x02, _IOC_READ | _IOC_WRITE, 88), &args), 0);
	EXPECT(args.queue_id, 0);
	EXPECT(args.sdma_engine_id, 0xdeadbeef);
}

static void missing_bytes_are_zero(struct self *me)
{
	struct gp_kfd_get_available_memory_args memory;
	struct gp_kfd_runtime_enable_args runtime = {.mode_mask = GP_KFD_RUNTIME_ENABLE};

	open_gpu(me);
	/* Without the four bytes of its gpu_id it asks about GPU 0. */
	memory = (struct gp_kfd_get_available_memory_args){.gpu_id = me->gpu_id};
	EXPECT(call(me->kfd, NR(0x23, _IOC_READ | _IOC_WRITE, 8), &memory), -EINVAL);
	EXPECT(call(me->kfd, NR(0x23, _IOC_READ | _IOC_WRITE, 12), &memory), 0);
	if (!can_debug(me))
		return;
	/* Without its mode it disables, which is always allowed. */
	EXPECT(call(me->kfd, NR(0x25, _IOC_READ | _IOC_WRITE, 8), &runtime), 0);
	EXPECT(enable_runtime(me, GP_KFD_RUNTIME_ENABLE), 0);
}

static void only_the_callers_size_comes_back(struct self *me)
{
	struct {
		struct gp_kfd_get_clock_counters_args args;
		u64 after;
	} clock = {.after = 0x5a5a5a5a5a5a5a5a};

	open_gpu(me);
	clock.args.gpu_id = me->gpu_id;
	clock.args.system_clock_freq = 42;
	EXPECT(call(me->kfd, NR(0x05, _IOC_READ | _IOC_WRITE, 24), &clock), 0);
	CHECK(clock.args.cpu_clock_counter != 0);
	EXPECT(clock.args.system_clock_freq, 42);
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_CLOCK_COUNTERS, &clock), 0);
	EXPECT(clock.args.system_clock_freq, GP_KFD_SYSTEM_CLOCK_HZ);
	EXPECT(clock.after, 0x5a5a5a5a5a5a5a5a);
}

static void longer_structures_work(struct self *me)
{
	struct {
		struct gp_kfd_get_available_memory_args args;
		u64 more[200];
	} memory = {.more = {7, 8}};
	struct {
		struct gp_kfd_get_version_args args;
		u64 more;
	} version = {.more = 9};

	open_gpu(me);
	memory.args.gpu_id = me->gpu_id;
	EXPECT(call(me->kfd, NR(0x23, _IOC_READ | _IOC_WRITE, sizeof(memory)), &memory), 0);
	CHECK(memory.args.available > 0);
	EXPECT(memory.more[0], 7);
	/* An ioctl that reads nothing starts from zeros. */
	EXPECT(call(me->kfd, NR(0x01, _IOC_READ, sizeof(version)), &version), 0);
	EXPECT(version.args.major_version, 1);
	EXPECT(version.more, 0);
}

static void unknown_numbers(struct self *me)
{
	static const u32 numbers[] = {0x00, GP_KFD_NR_END, 0x7f, 0x80, 0x82, 0x85, 0xff};
	u64 bytes[32] = {0};

	open_kfd(me);
	for (size_t i = 0; i < GP_ARRAY_SIZE(numbers); i++) {
		EXPECT(call(me->kfd, NR(numbers[i], _IOC_READ | _IOC_WRITE, 32), bytes), -ENOTTY);
		EXPECT(call(me->kfd, NR(numbers[i], _IOC_NONE, 0), NULL), -ENOTTY);
	}
}

static void copied_back_after_an_error(struct self *me)
{
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)getpid(),
					     .op = GP_KFD_DBG_GET_QUEUE_SNAPSHOT};

	open_gpu(me);
	EXPECT(ME(me, do_enable, (u64)getpid(), 0), 0);
	must_create(me, COMPUTE);
	debug.queue_snapshot.num_queues = 8;
	debug.queue_snapshot.entry_size = 64;
	EXPECT(call(me->kfd, GP_KFD_IOC_DBG_TRAP, &debug), -EFAULT);
	EXPECT(debug.queue_snapshot.num_queues, 0);
}

static void read_only_arguments(struct self *me)
{
	struct gp_kfd_update_queue_args *update;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u32 id;

	CHECK(page != MAP_FAILED);
	open_gpu(me);
	id = must_create(me, COMPUTE);
	update = page;
	*update = (struct gp_kfd_update_queue_args){
		.ring_base_address = me->queues[id].args.ring_base_address,
		.ring_size = RING_BYTES,
		.queue_percentage = 100,
		.queue_priority = 7,
		.queue_id = id,
	};
	CHECK(mprotect(page, 4096, PROT_READ) == 0);
	/* UPDATE_QUEUE is _IOW in the kernel's table; GET_VERSION is _IOR. */
	EXPECT(call(me->kfd, NR(0x07, _IOC_READ | _IOC_WRITE, 24), page), 0);
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_VERSION, page), -EFAULT);
	EXPECT(call(me->kfd, GP_KFD_IOC_UPDATE_QUEUE, (void *)8), -EFAULT);
	EXPECT(call(me->kfd, GP_KFD_IOC_CREATE_QUEUE, NULL), -EFAULT);
}

static void forked_child_has_no_right(struct self *me)
{
	struct gp_kfd_get_version_args version;
	bool debug = can_debug(me);
	int status;
	pid_t child;

	open_kfd(me);
	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		EXPECT(call(me->kfd, GP_KFD_IOC_GET_VERSION, &version), -EBADF);
		EXPECT(destroy_queue(me, 0), -EBADF);
		EXPECT(update_queue(me, 0, 0, 0), -EBADF);
		EXPECT(enable_runtime(me, 1), debug ? -EBADF : -ENOTTY);
		EXPECT(ME(me, do_enable, (u64)getppid(), 0), debug ? -EBADF : -ENOTTY);
		EXPECT(call(me->kfd, NR(0x7f, _IOC_NONE, 0), NULL), -ENOTTY);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	EXPECT(status, 0);
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_VERSION, &version), 0);
}

static void send_descriptor(int socket, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 0;
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = room,
				 .msg_controllen = sizeof(room)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	CHECK(sendmsg(socket, &message, 0) == 1);
}

static int receive_descriptor(int socket)
{
	char room[CMSG_SPACE(sizeof(int))] = {0}, byte;
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = room,
				 .msg_controllen = sizeof(room)};
	int fd;

	CHECK(recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/* A process that was never a child of the one that opened it. */
static s64 use_received(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_get_version_args version;
	int fd = receive_descriptor((int)args[0]);

	(void)self, (void)out;
	return call(fd, GP_KFD_IOC_GET_VERSION, &version);
}

static s64 open_and_use_received(struct self *self, const u64 *args, u64 *out)
{
	open_kfd(self);
	return use_received(self, args, out);
}

static void received_descriptor_has_no_right(struct self *me)
{
	struct actor stranger, other;
	int ends[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	stranger = start_actor();
	other = start_actor();
	open_kfd(me);
	send_descriptor(ends[0], me->kfd);
	EXPECT(DO(&stranger, open_and_use_received, (u64)ends[1]), -EBADF);
	send_descriptor(ends[0], me->kfd);
	EXPECT(DO(&other, use_received, (u64)ends[1]), -EBADF);
}

static void one_process_for_all_descriptors(struct self *me)
{
	struct self second = {.kfd = -1, .render = -1};
	u32 id;

	open_gpu(me);
	EXPECT(process_number(me, 0, "processes"), 1);
	open_kfd(&second);
	EXPECT(process_number(me, 0, "processes"), 1);
	id = must_create(me, COMPUTE);
	if (can_debug(me))
		EXPECT(enable_runtime(&second, 1), -EEXIST);
	EXPECT(destroy_queue(&second, id), 0);
	/* And opening made it one that others can see. */
	CHECK(process_exists(me, getpid()));
}

static void other_minors(struct self *me)
{
	const char *above = getenv("TMPDIR");
	char directory[64], path[96];
	struct gp_kfd_get_version_args version = {0};
	struct stat kfd;
	int fd;

	(void)me;
	CHECK(stat("/dev/kfd", &kfd) == 0 && S_ISCHR(kfd.st_mode));
	EXPECT(minor(kfd.st_rdev), 0);
	snprintf(directory, sizeof(directory), "%s/gp-XXXXXX", above ? above : "/tmp");
	CHECK(mkdtemp(directory));
	for (unsigned int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/kfd%u", directory, i);
		CHECK(mknod(path, S_IFCHR | 0600, makedev(major(kfd.st_rdev), i)) == 0);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (i)
			CHECK(fd < 0 && errno == ENODEV);
		else
			EXPECT(call(fd, GP_KFD_IOC_GET_VERSION, &version), 0);
		CHECK(unlink(path) == 0);
	}
	EXPECT(version.major_version, 1);
	CHECK(rmdir(directory) == 0);
}

const struct row rows_dispatch[] = {
	{"kfd 1.1/1", "GET_VERSION by its encoding 0x80084b01 says 1.17 or later",
	 version_by_its_encoding, ERA_6_12, NULL},
	{"kfd 1.3", "linux 6.16 says 1.18, and takes flags of the process in SET_MEMORY_POLICY",
	 version_with_flags_of_the_process, ERA_6_16, NULL},
	{"kfd 1.1/1", "GET_VERSION by its encoding says the version of the older era",
	 version_of_the_older_era, ERA_6_5, NULL},
	{"kfd 1.3", "linux 6.1 says 1.11, and has no EXPORT_DMABUF, RUNTIME_ENABLE or DBG_TRAP",
	 version_before_the_debugger, ERA_6_1, NULL},
	{"kfd 1.1/2", "the number alone chooses the ioctl, not its letter or direction",
	 direction_and_letter_do_not_matter, EVERYWHERE, NULL},
	{"kfd 1.1/2", "CREATE_QUEUE takes the 88 bytes of older headers", shorter_create_queue,
	 EVERYWHERE, NULL},
	{"kfd 1.1/2", "bytes the caller did not supply are zero", missing_bytes_are_zero,
	 EVERYWHERE, NULL},
	{"kfd 1.1/2", "only the caller's size is copied back", only_the_callers_size_comes_back,
	 EVERYWHERE, NULL},
	{"kfd 1.1/2", "a longer structure of a newer header works", longer_structures_work,
	 EVERYWHERE, NULL},
	{"kfd 1.1/3", "unknown numbers are ENOTTY, the old debug trap 0x82 too", unknown_numbers,
	 EVERYWHERE, NULL},
	{"kfd 1.1/3",
	 "direction comes from the kernel's table: only _IOR and _IOWR are written back",
	 read_only_arguments, EVERYWHERE, NULL},
	{"kfd 1.1/4", "the structure is copied back also after an error",
	 copied_back_after_an_error, DEBUGGER, NULL},
	{"kfd 1.1/5", "a forked child gets EBADF for everything", forked_child_has_no_right,
	 EVERYWHERE, NULL},
	{"kfd 1.1/5", "a descriptor received over a socket is EBADF",
	 received_descriptor_has_no_right, EVERYWHERE, NULL},
	{"kfd 1.1/6", "all descriptors of a process are one process, which appears at open()",
	 one_process_for_all_descriptors, EVERYWHERE, NULL},
	OPEN("kfd 1.1/6", "open() of a 32-bit process is EPERM",
	     "the preload library is for 64-bit programs"),
	{"kfd 1.1/6", "a minor other than 0 is ENODEV", other_minors, EVERYWHERE, NULL},
	{0},
};
