// SPDX-License-Identifier: MIT
#include "tree.h"

#include <errno.h>

#include "base/host/container.h"

#define ID1 "3fa1b2c3d4e5f60718293a4b5c6d7e8f90112233445566778899aabbccddeeff"
#define ID2 "3fb7c3d4e5f60718293a4b5c6d7e8f90112233445566778899aabbccddeeff00"
#define UID "5f2d1b6e-8a3c-4d1f-9b7a-0c2e4f6a8b9d"

static struct gp_root fixture_root(void)
{
	return (struct gp_root){.dir = fixture("root")};
}

static void cgroups_of_every_runtime_are_recognised(void **state)
{
	static const struct {
		const char *cgroup, *runtime, *id, *pod;
	} cases[] = {
		{"0::/system.slice/docker-" ID1 ".scope\n", "docker", ID1, ""},
		{"12:devices:/docker/" ID1 "\n11:cpu:/docker/" ID1 "\n", "docker", ID1, ""},
		{"0::/../../docker-" ID1 ".scope", "docker", ID1, ""},
		{"4:memory:/\n3:cpu:/docker/" ID1 "\n0::/\n", "docker", ID1, ""},
		{"0::/machine.slice/libpod-" ID1 ".scope/container\n", "podman", ID1, ""},
		{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID1
		 ".scope\n",
		 "podman", ID1, ""},
		{"9:pids:/libpod_parent/libpod-" ID1 "\n", "podman", ID1, ""},
		{"0::/libpod_parent/" ID1 "\n", "podman", ID1, ""},
		{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
		 "pod5f2d1b6e_8a3c_4d1f_9b7a_0c2e4f6a8b9d.slice/cri-containerd-" ID1 ".scope\n",
		 "containerd", ID1, UID},
		{"0::/kubepods.slice/kubepods-pod5f2d1b6e_8a3c_4d1f_9b7a_0c2e4f6a8b9d.slice/"
		 "crio-" ID1 ".scope/container\n",
		 "cri-o", ID1, UID},
		{"8:cpuset:/kubepods/besteffort/pod" UID "/" ID1 "\n", "kubernetes", ID1, UID},
		{"1:name=systemd:/system.slice/containerd.service/kubepods-burstable-pod"
		 "5f2d1b6e_8a3c_4d1f_9b7a_0c2e4f6a8b9d.slice:cri-containerd:" ID1 "\n",
		 "containerd", ID1, UID},
		{"0::/default/" ID1 "\n", "containerd", ID1, ""},
		{"0::/system.slice/nerdctl-" ID1 ".scope\n", "containerd", ID1, ""},
		{"0::/system.slice/newthing-" ID1 ".scope\n", "newthing", ID1, ""},
		{"0::/somewhere/" ID1 "\n", "oci", ID1, ""},
		{"0::/lxc.payload.web01/init.scope\n", "lxc", "web01", ""},
		{"7:memory:/lxc/web01\n", "lxc", "web01", ""},
		{"0::/machine.slice/machine-deb\\x2d12.scope/payload\n", "systemd-nspawn", "deb-12",
		 ""},
		{"0::/machine.slice/systemd-nspawn@build.service/payload\n", "systemd-nspawn",
		 "build", ""},
		{"0::/machine.slice/machine-lxc\\x2d77\\x2dold.scope\n", "lxc", "lxc-77-old", ""},
		/* The innermost container is the process's own. */
		{"0::/system.slice/docker-" ID1 ".scope/docker/" ID2 "\n", "docker", ID2, ""},
	};
	struct gp_container c;

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		if (!gp_container_parse_cgroup(cases[i].cgroup, strlen(cases[i].cgroup), &c))
			fail_msg("not recognised: %s", cases[i].cgroup);
		assert_string_equal(c.runtime, cases[i].runtime);
		assert_string_equal(c.id, cases[i].id);
		assert_string_equal(c.pod, cases[i].pod);
	}
}

