// SPDX-License-Identifier: MIT
#include "machine.h"
#include "tree.h"

#include <errno.h>
#include <grp.h>

#include "abi/kfd_ioctl.h"
#include "inspect/doctor.h"
#include "inspect/mechanism.h"

static struct gp_inspect_judgement judge(const struct gp_inspect_doctor *d, const char *name)
{
	struct gp_inspect_judgement judgement = {0};

	for (const struct gp_inspect_mechanism *m = gp_inspect_mechanisms; m->name; m++) {
		if (strcmp(m->name, name) == 0) {
			gp_inspect_judge(m, d, &judgement);
			return judgement;
		}
	}
	fail_msg("no mechanism %s", name);
	return judgement;
}

static void expect(const struct gp_inspect_doctor *d, const char *name,
		   enum gp_inspect_verdict verdict, const char *said)
{
	struct gp_inspect_judgement judgement = judge(d, name);

	if (judgement.verdict != verdict || !strstr(judgement.reason, said))
		fail_msg("%s: %s, '%s' (expected %s, '%s')", name,
			 gp_inspect_verdict_word(judgement.verdict), judgement.reason,
			 gp_inspect_verdict_word(verdict), said);
}

static void good_machine_can_do_all_that_exists(void **state)
{
	struct gp_gpu gpu;
	struct gp_inspect_doctor d = good_machine(&gpu);

	(void)state;
	expect(&d, "kfd-agent", GP_VERDICT_CAN, "gpreempt run");
	expect(&d, "kfd-cumask", GP_VERDICT_CAN, "gpreempt run");
	expect(&d, "kfd-debug", GP_VERDICT_CAN, "processes of all users");
	expect(&d, "kfd-module", GP_VERDICT_CAN, "6.12.57");
	expect(&d, "kfd-patched", GP_VERDICT_CANNOT, "the stock in-tree driver");
	expect(&d, "nv-suspend", GP_VERDICT_CANNOT, "no NVIDIA driver");
	d.amdgpu_dkms = true;
	expect(&d, "kfd-patched", GP_VERDICT_CANNOT, "DKMS");
	strcpy(d.kfd_sched, "off");
	expect(&d, "kfd-patched", GP_VERDICT_CAN, "built-in scheduler is off");
	strcpy(d.kfd_sched, "priority");
	expect(&d, "kfd-patched", GP_VERDICT_CAN, "policy priority");
}

static void missing_driver_device_or_access_is_named(void **state)
{
	struct gp_gpu gpu;
	struct gp_inspect_doctor d = good_machine(&gpu);

	(void)state;
	d.kfd_device.error = -EACCES;
	expect(&d, "kfd-agent", GP_VERDICT_CANNOT, "join the group 'render'");
	expect(&d, "kfd-debug", GP_VERDICT_CANNOT, "join the group 'render'");
	d.kfd_device.error = -EPERM;
	expect(&d, "kfd-cumask", GP_VERDICT_CANNOT, "device cgroup");
	d.kfd_device.error = -ENOENT;
	expect(&d, "kfd-cumask", GP_VERDICT_CANNOT, "/dev/kfd is absent");
	d.kfd_device = (struct gp_inspect_device_access){0};
	expect(&d, "kfd-agent", GP_VERDICT_CAN, "not checked");
	d.amd.count = 0;
	expect(&d, "kfd-agent", GP_VERDICT_CANNOT, "lists no GPU");
	d.kfd_present = false;
	expect(&d, "kfd-module", GP_VERDICT_CANNOT, "without KFD");
	d.amdgpu_loaded = false;
	expect(&d, "kfd-patched", GP_VERDICT_CANNOT, "amdgpu driver is not loaded");
}

