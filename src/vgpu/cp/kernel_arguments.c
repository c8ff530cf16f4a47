// SPDX-License-Identifier: MIT
/*
 * The arguments of a kernel as the metadata of its code object lists them: a note in MessagePack
 * (AMDGPU usage of LLVM, "Code Object V3 Metadata"), a map whose "amdhsa.kernels" is an array with
 * a map per kernel. The note is in what was loaded or, failing that, in the image the URI names. It
 * may change while it is read: every step is bounded by the note's length, and the worst outcome is
 * that the arguments are not known.
 */
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "vgpu/cp/code_image.h"

#define SEGMENTS_MAX 64
#define NOTES_MAX    64
#define NOTE_BYTES   (64u << 20) /* of metadata */
#define NOTE_TYPE    32          /* NT_AMDGPU_METADATA */
#define NOTE_NAME    "AMDGPU"
#define DEPTH_MAX    16
#define KEY_MAX      32

/* ---- MessagePack ---- */

enum kind { END, NUMBER, STRING, ARRAY, MAP, OTHER };

struct item {
	enum kind kind;
	u64 value; /* the number, bytes of the string, elements, pairs */
	u64 at;    /* where the string is */
};

struct cursor {
	const struct gp_vgpu_cp_image *image;
	u64 at, end;
};

static u64 number_take(struct cursor *cursor, u32 bytes)
{
	u8 raw[8];
	u64 value = 0;

	if (bytes > cursor->end - cursor->at ||
	    !gp_vgpu_cp_image_read(cursor->image, cursor->at, raw, bytes)) {
		cursor->at = cursor->end;
		return 0;
	}
	cursor->at += bytes;
	for (u32 i = 0; i < bytes; i++)
		value = value << 8 | raw[i];
	return value;
}

static struct item bytes_take(struct cursor *cursor, enum kind kind, u64 bytes)
{
	struct item item = {kind, bytes, cursor->at};

	if (bytes > cursor->end - cursor->at) {
		cursor->at = cursor->end;
		return (struct item){.kind = END};
	}
	cursor->at += bytes;
	return item;
}

/* The next item; of an array or map only its head. */
static struct item item_take(struct cursor *cursor)
{
	u32 head;

	if (cursor->at >= cursor->end)
		return (struct item){.kind = END};
	head = (u32)number_take(cursor, 1);
	if (head < 0x80 || head >= 0xe0)
		return (struct item){NUMBER, head, 0}; /* negative ones do not matter here */
	if (head < 0x90)
		return (struct item){MAP, head & 0xf, 0};
	if (head < 0xa0)
		return (struct item){ARRAY, head & 0xf, 0};
	if (head < 0xc0)
		return bytes_take(cursor, STRING, head & 0x1f);
	switch (head) {
	case 0xc4: /* binary, 1, 2 and 4 bytes of length */
	case 0xc5:
	case 0xc6:
		return bytes_take(cursor, OTHER, number_take(cursor, 1u << (head - 0xc4)));
	case 0xc7: /* extensions: the same, and a type */
	case 0xc8:
	case 0xc9:
		return bytes_take(cursor, OTHER, number_take(cursor, 1u << (head - 0xc7)) + 1);
	case 0xca:
	case 0xcb:
		return bytes_take(cursor, OTHER, head == 0xca ? 4 : 8);
	case 0xcc: /* unsigned, then signed */
	case 0xcd:
	case 0xce:
	case 0xcf:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		return (struct item){NUMBER, number_take(cursor, 1u << (head - 0xcc) % 4), 0};
	case 0xd4:
	case 0xd5:
	case 0xd6:
	case 0xd7:
	case 0xd8:
		return bytes_take(cursor, OTHER, 1 + (1u << (head - 0xd4)));
	case 0xd9:
	case 0xda:
	case 0xdb:
		return bytes_take(cursor, STRING, number_take(cursor, 1u << (head - 0xd9)));
	case 0xdc:
	case 0xdd:
		return (struct item){ARRAY, number_take(cursor, head == 0xdc ? 2 : 4), 0};
	case 0xde:
	case 0xdf:
		return (struct item){MAP, number_take(cursor, head == 0xde ? 2 : 4), 0};
	default:
		return (struct item){.kind = OTHER}; /* nil, false, true */
	}
}

/* Steps over one value with all that is in it. */
static void value_skip(struct cursor *cursor, u32 depth)
{
	struct item item = item_take(cursor);
	u64 inside = item.kind == ARRAY ? item.value : item.kind == MAP ? item.value * 2 : 0;

	if (depth >= DEPTH_MAX)
		cursor->at = cursor->end;
	while (inside-- && cursor->at < cursor->end)
		value_skip(cursor, depth + 1);
}

static bool string_is(const struct cursor *cursor, const struct item *item, const char *text)
{
	char seen[GP_GPUFILE_KERNEL_NAME];
	size_t length = strlen(text);

	return item->kind == STRING && item->value == length && length < sizeof(seen) &&
	       gp_vgpu_cp_image_read(cursor->image, item->at, seen, length) &&
	       !memcmp(seen, text, length);
}

/* ---- metadata ---- */

static char letter_of(const struct cursor *cursor, const struct item *kind)
{
	char text[KEY_MAX] = "";

	if (kind->kind != STRING || kind->value >= sizeof(text) ||
	    !gp_vgpu_cp_image_read(cursor->image, kind->at, text, kind->value))
		return '?';
	if (!strncmp(text, "hidden_", 7))
		return 0;
	if (!strcmp(text, "by_value"))
		return 'v';
	if (!strcmp(text, "global_buffer"))
		return 'p';
	return !strcmp(text, "image") ? 'i' : '?';
}

