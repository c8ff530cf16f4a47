// SPDX-License-Identifier: MIT
#include "trace/capture/symbols.h"

#include <fnmatch.h>
#include <string.h>

#include "base/parse.h"

#define NAME_MAX_LEN 128
#define MODULE       "[amdgpu]"

/*
 * Creation, change and end of queues; MQDs; runlists and slots; what stops and starts queues, and
 * waits for it; what the driver itself gives the GPU (doorbells, kernel compute queues). Not
 * kfd_ioctl() itself, which programs call thousands of times per second to wait.
 */
static const char *const wanted[] = {
	"kfd_ioctl_create_queue",
	"kfd_ioctl_destroy_queue",
	"kfd_ioctl_update_queue",
	"kfd_ioctl_set_cu_mask",
	"kfd_ioctl_set_debug_trap",
	"pqm_create_queue",
	"pqm_destroy_queue",
	"pqm_update_queue_properties",
	"find_available_queue_slot",
	"init_user_queue",
	"create_queue_cpsch",
	"create_queue_nocpsch",
	"destroy_queue_cpsch",
	"destroy_queue_nocpsch",
	"allocate_hqd",
	"allocate_doorbell",
	"allocate_sdma_queue",
	"kfd_alloc_process_doorbells",
	"kfd_doorbell_mmap",
	"allocate_mqd",
	"init_mqd",
	"init_mqd_*",
	"update_mqd",
	"update_mqd_*",
	"load_mqd",
	"load_mqd_*",
	"execute_queues_cpsch",
	"map_queues_cpsch",
	"unmap_queues_cpsch",
	"pm_send_runlist",
	"pm_send_unmap_queue",
	"add_queue_mes",
	"remove_queue_mes",
	"evict_process_queues_cpsch",
	"evict_process_queues_nocpsch",
	"restore_process_queues_cpsch",
	"restore_process_queues_nocpsch",
	"kfd_process_evict_queues",
	"kfd_process_restore_queues",
	"kgd2kfd_quiesce_mm",
	"kgd2kfd_resume_mm",
	"svm_range_evict",
	"suspend_queues",
	"resume_queues",
	"amdkfd_fence_wait_timeout",
	"write_kernel_doorbell",
	"write_kernel_doorbell64",
	"*_kcq",
	"*_kcq_*",
};

size_t gp_capture_symbols_wanted(void)
{
	return GP_ARRAY_SIZE(wanted);
}

static bool is_wanted(const char *name, size_t len)
{
	char text[NAME_MAX_LEN];
	const char *dot = memchr(name, '.', len);

	if (dot)
		len = (size_t)(dot - name);
	if (!len || len >= sizeof(text))
		return false;
	memcpy(text, name, len);
	text[len] = '\0';
	for (size_t i = 0; i < GP_ARRAY_SIZE(wanted); i++)
		if (fnmatch(wanted[i], text, 0) == 0)
			return true;
	return false;
}

/* Parts that the compiler moved away are not where a function is entered. */
static bool is_entry(const char *name, size_t len)
{
	return !memmem(name, len, ".cold", 5);
}

/* "ffffffffc0a01230 t init_mqd.isra.0\t[amdgpu]". */
static bool take_line(const char *p, const char *end, struct gp_capture_symbol *symbol)
{
	char type;

	if (!gp_parse_hex(&p, end, &symbol->address) || !GP_PARSE_LITERAL(&p, end, " ") ||
	    end - p < 3 || p[1] != ' ')
		return false;
	type = *p;
	p += 2;
	symbol->name = p;
	while (p < end && *p != '\t' && *p != ' ')
		p++;
	symbol->len = (size_t)(p - symbol->name);
	gp_skip_blanks(&p, end);
	symbol->module = p < end;
	if (symbol->module && !GP_PARSE_LITERAL(&p, end, MODULE))
		return false;
	return (type == 't' || type == 'T') && is_entry(symbol->name, symbol->len) &&
	       is_wanted(symbol->name, symbol->len);
}

size_t gp_capture_symbols_find(const char *text, size_t len, struct gp_capture_symbol *out,
			       size_t room)
{
	const char *p = text, *end = text + len;
	bool module = false;
	size_t count = 0;

	while (p < end && count < room) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;
		struct gp_capture_symbol symbol = {0};

		if (take_line(p, stop, &symbol)) {
			/* A driver that is a module has all of them; what has their names in the
			 * kernel itself, which is listed first, is something else. */
			if (symbol.module && !module)
				count = 0;
			module |= symbol.module;
			if (symbol.module == module)
				out[count++] = symbol;
		}
		p = stop + 1;
	}
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++)
			if (i != k && out[i].len == out[k].len &&
			    !memcmp(out[i].name, out[k].name, out[i].len))
				out[i].multiple = true;
	return count;
}

bool gp_capture_symbols_of_driver(const char *text, size_t len, struct gp_buf *out)
{
	const char *p = text, *end = text + len;
	bool module = memmem(text, len, MODULE, strlen(MODULE)), known = false;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p)), *q = p;
		const char *stop = newline ? newline + 1 : end;
		u64 address;

		if (gp_parse_hex(&q, stop, &address) && stop - q > 3 &&
		    (q[1] == 't' || q[1] == 'T') &&
		    (!module || memmem(q, (size_t)(stop - q), MODULE, strlen(MODULE)))) {
			gp_buf_add(out, p, (size_t)(stop - p));
			known |= address != 0;
		}
		p = stop;
	}
	return known;
}