static void debug_trap_needs_its_driver_version(void **state)
{
	struct gp_gpu gpu;
	struct gp_inspect_doctor d = good_machine(&gpu);

	(void)state;
	strcpy(d.kernel, "6.1.0-54-amd64");
	d.kfd_minor = 11;
	expect(&d, "kfd-debug", GP_VERDICT_CANNOT,
	       "KFD 1.11 is too old: the debug trap needs 1.13 (Linux 6.5)");
	expect(&d, "kfd-agent", GP_VERDICT_CAN, "");
	d.valid &= ~(u32)GP_DOCTOR_KFD_VERSION;
	expect(&d, "kfd-debug", GP_VERDICT_UNKNOWN, "--probe");
	d = good_machine(&gpu);
	d.sched_policy = 2;
	expect(&d, "kfd-debug", GP_VERDICT_CANNOT, "sched_policy=2");
	expect(&d, "kfd-agent", GP_VERDICT_UNKNOWN, "sched_policy=2");
	d.sched_policy = 0;
	d.cwsr_enable = 0;
	expect(&d, "kfd-agent", GP_VERDICT_UNKNOWN, "cwsr_enable=0");
}

static void debug_trap_needs_every_gpus_firmware(void **state)
{
	struct gp_gpu gpu;
	struct gp_inspect_doctor d = good_machine(&gpu);

	(void)state;
	gpu.gfx_version = 90010;
	gpu.firmware = 45;
	gpu.capability = 0;
	expect(&d, "kfd-debug", GP_VERDICT_CANNOT, "GPU node 1 (gfx90a): MEC firmware 45");
	expect(&d, "kfd-debug", GP_VERDICT_CANNOT, "bit 29");
	gpu.valid = 0;
	expect(&d, "kfd-debug", GP_VERDICT_UNKNOWN, "cannot read the capabilities");
	d = good_machine(&gpu);
	gpu.gfx_version = 110000;
	expect(&d, "kfd-debug", GP_VERDICT_UNKNOWN, "MES");
}

static void debug_trap_needs_the_right_to_attach(void **state)
{
	struct gp_gpu gpu;
	struct gp_inspect_doctor d = good_machine(&gpu);

	(void)state;
	d.capabilities = 0;
	expect(&d, "kfd-debug", GP_VERDICT_CAN, "running processes of this user");
	d.ptrace_scope = 1;
	expect(&d, "kfd-debug", GP_VERDICT_CANNOT,
	       "ptrace_scope 1 allows attaching only to descendants");
	d.ptrace_scope = 2;
	expect(&d, "kfd-debug", GP_VERDICT_CANNOT, "CAP_SYS_PTRACE");
	d.valid &= ~(u32)GP_DOCTOR_CAPABILITIES;
	expect(&d, "kfd-debug", GP_VERDICT_UNKNOWN, "CAP_SYS_PTRACE");
	d = good_machine(&gpu);
	d.ptrace_scope = 2;
	expect(&d, "kfd-debug", GP_VERDICT_CAN, "");
	d.ptrace_scope = 3;
	expect(&d, "kfd-debug", GP_VERDICT_CANNOT, "ptrace_scope 3");
}

static void debug_trap_needs_a_runtime_that_enables_it(void **state)
{
	struct gp_gpu gpu;
	struct gp_inspect_doctor d = good_machine(&gpu);

	(void)state;
	d.rocr_major = 5;
	d.rocr_minor = 2;
	d.rocr_patch = 3;
	expect(&d, "kfd-debug", GP_VERDICT_CANNOT,
	       "ROCr 5.2.3 never calls RUNTIME_ENABLE: start programs with 'gpreempt run'");
	d.rocr_minor = 7;
	expect(&d, "kfd-debug", GP_VERDICT_UNKNOWN, "ROCr 5.7.3");
	d.rocr_major = 7;
	d.rocr_minor = 0;
	expect(&d, "kfd-debug", GP_VERDICT_CAN, "");
	d.valid &= ~(u32)GP_DOCTOR_ROCR_VERSION;
	expect(&d, "kfd-debug", GP_VERDICT_UNKNOWN, "no ROCr with a known version");
}

static void module_needs_root_and_an_open_kernel(void **state)
{
	struct gp_gpu gpu;
	struct gp_inspect_doctor d = good_machine(&gpu);

	(void)state;
	d.capabilities = 0;
	expect(&d, "kfd-module", GP_VERDICT_CANNOT, "CAP_SYS_MODULE");
	d.signed_modules_only = true;
	expect(&d, "kfd-module", GP_VERDICT_CANNOT, "sig_enforce");
	strcpy(d.lockdown, "integrity");
	expect(&d, "kfd-module", GP_VERDICT_CANNOT, "lockdown (integrity)");
	d.modules_disabled = true;
	expect(&d, "kfd-module", GP_VERDICT_CANNOT, "modules_disabled");
	/* Once it is there none of that matters. */
	d.module_loaded = true;
	expect(&d, "kfd-module", GP_VERDICT_CAN, "gpreempt.ko is loaded");
}