static void what_is_no_container_is_not_taken_for_one(void **state)
{
	static const char *const cases[] = {
		"",
		"\n\n",
		"0::/\n",
		"0::",
		"garbage\n",
		"0::/user.slice/user-1000.slice/session-3.scope\n",
		/* conmon watches a container from outside */
		"0::/machine.slice/libpod-conmon-" ID1 ".scope\n",
		"0::/system.slice/crio-conmon-" ID1 ".scope\n",
		/* a virtual machine */
		"0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope\n",
		/* ids of other lengths, or not hex */
		"0::/docker/3fa1b2c3\n",
		"0::/docker/" ID1 "00\n",
		"0::/system.slice/docker-" ID1 "0.scope\n",
		"0::/docker/g" ID2 "\n",
		"0::/docker/-" ID1 "\n",
		"0::/systemd/x:" ID1 "y\n",
		"0::/lxc.monitor.web01\n",
		"0::/lxc.payload.\n",
		"0::/machine.slice/machine-.scope\n",
		"0::/machine.slice/machine-a\\x00b.scope\n",
		"0::/kubepods.slice/kubepods-burstable.slice\n",
	};
	struct gp_container c;

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		if (gp_container_parse_cgroup(cases[i], strlen(cases[i]), &c))
			fail_msg("taken for %s '%s': %s", c.runtime, c.id, cases[i]);
	}
}

static void names_too_long_or_with_a_nul_are_refused(void **state)
{
	static const char nul[] = "0::/lxc.payload.a\0b\n";
	struct gp_buf text = {0};
	struct gp_container c;

	(void)state;
	assert_false(gp_container_parse_cgroup(nul, sizeof(nul) - 1, &c));
	gp_buf_puts(&text, "0::/lxc.payload.");
	for (int i = 0; i < 500; i++)
		gp_buf_puts(&text, "n");
	assert_false(gp_container_parse_cgroup(gp_buf_str(&text), text.len, &c));
	gp_buf_free(&text);
	for (int i = 0; i < 300; i++)
		gp_buf_puts(&text, i ? "p" : "0::/");
	gp_buf_puts(&text, "-" ID1 ".scope");
	assert_false(gp_container_parse_cgroup(gp_buf_str(&text), text.len, &c));
	gp_buf_free(&text);
}

static void assert_container(u32 pid, const char *label, enum gp_name_source source)
{
	struct gp_root root = fixture_root();
	struct gp_container c;
	char text[300];

	assert_int_equal(gp_container_of(&root, pid, &c), 0);
	gp_container_label(&c, text, sizeof(text));
	assert_string_equal(text, label);
	assert_int_equal(c.name_source, source);
}

static void names_come_from_the_runtimes_files(void **state)
{
	struct gp_root root = fixture_root();
	struct gp_container c;

	(void)state;
	assert_container(4242, "docker:trainer", GP_NAME_RUNTIME);
	assert_container(4300, "podman:serve-prod", GP_NAME_RUNTIME);
	assert_container(4400, "kubernetes:bert-0", GP_NAME_POD);
	/* No config, no HOSTNAME: the id alone. */
	assert_container(4500, "docker:3fb7c3d4e5f6", GP_NAME_NONE);
	assert_int_equal(gp_container_of(&root, 4600, &c), -ENOENT);
	assert_int_equal(gp_container_of(&root, 4700, &c), -ENOENT);
	assert_int_equal(gp_container_of(&root, 4800, &c), -ESRCH);
}

static void host_name_stands_in_for_a_name(void **state)
{
	struct gp_container c;
	struct tree tree;
	char label[300];

	(void)state;
	tree_make(&tree);
	tree_text(&tree, "/proc/5/cgroup", "0::/docker/" ID1 "\n");
	tree_text(&tree, "/proc/5/root/etc/hostname", "gpu-box\n");
	tree_text(&tree, "/var/lib/docker/containers/" ID1 "/config.v2.json", "{\"Name\": 7");
	assert_int_equal(gp_container_of(&tree.root, 5, &c), 0);
	assert_string_equal(c.name, "gpu-box");
	assert_int_equal(c.name_source, GP_NAME_HOSTNAME);
	gp_container_label(&c, label, sizeof(label));
	assert_string_equal(label, "docker:3fa1b2c3d4e5");
	/* The default host name is the id's beginning: no name. */
	tree_text(&tree, "/proc/5/root/etc/hostname", "3fa1b2c3d4e5\n");
	assert_int_equal(gp_container_of(&tree.root, 5, &c), 0);
	assert_int_equal(c.name_source, GP_NAME_NONE);
	tree_text(&tree, "/proc/6/cgroup", "0::/lxc.payload.web01\n");
	assert_int_equal(gp_container_of(&tree.root, 6, &c), 0);
	gp_container_label(&c, label, sizeof(label));
	assert_string_equal(label, "lxc:web01");
	c.name[0] = '\0';
	gp_container_label(&c, label, sizeof(label));
	assert_string_equal(label, "lxc:web01");
	/* Podman as root, and without anything to go by. */
	tree_text(&tree, "/proc/7/cgroup", "0::/machine.slice/libpod-" ID2 ".scope\n");
	assert_int_equal(gp_container_of(&tree.root, 7, &c), 0);
	assert_int_equal(c.name_source, GP_NAME_NONE);
	tree_text(&tree, "/var/lib/containers/storage/overlay-containers/containers.json",
		  "[{\"id\": \"" ID2 "\", \"names\": [\"batch\"]}]");
	assert_int_equal(gp_container_of(&tree.root, 7, &c), 0);
	assert_string_equal(c.name, "batch");
	tree_remove(&tree);
}

