// SPDX-License-Identifier: MIT
/*
 * NVIDIA devices, from /proc/driver/nvidia, and the processes that have them open: the driver does
 * not list processes, so their descriptors are read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/parse.h"
#include "gpu/activity.h"
#include "gpu/nvrm/nvrm.h"

#define GP_NV_PROC  "/proc/driver/nvidia"
#define GP_NV_LIMIT 65536u

bool gp_nvrm_driver_version(const struct gp_root *root, char *out, size_t size)
{
	static const char mark[] = "Kernel Module";
	struct gp_buf text = {0};
	const char *p, *found = NULL;
	size_t len = 0;

	if (gp_root_read(root, GP_NV_LIMIT, &text, GP_NV_PROC "/version") == 0)
		found = strstr(gp_buf_str(&text), mark);
	/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build": the
	 * version is the first word that starts with a digit. */
	for (p = found ? found + sizeof(mark) - 1 : ""; *p && *p != '\n'; p++) {
		if (gp_is_digit(*p) && p[-1] == ' ') {
			len = strspn(p, "0123456789.");
			break;
		}
	}
	if (len && len < size) {
		memcpy(out, p, len);
		out[len] = '\0';
	}
	gp_buf_free(&text);
	return len && len < size;
}

bool gp_nvrm_open_modules(const struct gp_root *root)
{
	struct gp_buf text = {0};
	bool open_modules = gp_root_read(root, GP_NV_LIMIT, &text, GP_NV_PROC "/version") == 0 &&
			    strstr(gp_buf_str(&text), "Open Kernel Module");

	gp_buf_free(&text);
	return open_modules;
}

/* The driver has an entry "giN" for each instance (NVIDIA's MIG user guide, Device Nodes and
 * Capabilities). */
bool gp_nvrm_has_mig(const struct gp_root *root)
{
	struct gp_names gpus = {0};
	bool found = false;

	if (gp_root_list(root, &gpus, GP_NV_PROC "/capabilities"))
		return false;
	for (size_t i = 0; i < gpus.count && !found; i++) {
		struct gp_names instances = {0};

		if (gp_root_list(root, &instances, GP_NV_PROC "/capabilities/%s/mig",
				 gpus.items[i]))
			continue;
		for (size_t k = 0; k < instances.count; k++)
			found |= strncmp(instances.items[k], "gi", 2) == 0;
		gp_names_free(&instances);
	}
	gp_names_free(&gpus);
	return found;
}

/* The value of "Key: \t value" at the start of a line, up to the line's end. */
static const char *value_of(const char *text, const char *key, size_t *len)
{
	size_t key_len = strlen(key);

	for (const char *p = text; p && *p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, key, key_len) || p[key_len] != ':')
			continue;
		p += key_len + 1;
		p += strspn(p, " \t");
		*len = strcspn(p, "\r\n");
		return p;
	}
	return NULL;
}

static void parse_pci(const char *name, struct gp_gpu *gpu)
{
	const char *p = name, *end = name + strlen(name);
	u64 domain, bus, device, function;

	if (gp_parse_hex(&p, end, &domain) && GP_PARSE_LITERAL(&p, end, ":") &&
	    gp_parse_hex(&p, end, &bus) && GP_PARSE_LITERAL(&p, end, ":") &&
	    gp_parse_hex(&p, end, &device) && GP_PARSE_LITERAL(&p, end, ".") &&
	    gp_parse_hex(&p, end, &function) && p == end && domain <= UINT32_MAX && bus <= 0xff &&
	    device <= 0x1f && function <= 7) {
		gpu->pci_domain = (u32)domain;
		gpu->pci_bus = (u32)bus;
		gpu->pci_device = (u32)device;
		gpu->pci_function = (u32)function;
		gpu->valid |= GP_GPU_PCI;
	}
}

static void parse_information(const char *text, struct gp_gpu *gpu)
{
	size_t len;
	const char *value = value_of(text, "Model", &len);

	if (value)
		snprintf(gpu->name, sizeof(gpu->name), "%.*s", (int)(len < 63 ? len : 63), value);
	snprintf(gpu->product, sizeof(gpu->product), "%s", gpu->name);
	value = value_of(text, "GPU UUID", &len);
	/* Before the driver has initialised the GPU, it prints question marks. */
	if (value && len < sizeof(gpu->uuid) && !memchr(value, '?', len))
		snprintf(gpu->uuid, sizeof(gpu->uuid), "%.*s", (int)len, value);
	value = value_of(text, "Device Minor", &len);
	if (value)
		gp_parse_u32(&value, value + len, &gpu->node);
}

static int discover(const struct gp_root *root, struct gp_diag *diag, struct gp_gpu_list *out)
{
	struct gp_names names;
	struct gp_buf text = {0};
	int error = gp_root_list(root, &names, GP_NV_PROC "/gpus");

	*out = (struct gp_gpu_list){0};
	if (error == -ENOENT || error == -ENOTDIR)
		return 0;
	if (error)
		return gp_fail(diag, error, "cannot list %s: %s", GP_NV_PROC "/gpus",
			       strerror(-error));
	for (size_t i = 0; i < names.count && !error; i++) {
		struct gp_gpu gpu = {.node = (u32)i};

		if (gp_root_read(root, GP_NV_LIMIT, &text, GP_NV_PROC "/gpus/%s/information",
				 names.items[i]))
			continue;
		parse_pci(names.items[i], &gpu);
		parse_information(gp_buf_str(&text), &gpu);
		gpu.gpu_id = GP_GPU_NVIDIA + gpu.node;
		error = gp_array_grow((void **)&out->items, out->count, &out->capacity,
				      sizeof(*out->items));
		if (!error)
			out->items[out->count++] = gpu;
	}
	gp_buf_free(&text);
	gp_names_free(&names);
	if (error)
		gp_gpu_list_free(out);
	return error;
}

