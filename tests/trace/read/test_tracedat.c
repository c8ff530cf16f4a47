// SPDX-License-Identifier: MIT
/* trace.dat: both versions, compressed and not; every kind of event, gaps, clocks, damage. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "dat_make.h"
#include "trace/analyse/inquiry.h"
#include "trace/read/tracedat.h"
#include "trace/read/tracedat_parts.h"

#define KFD_IOCTL    0xffffffffc0a00000ull
#define CREATE_QUEUE 0xffffffffc0a00100ull
#define CPSCH        0xffffffffc0a00200ull
#define FORMAT       0xffffffff82000000ull
#define MISSED       (1ull << 31)
#define STORED       (1ull << 30)

struct seen {
	size_t count;
	struct gp_event events[32];
	char names[32][48], texts[32][96];
	struct gp_trace_tracedat_stats stats;
	struct test_diag diag;
	int ret;
};

static int keep(void *ctx, const struct gp_event *event)
{
	struct seen *seen = ctx;

	if (seen->count < 32) {
		seen->events[seen->count] = *event;
		snprintf(seen->names[seen->count], 48, "%.*s", (int)event->name_len,
			 event->name ? event->name : "");
		snprintf(seen->texts[seen->count], 96, "%.*s",
			 event->text ? (int)event->text_len : 0, event->text ? event->text : "");
	}
	seen->count++;
	return 0;
}

static void read_bytes(struct seen *seen, const void *data, size_t len)
{
	int fd = dat_fd(data, len);

	gp_buf_free(&seen->diag.text);
	memset(seen, 0, sizeof(*seen));
	seen->diag = (struct test_diag)TEST_DIAG;
	seen->ret =
		gp_trace_tracedat_read(fd, "trace.dat", &seen->diag.diag, keep, seen, &seen->stats);
	close(fd);
}

static void read_dat(struct seen *seen, const struct dat *dat)
{
	read_bytes(seen, dat->file.data, dat->file.len);
}

static void forget(struct seen *seen)
{
	gp_buf_free(&seen->diag.text);
}

/* A creation of a queue on CPU 1, with a change of task on CPU 0 in between. */
static void make_creation(struct dat *dat)
{
	u64 probe = CREATE_QUEUE, leave[3] = {CREATE_QUEUE, KFD_IOCTL, 0};
	u64 function[2] = {CPSCH + 4, CREATE_QUEUE + 0x20}, entry[2] = {CPSCH, 1};
	u64 left[4] = {CPSCH, 1, 1000300, 1000700};
	struct {
		char comm[16];
		u32 pid, gap;
		u64 state;
	} change = {"kworker/0:1", 77, 0, 0x402};

	memset(dat, 0, sizeof(*dat));
	leave[2] = (u32)-22;
	dat_page(dat, 1000000);
	dat_record(dat, 100, DAT_PROBE, 501, &probe, 8);
	dat_record(dat, 100, DAT_FUNCTION, 501, function, 16);
	dat_record(dat, 100, DAT_GRAPH_ENTRY, 501, entry, 12);
	dat_record(dat, 400, DAT_GRAPH_EXIT, 501, left, 32);
	dat_record(dat, 100, DAT_RETURN, 501, leave, 20);
	dat_page_end(dat, 1);
	dat_page(dat, 1000000);
	dat_record(dat, 250, DAT_SWITCH, 0, &change, sizeof(change));
	dat_page_end(dat, 0);
}

