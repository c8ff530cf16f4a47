// SPDX-License-Identifier: MIT
/*
 * nvfecs SECONDS [own]: whether the driver reports context switches to a program from outside, and
 * what it reports: an event buffer is bound to the GPU for all users ("own": for the caller's) and
 * read for so long. One line of JSON for each step with the driver's status, then one with counts,
 * times and the first records. Nothing is changed on the GPU but that switches are logged.
 *
 * Layouts: open-gpu-kernel-modules 580 (cl90cd.h, cl90cdfecs.h, ctrl2080gr.h, ctrl90cd.h, nvos.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { RECORDS = 4096, SHOWN = 40, PIDS = 64, MAP_NR = 0x4e, REGISTER_NR = 201 };
enum { ROOT = 0x41, DEVICE = 0x80, SUBDEVICE = 0x2080, DEVICELESS = 0x90ce, BUFFER = 0x90cd };
enum { START = 6, END = 7 }; /* of an active region */

#define BIND   0x20801238u
#define ENABLE 0x90cd0101u
#define GET    0x90cd0102u
#define FLUSH  0x90cd0104u

struct alloc {
	uint32_t root, parent, object, class_id;
	uint64_t params;
	uint32_t size, status;
};
struct control {
	uint32_t client, object, cmd, flags;
	uint64_t params;
	uint32_t size, status;
};
struct map {
	uint32_t client, device, memory, pad;
	uint64_t offset, length, address;
	uint32_t status, flags;
	int32_t fd, pad2;
};
struct header {
	uint32_t get, put;
	uint64_t count, dropped, vardata_dropped;
};
struct record {
	uint16_t type, subtype;
	uint32_t vardata;
	uint8_t tag, vmid;
	uint16_t sequence;
	uint32_t context, pid;
	uint16_t reserved;
	uint8_t instance, compute_instance;
	uint64_t ns;
};
_Static_assert(sizeof(struct alloc) == 32 && sizeof(struct control) == 32, "ABI");
_Static_assert(sizeof(struct map) == 56 && sizeof(struct record) == 32, "ABI");

static int ctl = -1;
static uint32_t client;

static int say(const char *step, int error, uint32_t status, uint32_t more)
{
	printf("{\"step\":\"%s\",\"errno\":%d,\"status\":\"0x%x\",\"more\":%u}\n", step, error,
	       status, more);
	fflush(stdout);
	return error || status;
}

static int make(const char *step, uint32_t parent, uint32_t class_id, void *params, uint32_t size,
		uint32_t *handle)
{
	static uint32_t next = 0xfec50000;
	struct alloc a = {
		client, parent, class_id == ROOT ? 0 : next++, class_id, (uintptr_t)params,
		size,   0xffff};
	int error = ioctl(ctl, _IOWR('F', 0x2b, a), &a) ? errno : 0;

	*handle = a.object;
	return say(step, error, a.status, a.object);
}

static uint32_t call(uint32_t object, uint32_t cmd, void *params, uint32_t size, int *error)
{
	struct control c = {client, object, cmd, 0, (uintptr_t)params, size, 0xffff};

	*error = ioctl(ctl, _IOWR('F', 0x2a, c), &c) ? errno : 0;
	return c.status;
}

static void *map(const char *step, uint32_t memory, uint64_t size)
{
	struct map m = {.client = client, .device = client, .memory = memory, .length = size};
	void *at;
	int error;

	m.status = 0xffff;
	m.flags = 1; /* read only */
	m.fd = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
	error = ioctl(ctl, _IOWR('F', MAP_NR, m), &m) ? errno : 0;
	if (say(step, error, m.status, 0))
		return NULL;
	at = mmap(NULL, size, PROT_READ, MAP_SHARED, m.fd, 0);
	say("mmap", at == MAP_FAILED ? errno : 0, 0, 0);
	return at == MAP_FAILED ? NULL : at;
}

static uint32_t memory(const char *step, uint64_t size)
{
	uint32_t p[32] = {0}, handle;

	p[6] = 5u << 29; /* attr: write-back */
	p[7] = 1u << 22; /* attr2: read-only for users */
	memcpy(&p[16], &size, sizeof(size));
	return make(step, client, DEVICELESS, p, sizeof(p), &handle) ? 0 : handle;
}

static struct tally {
	uint32_t pid, starts, ends;
	uint64_t open_ns, busy_ns;
} tallies[PIDS];