static void module_needs_a_driver_it_knows(void **state)
{
	struct gp_gpu gpu;
	struct gp_inspect_doctor d = good_machine(&gpu);

	(void)state;
	d.valid |= GP_DOCTOR_KERNEL;
	d.kernel_major = 6;
	d.kernel_minor = 0;
	expect(&d, "kfd-module", GP_VERDICT_CANNOT, "Linux 6.1");
	/* The kernel's number says nothing of a driver from elsewhere. */
	d.amdgpu_dkms = true;
	expect(&d, "kfd-module", GP_VERDICT_UNKNOWN, "DRIVER=/usr/src/amdgpu-");
	d.amdgpu_dkms = false;
	d.kernel_minor = 1;
	expect(&d, "kfd-module", GP_VERDICT_CAN, "as root");
}

static void nvidia_mechanisms_need_their_driver(void **state)
{
	struct gp_inspect_doctor d = {.nvidia_open = true, .nvidia_version = "580.159.04"};

	(void)state;
	expect(&d, "nv-timeslice", GP_VERDICT_CAN, "driver 580.159.04");
	expect(&d, "nv-suspend", GP_VERDICT_CAN, "processes of this user");
	d.nvidia.count = 2;
	expect(&d, "nv-suspend", GP_VERDICT_CAN, "multiple GPUs");
	d.nvidia_mig = true;
	expect(&d, "nv-timeslice", GP_VERDICT_CAN,
	       "MIG has been tested only with a simulated driver");
	d.nvidia_mig = false;
	strcpy(d.nvidia_version, "575.64.05");
	expect(&d, "nv-suspend", GP_VERDICT_UNKNOWN, "its headers show the same interface");
	strcpy(d.nvidia_version, "612.1");
	expect(&d, "nv-timeslice", GP_VERDICT_UNKNOWN, "GPREEMPT_NVRM_FORCE=1");
	strcpy(d.nvidia_version, "580.159.04");
	d.valid = GP_DOCTOR_PTRACE_SCOPE | GP_DOCTOR_CAPABILITIES;
	d.ptrace_scope = 1;
	expect(&d, "nv-suspend", GP_VERDICT_CAN, "'gpreempt run' (ptrace_scope 1");
	d.nvidia_open = false;
	expect(&d, "nv-suspend", GP_VERDICT_UNKNOWN, "proprietary kernel modules");
	strcpy(d.nvidia_version, "535.10");
	expect(&d, "nv-timeslice", GP_VERDICT_UNKNOWN, "535.10");
	d.nvidia_device = (struct gp_inspect_device_access){.checked = true, .error = -EACCES};
	expect(&d, "nv-timeslice", GP_VERDICT_CANNOT, "/dev/nvidiactl: Permission denied");
}

static void kfd_version_follows_the_kernel(void **state)
{
	(void)state;
	assert_int_equal(gp_inspect_doctor_kfd_minor(4, 19), 0);
	assert_int_equal(gp_inspect_doctor_kfd_minor(6, 1), 11);
	assert_int_equal(gp_inspect_doctor_kfd_minor(6, 4), 12);
	assert_int_equal(gp_inspect_doctor_kfd_minor(6, 5), 13);
	assert_int_equal(gp_inspect_doctor_kfd_minor(6, 12), 17);
	assert_int_equal(gp_inspect_doctor_kfd_minor(6, 18), 18);
	assert_int_equal(gp_inspect_doctor_kfd_minor(6, 19), 18);
	assert_int_equal(gp_inspect_doctor_kfd_minor(7, 0), 19);
	assert_int_equal(gp_inspect_doctor_kfd_minor(7, 2), 23);
}

