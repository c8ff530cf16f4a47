// SPDX-License-Identifier: MIT
/* Finding the channel groups of a process that is already running. */
#include "rig.h"

#include "gpu/nvrm/objects.h"

/* The prototype's scan on an H200: 54 ms. */
#define PROTOTYPE_CALLS 16630

static void open_files(struct rig *rig, struct gp_nvrm_objects *objects)
{
	u32 owner;

	*objects = (struct gp_nvrm_objects){.port = &rig->fake.port};
	assert_true(gp_nvrm_target_files(&rig->fake.port, rig->pidfd, (u32)rig->pid, objects->files,
					 &objects->file_count, &owner) > 0);
}

static u32 compute_groups(const struct gp_nvrm_objects *objects)
{
	u32 count = 0;

	for (size_t i = 0; i < objects->group_count; i++)
		count += objects->groups[i].compute;
	return count;
}

static void one_context_is_found_with_few_calls(void **state)
{
	struct gp_nvrm_objects objects;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	open_files(&rig, &objects);
	assert_int_equal(gp_nvrm_objects_scan(&objects), 0);
	assert_int_equal(objects.client_count, 1);
	assert_int_equal(objects.subdevice_count, 1);
	assert_int_equal(objects.group_count, 4);
	assert_int_equal(objects.channel_count, 20);
	assert_int_equal(compute_groups(&objects), 1);
	assert_true(objects.calls < PROTOTYPE_CALLS / 10);
	gp_nvrm_objects_free(&objects);
	rig_remove(&rig);
}

static void a_machine_that_ran_for_long_is_searched_from_the_newest_client(void **state)
{
	struct gp_nvrm_objects objects;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_end_program(&rig);
	atomic_store(&rig.fake.rm->clients, 12000);
	rig_program(&rig, NULL);
	rig_say(&rig, "context");
	open_files(&rig, &objects);
	assert_int_equal(gp_nvrm_objects_scan(&objects), 0);
	assert_int_equal(compute_groups(&objects), 1);
	assert_int_equal(objects.clients[0].handle, GP_NV_CLIENT_BASE + 12000);
	/* The gap below the client, the objects, the gap behind them. */
	assert_true(objects.calls < 2500);
	gp_nvrm_objects_free(&objects);
	rig_remove(&rig);
}

static int no_device(const struct gp_nvrm_port *port)
{
	(void)port;
	return -EACCES;
}

static void without_a_client_of_our_own_it_takes_longer(void **state)
{
	struct gp_nvrm_objects objects;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_say(&rig, "client");
	rig_say(&rig, "context");
	rig.fake.port.open_control = no_device;
	open_files(&rig, &objects);
	assert_int_equal(gp_nvrm_objects_scan(&objects), 0);
	assert_int_equal(objects.client_count, 2);
	assert_int_equal(compute_groups(&objects), 2);
	/* Once: a later look has nothing to go by. */
	assert_int_equal(gp_nvrm_objects_extend(&objects, GP_NVRM_GAP_FULL), 0);
	assert_int_equal(objects.client_count, 2);
	gp_nvrm_objects_free(&objects);
	rig_remove(&rig);
}

static void numbers_that_started_over_are_followed(void **state)
{
	struct gp_nvrm_objects objects;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	open_files(&rig, &objects);
	objects.files[0].newest = GP_NV_CLIENT_BASE + 5000; /* as if known from before */
	assert_int_equal(gp_nvrm_objects_scan(&objects), 0);
	assert_int_equal(objects.client_count, 1);
	assert_int_equal(compute_groups(&objects), 1);
	gp_nvrm_objects_free(&objects);
	rig_remove(&rig);
}

static void several_contexts_and_mig_are_told_apart_by_their_compute_objects(void **state)
{
	struct gp_nvrm_objects objects;
	struct rig rig;

	(void)state;
	RIG(rig, "570.211.01");
	rig_say(&rig, "context");
	rig_say(&rig, "mig");
	rig_say(&rig, "churn300");
	rig_say(&rig, "context");
	open_files(&rig, &objects);
	assert_int_equal(gp_nvrm_objects_scan(&objects), 0);
	assert_int_equal(compute_groups(&objects), 3);
	assert_int_equal(objects.group_count, 12);
	assert_int_equal(objects.subdevice_count, 3);
	/* Each group is switched through a subdevice of its own device. */
	for (size_t i = 0; i < objects.group_count; i++) {
		u32 subdevice = gp_nvrm_objects_subdevice(&objects, &objects.groups[i]);

		for (size_t k = 0; k < objects.subdevice_count; k++)
			assert_true(objects.subdevices[k].handle != subdevice ||
				    objects.subdevices[k].device == objects.groups[i].device);
	}
	gp_nvrm_objects_free(&objects);
	rig_remove(&rig);
}