static void expect_creation(const struct seen *seen)
{
	assert_int_equal(seen->ret, 0);
	assert_int_equal(seen->stats.events, 6);
	assert_int_equal(seen->stats.damaged, 0);
	assert_int_equal(seen->events[0].kind, GP_EVENT_ENTER);
	assert_string_equal(seen->names[0], "kfd_ioctl_create_queue");
	assert_int_equal(seen->events[0].time_ns, 1000100);
	assert_int_equal(seen->events[0].pid, 501);
	assert_int_equal(seen->events[0].cpu, 1);
	assert_int_equal(seen->events[0].line, 1);
	/* Without what the compiler added; called from. */
	assert_string_equal(seen->names[1], "create_queue_cpsch");
	assert_string_equal(seen->texts[1], "kfd_ioctl_create_queue");
	/* In the order of time, over CPUs. */
	assert_string_equal(seen->names[2], "sched_switch");
	assert_int_equal(seen->events[2].kind, GP_EVENT_POINT);
	assert_int_equal(seen->events[2].cpu, 0);
	assert_string_equal(seen->texts[2], "prev_comm=kworker/0:1 prev_pid=77 state=0x402");
	assert_int_equal(seen->events[3].kind, GP_EVENT_ENTER);
	assert_int_equal(seen->events[4].kind, GP_EVENT_LEAVE);
	assert_int_equal(seen->events[4].duration_ns, 400);
	assert_int_equal(seen->events[5].kind, GP_EVENT_LEAVE);
	assert_string_equal(seen->names[5], "kfd_ioctl_create_queue");
	assert_string_equal(seen->texts[5], "ret=-22");
}

static void every_version_gives_the_same_events(void **state)
{
	static struct seen seen;
	struct dat dat;

	(void)state;
	make_creation(&dat);
	dat_file_6(&dat, "local global [mono] boot");
	read_dat(&seen, &dat);
	expect_creation(&seen);
	assert_int_equal(seen.stats.version, 6);
	assert_int_equal(seen.events[0].clock, GP_CLOCK_MONOTONIC);
	dat_free(&dat);
	for (int zstd = 0; zstd < 2; zstd++) {
		make_creation(&dat);
		dat_file_7(&dat, "boot", zstd);
		read_dat(&seen, &dat);
		expect_creation(&seen);
		assert_int_equal(seen.stats.version, 7);
		assert_int_equal(seen.events[0].clock, GP_CLOCK_BOOTTIME);
		dat_free(&dat);
	}
	forget(&seen);
}

static void a_nul_behind_a_percent_sign_is_no_conversion(void **state)
{
	static const char format[] = "a %d b %\0 %d c";
	const u32 values[] = {7, 8, 9};
	struct gp_trace_dat_context *context = calloc(1, sizeof(*context));
	size_t len;

	(void)state;
	assert_non_null(context);
	len = gp_trace_dat_bprint(context, format, sizeof(format) - 1, (const u8 *)values,
				  (const u8 *)(values + 3));
	assert_int_equal(len, 6);
	assert_memory_equal(context->text, "a 7 b ", 6);
	free(context);
}

/* A file may have millions of them: each look-up would walk over all. */
static void of_symbols_at_one_address_the_first_is_kept(void **state)
{
	static const char text[] = "1000 t first\n1000 t second\n2000 t other\n1000 t third\n";
	struct gp_trace_dat_symbols *symbols = calloc(1, sizeof(*symbols));
	char *copy = strdup(text);

	(void)state;
	assert_non_null(symbols);
	assert_int_equal(gp_trace_dat_symbols_add(symbols, copy, strlen(text)), 0);
	assert_int_equal(symbols->count, 2);
	assert_memory_equal(gp_trace_dat_symbol(symbols, 0x1fff)->name, "first", 5);
	assert_memory_equal(gp_trace_dat_symbol_at(symbols, 0x2000)->name, "other", 5);
	assert_null(gp_trace_dat_symbol(symbols, 0xfff));
	gp_trace_dat_symbols_free(symbols);
	free(symbols);
}

