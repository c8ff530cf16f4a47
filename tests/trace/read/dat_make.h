/* SPDX-License-Identifier: MIT */
/*
 * Makes trace.dat files for tests, after trace-cmd's description of them (trace-cmd.dat.v6.5 and
 * .v7.5): formats of a few events, symbols, formats of prints, and pages of two CPUs.
 */
#ifndef GP_DAT_MAKE_H
#define GP_DAT_MAKE_H

#include <sys/mman.h>
#include <unistd.h>

#include <zstd.h>

#include "testlib.h"

#define DAT_PAGE 4096u
#define DAT_CPUS 2

enum { /* numbers of the events */
       DAT_FUNCTION = 1,
       DAT_PRINT = 5,
       DAT_BPRINT = 6,
       DAT_GRAPH_EXIT = 10,
       DAT_GRAPH_ENTRY = 11,
       DAT_BPUTS = 14,
       DAT_SWITCH = 316,
       DAT_PROBE = 1500,
       DAT_RETURN = 1501,
       DAT_OPEN = 700,
};

#define DAT_FIELD(declaration, offset, size, is_signed) \
	"\tfield:" declaration ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";\n"
#define DAT_COMMON                                                               \
	"format:\n" DAT_FIELD("unsigned short common_type", 0, 2, 0)             \
		DAT_FIELD("unsigned char common_flags", 2, 1, 0)                 \
			DAT_FIELD("unsigned char common_preempt_count", 3, 1, 0) \
				DAT_FIELD("int common_pid", 4, 4, 1) "\n"

static const char *const dat_ftrace[] = {
	"name: function\nID: 1\n" DAT_COMMON DAT_FIELD("unsigned long ip", 8, 8, 0)
		DAT_FIELD("unsigned long parent_ip", 16, 8, 0) "\nprint fmt: \" %ps <-- %ps\"\n",
	"name: print\nID: 5\n" DAT_COMMON DAT_FIELD("unsigned long ip", 8, 8, 0)
		DAT_FIELD("char buf[]", 16, 0, 0) "\nprint fmt: \"%ps: %s\"\n",
	"name: bprint\nID: 6\n" DAT_COMMON DAT_FIELD("unsigned long ip", 8, 8, 0)
		DAT_FIELD("const char * fmt", 16, 8, 0) DAT_FIELD("u32 buf[]", 24, 0, 0),
	"name: funcgraph_exit\nID: 10\n" DAT_COMMON DAT_FIELD("unsigned long func", 8, 8, 0)
		DAT_FIELD("int depth", 16, 4, 1) DAT_FIELD("unsigned int overrun", 20, 4, 0)
			DAT_FIELD("unsigned long long calltime", 24, 8, 0)
				DAT_FIELD("unsigned long long rettime", 32, 8, 0),
	"name: funcgraph_entry\nID: 11\n" DAT_COMMON DAT_FIELD("unsigned long func", 8, 8, 0)
		DAT_FIELD("int depth", 16, 4, 1),
	"name: bputs\nID: 14\n" DAT_COMMON DAT_FIELD("unsigned long ip", 8, 8, 0)
		DAT_FIELD("const char * str", 16, 8, 0),
};

static const char *const dat_events[] = {
	"name: sched_switch\nID: 316\n" DAT_COMMON DAT_FIELD("char prev_comm[16]", 8, 16, 0)
		DAT_FIELD("pid_t prev_pid", 24, 4, 1) DAT_FIELD("unsigned long state", 32, 8, 0),
	"name: p0\nID: 1500\n" DAT_COMMON DAT_FIELD("unsigned long __probe_ip", 8, 8, 0),
	"name: r0\nID: 1501\n" DAT_COMMON DAT_FIELD("unsigned long __probe_func", 8, 8, 0)
		DAT_FIELD("unsigned long __probe_ret_ip", 16, 8, 0) DAT_FIELD("s32 ret", 24, 4, 1),
	"name: opened\nID: 700\n" DAT_COMMON DAT_FIELD("__data_loc char[] path", 8, 4, 0)
		DAT_FIELD("__rel_loc char[] again", 12, 4, 0),
	"no description at all",
};

static const char dat_symbols[] = "ffffffff81000000 T _stext\n"
				  "ffffffff81000100 t tracing_mark_write\n"
				  "ffffffffc0a00000 t kfd_ioctl\t[amdgpu]\n"
				  "ffffffffc0a00100 t kfd_ioctl_create_queue\t[amdgpu]\n"
				  "ffffffffc0a00200 t create_queue_cpsch.isra.0\t[amdgpu]\n"
				  "not a symbol\n";
