// SPDX-License-Identifier: MIT
/* What the driver measures of a GPU is read from its files, and missing where it has none. */
#include "tree.h"

#include "inspect/sensors.h"

#define DEVICE "/sys/bus/pci/devices/0000:c1:00.0"

static const struct gp_gpu gpu = {.valid = GP_GPU_PCI, .pci_bus = 0xc1};

static struct gp_inspect_sensors sensors_of(struct tree *tree)
{
	struct gp_inspect_sensors sensors;

	gp_inspect_sensors_read(&tree->root, &gpu, &sensors);
	tree_remove(tree);
	return sensors;
}

static void files_of_amdgpu_are_read(void **state)
{
	struct gp_inspect_sensors sensors;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, DEVICE "/mem_info_vram_used", "1048576\n");
	tree_text(&tree, DEVICE "/mem_info_vram_total", "2097152\n");
	tree_text(&tree, DEVICE "/hwmon/hwmon3/power1_average", "210000000\n");
	tree_text(&tree, DEVICE "/hwmon/hwmon3/temp1_input", "54000\n");
	tree_text(&tree, DEVICE "/hwmon/hwmon3/freq1_input", "1900000000\n");
	tree_text(&tree, DEVICE "/pp_dpm_sclk", "0: 500Mhz *\n1: 2100Mhz\n");
	sensors = sensors_of(&tree);
	assert_int_equal(sensors.valid, GP_SENSOR_VRAM_USED | GP_SENSOR_VRAM_TOTAL |
						GP_SENSOR_POWER | GP_SENSOR_TEMPERATURE |
						GP_SENSOR_CLOCK);
	assert_int_equal(sensors.vram_used, 1048576);
	assert_int_equal(sensors.vram_total, 2097152);
	assert_int_equal(sensors.power_uw, 210000000);
	assert_int_equal(sensors.temperature_mc, 54000);
	assert_int_equal(sensors.clock_hz, 1900000000);
}

static void the_clock_is_that_of_the_marked_level_without_hwmon(void **state)
{
	struct gp_inspect_sensors sensors;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, DEVICE "/hwmon/hwmon0/power1_input", "90000000\n");
	tree_text(&tree, DEVICE "/pp_dpm_sclk", "0: 500Mhz\n1: 2100Mhz *\n");
	sensors = sensors_of(&tree);
	assert_int_equal(sensors.valid, GP_SENSOR_POWER | GP_SENSOR_CLOCK);
	assert_int_equal(sensors.power_uw, 90000000);
	assert_int_equal(sensors.clock_hz, 2100000000);
}

static void what_is_not_there_is_missing(void **state)
{
	struct tree tree;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, DEVICE "/pp_dpm_sclk", "0: 500Mhz\n1: 2100Mhz\n");
	tree_text(&tree, DEVICE "/mem_info_vram_used", "unknown\n");
	assert_int_equal(sensors_of(&tree).valid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_amdgpu_are_read),
		cmocka_unit_test(the_clock_is_that_of_the_marked_level_without_hwmon),
		cmocka_unit_test(what_is_not_there_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
