// SPDX-License-Identifier: MIT
/* The configuration file: what is read, what is refused, and that a mistake is named. */
#include "testlib.h"

#include "daemon/config/config.h"
#include "daemon/who.h"

static int parse(const char *text, struct gp_daemon_config *config, struct test_diag *said)
{
	*said = (struct test_diag)TEST_DIAG;
	return gp_daemon_config_parse("test.conf", text, strlen(text), &said->diag, config);
}

/* The file is refused and the message is exactly this. */
static void refused(const char *text, const char *message)
{
	struct gp_daemon_config config;
	struct test_diag said;

	assert_int_equal(parse(text, &config, &said), -EINVAL);
	assert_string_equal(gp_buf_str(&said.text), message);
	assert_null(config.devices);
	gp_buf_free(&said.text);
}

static void accepted(const char *text, struct gp_daemon_config *config)
{
	struct test_diag said;

	if (parse(text, config, &said))
		fail_msg("%s", gp_buf_str(&said.text));
	assert_int_equal(said.warnings, 0);
}

static void an_empty_file_is_the_defaults(void **state)
{
	struct gp_sched_device_config device, usual;
	struct gp_daemon_config config;

	(void)state;
	accepted("", &config);
	assert_int_equal(config.mode, GP_MODE_OBSERVE);
	assert_int_equal(config.lease_ns, 100000000);
	assert_int_equal(config.max_suspend_ns, 2000000000);
	assert_int_equal(config.rule_count, 0);
	gp_sched_device_defaults(&usual);
	gp_daemon_config_device(&config, 4711, 1, false, &device);
	assert_int_equal(device.policy, usual.policy);
	assert_int_equal(device.min_run_ns, usual.min_run_ns);
	assert_true(device.can_suspend);
	gp_daemon_config_free(&config);
}

static void every_unit_of_time_and_size_is_read(void **state)
{
	struct gp_daemon_config config;

	(void)state;
	accepted("[device *]\nmin_run=7ns\nturn = 8 us\nlinger\t=\t9ms\nhint: 2s\nunknown=0\n"
		 "memory = 192GiB\nutilisation = 80%\n",
		 &config);
	assert_int_equal(config.devices[0].min_run_ns, 7);
	assert_int_equal(config.devices[0].turn_ns, 8000);
	assert_int_equal(config.devices[0].linger_ns, 9000000);
	assert_int_equal(config.devices[0].hint_ns, 2000000000);
	assert_int_equal(config.devices[0].unknown_ns, 0);
	assert_int_equal(config.devices[0].memory_bytes, 192ull << 30);
	assert_int_equal(config.devices[0].utilisation_ppm, 800000);
	gp_daemon_config_free(&config);
}

static void comments_blank_lines_marks_and_indents_are_fine(void **state)
{
	struct gp_daemon_config config;

	(void)state;
	accepted("\xef\xbb\xbf# first\r\n\r\n  [daemon]  ; here\r\n\tmode = act ; and here\r\n",
		 &config);
	assert_int_equal(config.mode, GP_MODE_ACT);
	gp_daemon_config_free(&config);
}

static void a_device_section_changes_only_what_it_gives(void **state)
{
	struct gp_sched_device_config device;
	struct gp_daemon_config config;

	(void)state;
	accepted("[device 0x1267]\npolicy = fair\n[device *]\nmin_run = 3ms\nslice = 4ms\n"
		 "[device node 2]\nmin_run = 5ms\nsuspend = no\n",
		 &config);
	gp_daemon_config_device(&config, 4711, 1, false, &device);
	assert_int_equal(device.policy, GP_SCHED_FAIR);
	assert_int_equal(device.min_run_ns, 3000000);
	gp_daemon_config_device(&config, 9, 2, false, &device);
	assert_int_equal(device.policy, GP_SCHED_PRIORITY);
	assert_int_equal(device.min_run_ns, 5000000);
	assert_int_equal(device.slice_ns, 4000000);
	assert_false(device.can_suspend);
	gp_daemon_config_free(&config);
}