/* Resolves and expects one process, or an error and a text in the messages. */
static void assert_resolves(const char *container, u32 pid, int expected, u32 host,
			    const char *said)
{
	struct gp_root root = fixture_root();
	struct test_diag sink = TEST_DIAG;
	struct gp_pid_candidates found;

	assert_int_equal(gp_container_resolve(&root, &sink.diag, container, pid, &found), expected);
	if (expected == 0) {
		assert_int_equal(found.count, 1);
		assert_int_equal(found.items[0].process.pid, host);
		assert_int_equal(sink.errors, 0);
	} else {
		assert_true(sink.errors > 0);
	}
	if (!strstr(gp_buf_str(&sink.text), said))
		fail_msg("'%s' is not in: %s", said, gp_buf_str(&sink.text));
	gp_buf_free(&sink.text);
	gp_pid_candidates_free(&found);
}

static void host_pid_is_taken_as_it_is(void **state)
{
	(void)state;
	assert_resolves(NULL, 4242, 0, 4242, "");
	assert_resolves(NULL, 4600, 0, 4600, "");
}

static void container_pid_is_found_by_name_id_or_member(void **state)
{
	(void)state;
	assert_resolves("trainer", 7, 0, 4242, "");
	assert_resolves("3fa1", 7, 0, 4242, "");
	assert_resolves(ID1, 1, 0, 4241, "");
	assert_resolves("4241", 7, 0, 4242, "");
	assert_resolves("serve-prod", 7, 0, 4300, "");
	assert_resolves("4300", 7, 0, 4300, "");
	assert_resolves("bert-0", 1, 0, 4400, "");
	/* Three namespaces deep: the innermost pid counts. */
	assert_resolves("3fb7", 9, 0, 4500, "");
}

static void what_cannot_be_resolved_is_said(void **state)
{
	(void)state;
	assert_resolves("nobody", 7, -ENOENT, 0, "no running container matches 'nobody'");
	assert_resolves("trainer", 8, -ESRCH, 0, "process 8 does not exist in container 'trainer'");
	assert_resolves("4600", 7, -ENOENT, 0, "process 4600 is not in a container");
	assert_resolves(NULL, 77777, -ESRCH, 0,
			"no process on this machine or in a container has pid 77777");
	assert_resolves("3f", 7, -EEXIST, 0, "'3f' is ambiguous: 2 containers");
}

static void ambiguous_pid_lists_the_candidates(void **state)
{
	struct gp_root root = fixture_root();
	struct test_diag sink = TEST_DIAG;
	struct gp_pid_candidates found;

	(void)state;
	assert_int_equal(gp_container_resolve(&root, &sink.diag, NULL, 7, &found), -EEXIST);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.items[0].process.pid, 4242);
	assert_int_equal(found.items[1].process.pid, 4300);
	assert_non_null(strstr(gp_buf_str(&sink.text),
			       "host pid 4242 (pid 7 in docker:trainer): python3 train.py"));
	assert_non_null(strstr(gp_buf_str(&sink.text),
			       "host pid 4300 (pid 7 in podman:serve-prod): /opt/serve"));
	gp_buf_free(&sink.text);
	gp_pid_candidates_free(&found);
}

static void single_container_pid_is_taken_with_a_note(void **state)
{
	(void)state;
	assert_resolves(NULL, 9, 0, 4500, "host pid 4500 (pid 9 in docker:3fb7c3d4e5f6)");
}

static void process(const struct tree *tree, u32 pid, const char *nspid, const char *cgroup,
		    const char *namespace)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	snprintf(text, sizeof(text), "%u (x) S 1 2 3 0 -1 4 9 0 0 0 8 7 0 0 20 0 12 0 %u 1\n", pid,
		 pid);
	tree_text(tree, path, text);
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	snprintf(text, sizeof(text), "NSpid:\t%s\n", nspid);
	tree_text(tree, path, text);
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	tree_text(tree, path, cgroup);
	snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
	if (namespace)
		tree_link(tree, path, namespace);
}

