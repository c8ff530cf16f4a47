/* SPDX-License-Identifier: MIT */
/* Reads a debugfs fixture or sample and parses it; what the tests of the three readers share. */
#ifndef GP_TEST_DEBUGFS_TEXT_H
#define GP_TEST_DEBUGFS_TEXT_H

#include <errno.h>

#include "gpu/kfd/debugfs.h"
#include "testlib.h"

struct text {
	struct gp_buf buf;
	struct gp_gpu_debugfs_source source;
};

static inline void text_load(struct text *text, const char *path)
{
	*text = (struct text){0};
	assert_int_equal(gp_file_read(path, GP_DEBUGFS_LIMIT, &text->buf), 0);
	text->source = (struct gp_gpu_debugfs_source){.name = "input",
						      .text = gp_buf_str(&text->buf),
						      .len = text->buf.len};
}

static inline struct gp_gpu_debugfs_source source_of(const char *text)
{
	return (struct gp_gpu_debugfs_source){.name = "input", .text = text, .len = strlen(text)};
}

static inline const struct gp_kfd_slot *slot_at(const struct gp_kfd_slot_list *list,
						enum gp_kfd_slot_kind kind, u32 xcc, u32 pipe,
						u32 queue)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct gp_kfd_slot *slot = &list->items[i];

		if (slot->kind == kind && slot->xcc == xcc && slot->pipe == pipe &&
		    slot->queue == queue)
			return slot;
	}
	fail_msg("no such slot: kind %d xcc %u %u.%u", (int)kind, xcc, pipe, queue);
	return NULL;
}

static inline u32 version_gfx11(void *ctx, u32 gpu_id)
{
	(void)ctx, (void)gpu_id;
	return 110000;
}

static inline u32 version_gfx10(void *ctx, u32 gpu_id)
{
	(void)ctx, (void)gpu_id;
	return 100300;
}

static inline u32 version_gfx12(void *ctx, u32 gpu_id)
{
	(void)ctx, (void)gpu_id;
	return 120000;
}

static inline u32 version_gfx13(void *ctx, u32 gpu_id)
{
	(void)ctx, (void)gpu_id;
	return 130000;
}

static inline u32 version_gfx90a(void *ctx, u32 gpu_id)
{
	(void)ctx, (void)gpu_id;
	return 90010;
}

static inline struct gp_kfd_slot_list parse_hqds(const char *path, struct test_diag *sink)
{
	struct gp_kfd_slot_list list = {0};
	struct text text;

	text_load(&text, path);
	assert_int_equal(gp_kfd_parse_hqds(&text.source, &sink->diag, &list), 0);
	gp_buf_free(&text.buf);
	return list;
}

static inline struct gp_kfd_slot_list hqds_fixture(const char *name)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_kfd_slot_list list = parse_hqds(fixture(name), &sink);

	assert_int_equal(sink.errors + sink.warnings, 0);
	gp_buf_free(&sink.text);
	return list;
}

#endif