static void two_open_files_are_two_clients_with_groups_of_their_own(void **state)
{
	struct gp_nvrm_objects objects;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_say(&rig, "client");
	rig_say(&rig, "context");
	rig_say(&rig, "dup"); /* the same open file under another number */
	open_files(&rig, &objects);
	assert_int_equal(objects.file_count, 3);
	assert_int_equal(gp_nvrm_objects_scan(&objects), 0);
	assert_int_equal(objects.client_count, 2);
	assert_int_equal(compute_groups(&objects), 2);
	/* libcuda uses the same handles in both: the ids differ all the same. */
	assert_int_equal(objects.groups[0].handle, objects.groups[4].handle);
	assert_int_not_equal(objects.groups[0].id, objects.groups[4].id);
	gp_nvrm_objects_free(&objects);
	rig_remove(&rig);
}

static void objects_far_behind_freed_ones_are_found_when_nothing_else_is(void **state)
{
	struct gp_nvrm_objects objects;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_say(&rig, "free");
	rig_say(&rig, "churn9000");
	rig_say(&rig, "context");
	open_files(&rig, &objects);
	assert_int_equal(gp_nvrm_objects_scan(&objects), 0);
	assert_int_equal(compute_groups(&objects), 1);
	gp_nvrm_objects_free(&objects);
	rig_remove(&rig);
}

static void what_came_later_is_found_and_what_is_known_is_kept(void **state)
{
	struct gp_nvrm_objects objects;
	struct rig rig;
	u64 before;

	(void)state;
	RIG(rig, "580.159.04");
	open_files(&rig, &objects);
	assert_int_equal(gp_nvrm_objects_scan(&objects), 0);
	assert_int_equal(objects.group_count, 0);
	rig_say(&rig, "context");
	assert_int_equal(gp_nvrm_objects_extend(&objects, GP_NVRM_GAP_QUICK), 1);
	assert_int_equal(compute_groups(&objects), 1);
	before = objects.calls;
	assert_int_equal(gp_nvrm_objects_extend(&objects, GP_NVRM_GAP_QUICK), 0);
	assert_int_equal(objects.calls - before, GP_NVRM_GAP_QUICK);
	rig_say(&rig, "channel");
	assert_int_equal(gp_nvrm_objects_extend(&objects, GP_NVRM_GAP_QUICK), 1);
	assert_int_equal(objects.channel_count, 21);
	objects.groups[0].suspended = true;
	objects.channels[3].stopped = true;
	objects.gpu_id = 7;
	assert_int_equal(gp_nvrm_objects_renew(&objects), 0);
	assert_int_equal(objects.gpu_id, 7);
	assert_true(objects.groups[0].suspended);
	assert_true(objects.channels[3].stopped);
	gp_nvrm_objects_free(&objects);
	rig_remove(&rig);
}

static void a_freed_context_leaves_the_table(void **state)
{
	struct gp_nvrm_objects objects;
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	rig_say(&rig, "context");
	open_files(&rig, &objects);
	assert_int_equal(gp_nvrm_objects_scan(&objects), 0);
	assert_int_equal(compute_groups(&objects), 2);
	rig_say(&rig, "free");
	assert_int_equal(gp_nvrm_objects_renew(&objects), 1);
	assert_int_equal(compute_groups(&objects), 1);
	assert_int_equal(objects.channel_count, 20);
	gp_nvrm_objects_free(&objects);
	rig_remove(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_context_is_found_with_few_calls),
		cmocka_unit_test(a_machine_that_ran_for_long_is_searched_from_the_newest_client),
		cmocka_unit_test(without_a_client_of_our_own_it_takes_longer),
		cmocka_unit_test(numbers_that_started_over_are_followed),
		cmocka_unit_test(several_contexts_and_mig_are_told_apart_by_their_compute_objects),
		cmocka_unit_test(two_open_files_are_two_clients_with_groups_of_their_own),
		cmocka_unit_test(objects_far_behind_freed_ones_are_found_when_nothing_else_is),
		cmocka_unit_test(what_came_later_is_found_and_what_is_known_is_kept),
		cmocka_unit_test(a_freed_context_leaves_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