/* One argument's map: "p8" and the like is appended. Arguments the compiler adds are left out. */
static void argument_add(struct cursor *cursor, char layout[GP_CP_LAYOUT])
{
	struct item map = item_take(cursor);
	size_t length = strlen(layout);
	char letter = '?';
	u64 size = 0;

	for (u64 i = 0; map.kind == MAP && i < map.value && cursor->at < cursor->end; i++) {
		struct item key = item_take(cursor), value;
		u64 before = cursor->at;

		value_skip(cursor, 0);
		if (!string_is(cursor, &key, ".size") && !string_is(cursor, &key, ".value_kind"))
			continue;
		value = item_take(&(struct cursor){cursor->image, before, cursor->end});
		if (value.kind == NUMBER)
			size = value.value;
		else
			letter = letter_of(cursor, &value);
	}
	if (letter)
		snprintf(layout + length, GP_CP_LAYOUT - length, "%s%c%llu", length ? " " : "",
			 letter, (unsigned long long)size);
}

/* One kernel's map: true if it is the one of that name; then `layout` is filled. */
static bool kernel_take(struct cursor *cursor, const char *name, char layout[GP_CP_LAYOUT])
{
	struct item map = item_take(cursor), arguments;
	struct cursor list = {0};
	bool found = false;

	for (u64 i = 0; map.kind == MAP && i < map.value && cursor->at < cursor->end; i++) {
		struct item key = item_take(cursor);
		struct cursor value = *cursor;

		value_skip(cursor, 0);
		if (string_is(cursor, &key, ".args")) {
			list = value;
		} else if (string_is(cursor, &key, ".name")) {
			struct item text = item_take(&value);

			found = string_is(cursor, &text, name);
		}
	}
	if (!found)
		return false;
	layout[0] = 0;
	arguments = list.image ? item_take(&list) : (struct item){.kind = ARRAY};
	for (u64 i = 0; arguments.kind == ARRAY && i < arguments.value && list.at < list.end; i++)
		argument_add(&list, layout);
	return true;
}

static bool metadata_find(struct cursor *cursor, const char *name, char layout[GP_CP_LAYOUT])
{
	struct item map = item_take(cursor);

	for (u64 i = 0; map.kind == MAP && i < map.value && cursor->at < cursor->end; i++) {
		struct item key = item_take(cursor), kernels;

		if (!string_is(cursor, &key, "amdhsa.kernels")) {
			value_skip(cursor, 0);
			continue;
		}
		kernels = item_take(cursor);
		for (u64 k = 0;
		     kernels.kind == ARRAY && k < kernels.value && cursor->at < cursor->end; k++)
			if (kernel_take(cursor, name, layout))
				return true;
	}
	return false;
}

/* ---- where it is ---- */

static bool notes_find(const struct gp_vgpu_cp_image *image, u64 at, u64 bytes, const char *name,
		       char layout[GP_CP_LAYOUT])
{
	u64 end = at + bytes;

	for (u32 i = 0; i < NOTES_MAX && at < end && end - at > sizeof(Elf64_Nhdr); i++) {
		char owner[sizeof(NOTE_NAME)] = "";
		Elf64_Nhdr note;
		u64 text;

		if (!gp_vgpu_cp_image_read(image, at, &note, sizeof(note)))
			return false;
		at += sizeof(note);
		text = at + ((u64)note.n_namesz + 3) / 4 * 4;
		if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof(owner) &&
		    gp_vgpu_cp_image_read(image, at, owner, sizeof(owner)) &&
		    !memcmp(owner, NOTE_NAME, sizeof(owner)) && note.n_descsz <= NOTE_BYTES)
			return metadata_find(&(struct cursor){image, text, text + note.n_descsz},
					     name, layout);
		at = text + ((u64)note.n_descsz + 3) / 4 * 4;
	}
	return false;
}

static bool image_find(const struct gp_vgpu_cp_image *image, bool loaded, const char *name,
		       char layout[GP_CP_LAYOUT])
{
	Elf64_Phdr segment;
	Elf64_Ehdr header;

	if (!gp_vgpu_cp_image_header(image, &header) || header.e_phentsize != sizeof(segment))
		return false;
	for (u32 i = 0; i < header.e_phnum && i < SEGMENTS_MAX; i++) {
		if (!gp_vgpu_cp_image_read(image, header.e_phoff + i * sizeof(segment), &segment,
					   sizeof(segment)))
			return false;
		if (segment.p_type == PT_NOTE && segment.p_filesz <= NOTE_BYTES &&
		    notes_find(image, loaded ? segment.p_vaddr : segment.p_offset, segment.p_filesz,
			       name, layout))
			return true;
	}
	return false;
}

bool gp_vgpu_cp_arguments_find(struct gp_vgpu_cp *cp, u32 gpu_id,
			       const struct gp_vgpu_cp_name *name, char layout[GP_CP_LAYOUT])
{
	const struct gp_vgpu_cp_image memory = {.fd = -1, .size = UINT64_MAX};
	struct gp_vgpu_cp_image image = {
		.cp = cp,
		.gpu_id = gpu_id,
		.fd = -1,
		.offset = name->load_address,
		.size = UINT64_MAX - name->load_address,
	};
	char uri[GP_CP_URI_MAX];
	bool found;

	layout[0] = 0;
	if (image_find(&image, true, name->name, layout))
		return true;
	if (!name->uri || !gp_vgpu_cp_image_string(&memory, name->uri, uri, sizeof(uri)) ||
	    !gp_vgpu_cp_image_open(uri, &image))
		return false;
	found = image_find(&image, false, name->name, layout);
	gp_vgpu_cp_image_close(&image);
	return found;
}