/* Hardware that takes turns by itself is told how long, unless the file says no. */
static void slices_are_shared_unless_the_file_says_no(void **state)
{
	struct gp_sched_device_config device;
	struct gp_daemon_config config;

	(void)state;
	accepted("[device *]\nmin_run = 3ms\n[device 9]\nshare = no\n", &config);
	gp_daemon_config_device(&config, 4711, 1, true, &device);
	assert_true(device.can_share && device.slices);
	gp_daemon_config_device(&config, 9, 2, true, &device);
	assert_false(device.can_share || device.slices);
	gp_daemon_config_device(&config, 4711, 1, false, &device);
	assert_false(device.can_share || device.slices);
	gp_daemon_config_free(&config);
	accepted("[device *]\nshare = no\n[device 9]\nshare = yes\n", &config);
	gp_daemon_config_device(&config, 4711, 1, true, &device);
	assert_false(device.can_share || device.slices);
	gp_daemon_config_device(&config, 9, 2, true, &device);
	assert_true(device.can_share && device.slices);
	gp_daemon_config_free(&config);
}

static void swap_is_after_a_time_or_on_pressure(void **state)
{
	struct gp_daemon_config config;

	(void)state;
	accepted("[daemon]\nswap_memory = 2GiB\n"
		 "[rule a]\nexecutable = x\nswap = after 5s\n"
		 "[rule b]\nexecutable = y\nswap = on pressure\n"
		 "[rule c]\nexecutable = z\nswap = no\n",
		 &config);
	assert_int_equal(config.swap_memory, 2ull << 30);
	assert_int_equal(config.rules[0].swap.when, GP_SWAP_AFTER);
	assert_int_equal(config.rules[0].swap.after_ns, 5 * GP_NS_PER_S);
	assert_int_equal(config.rules[1].swap.when, GP_SWAP_PRESSURE);
	assert_int_equal(config.rules[2].swap.when, GP_SWAP_NEVER);
	gp_daemon_config_free(&config);
	refused("[rule a]\nexecutable = x\nswap = 5s\n",
		"test.conf:3: swap: invalid value '5s'; use no, after TIME (after 5s) or on "
		"pressure\n");
}

static void copies_are_of_a_device_and_strict_of_a_rule(void **state)
{
	struct gp_daemon_config config;

	(void)state;
	accepted("[device 9]\ncopies = yes\n[rule a]\nexecutable = x\nweight = 1\n"
		 "[rule b]\nexecutable = y\nstrict = always\n",
		 &config);
	assert_true(gp_daemon_config_copies(&config, 9, 2));
	assert_false(gp_daemon_config_copies(&config, 4711, 1));
	assert_int_equal(config.rules[0].strict, GP_STRICT_NO);
	assert_int_equal(config.rules[1].strict, GP_STRICT_ALWAYS);
	gp_daemon_config_free(&config);
	accepted("[device 9]\npark = no\n", &config);
	assert_false(gp_daemon_config_parks(&config, 9, 2));
	assert_true(gp_daemon_config_parks(&config, 4711, 1));
	gp_daemon_config_free(&config);
}

static void a_users_section_is_found_by_name_and_number(void **state)
{
	struct gp_daemon_config_user user;
	struct gp_daemon_config config;

	(void)state;
	accepted("[user *]\nmax_priority = 900\n[user nobody]\nmax_clients = 2\n[user 1234]\n"
		 "max_priority = 50000\n",
		 &config);
	gp_daemon_config_user(&config, 5, "nobody", &user);
	assert_int_equal(user.max_clients, 2);
	assert_int_equal(user.max_priority, 900);
	gp_daemon_config_user(&config, 1234, "bob", &user);
	assert_int_equal(user.max_priority, 50000);
	gp_daemon_config_free(&config);
}

static void a_user_that_does_not_exist_is_a_mistake(void **state)
{
	(void)state;
	refused("[user nosuchuser]\nmax_priority = 900\n[user nobody]\n[user 4000000]\n",
		"test.conf:1: unknown user 'nosuchuser'; use the name of an existing user or a "
		"numeric uid\n");
}