/* ---- processes that have them open ---- */

/* The minor of "/dev/nvidia3"; nvidiactl, nvidia-uvm and the rest are no GPU. */
static bool minor_of(const char *path, u32 *minor)
{
	const char *p = strrchr(path, '/'), *end = path + strlen(path);

	return p && GP_PARSE_LITERAL(&p, end, "/nvidia") && gp_parse_u32(&p, end, minor) &&
	       p == end;
}

static bool is_control(const char *path)
{
	const char *p = strrchr(path, '/');

	return p && strcmp(p, "/nvidiactl") == 0;
}

static int add_usage(struct gp_gpu_process *process, u32 minor)
{
	u32 gpu_id = GP_GPU_NVIDIA + minor;
	int error;

	for (size_t i = 0; i < process->usage_count; i++) {
		if (process->usages[i].gpu_id == gpu_id)
			return 0;
	}
	error = gp_array_grow((void **)&process->usages, process->usage_count,
			      &process->usage_capacity, sizeof(*process->usages));
	if (!error)
		process->usages[process->usage_count++] = (struct gp_gpu_usage){.gpu_id = gpu_id};
	return error;
}

/* A name is its owner's to choose: that of a process with a GPU is believed if it is root's or our
 * user's. */
static bool is_trusted(const struct gp_root *root, u32 pid)
{
	char path[256];
	struct stat info;

	return gp_root_path(root, path, sizeof(path), "/proc/%u", pid) == 0 &&
	       stat(path, &info) == 0 && (info.st_uid == 0 || info.st_uid == geteuid());
}

/* The holder and its lifelines have copies of other processes' descriptors, and no GPU. The daemon
 * has GPUs open to read which process uses them. */
static bool is_ours(const struct gp_root *root, u32 pid, bool has_gpu)
{
	struct gp_buf name = {0};
	bool ours = gp_root_read(root, 64, &name, "/proc/%u/comm", pid) == 0 &&
		    ((strcmp(gp_buf_str(&name), "gpreemptd\n") == 0 && is_trusted(root, pid)) ||
		     (!has_gpu && (strncmp(gp_buf_str(&name), "gpreempt-holder", 15) == 0 ||
				   strcmp(gp_buf_str(&name), "gp-lifeline\n") == 0)));

	gp_buf_free(&name);
	return ours;
}

/* Adds the process when it has the control device open; GPUs it has open are its usages. Another
 * user's process, and one that vanishes, are left out. */
static int describe_one(const struct gp_root *root, u32 pid, struct gp_gpu_process_list *out)
{
	struct gp_gpu_process process = {.pid = pid, .by_descriptors = true};
	struct gp_names names;
	bool control = false;
	int error = 0;

	if (gp_root_list(root, &names, "/proc/%u/fd", pid))
		return 0;
	for (size_t i = 0; i < names.count && !error; i++) {
		char path[256];
		u32 minor;

		if (gp_root_readlink(root, path, sizeof(path), "/proc/%u/fd/%s", pid,
				     names.items[i]))
			continue;
		control |= is_control(path);
		if (minor_of(path, &minor))
			error = add_usage(&process, minor);
	}
	gp_names_free(&names);
	if (control && is_ours(root, pid, process.usage_count != 0))
		control = false;
	if (!error && control)
		error = gp_array_grow((void **)&out->items, out->count, &out->capacity,
				      sizeof(*out->items));
	if (error || !control)
		free(process.usages);
	else
		out->items[out->count++] = process;
	return error;
}

static int describe(const struct gp_root *root, struct gp_diag *diag, u32 pid,
		    struct gp_gpu_process_list *out)
{
	struct gp_names names;
	int error = 0;

	*out = (struct gp_gpu_process_list){0};
	if (pid)
		return describe_one(root, pid, out);
	error = gp_root_list(root, &names, "/proc");
	if (error == -ENOENT)
		return 0;
	if (error)
		return gp_fail(diag, error, "cannot list %s: %s", "/proc", strerror(-error));
	for (size_t i = 0; i < names.count && !error; i++) {
		const char *p = names.items[i], *end = p + strlen(p);
		u32 number;

		if (gp_parse_u32(&p, end, &number) && p == end)
			error = describe_one(root, number, out);
	}
	gp_names_free(&names);
	if (error)
		gp_gpu_process_list_free(out);
	return error;
}

u32 gp_nvrm_gpu_of(const struct gp_root *root, u32 pid)
{
	struct gp_gpu_process_list processes = {0};
	struct gp_gpu_list gpus = {0};
	u32 gpu_id = 0;

	if (describe(root, NULL, pid, &processes) == 0 && processes.count == 1 &&
	    processes.items[0].usage_count == 1)
		gpu_id = processes.items[0].usages[0].gpu_id;
	if (!gpu_id && discover(root, NULL, &gpus) == 0 && gpus.count == 1)
		gpu_id = gpus.items[0].gpu_id;
	gp_gpu_process_list_free(&processes);
	gp_gpu_list_free(&gpus);
	return gpu_id;
}

bool gp_nvrm_used_by(const struct gp_root *root, u32 pid)
{
	struct gp_gpu_process_list processes = {0};
	bool used = describe(root, NULL, pid, &processes) == 0 && processes.count == 1;

	gp_gpu_process_list_free(&processes);
	return used;
}

const struct gp_gpu_ops gp_nvrm_ops = {
	.kind = "nvrm",
	.capabilities = GP_GPU_SLICES | GP_GPU_SWAPS,
	.outside_mechanism = GP_MECHANISM_NV_SUSPEND,
	.discover = discover,
	.describe = describe,
	.activity = &gp_nvrm_activity,
};