static void prints_and_marks_are_read(void **state)
{
	static struct seen seen;
	struct dat dat = {0};
	u8 mark[32] = {0}, text[64] = {0};
	u64 numbers[2] = {KFD_IOCTL + 8, FORMAT};
	size_t len;

	(void)state;
	dat_page(&dat, 5000);
	memcpy(mark, (u64[]){0xffffffff81000100ull}, 8);
	strcpy((char *)mark + 8, "step 3\n");
	dat_record(&dat, 1, DAT_PRINT, 9, mark, 16);
	/* A string, two words, then a long number on a 4-byte border. */
	memcpy(text, numbers, 16);
	strcpy((char *)text + 16, "CREATE_IT");
	len = 16 + 10;
	len = (len + 3) & ~3u;
	memcpy(text + len, (u32[]){501, 7}, 8);
	memcpy(text + len + 8, (u64[]){0x1008ull << 32}, 8);
	dat_record(&dat, 1, DAT_BPRINT, 501, text, (u32)len + 16);
	/* Small values are packed; an unknown conversion ends it. */
	numbers[1] = FORMAT + 0x100;
	memset(text, 0, sizeof(text));
	memcpy(text, numbers, 16);
	text[16] = 'q';
	memcpy(text + 18, (short[]){-5}, 2);
	memcpy(text + 20, (u32[]){0xab}, 4);
	memcpy(text + 24, (u64[]){KFD_IOCTL}, 8);
	dat_record(&dat, 1, DAT_BPRINT, 501, text, 32);
	dat_record(&dat, 1, DAT_BPUTS, 501, numbers, 16);
	numbers[1] = 1; /* of nothing that is known */
	dat_record(&dat, 1, DAT_BPUTS, 501, numbers, 16);
	dat_page_end(&dat, 0);
	dat_file_6(&dat, "[local]");
	read_dat(&seen, &dat);
	assert_int_equal(seen.ret, 0);
	assert_int_equal(seen.events[0].kind, GP_EVENT_MARK);
	assert_string_equal(seen.texts[0], "step 3");
	assert_int_equal(seen.events[0].clock, GP_CLOCK_TRACE);
	assert_int_equal(seen.events[1].kind, GP_EVENT_KFD);
	assert_string_equal(seen.names[1], "CREATE_IT");
	assert_string_equal(seen.texts[1], "pid=501 queue_id=7 doorbell_offset=0x100800000000");
	assert_string_equal(seen.texts[2], "\"plain\" 100% q -5 ab  |ffffffffc0a00000 ");
	assert_string_equal(seen.names[2], "kfd_ioctl");
	assert_string_equal(seen.texts[3], "\"plain\" 100%% %c %hd %-4x|%p %Z");
	assert_string_equal(seen.names[4], "bputs");
	dat_free(&dat);
	forget(&seen);
}

static void texts_elsewhere_in_the_record_are_found(void **state)
{
	static struct seen seen;
	struct dat dat = {0};
	u8 rest[24] = {0};

	(void)state;
	dat_page(&dat, 1);
	/* From the record's start, and from behind the field, which is at 12. */
	memcpy(rest, (u32[]){16 | 4 << 16, 4 | 4 << 16}, 8);
	memcpy(rest + 8, "abc", 4);
	memcpy(rest + 12, "def", 4);
	dat_record(&dat, 1, DAT_OPEN, 1, rest, 16);
	/* Outside of the record: nothing. */
	memcpy(rest, (u32[]){4000 | 4 << 16, 16 | 9000u << 16}, 8);
	dat_record(&dat, 1, DAT_OPEN, 1, rest, 16);
	dat_page_end(&dat, 0);
	dat_file_6(&dat, "[local]");
	read_dat(&seen, &dat);
	assert_string_equal(seen.texts[0], "path=abc again=def");
	assert_string_equal(seen.texts[1], "path= again=");
	dat_free(&dat);
	forget(&seen);
}