static void count(const struct record *r)
{
	struct tally *t = tallies;

	while (t < tallies + PIDS - 1 && t->pid && t->pid != r->pid)
		t++;
	t->pid = r->pid;
	if (r->tag == START) {
		t->starts++;
		t->open_ns = r->ns;
	} else if (r->tag == END) {
		t->ends++;
		if (t->open_ns && r->ns > t->open_ns)
			t->busy_ns += r->ns - t->open_ns;
		t->open_ns = 0;
	}
}

static void watch(double seconds, uint32_t buffer, const volatile struct header *header,
		  const struct record *records)
{
	uint32_t get = header->get, tags[256] = {0}, shown = 0;
	uint64_t total = 0, first = 0, last = 0;
	struct rusage use;
	int error;

	for (int i = 0; i < seconds * 50; i++) {
		uint32_t update[2];

		usleep(20000);
		if (i % 5 == 0)
			call(buffer, FLUSH, NULL, 0, &error);
		for (uint32_t put = header->put; get != put; get = (get + 1) % RECORDS) {
			const struct record *r = &records[get];

			count(r);
			tags[r->tag]++;
			first = first ? first : r->ns;
			last = r->ns;
			total++;
			if (shown++ < SHOWN)
				printf("{\"record\":[%u,%u,%u,\"0x%x\",%llu]}\n", r->tag,
				       r->sequence, r->pid, r->context, (unsigned long long)r->ns);
		}
		update[0] = get;
		update[1] = 0;
		call(buffer, GET, update, sizeof(update), &error);
	}
	getrusage(RUSAGE_SELF, &use);
	printf("{\"records\":%llu,\"dropped\":%llu,\"span_ms\":%llu,\"cpu_ms\":%ld,\"tags\":{",
	       (unsigned long long)total, (unsigned long long)header->dropped,
	       (unsigned long long)(last - first) / 1000000,
	       (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000 +
		       (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1000);
	for (int i = 0, any = 0; i < 256; i++)
		if (tags[i])
			printf("%s\"%d\":%u", any++ ? "," : "", i, tags[i]);
	printf("},\"pids\":[");
	for (int i = 0; i < PIDS && tallies[i].starts + tallies[i].ends; i++)
		printf("%s{\"pid\":%u,\"starts\":%u,\"ends\":%u,\"busy_ms\":%llu}", i ? "," : "",
		       tallies[i].pid, tallies[i].starts, tallies[i].ends,
		       (unsigned long long)tallies[i].busy_ns / 1000000);
	printf("]}\n");
}

static uint32_t make_buffer(uint32_t subdevice, uint32_t header, uint32_t records)
{
	struct {
		uint64_t header, records;
		uint32_t size, count;
		uint64_t vardata;
		uint32_t vardata_size, threshold;
		uint64_t notify;
		uint32_t vardata_threshold, subdevice, flags, memory[3];
	} p = {.size = sizeof(struct record),
	       .count = RECORDS,
	       .threshold = RECORDS / 2,
	       .subdevice = subdevice,
	       .memory = {header, records, 0}};
	uint32_t handle;

	return make("event buffer", client, BUFFER, &p, sizeof(p), &handle) ? 0 : handle;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	uint32_t device_params[14] = {0}, zero = 0, device, subdevice, header, records, buffer;
	uint32_t bind[6] = {0, sizeof(struct record), 1, 0, argc < 3, 0}, enable[2] = {1, 1};
	int gpu = open("/dev/nvidia0", O_RDWR | O_CLOEXEC), error;
	const void *at_header, *at_records;
	uint32_t status;

	ctl = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
	if (say("open", ctl < 0 || gpu < 0 ? errno : 0, 0, 0))
		return 1;
	say("register", ioctl(gpu, _IOWR('F', REGISTER_NR, int), &ctl) ? errno : 0, 0, 0);
	if (make("client", 0, ROOT, NULL, 0, &client) ||
	    make("device", client, DEVICE, device_params, sizeof(device_params), &device) ||
	    make("subdevice", device, SUBDEVICE, &zero, sizeof(zero), &subdevice))
		return 1;
	header = memory("header", 4096);
	records = header ? memory("records", RECORDS * sizeof(struct record)) : 0;
	buffer = records ? make_buffer(subdevice, header, records) : 0;
	if (!buffer)
		return 1;
	bind[0] = buffer;
	status = call(subdevice, BIND, bind, sizeof(bind), &error);
	if (say("bind", error, status, bind[5])) /* more: the driver's reason */
		return 1;
	status = call(buffer, ENABLE, enable, sizeof(enable), &error);
	if (say("enable", error, status, 0))
		return 1;
	at_header = map("map header", header, 4096);
	at_records = map("map records", records, RECORDS * sizeof(struct record));
	if (!at_header || !at_records)
		return 1;
	watch(seconds, buffer, at_header, at_records);
	return 0;
}