static void pid_namespace_decides_where_the_cgroup_is_hidden(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_pid_candidates found;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	process(&tree, 20, "20 1", "0::/\n", "pid:[1]");
	process(&tree, 21, "21 5", "0::/\n", "pid:[1]");
	process(&tree, 31, "31 5", "0::/\n", "pid:[2]");
	process(&tree, 40, "40 1", "0::/\n", NULL);
	assert_int_equal(gp_container_resolve(&tree.root, &sink.diag, "20", 5, &found), 0);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.items[0].process.pid, 21);
	assert_false(found.items[0].contained);
	gp_pid_candidates_free(&found);
	assert_int_equal(gp_container_resolve(&tree.root, &sink.diag, "40", 5, &found), -ENOENT);
	assert_non_null(strstr(gp_buf_str(&sink.text), "cannot determine"));
	gp_buf_free(&sink.text);
	tree_remove(&tree);
}

static void namespaces_inside_one_container_make_a_pid_ambiguous(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_pid_candidates found;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	process(&tree, 20, "20 5", "0::/docker/" ID1 "\n", NULL);
	process(&tree, 21, "21 9 5", "0::/docker/" ID1 "\n", NULL);
	assert_int_equal(gp_container_resolve(&tree.root, &sink.diag, "3fa", 5, &found), -EEXIST);
	assert_int_equal(found.count, 2);
	gp_pid_candidates_free(&found);
	/* The member's cgroup serves where no namespace can be read. */
	assert_int_equal(gp_container_resolve(&tree.root, &sink.diag, "20", 9, &found), -ESRCH);
	gp_buf_free(&sink.text);
	tree_remove(&tree);
}

static void whole_name_wins_over_the_beginning_of_an_id(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_pid_candidates found;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	process(&tree, 20, "20 5", "0::/docker/" ID1 "\n", NULL);
	process(&tree, 21, "21 5", "0::/lxc.payload.3f\n", NULL);
	process(&tree, 22, "22 5", "0::/docker/" ID2 "\n", NULL);
	assert_int_equal(gp_container_resolve(&tree.root, &sink.diag, "3f", 5, &found), 0);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.items[0].process.pid, 21);
	gp_pid_candidates_free(&found);
	/* A process of the first namespace is nobody's container pid. */
	process(&tree, 30, "77", "0::/\n", NULL);
	assert_int_equal(gp_container_resolve(&tree.root, &sink.diag, NULL, 77, &found), -ESRCH);
	gp_buf_free(&sink.text);
	tree_remove(&tree);
}

static void thread_means_its_process_and_no_proc_is_an_error(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_pid_candidates found;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	assert_int_equal(gp_container_resolve(&tree.root, &sink.diag, NULL, 5, &found), -ENOENT);
	assert_int_equal(gp_container_resolve(&tree.root, &sink.diag, "web", 5, &found), -ENOENT);
	assert_int_equal(sink.errors, 2);
	process(&tree, 20, "20", "0::/\n", NULL);
	tree_text(&tree, "/proc/25/status", "Tgid:\t20\nNSpid:\t25\n");
	assert_int_equal(gp_container_resolve(&tree.root, &sink.diag, NULL, 25, &found), 0);
	assert_int_equal(found.items[0].process.pid, 20);
	assert_non_null(strstr(gp_buf_str(&sink.text), "25 is a thread of process 20"));
	gp_pid_candidates_free(&found);
	gp_buf_free(&sink.text);
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cgroups_of_every_runtime_are_recognised),
		cmocka_unit_test(what_is_no_container_is_not_taken_for_one),
		cmocka_unit_test(names_too_long_or_with_a_nul_are_refused),
		cmocka_unit_test(names_come_from_the_runtimes_files),
		cmocka_unit_test(host_name_stands_in_for_a_name),
		cmocka_unit_test(host_pid_is_taken_as_it_is),
		cmocka_unit_test(container_pid_is_found_by_name_id_or_member),
		cmocka_unit_test(what_cannot_be_resolved_is_said),
		cmocka_unit_test(ambiguous_pid_lists_the_candidates),
		cmocka_unit_test(single_container_pid_is_taken_with_a_note),
		cmocka_unit_test(pid_namespace_decides_where_the_cgroup_is_hidden),
		cmocka_unit_test(namespaces_inside_one_container_make_a_pid_ambiguous),
		cmocka_unit_test(whole_name_wins_over_the_beginning_of_an_id),
		cmocka_unit_test(thread_means_its_process_and_no_proc_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