static void lost_events_are_gaps(void **state)
{
	static struct seen seen;
	struct dat dat = {0};
	u64 probe = CREATE_QUEUE, lost = 1234;

	(void)state;
	for (int i = 0; i < 3; i++) {
		dat_page(&dat, 1000 * (u64)(i + 1));
		dat_record(&dat, 1, DAT_PROBE, 1, &probe, 8);
		if (i == 1) {
			dat.flags = MISSED | STORED;
			memcpy(dat.page + 16 + dat.len, &lost, 8);
		} else if (i == 2) {
			dat.flags = MISSED;
		}
		dat_page_end(&dat, 0);
	}
	dat_file_7(&dat, "mono", true);
	read_dat(&seen, &dat);
	assert_int_equal(seen.ret, 0);
	assert_int_equal(seen.stats.events, 3);
	assert_int_equal(seen.stats.gaps, 2);
	assert_int_equal(seen.stats.lost, 1234);
	assert_int_equal(seen.events[1].kind, GP_EVENT_LOST);
	assert_int_equal(seen.events[1].count, 1234);
	assert_true(seen.events[1].valid & GP_EV_COUNT);
	assert_int_equal(seen.events[3].kind, GP_EVENT_LOST);
	assert_false(seen.events[3].valid & GP_EV_COUNT);
	dat_free(&dat);
	forget(&seen);
}

static void long_times_jumps_and_padding(void **state)
{
	static struct seen seen;
	struct dat dat = {0};
	u64 probe = CREATE_QUEUE;
	u8 big[200] = {0};

	(void)state;
	dat_page(&dat, 1000);
	dat_head(&dat, 30, 5, 1); /* 2^27 + 5 later */
	dat_record(&dat, 0, DAT_PROBE, 1, &probe, 8);
	dat_head(&dat, 29, 1, 4); /* something that was discarded, 4 bytes with its length */
	dat_head(&dat, 31, 7, 2); /* it is 2 * 2^27 + 7 */
	memcpy(big, &probe, 8);
	dat_record(&dat, 1, DAT_PROBE, 1, big, sizeof(big));
	dat_head(&dat, 31, 9, 0); /* the clock jumps back */
	dat_record(&dat, 0, DAT_PROBE, 1, &probe, 8);
	dat_head(&dat, 29, 0, 0); /* the rest of the page is empty */
	dat_record(&dat, 0, DAT_PROBE, 1, &probe, 8);
	dat_page_end(&dat, 0);
	dat_file_6(&dat, "[local]");
	read_dat(&seen, &dat);
	assert_int_equal(seen.stats.events, 3);
	assert_int_equal(seen.events[0].time_ns, 1000 + (1 << 27) + 5);
	assert_int_equal(seen.events[1].time_ns, (2 << 27) + 8);
	assert_int_equal(seen.events[2].time_ns, 9);
	assert_int_equal(seen.stats.jumps, 1);
	assert_int_equal(seen.stats.damaged, 0);
	dat_free(&dat);
	forget(&seen);
}

static void a_clock_that_does_not_count_nanoseconds_gives_no_times(void **state)
{
	static struct seen seen;
	struct dat dat;

	(void)state;
	make_creation(&dat);
	dat_file_7(&dat, "x86-tsc", false);
	read_dat(&seen, &dat);
	assert_int_equal(seen.ret, 0);
	assert_int_equal(seen.diag.warnings, 1);
	assert_false(seen.events[0].valid & GP_EV_TIME);
	dat_free(&dat);
	forget(&seen);
}

static void events_without_a_description_are_counted(void **state)
{
	static struct seen seen;
	struct dat dat = {0};
	u64 probe = CREATE_QUEUE;

	(void)state;
	dat_page(&dat, 1);
	dat_record(&dat, 1, 999, 1, &probe, 8);
	dat_record(&dat, 1, DAT_PROBE, 1, &probe, 8);
	dat_record(&dat, 1, DAT_PROBE, 1, &probe, 0); /* too short for its address */
	dat_page_end(&dat, 0);
	dat_file_6(&dat, "[local]");
	read_dat(&seen, &dat);
	assert_int_equal(seen.stats.unknown, 1);
	assert_int_equal(seen.stats.events, 2);
	assert_int_equal(seen.events[1].kind, GP_EVENT_POINT);
	dat_free(&dat);
	forget(&seen);
}