/* All mistakes of a file are said at once: one does not hide those behind it. */
static void keys_of_a_bad_section_are_checked_too(void **state)
{
	(void)state;
	refused("[device gpu0]\npolcy = fair\nmin_run = 3\nslice = 4ms\n",
		"test.conf:1: invalid device 'gpu0'; use [device *], [device 0xID] with the id "
		"from 'gpreempt top', or [device node N]\n"
		"test.conf:2: unknown key 'polcy' in [device gpu0]; did you mean 'policy'?\n"
		"test.conf:3: min_run: '3' has no unit (use ns, us, ms, s, min or h)\n");
	refused("[daemon]\nmode = act\n[daemon]\nmode = act\nmoed = act\n",
		"test.conf:3: duplicate section [daemon]; merge the two sections\n"
		"test.conf:5: unknown key 'moed' in [daemon]; did you mean 'mode'?\n");
	refused("[rule a]\nuser = ann\nclass = online\n[rule a]\nuesr = bob\n",
		"test.conf:4: duplicate section [rule a]; merge the two sections\n"
		"test.conf:5: unknown key 'uesr' in [rule a]; did you mean 'user'?\n");
	refused("[devices *]\npolicy = fair\ncolour = red\n",
		"test.conf:1: unknown section [devices *]; use [daemon], [device GPU_ID], "
		"[user NAME] or [rule NAME]\n"
		"test.conf:3: unknown key 'colour'; gpreemptd.conf(5) lists all keys\n");
}

static void mistakes_name_the_line_and_the_fix(void **state)
{
	(void)state;
	refused("[daemon]\nmoed = act\n",
		"test.conf:2: unknown key 'moed' in [daemon]; did you mean 'mode'?\n");
	refused("[user *]\nzzzzzzzzz = 1\n",
		"test.conf:2: unknown key 'zzzzzzzzz' in [user *]; known keys: max_priority, "
		"max_weight, max_clients, max_queues, max_messages\n");
	refused("\n[daemon]\nmode = run\n",
		"test.conf:3: mode: invalid value 'run'; use observe, act\n");
	refused("[daemon]\nlease = 100\n",
		"test.conf:2: lease: '100' has no unit (use ns, us, ms, s, min or h)\n");
	refused("[daemon]\nlease = 99999999999999999999s\n",
		"test.conf:2: lease: '99999999999999999999s' is out of range (50 ms to 60 s)\n");
	refused("[device *]\nturn = soon\nslice = 20min\n",
		"test.conf:2: turn: 'soon' is not a duration (use a number and a unit, such as "
		"250us, 10ms or 1.5s)\n"
		"test.conf:3: slice: '20min' is out of range (1 us to 18 min)\n");
	refused("[daemon]\nmode = act\nmode = act\n",
		"test.conf:3: duplicate key 'mode' in [daemon]; keep only one\n");
	refused("[daemon]\n[daemon]\n",
		"test.conf:2: duplicate section [daemon]; merge the two sections\n");
	refused("[dæmon]\nmode = act\n",
		"test.conf:1: unknown section [dæmon]; use [daemon], [device GPU_ID], [user "
		"NAME] or [rule NAME]\n");
	refused("mode = act\n",
		"test.conf:1: 'mode' is outside any section; start with [daemon]\n");
	refused("[daemon]\nact\n", "test.conf:2: 'act' is neither [section] nor key = value\n");
	refused("[daemon\n", "test.conf:1: missing ']' after the section name\n");
	refused("[daemon] mode = act\n",
		"test.conf:1: unexpected text after ']'; start a new line\n");
	refused("[device be32]\n",
		"test.conf:1: invalid device 'be32'; use [device *], [device 0xID] with the id "
		"from 'gpreempt top', or [device node N]\n");
	refused("[device 0x]\n",
		"test.conf:1: invalid device '0x'; use [device *], [device 0xID] with the id "
		"from 'gpreempt top', or [device node N]\n");
	refused("[device 4711]\n[device 0x1267]\n",
		"test.conf:2: duplicate section [device 0x1267]; merge the two sections\n");
	refused("[daemon]\nread_fastest = 1s\nread_slowest = 1ms\n",
		"test.conf:3: read_fastest (1 s) must not be longer than read_slowest (1 ms)\n");
}

