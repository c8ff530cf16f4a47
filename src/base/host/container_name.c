// SPDX-License-Identifier: MIT
/* What a container is called: asked from the files its runtime keeps, and from itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host/container.h"
#include "base/host/safe_open.h"

#define GP_HOSTNAME_LIMIT   4096u
#define GP_DOCKER_LIMIT     (4u << 20)
#define GP_PODMAN_LIMIT     (64u << 20)
#define GP_DOCKER_CONFIG    "/var/lib/docker/containers/%s/config.v2.json"
#define GP_PODMAN_ROOT      "/var/lib/containers/storage"
#define GP_PODMAN_ROOTLESS  ".local/share/containers/storage/"
#define GP_PODMAN_INVENTORY "overlay-containers/containers.json"
#define GP_SYSTEM_INVENTORY UINT64_MAX /* owner of podman's own storage; users go by uid */

struct gp_inventory_item {
	char id[GP_CONTAINER_ID_LENGTH + 1];
	char name[256];
};

/* Podman's list of one user's containers, by id. */
struct gp_inventory {
	u64 owner;
	struct gp_inventory_item *items;
	size_t count, capacity;
};

void gp_container_names_free(struct gp_container_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->inventories[i].items);
	free(names->inventories);
	*names = (struct gp_container_names){0};
}

static bool set_name(struct gp_container *c, const char *name, enum gp_name_source source)
{
	size_t len = name ? strlen(name) : 0;

	if (!len || len >= sizeof(c->name))
		return false;
	memcpy(c->name, name, len + 1);
	c->name_source = source;
	return true;
}

static bool docker_name(const struct gp_root *root, struct gp_container *c)
{
	struct gp_buf text = {0};
	json_t *json = NULL;
	const char *name;
	bool found;

	if (gp_root_read(root, GP_DOCKER_LIMIT, &text, GP_DOCKER_CONFIG, c->id) == 0)
		json = json_loadb(gp_buf_str(&text), text.len, 0, NULL);
	gp_buf_free(&text);
	name = json_string_value(json_object_get(json, "Name"));
	found = set_name(c, name && *name == '/' ? name + 1 : name, GP_NAME_RUNTIME);
	json_decref(json);
	return found;
}

static int by_id(const void *a, const void *b)
{
	const struct gp_inventory_item *x = a, *y = b;

	return strcmp(x->id, y->id);
}

static void take_entry(struct gp_inventory *inventory, const json_t *entry)
{
	const char *id = json_string_value(json_object_get(entry, "id"));
	const char *name = json_string_value(json_array_get(json_object_get(entry, "names"), 0));
	struct gp_inventory_item *item;

	if (!id || !name || strlen(id) != GP_CONTAINER_ID_LENGTH ||
	    strlen(name) >= sizeof(item->name) ||
	    gp_array_grow((void **)&inventory->items, inventory->count, &inventory->capacity,
			  sizeof(*inventory->items)))
		return;
	item = &inventory->items[inventory->count++];
	strcpy(item->id, id);
	strcpy(item->name, name);
}

/* A list that cannot be read is an empty one. */
static void load_inventory(struct gp_inventory *inventory, const char *dir, const char *path)
{
	struct gp_buf text = {0};
	json_t *json = NULL, *entry;
	size_t i;

	if (gp_read_beneath(dir, path, GP_PODMAN_LIMIT, &text) == 0)
		json = json_loadb(gp_buf_str(&text), text.len, 0, NULL);
	gp_buf_free(&text);
	json_array_foreach(json, i, entry) take_entry(inventory, entry);
	json_decref(json);
	if (inventory->count)
		qsort(inventory->items, inventory->count, sizeof(*inventory->items), by_id);
}

/* The inventory of an owner, read when it is first asked for; NULL without memory. */
static const struct gp_inventory *inventory_of(const struct gp_root *root,
					       struct gp_container_names *names, u64 owner)
{
	struct gp_inventory *inventory;
	struct gp_user user;
	char dir[4096];

	/* As many as there are users with containers: few. */
	for (size_t i = 0; i < names->count; i++) {
		if (names->inventories[i].owner == owner)
			return &names->inventories[i];
	}
	if (gp_array_grow((void **)&names->inventories, names->count, &names->capacity,
			  sizeof(*names->inventories)))
		return NULL;
	inventory = &names->inventories[names->count++];
	*inventory = (struct gp_inventory){.owner = owner};
	if (owner == GP_SYSTEM_INVENTORY) {
		if (gp_root_path(root, dir, sizeof(dir), GP_PODMAN_ROOT) == 0)
			load_inventory(inventory, dir, GP_PODMAN_INVENTORY);
	} else if (gp_user_read(root, (u32)owner, &user) == 0 && user.home[0] == '/' &&
		   gp_root_path(root, dir, sizeof(dir), "%s", user.home) == 0) {
		/* Below the home everything is the user's, links and pipes included. */
		load_inventory(inventory, dir, GP_PODMAN_ROOTLESS GP_PODMAN_INVENTORY);
	}
	return inventory;
}

static bool inventory_name(const struct gp_root *root, struct gp_container_names *names, u64 owner,
			   struct gp_container *c)
{
	const struct gp_inventory *inventory = inventory_of(root, names, owner);
	const struct gp_inventory_item *found;
	struct gp_inventory_item key;

	if (!inventory || !inventory->count)
		return false;
	memcpy(key.id, c->id, sizeof(key.id));
	found = bsearch(&key, inventory->items, inventory->count, sizeof(key), by_id);
	return found && set_name(c, found->name, GP_NAME_RUNTIME);
}

static bool podman_name(const struct gp_root *root, struct gp_container_names *names, u32 pid,
			struct gp_container *c)
{
	struct gp_process process;

	if (inventory_name(root, names, GP_SYSTEM_INVENTORY, c))
		return true;
	return gp_process_read_ids(root, pid, &process) == 0 && (process.valid & GP_PROCESS_UID) &&
	       inventory_name(root, names, process.uid, c);
}

static void host_name(const struct gp_root *root, u32 pid, struct gp_container *c)
{
	char name[256], dir[4096];
	struct gp_buf text = {0};

	if (gp_process_environment(root, pid, "HOSTNAME", name, sizeof(name))) {
		name[0] = '\0';
		/* The file is the container's: it may be a link to ours, or a pipe. */
		if (gp_root_path(root, dir, sizeof(dir), "/proc/%u/root", pid) == 0 &&
		    gp_read_beneath(dir, "etc/hostname", GP_HOSTNAME_LIMIT, &text) == 0) {
			size_t len = strcspn(gp_buf_str(&text), "\n");

			if (len < sizeof(name)) {
				memcpy(name, gp_buf_str(&text), len);
				name[len] = '\0';
			}
		}
		gp_buf_free(&text);
	}
	/* Runtimes use the beginning of the id as host name by default: no name at all. */
	if (!name[0] || strncmp(c->id, name, strlen(name)) == 0)
		return;
	set_name(c, name, c->pod[0] ? GP_NAME_POD : GP_NAME_HOSTNAME);
}

void gp_container_read_name(const struct gp_root *root, struct gp_container_names *names, u32 pid,
			    struct gp_container *c)
{
	if (strlen(c->id) != GP_CONTAINER_ID_LENGTH) {
		set_name(c, c->id, GP_NAME_RUNTIME);
		return;
	}
	if (strcmp(c->runtime, "docker") == 0 && docker_name(root, c))
		return;
	if (strcmp(c->runtime, "podman") == 0 && podman_name(root, names, pid, c))
		return;
	host_name(root, pid, c);
}