/* Cut anywhere, it says so or gives what was before the cut; it never gives more. */
static void a_cut_file_gives_what_was_before_the_cut(void **state)
{
	static struct seen seen;
	struct dat dat;

	(void)state;
	for (int form = 0; form < 3; form++) {
		size_t with = 0;

		make_creation(&dat);
		if (form)
			dat_file_7(&dat, "mono", form == 2);
		else
			dat_file_6(&dat, "[mono]");
		for (size_t len = 0; len < dat.file.len; len += form ? 17 : 101) {
			read_bytes(&seen, dat.file.data, len);
			assert_true(seen.ret == 0 || seen.ret == -EINVAL);
			assert_true(seen.stats.events <= 6);
			if (seen.ret)
				assert_true(seen.diag.errors == 1);
			else
				with++;
		}
		/* Version 6 has its pages last, CPU 0's before CPU 1's. */
		if (!form)
			assert_true(with > 0);
		dat_free(&dat);
	}
	forget(&seen);
}

static void damage_does_not_spread(void **state)
{
	static struct seen seen;
	struct dat dat;
	size_t page;

	(void)state;
	make_creation(&dat);
	dat_file_6(&dat, "[mono]");
	page = dat.file.len - 2 * DAT_PAGE;
	/* CPU 0's page says that it is longer than it can be. */
	memset(dat.file.data + page + 8, 0x7f, 3);
	read_dat(&seen, &dat);
	assert_int_equal(seen.ret, 0);
	assert_int_equal(seen.stats.events, 5);
	assert_int_equal(seen.stats.damaged, 1);
	/* And a record of CPU 1's goes beyond its page. */
	dat.file.data[page + DAT_PAGE + 16 + 20] = 28;
	read_dat(&seen, &dat);
	assert_int_equal(seen.stats.damaged, 2);
	assert_true(seen.stats.events < 5);
	dat_free(&dat);
	forget(&seen);
}

static size_t find(const struct dat *dat, const char *text, size_t len)
{
	const char *found = memmem(dat->file.data, dat->file.len, text, len);

	assert_non_null(found);
	return (size_t)(found - dat->file.data);
}

static void damaged_chunks_are_left_out(void **state)
{
	static struct seen seen;
	struct dat dat;
	size_t at;
	u32 size;

	(void)state;
	make_creation(&dat);
	dat_file_7(&dat, "mono", true);
	/* The last thing before the options is CPU 1's chunk: number, two sizes, zstd. */
	at = dat.file.len;
	for (size_t i = 0; i + 4 < dat.file.len; i++)
		if (!memcmp(dat.file.data + i, "\x28\xb5\x2f\xfd", 4))
			at = i;
	dat.file.data[at] ^= 1;
	read_dat(&seen, &dat);
	assert_int_equal(seen.ret, 0);
	assert_int_equal(seen.stats.events, 1);
	assert_int_equal(seen.stats.damaged, 1);
	dat.file.data[at] ^= 1;
	memcpy(&size, dat.file.data + at - 8, 4);
	memcpy(dat.file.data + at - 8, (u32[]){1u << 30}, 4);
	read_dat(&seen, &dat);
	assert_int_equal(seen.stats.damaged, 1);
	/* One that holds less than a page. */
	memcpy(dat.file.data + at - 8, &size, 4);
	memcpy(dat.file.data + at - 4, (u32[]){DAT_PAGE - 1}, 4);
	read_dat(&seen, &dat);
	assert_int_equal(seen.stats.damaged, 1);
	assert_int_equal(seen.stats.events, 1);
	dat_free(&dat);
	forget(&seen);
}