static void a_rule_must_match_something_and_change_something(void **state)
{
	(void)state;
	refused("[rule a]\nclass = online\n[rule b]\nuser = x\n",
		"test.conf:1: [rule a] does not say which programs it applies to; add executable, "
		"user, cgroup or container (executable = * matches every program)\n"
		"test.conf:3: [rule b] has no effect; add class, priority, weight, group, "
		"deadline, max_suspend, policy, attach, strict or swap\n");
	refused("[rule a]\nuser = x\ndeadline = 5ms\n",
		"test.conf:1: [rule a] has a deadline without a budget; add budget = TIME, "
		"the GPU time of one burst\n");
	refused("[rule a]\nuser = x\nbudget = 6ms\ndeadline = 5ms\n",
		"test.conf:1: [rule a] has a budget longer than its deadline\n");
	refused("[rule a]\nuser = x\npolicy = fair\n", "test.conf:3: policy: invalid value 'fair'; "
						       "use off (do not schedule these jobs), or "
						       "set the policy in a [device] section\n");
}

static void long_lines_and_binary_files_are_refused(void **state)
{
	char text[2048] = "[rule a]\nuser = ";
	struct gp_daemon_config config;
	struct test_diag said;
	size_t length = strlen(text);

	(void)state;
	memset(text + length, 'x', 300);
	strcpy(text + length + 300, "\nclass = online\n");
	assert_int_equal(parse(text, &config, &said), -EINVAL);
	assert_non_null(strstr(gp_buf_str(&said.text), "test.conf:2: the line is too long"));
	gp_buf_free(&said.text);
	said = (struct test_diag)TEST_DIAG;
	assert_int_equal(gp_daemon_config_parse("test.conf", "[daemon]\nmo\0de", 14, &said.diag,
						&config),
			 -EINVAL);
	assert_non_null(strstr(gp_buf_str(&said.text),
			       "test.conf:2: this is not a text file: it contains a NUL byte"));
	gp_buf_free(&said.text);
}

static void too_many_sections_are_refused(void **state)
{
	struct gp_buf text = {0};
	struct gp_daemon_config config;
	struct test_diag said = TEST_DIAG;

	(void)state;
	for (int i = 0; i < 2 * GP_CONFIG_SECTIONS; i++)
		gp_buf_printf(&text, "[rule r%d]\nuser=x\nclass=online\n", i);
	assert_int_equal(gp_daemon_config_parse("test.conf", text.data, text.len, &said.diag,
						&config),
			 -EINVAL);
	gp_buf_free(&text);
	gp_buf_free(&said.text);
}

/* ---- rules ---- */

static const struct gp_daemon_who trainer = {
	.pid = 10,
	.uid = 1000,
	.user = "nobody",
	.executable = "/opt/venv/bin/python3.11",
	.name = "python3.11",
	.cgroup = "/system.slice/docker-0123.scope",
	.container = "trainer",
};

static const char *rule_for(const struct gp_daemon_config *config, const struct gp_daemon_who *who)
{
	const struct gp_daemon_config_rule *rule = gp_daemon_rule_find(config, who);

	return rule ? rule->name : "none";
}

static void the_first_rule_whose_patterns_all_match_counts(void **state)
{
	struct gp_daemon_who other = trainer;
	struct gp_daemon_config config;

	(void)state;
	accepted("[rule both]\nexecutable = python3*\nuser = bob\nclass = online\n"
		 "[rule path]\nexecutable = /opt/*/python3*\ncontainer = train*\nclass = offline\n"
		 "[rule number]\nuser = 1000\nclass = online\n"
		 "[rule slice]\ncgroup = /system.slice/*\nclass = online\n"
		 "[rule rest]\nexecutable = *\nclass = normal\n",
		 &config);
	assert_string_equal(rule_for(&config, &trainer), "path");
	other.container[0] = 0;
	assert_string_equal(rule_for(&config, &other), "number");
	other.uid = 7;
	assert_string_equal(rule_for(&config, &other), "slice");
	other.cgroup[0] = 0;
	assert_string_equal(rule_for(&config, &other), "rest");
	strcpy(other.user, "bob");
	assert_string_equal(rule_for(&config, &other), "both");
	gp_daemon_config_free(&config);
}