static const char dat_prints[] =
	"0xffffffff82000000 : \"[KFD-TRACE] %s: pid=%d queue_id=%u doorbell_offset=0x%llx\\n\"\n"
	"0xffffffff82000100 : \"\\\"plain\\\" 100%% %c %hd %-4x|%p %Z\"\n"
	"broken\n";

struct dat {
	struct gp_buf file, pages[DAT_CPUS];
	u8 page[DAT_PAGE];
	u32 len; /* of the records in the page */
	u64 start, flags;
};

static inline void dat_put(struct gp_buf *out, u64 value, u32 size)
{
	gp_buf_add(out, &value, size);
}

static inline void dat_page(struct dat *dat, u64 time)
{
	memset(dat->page, 0, sizeof(dat->page));
	dat->len = 0;
	dat->flags = 0;
	dat->start = time;
}

static inline u8 *dat_room(struct dat *dat, u32 size)
{
	u8 *p = dat->page + 16 + dat->len;

	assert_true(16 + dat->len + size <= DAT_PAGE);
	dat->len += size;
	return p;
}

/* A head of a record: kind 0 to 31, time since the one before, and a word for the kinds that have
 * one. */
static inline void dat_head(struct dat *dat, u32 kind, u32 delta, u32 word)
{
	u32 head[2] = {kind | delta << 5, word};
	bool two = kind == 0 || kind >= 29;

	memcpy(dat_room(dat, two ? 8 : 4), head, two ? 8 : 4);
}

/* A record: common fields, then the rest. */
static inline void dat_record(struct dat *dat, u32 delta, u16 type, u32 pid, const void *rest,
			      u32 len)
{
	u32 size = (8 + len + 3) & ~3u;
	u8 *p;

	if (size <= 28 * 4)
		dat_head(dat, size / 4, delta, 0);
	else
		dat_head(dat, 0, delta, size + 4);
	p = dat_room(dat, size);
	memcpy(p, &type, 2);
	memcpy(p + 4, &pid, 4);
	memcpy(p + 8, rest, len);
}

static inline void dat_page_end(struct dat *dat, u32 cpu)
{
	u64 commit = dat->len | dat->flags;

	memcpy(dat->page, &dat->start, 8);
	memcpy(dat->page + 8, &commit, 8);
	gp_buf_add(&dat->pages[cpu], dat->page, DAT_PAGE);
}

/* ---- the file ---- */

static inline void dat_formats(struct gp_buf *out, const char *const *texts, size_t count)
{
	dat_put(out, count, 4);
	for (size_t i = 0; i < count; i++) {
		dat_put(out, strlen(texts[i]), 8);
		gp_buf_puts(out, texts[i]);
	}
}

static inline void dat_string(struct gp_buf *out, const char *text)
{
	gp_buf_add(out, text, strlen(text) + 1);
}

/* The contents of a part, by its number in version 7. */
static inline void dat_part(struct gp_buf *out, u32 id)
{
	switch (id) {
	case 16:
		for (int i = 0; i < 2; i++) {
			dat_string(out, i ? "header_event" : "header_page");
			dat_put(out, 4, 8);
			gp_buf_puts(out, "text");
		}
		break;
	case 17:
		dat_formats(out, dat_ftrace, sizeof(dat_ftrace) / sizeof(dat_ftrace[0]));
		break;
	case 18:
		dat_put(out, 1, 4);
		dat_string(out, "all");
		dat_formats(out, dat_events, sizeof(dat_events) / sizeof(dat_events[0]));
		break;
	case 19:
		dat_put(out, strlen(dat_symbols), 4);
		gp_buf_puts(out, dat_symbols);
		break;
	case 20:
		dat_put(out, strlen(dat_prints), 4);
		gp_buf_puts(out, dat_prints);
		break;
	}
}

static inline void dat_start(struct gp_buf *out, const char *version)
{
	gp_buf_add(out, "\x17\x08\x44tracing", 10);
	dat_string(out, version);
	dat_put(out, 0, 1);
	dat_put(out, 8, 1);
	dat_put(out, DAT_PAGE, 4);
}

static inline void dat_file_6(struct dat *dat, const char *clock)
{
	struct gp_buf *out = &dat->file;
	u64 at;

	dat_start(out, "6");
	for (u32 id = 16; id <= 20; id++)
		dat_part(out, id);
	dat_put(out, 0, 8); /* names of tasks */
	dat_put(out, DAT_CPUS, 4);
	gp_buf_add(out, "options  ", 10);
	dat_put(out, 9, 2); /* something that is not read */
	dat_put(out, 3, 4);
	gp_buf_puts(out, "3.1");
	dat_put(out, 4, 2);
	dat_put(out, strlen(clock) + 1, 4);
	dat_string(out, clock);
	dat_put(out, 0, 2);
	gp_buf_add(out, "flyrecord", 10);
	at = (out->len + 16 * DAT_CPUS + DAT_PAGE - 1) / DAT_PAGE * DAT_PAGE;
	for (int i = 0; i < DAT_CPUS; i++) {
		dat_put(out, at, 8);
		dat_put(out, dat->pages[i].len, 8);
		at += dat->pages[i].len;
	}
	while (out->len % DAT_PAGE)
		dat_put(out, 0, 1);
	for (int i = 0; i < DAT_CPUS; i++)
		gp_buf_add(out, gp_buf_str(&dat->pages[i]), dat->pages[i].len);
}