static void records_that_break_off_end_their_page(void **state)
{
	static struct seen seen;
	struct dat dat = {0};
	u64 probe = CREATE_QUEUE;

	(void)state;
	for (int i = 0; i < 3; i++) {
		dat_page(&dat, 1000 * (u64)(i + 1));
		dat_record(&dat, 1, DAT_PROBE, 1, &probe, 8);
		if (i == 0) {
			dat_head(&dat, 0, 1, 2); /* shorter than its own length */
		} else if (i == 1) {
			dat_head(&dat, 0, 1, 0);
			dat.len -= 4; /* without the length */
		}
		dat_page_end(&dat, 0);
	}
	/* Half a page at the end. */
	gp_buf_add(&dat.pages[0], dat.page, DAT_PAGE / 2);
	dat_file_6(&dat, "[mono]");
	read_dat(&seen, &dat);
	assert_int_equal(seen.ret, 0);
	assert_int_equal(seen.stats.events, 3);
	assert_int_equal(seen.stats.damaged, 3);
	dat_free(&dat);
	forget(&seen);
}

static int stop(void *ctx, const struct gp_event *event)
{
	(void)event;
	return ++*(int *)ctx == 2 ? 42 : 0;
}

static void a_callback_can_stop_it(void **state)
{
	struct gp_trace_tracedat_stats stats;
	struct dat dat;
	int count = 0, fd;

	(void)state;
	make_creation(&dat);
	dat_file_6(&dat, "[mono]");
	fd = dat_fd(dat.file.data, dat.file.len);
	assert_int_equal(gp_trace_tracedat_read(fd, "x", NULL, stop, &count, &stats), 42);
	assert_int_equal(count, 2);
	close(fd);
	assert_int_equal(gp_trace_tracedat_read(-1, "x", NULL, stop, &count, &stats), -EBADF);
	dat_free(&dat);
}

static void a_trace_as_text_is_told_apart(void **state)
{
	static struct seen seen;
	struct dat dat;

	(void)state;
	make_creation(&dat);
	dat_file_6(&dat, "[mono]");
	memcpy(dat.file.data + find(&dat, "flyrecord", 10), "latency  ", 10);
	read_dat(&seen, &dat);
	assert_int_equal(seen.ret, -EINVAL);
	assert_non_null(strstr(gp_buf_str(&seen.diag.text), "contains a text trace"));
	dat_free(&dat);
	forget(&seen);
}

static void what_is_not_read_says_so(void **state)
{
	static struct seen seen;
	struct dat dat;

	(void)state;
	assert_true(gp_trace_tracedat_is("\x17\x08\x44tracing6", 11));
	assert_false(gp_trace_tracedat_is("\x17\x08\x44trac", 7));
	make_creation(&dat);
	dat_file_7(&dat, "mono", false);
	dat.file.data[12] = 1; /* big endian */
	read_dat(&seen, &dat);
	assert_int_equal(seen.ret, -EOPNOTSUPP);
	dat.file.data[12] = 0;
	dat.file.data[10] = '9';
	read_dat(&seen, &dat);
	assert_int_equal(seen.ret, -EOPNOTSUPP);
	assert_non_null(strstr(gp_buf_str(&seen.diag.text), "version 9"));
	dat.file.data[10] = '7';
	memcpy(dat.file.data + 18, "zlib", 4);
	read_dat(&seen, &dat);
	assert_int_equal(seen.ret, -EOPNOTSUPP);
	assert_non_null(strstr(gp_buf_str(&seen.diag.text), "compressed with zlib"));
	dat_free(&dat);
	memset(&dat, 0, sizeof(dat));
	dat_file_6(&dat, "[mono]");
	read_dat(&seen, &dat);
	assert_int_equal(seen.ret, -EINVAL);
	assert_non_null(strstr(gp_buf_str(&seen.diag.text), "no events"));
	dat_free(&dat);
	forget(&seen);
}