static void wishes_are_cut_at_the_ceiling_and_rules_are_not(void **state)
{
	struct gp_daemon_wish wish = {.job_class = 1, .priority = 9000, .weight = 5000};
	struct gp_sched_job_spec spec;
	struct gp_daemon_config config;

	(void)state;
	accepted("[user nobody]\nmax_priority = 1500\nmax_weight = 300\n"
		 "[rule r]\nuser = nobody\npriority = 7000\n",
		 &config);
	gp_daemon_who_spec(&config, &trainer, NULL, &wish, &spec);
	assert_int_equal(spec.class, GP_SCHED_CLASS_ONLINE);
	assert_int_equal(spec.priority, 1500);
	assert_int_equal(spec.weight, 300);
	gp_daemon_who_spec(&config, &trainer, &config.rules[0], &wish, &spec);
	assert_int_equal(spec.priority, 7000);
	/* Without a number the class gives it, and that is cut, too. */
	wish.priority = GP_SCHED_NONE;
	gp_daemon_who_spec(&config, &trainer, NULL, &wish, &spec);
	assert_int_equal(spec.priority, 1500);
	wish.job_class = 2;
	gp_daemon_who_spec(&config, &trainer, NULL, &wish, &spec);
	assert_int_equal(spec.priority, GP_SCHED_PRIORITY_OFFLINE);
	/* Nonsense from a client is no priority. */
	wish = (struct gp_daemon_wish){.job_class = 77, .priority = 1u << 30};
	gp_daemon_who_spec(&config, &trainer, NULL, &wish, &spec);
	assert_int_equal(spec.class, GP_SCHED_CLASS_NORMAL);
	assert_int_equal(spec.priority, GP_SCHED_PRIORITY_NORMAL);
	gp_daemon_config_free(&config);
}

static void the_shipped_file_is_correct_and_only_observes(void **state)
{
	struct test_diag said = TEST_DIAG;
	struct gp_daemon_config config;
	char path[4096];

	(void)state;
	snprintf(path, sizeof(path), "%s/../../data/gpreemptd.conf", getenv("GP_FIXTURES"));
	assert_int_equal(gp_daemon_config_read(path, &said.diag, &config), 0);
	assert_int_equal(config.mode, GP_MODE_OBSERVE);
	gp_daemon_config_free(&config);
	assert_int_equal(gp_daemon_config_read("/no/such", &said.diag, &config), -ENOENT);
	assert_string_equal(gp_buf_str(&said.text),
			    "cannot read /no/such: No such file or directory\n");
	gp_buf_free(&said.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_is_the_defaults),
		cmocka_unit_test(every_unit_of_time_and_size_is_read),
		cmocka_unit_test(comments_blank_lines_marks_and_indents_are_fine),
		cmocka_unit_test(a_device_section_changes_only_what_it_gives),
		cmocka_unit_test(slices_are_shared_unless_the_file_says_no),
		cmocka_unit_test(swap_is_after_a_time_or_on_pressure),
		cmocka_unit_test(copies_are_of_a_device_and_strict_of_a_rule),
		cmocka_unit_test(a_users_section_is_found_by_name_and_number),
		cmocka_unit_test(a_user_that_does_not_exist_is_a_mistake),
		cmocka_unit_test(keys_of_a_bad_section_are_checked_too),
		cmocka_unit_test(mistakes_name_the_line_and_the_fix),
		cmocka_unit_test(a_rule_must_match_something_and_change_something),
		cmocka_unit_test(long_lines_and_binary_files_are_refused),
		cmocka_unit_test(too_many_sections_are_refused),
		cmocka_unit_test(the_first_rule_whose_patterns_all_match_counts),
		cmocka_unit_test(wishes_are_cut_at_the_ceiling_and_rules_are_not),
		cmocka_unit_test(the_shipped_file_is_correct_and_only_observes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
