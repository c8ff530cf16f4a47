// SPDX-License-Identifier: MIT
#include "base/host/container.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

#define GP_CGROUP_LIMIT 65536u
#define GP_SHORT_ID     12

/* A piece of the cgroup path between two slashes. */
struct piece {
	const char *text;
	size_t len;
};

static bool starts(struct piece p, const char *prefix)
{
	size_t len = strlen(prefix);

	return p.len >= len && memcmp(p.text, prefix, len) == 0;
}

static bool is(struct piece p, const char *text)
{
	return p.len == strlen(text) && starts(p, text);
}

static struct piece after(struct piece p, size_t skip)
{
	return (struct piece){.text = p.text + skip, .len = p.len - skip};
}

/* Drops a suffix when it is there. */
static struct piece without(struct piece p, const char *suffix)
{
	size_t len = strlen(suffix);

	if (p.len >= len && memcmp(p.text + p.len - len, suffix, len) == 0)
		p.len -= len;
	return p;
}

static bool is_id(struct piece p)
{
	if (p.len != GP_CONTAINER_ID_LENGTH)
		return false;
	for (size_t i = 0; i < p.len; i++) {
		if (gp_hex_value(p.text[i]) < 0)
			return false;
	}
	return true;
}

/* Whole or not at all; a NUL inside would make the copy a different name. */
static bool copy(char *out, size_t size, struct piece p)
{
	if (p.len == 0 || p.len >= size || memchr(p.text, '\0', p.len))
		return false;
	memcpy(out, p.text, p.len);
	out[p.len] = '\0';
	return true;
}

/* systemd writes "-" and others in unit names as \x2d. */
static bool copy_unescaped(char *out, size_t size, struct piece p)
{
	size_t n = 0;

	for (size_t i = 0; i < p.len && n + 1 < size; i++) {
		if (p.len - i >= 4 && p.text[i] == '\\' && p.text[i + 1] == 'x' &&
		    gp_hex_value(p.text[i + 2]) >= 0 && gp_hex_value(p.text[i + 3]) >= 0) {
			out[n++] = (char)(gp_hex_value(p.text[i + 2]) << 4 |
					  gp_hex_value(p.text[i + 3]));
			i += 3;
		} else {
			out[n++] = p.text[i];
		}
	}
	out[n] = '\0';
	return n > 0 && strlen(out) == n;
}

/* What the part before the id calls the runtime; false for helpers that are not in the container.
 */
static bool runtime_of_prefix(struct piece prefix, char *out, size_t size)
{
	static const struct {
		const char *prefix, *runtime;
	} known[] = {
		{"docker", "docker"},         {"libpod", "podman"},
		{"libpod-payload", "podman"}, {"cri-containerd", "containerd"},
		{"nerdctl", "containerd"},    {"crio", "cri-o"},
	};

	if (prefix.len >= 6 && memcmp(prefix.text + prefix.len - 6, "conmon", 6) == 0)
		return false;
	for (size_t i = 0; i < GP_ARRAY_SIZE(known); i++) {
		if (is(prefix, known[i].prefix))
			return snprintf(out, size, "%s", known[i].runtime) > 0;
	}
	return copy(out, size, prefix);
}

/* "docker-<id>.scope", "libpod-<id>", "kubepods-....slice:cri-containerd:<id>" */
static bool match_prefixed(struct piece p, struct gp_container *out)
{
	struct piece body = without(p, ".scope"), prefix, id;

	if (body.len < GP_CONTAINER_ID_LENGTH + 2)
		return false;
	id = after(body, body.len - GP_CONTAINER_ID_LENGTH);
	prefix = (struct piece){.text = body.text, .len = body.len - GP_CONTAINER_ID_LENGTH - 1};
	if (!is_id(id))
		return false;
	if (prefix.text[prefix.len] == ':') {
		const char *colon = memrchr(prefix.text, ':', prefix.len);

		if (colon)
			prefix = after(prefix, (size_t)(colon + 1 - prefix.text));
	} else if (prefix.text[prefix.len] != '-') {
		return false;
	}
	return runtime_of_prefix(prefix, out->runtime, sizeof(out->runtime)) &&
	       copy(out->id, sizeof(out->id), id);
}

/* A directory named by an id alone: its parent names the runtime. */
static bool match_bare(struct piece p, struct piece parent, bool in_pod, struct gp_container *out)
{
	const char *runtime = "oci";

	if (!is_id(p))
		return false;
	if (in_pod)
		runtime = "kubernetes";
	else if (is(parent, "docker") || is(parent, "moby"))
		runtime = "docker";
	else if (is(parent, "default") || is(parent, "k8s.io") || is(parent, "buildkit"))
		runtime = "containerd";
	else if (is(parent, "libpod_parent"))
		runtime = "podman";
	snprintf(out->runtime, sizeof(out->runtime), "%s", runtime);
	return copy(out->id, sizeof(out->id), p);
}