static void facts_are_read_from_the_tree_alone(void **state)
{
	struct gp_root root = {.dir = fixture("root")};
	struct test_diag sink = TEST_DIAG;
	struct gp_inspect_doctor d;

	(void)state;
	assert_int_equal(gp_inspect_doctor_read(&root, &sink.diag, false, &d), 0);
	assert_string_equal(gp_buf_str(&sink.text), "");
	assert_string_equal(d.kernel, "6.12.57-gp");
	assert_string_equal(d.lockdown, "none");
	assert_true(d.amdgpu_loaded);
	assert_false(d.amdgpu_dkms);
	assert_int_equal(d.num_kcq, 8);
	assert_int_equal(d.preemption_timeout_ms, 9000);
	assert_int_equal(d.kfd_minor, 17);
	assert_int_equal(d.kfd_source, GP_KFD_VERSION_DERIVED);
	assert_int_equal(d.amd.count, 2);
	assert_true(d.debugfs_mounted);
	assert_int_equal(d.ptrace_scope, 1);
	/* /opt/rocm is a link to the other and not listed twice. */
	assert_int_equal(d.runtime_count, 2);
	assert_string_equal(d.runtimes[0].version, "6.3.1");
	assert_string_equal(d.runtimes[1].version, "5.2.3");
	assert_int_equal(d.rocr_major, 6);
	/* Nothing of the machine the test runs on. */
	assert_false(d.kfd_device.checked);
	assert_false(d.valid & GP_DOCTOR_CAPABILITIES);
	assert_int_equal(d.render_count, 0);
	gp_inspect_doctor_free(&d);
}