static void the_inquiry_reads_it_like_a_text(void **state)
{
	struct gp_trace_inquiry inquiry = {0};
	struct dat dat;
	int fd;

	(void)state;
	make_creation(&dat);
	dat_file_7(&dat, "mono", true);
	fd = dat_fd(dat.file.data, dat.file.len);
	assert_int_equal(gp_trace_inquiry_init(&inquiry, GP_CLOCK_TRACE), 0);
	assert_int_equal(gp_trace_inquiry_add(&inquiry, fd, "trace.dat", NULL), 0);
	assert_int_equal(gp_trace_inquiry_finish(&inquiry), 0);
	assert_int_equal(inquiry.inputs[0]->kind, GP_SOURCE_TRACEDAT);
	assert_int_equal(inquiry.inputs[0]->clock, GP_CLOCK_MONOTONIC);
	assert_int_equal(inquiry.path.creation_count, 1);
	assert_int_equal(inquiry.path.creations[0].length_ns, 700);
	gp_trace_inquiry_free(&inquiry);
	close(fd);
	dat_free(&dat);
}

/* A file that becomes shorter while it is read, one that cannot be read, and strings without end.
 */
static void what_cannot_be_read_is_an_error(void **state)
{
	FILE *empty = tmpfile();
	struct gp_trace_dat_input directory = {.fd = open("/", O_RDONLY | O_CLOEXEC), .end = 100};
	struct gp_trace_dat_input shorter = {.fd = fileno(empty), .end = 100};
	u8 endless[GP_DAT_NAME + 1], block[] = {200, 0, 0, 0, 1};
	struct gp_trace_dat_input text = {.memory = endless, .end = sizeof(endless)};
	struct gp_trace_dat_input large = {.memory = block, .end = sizeof(block)};
	struct gp_trace_dat_input cut;
	char name[GP_DAT_NAME], *out;
	size_t len;
	u64 value;

	(void)state;
	assert_int_equal(gp_trace_dat_get_number(&directory, 4, &value), -EISDIR);
	assert_int_equal(gp_trace_dat_get_number(&shorter, 4, &value), -EINVAL);
	memset(endless, 'a', sizeof(endless));
	assert_int_equal(gp_trace_dat_get_string(&text, name), -EINVAL);
	assert_int_equal(gp_trace_dat_get_block(&large, 4, &out, &len), -EINVAL);
	/* Of a block the length is still there, and what follows is not. */
	assert_int_equal(fwrite("\x08\0\0\0", 1, 4, empty), 4);
	assert_int_equal(fflush(empty), 0);
	cut = (struct gp_trace_dat_input){.fd = fileno(empty), .end = 100};
	assert_int_equal(gp_trace_dat_get_block(&cut, 4, &out, &len), -EINVAL);
	close(directory.fd);
	fclose(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_read_is_an_error),
		cmocka_unit_test(every_version_gives_the_same_events),
		cmocka_unit_test(prints_and_marks_are_read),
		cmocka_unit_test(a_nul_behind_a_percent_sign_is_no_conversion),
		cmocka_unit_test(of_symbols_at_one_address_the_first_is_kept),
		cmocka_unit_test(texts_elsewhere_in_the_record_are_found),
		cmocka_unit_test(lost_events_are_gaps),
		cmocka_unit_test(long_times_jumps_and_padding),
		cmocka_unit_test(a_clock_that_does_not_count_nanoseconds_gives_no_times),
		cmocka_unit_test(events_without_a_description_are_counted),
		cmocka_unit_test(a_cut_file_gives_what_was_before_the_cut),
		cmocka_unit_test(damage_does_not_spread),
		cmocka_unit_test(damaged_chunks_are_left_out),
		cmocka_unit_test(records_that_break_off_end_their_page),
		cmocka_unit_test(a_callback_can_stop_it),
		cmocka_unit_test(a_trace_as_text_is_told_apart),
		cmocka_unit_test(what_is_not_read_says_so),
		cmocka_unit_test(the_inquiry_reads_it_like_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