/* Runtimes that name the cgroup after the container: lxc, systemd-nspawn. */
static bool match_named(struct piece p, struct piece parent, struct gp_container *out)
{
	const char *runtime = "lxc";
	bool found = false;

	if (starts(p, "lxc.payload.")) {
		found = copy(out->id, sizeof(out->id), after(p, strlen("lxc.payload.")));
	} else if (is(parent, "lxc") || is(parent, "lxc.payload")) {
		found = copy(out->id, sizeof(out->id), p);
	} else if (starts(p, "machine-") && without(p, ".scope").len < p.len) {
		struct piece name = without(after(p, strlen("machine-")), ".scope");

		runtime = "systemd-nspawn";
		found = copy_unescaped(out->id, sizeof(out->id), name);
		/* libvirt registers its virtual machines the same way; they are no containers. */
		if (found && strncmp(out->id, "qemu-", 5) == 0)
			found = false;
		else if (found && strncmp(out->id, "lxc-", 4) == 0)
			runtime = "lxc";
	} else if (starts(p, "systemd-nspawn@")) {
		struct piece name = without(after(p, strlen("systemd-nspawn@")), ".service");

		runtime = "systemd-nspawn";
		found = copy_unescaped(out->id, sizeof(out->id), name);
	}
	if (found)
		snprintf(out->runtime, sizeof(out->runtime), "%s", runtime);
	return found;
}

/* The pod's uid from "kubepods-burstable-pod<uid>.slice..." or, below kubepods, "pod<uid>". */
static void take_pod(struct piece p, bool below_kubepods, struct gp_container *out)
{
	struct piece uid = {0};

	if (starts(p, "kubepods")) {
		const char *mark = memmem(p.text, p.len, "-pod", 4);

		if (mark)
			uid = after(p, (size_t)(mark + 4 - p.text));
	} else if (below_kubepods && starts(p, "pod")) {
		uid = after(p, 3);
	}
	for (size_t i = 0; i < uid.len; i++) {
		if (uid.text[i] == '.' || uid.text[i] == ':')
			uid.len = i;
	}
	if (!copy(out->pod, sizeof(out->pod), uid))
		return;
	for (char *c = out->pod; *c; c++) {
		if (*c == '_')
			*c = '-';
	}
}

/* The innermost container on a path is the one the process is in. */
static bool parse_path(struct piece path, struct gp_container *out)
{
	struct piece parent = {0};
	bool kubepods = false, found = false;

	while (path.len) {
		const char *slash = memchr(path.text, '/', path.len);
		struct piece p = {.text = path.text,
				  .len = slash ? (size_t)(slash - path.text) : path.len};
		struct gp_container candidate = {0};

		path = after(path, slash ? p.len + 1 : p.len);
		if (!p.len)
			continue;
		kubepods |= starts(p, "kubepods");
		take_pod(p, kubepods, out);
		if (match_prefixed(p, &candidate) || match_bare(p, parent, kubepods, &candidate) ||
		    match_named(p, parent, &candidate)) {
			memcpy(out->runtime, candidate.runtime, sizeof(out->runtime));
			memcpy(out->id, candidate.id, sizeof(out->id));
			found = true;
		}
		parent = p;
	}
	return found;
}

bool gp_container_parse_cgroup(const char *text, size_t len, struct gp_container *out)
{
	const char *p = text, *end = text + len;

	*out = (struct gp_container){0};
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;
		const char *first = memchr(p, ':', (size_t)(stop - p));
		const char *second =
			first ? memchr(first + 1, ':', (size_t)(stop - first - 1)) : NULL;

		/* "hierarchy:controllers:path"; v2 has one line, v1 one per hierarchy. */
		if (second &&
		    parse_path((struct piece){second + 1, (size_t)(stop - second - 1)}, out))
			return true;
		*out = (struct gp_container){0};
		p = newline ? newline + 1 : end;
	}
	return false;
}

int gp_container_id_of(const struct gp_root *root, u32 pid, struct gp_container *out)
{
	struct gp_buf text = {0};
	int error = gp_root_read(root, GP_CGROUP_LIMIT, &text, "/proc/%u/cgroup", pid);
	bool found = false;

	*out = (struct gp_container){0};
	if (!error)
		found = gp_container_parse_cgroup(gp_buf_str(&text), text.len, out);
	gp_buf_free(&text);
	if (error && !gp_root_exists(root, "/proc/%u", pid))
		return -ESRCH;
	return found ? 0 : -ENOENT;
}

int gp_container_look_up(const struct gp_root *root, struct gp_container_names *names, u32 pid,
			 struct gp_container *out)
{
	int error = gp_container_id_of(root, pid, out);

	if (!error)
		gp_container_read_name(root, names, pid, out);
	return error;
}

int gp_container_of(const struct gp_root *root, u32 pid, struct gp_container *out)
{
	struct gp_container_names names = {0};
	int error = gp_container_look_up(root, &names, pid, out);

	gp_container_names_free(&names);
	return error;
}

void gp_container_label(const struct gp_container *c, char *out, size_t size)
{
	if (c->name[0] && c->name_source != GP_NAME_HOSTNAME)
		snprintf(out, size, "%s:%s", c->runtime, c->name);
	else if (strlen(c->id) == GP_CONTAINER_ID_LENGTH)
		snprintf(out, size, "%s:%.*s", c->runtime, GP_SHORT_ID, c->id);
	else
		snprintf(out, size, "%s:%s", c->runtime, c->id);
}

json_t *gp_container_json(const struct gp_container *container, const struct gp_process *process)
{
	u32 count = process->nspid_count;

	return json_pack("{s:o,s:o,s:o,s:o,s:o}", "runtime",
			 gp_json_str_or_null(container->runtime), "id",
			 gp_json_str_or_null(container->id), "name",
			 gp_json_str_or_null(container->name), "pod",
			 gp_json_str_or_null(container->pod), "pid",
			 gp_json_u64_if(count > 0, count ? process->nspid[count - 1] : 0));
}