static void dkms_driver_and_debian_runtime_are_told_apart(void **state)
{
	struct gp_inspect_doctor d;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, "/proc/sys/kernel/osrelease", "5.15.0-generic\n");
	tree_text(&tree, "/sys/module/amdgpu/version", "6.10.5\n");
	tree_text(&tree, "/sys/module/amdgpu/parameters/num_kcq", "0\n");
	tree_text(&tree, "/sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
	tree_text(&tree, "/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	tree_text(&tree, "/sys/module/module/parameters/sig_enforce", "Y\n");
	tree_text(&tree, "/proc/sys/kernel/modules_disabled", "1\n");
	tree_text(&tree, "/opt/rocm/lib/libhsa-runtime64.so.1", "");
	tree_text(&tree, "/opt/rocm/.info/version", "6.1.2-120\n");
	tree_text(&tree, "/usr/lib64/libhsa-runtime64.so.1", "");
	tree_text(&tree, "/sys/kernel/debug/kfd/hqds", "");
	assert_int_equal(gp_inspect_doctor_read(&tree.root, NULL, false, &d), 0);
	assert_true(d.amdgpu_dkms);
	assert_string_equal(d.amdgpu_version, "6.10.5");
	assert_int_equal(d.num_kcq, 0);
	/* A DKMS driver's version cannot be derived from the kernel's. */
	assert_false(d.valid & GP_DOCTOR_KFD_VERSION);
	assert_string_equal(d.lockdown, "confidentiality");
	assert_true(d.signed_modules_only);
	assert_true(d.modules_disabled);
	assert_int_equal(d.runtime_count, 2);
	assert_string_equal(d.runtimes[0].version, "6.1.2");
	assert_string_equal(d.runtimes[1].version, "");
	assert_int_equal(d.debugfs_error, 0);
	/* The file is there: no mount is needed, whatever the list of mounts says. */
	assert_true(d.debugfs_mounted);
	gp_inspect_doctor_free(&d);
	tree_remove(&tree);
}

static void empty_tree_has_nothing(void **state)
{
	struct gp_inspect_doctor d;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	assert_int_equal(gp_inspect_doctor_read(&tree.root, NULL, false, &d), 0);
	assert_false(d.amdgpu_loaded);
	assert_false(d.kfd_present);
	assert_int_equal(d.valid, 0);
	assert_string_equal(d.kernel, "");
	gp_inspect_doctor_free(&d);
	tree_remove(&tree);
}

static void live_machine_is_read_with_what_this_process_may(void **state)
{
	struct gp_root live = {.dir = ""};
	struct tree tree;
	struct gp_inspect_doctor d;

	(void)state;
	/* What the loader would take first is listed first. */
	tree_make(&tree);
	tree_text(&tree, "/libhsa-runtime64.so.1", "");
	setenv("LD_LIBRARY_PATH", tree.dir, 1);
	assert_int_equal(gp_inspect_doctor_read(&live, NULL, false, &d), 0);
	unsetenv("LD_LIBRARY_PATH");
	assert_true(d.runtime_count > 0);
	assert_memory_equal(d.runtimes[0].path, tree.dir, strlen(tree.dir));
	tree_remove(&tree);
	assert_true(d.kfd_device.checked);
	assert_true(d.valid & GP_DOCTOR_CAPABILITIES);
	assert_true(d.valid & GP_DOCTOR_KERNEL);
	gp_inspect_doctor_free(&d);
}

static void devices_are_checked_for_this_process(void **state)
{
	struct gp_inspect_device_access device = {0};
	struct gp_inspect_doctor d = {0};
	struct tree tree;

	(void)state;
	gp_inspect_doctor_check_device(&device, "/dev/null");
	assert_true(device.checked);
	assert_int_equal(device.error, 0);
	assert_string_not_equal(device.group, "");
	device = (struct gp_inspect_device_access){0};
	gp_inspect_doctor_check_device(&device, "/nowhere/kfd");
	assert_int_equal(device.error, -ENOENT);
	assert_string_equal(device.group, "");
	tree_make(&tree);
	tree_text(&tree, "/renderD128", "");
	tree_link(&tree, "/renderD129", "nowhere");
	tree_text(&tree, "/card0", "");
	gp_inspect_doctor_render_nodes(tree.dir, &d);
	assert_int_equal(d.render_count, 2);
	assert_int_equal(d.render[0].error, 0);
	assert_int_equal(d.render[1].error, -ENOENT);
	tree_remove(&tree);
}

static void groups_that_own_gpus_are_named(void **state)
{
	struct gp_root live = {.dir = ""};
	struct group *video = getgrnam("video");
	gid_t before[256];
	int count = getgroups(GP_ARRAY_SIZE(before), before);
	struct gp_inspect_doctor d = {.live = true};

	(void)state;
	if (geteuid() || !video || count < 0)
		skip();
	assert_int_equal(setgroups(1, &video->gr_gid), 0);
	gp_inspect_doctor_access(&live, &d);
	assert_int_equal(setgroups((size_t)count, before), 0);
	assert_string_equal(d.groups, "video");
}

static void probing_without_the_device_falls_back_to_the_release(void **state)
{
	struct gp_root root = {.dir = fixture("root")};
	struct test_diag sink = TEST_DIAG;
	struct gp_inspect_doctor d;

	(void)state;
	if (access("/dev/kfd", F_OK) == 0)
		skip();
	assert_int_equal(gp_inspect_doctor_read(&root, &sink.diag, true, &d), 0);
	assert_int_equal(d.probe_error, -ENOENT);
	assert_int_equal(d.kfd_source, GP_KFD_VERSION_DERIVED);
	assert_int_equal(sink.warnings, 1);
	gp_buf_free(&sink.text);
	gp_inspect_doctor_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_machine_can_do_all_that_exists),
		cmocka_unit_test(missing_driver_device_or_access_is_named),
		cmocka_unit_test(debug_trap_needs_its_driver_version),
		cmocka_unit_test(debug_trap_needs_every_gpus_firmware),
		cmocka_unit_test(debug_trap_needs_the_right_to_attach),
		cmocka_unit_test(debug_trap_needs_a_runtime_that_enables_it),
		cmocka_unit_test(module_needs_root_and_an_open_kernel),
		cmocka_unit_test(module_needs_a_driver_it_knows),
		cmocka_unit_test(nvidia_mechanisms_need_their_driver),
		cmocka_unit_test(kfd_version_follows_the_kernel),
		cmocka_unit_test(facts_are_read_from_the_tree_alone),
		cmocka_unit_test(dkms_driver_and_debian_runtime_are_told_apart),
		cmocka_unit_test(empty_tree_has_nothing),
		cmocka_unit_test(live_machine_is_read_with_what_this_process_may),
		cmocka_unit_test(devices_are_checked_for_this_process),
		cmocka_unit_test(groups_that_own_gpus_are_named),
		cmocka_unit_test(probing_without_the_device_falls_back_to_the_release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