static inline void dat_pack(struct gp_buf *out, const void *from, size_t len)
{
	size_t room = ZSTD_compressBound(len);
	void *packed = malloc(room);
	size_t size = ZSTD_compress(packed, room, from, len, 3);

	assert_false(ZSTD_isError(size));
	dat_put(out, size, 4);
	dat_put(out, len, 4);
	gp_buf_add(out, packed, size);
	free(packed);
}

/* A part with its head; returns where it is. */
static inline u64 dat_section(struct gp_buf *out, u32 id, const struct gp_buf *part, bool zstd)
{
	struct gp_buf packed = {0};
	u64 at = out->len;

	if (zstd)
		dat_pack(&packed, gp_buf_str(part), part->len);
	else
		gp_buf_add(&packed, gp_buf_str(part), part->len);
	dat_put(out, id, 2);
	dat_put(out, zstd, 2);
	dat_put(out, 0, 4);
	dat_put(out, packed.len, 8);
	gp_buf_add(out, gp_buf_str(&packed), packed.len);
	gp_buf_free(&packed);
	return at;
}

/* The pages, each in a chunk of its own when compressed; says in `option` where. */
static inline void dat_buffer(struct dat *dat, struct gp_buf *option, const char *clock, bool zstd)
{
	struct gp_buf *out = &dat->file;

	dat_put(option, out->len, 8);
	dat_string(option, "");
	dat_string(option, clock);
	dat_put(option, DAT_PAGE, 4);
	dat_put(option, DAT_CPUS, 4);
	dat_put(out, 3, 2);
	dat_put(out, zstd, 2);
	dat_put(out, 0, 4);
	dat_put(out, 0, 8);
	for (u32 i = 0; i < DAT_CPUS; i++) {
		u64 at = out->len, head = 0;
		size_t count = dat->pages[i].len / DAT_PAGE;

		if (zstd && count) {
			dat_put(out, count, 4);
			head = 4; /* which the size does not count */
		}
		for (size_t k = 0; k < count; k++) {
			if (zstd)
				dat_pack(out, dat->pages[i].data + k * DAT_PAGE, DAT_PAGE);
			else
				gp_buf_add(out, dat->pages[i].data + k * DAT_PAGE, DAT_PAGE);
		}
		dat_put(option, i, 4);
		dat_put(option, at, 8);
		dat_put(option, out->len - at - head, 8);
	}
}

static inline void dat_file_7(struct dat *dat, const char *clock, bool zstd)
{
	struct gp_buf *out = &dat->file, options = {0}, buffer = {0};
	u64 at, place;

	dat_start(out, "7");
	dat_string(out, zstd ? "zstd" : "none");
	dat_string(out, "1");
	place = out->len;
	dat_put(out, 0, 8);
	for (u32 id = 16; id <= 20; id++) {
		struct gp_buf part = {0};

		dat_part(&part, id);
		at = dat_section(out, id, &part, zstd && id != 16);
		dat_put(&options, id, 2);
		dat_put(&options, 8, 4);
		dat_put(&options, at, 8);
		gp_buf_free(&part);
	}
	dat_buffer(dat, &buffer, clock, zstd);
	dat_put(&options, 3, 2);
	dat_put(&options, buffer.len, 4);
	gp_buf_add(&options, gp_buf_str(&buffer), buffer.len);
	dat_put(&options, 0, 2);
	dat_put(&options, 8, 4);
	dat_put(&options, 0, 8);
	at = dat_section(out, 0, &options, false);
	memcpy(out->data + place, &at, 8);
	gp_buf_free(&buffer);
	gp_buf_free(&options);
}

static inline int dat_fd(const void *data, size_t len)
{
	int fd = memfd_create("trace.dat", MFD_CLOEXEC);

	assert_true(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	return fd;
}

static inline void dat_free(struct dat *dat)
{
	gp_buf_free(&dat->file);
	for (int i = 0; i < DAT_CPUS; i++)
		gp_buf_free(&dat->pages[i]);
	memset(dat, 0, sizeof(*dat));
}

#endif
