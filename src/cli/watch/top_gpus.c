// SPDX-License-Identifier: MIT
/*
 * The GPUs of `gpreempt top`: a line each with load, memory and sensors, and below it a chart of
 * the past where there is room.
 */
#include <stdio.h>
#include <string.h>

#include "base/core.h"
#include "base/units.h"
#include "cli/watch/top_screen.h"
#include "show/term.h"

enum { BAR = 12, CHART_LEAST = 2, CHART_MOST = 12, AXIS_LEAST = 3, NAME_MOST = 40, TEXT = 160 };

/* Cells of each part of a line, of all GPUs; 0: no GPU has it. */
struct widths {
	int policy, jobs, address, name, sensors;
};

static int policy_style(const struct gp_proto_msg_device *device)
{
	return device->broken ? GP_STYLE_BAD : device->stands_down ? GP_STYLE_WARN : GP_STYLE_PLAIN;
}

static int load_style(u8 percent)
{
	return percent == GP_TOP_UNKNOWN || !percent ? GP_STYLE_DIM : GP_STYLE_GOOD;
}

/* "[||||    ]  43%" */
static void load_text(u8 percent, char *out, size_t size)
{
	u32 filled = percent == GP_TOP_UNKNOWN ? 0 : (percent * (u32)BAR + 50) / 100;
	char bar[BAR + 1];

	memset(bar, ' ', BAR);
	memset(bar, '|', GP_MIN(filled, (u32)BAR));
	bar[BAR] = 0;
	if (percent == GP_TOP_UNKNOWN)
		snprintf(out, size, "[%s]    -", bar);
	else
		snprintf(out, size, "[%s] %3u%%", bar, percent);
}

/* "CUs: 120/304": with waves of any process. */
static void cus_text(const struct gp_cli_top_data *top, size_t index, struct gp_buf *text)
{
	u32 gpu_id = top->devices[index].gpu_id;
	const struct gp_gpu *gpu = gp_cli_top_gpu(top, gpu_id);
	bool known = false;
	u64 used = 0;

	for (size_t i = 0; i < top->machine.processes.count; i++) {
		const struct gp_gpu_process *process = &top->machine.processes.items[i];

		for (size_t k = 0; k < process->usage_count; k++) {
			const struct gp_gpu_usage *usage = &process->usages[k];

			if (usage->gpu_id != gpu_id || !(usage->valid & GP_USAGE_OCCUPANCY))
				continue;
			known = true;
			used += usage->cu_occupancy;
		}
	}
	if (known && gpu && gpu->cu_count)
		gp_buf_printf(text, _("CUs: %llu/%u"),
			      (unsigned long long)GP_MIN(used, (u64)gpu->cu_count), gpu->cu_count);
}

/* "12.0 GiB/192.0 GiB  210 W  54 C  1900 MHz  CUs: 120/304", as far as it is known. */
static void sensors_text(const struct gp_cli_top_data *top, size_t index, char *out, size_t size)
{
	const struct gp_inspect_sensors *sensors = &top->sensors[index];
	struct gp_buf text = {0};

	if (sensors->valid & GP_SENSOR_VRAM_USED)
		gp_buf_printf(&text, "%s", gp_size_text(sensors->vram_used).text);
	if (sensors->valid & GP_SENSOR_VRAM_TOTAL)
		gp_buf_printf(&text, "/%s  ", gp_size_text(sensors->vram_total).text);
	if (sensors->valid & GP_SENSOR_POWER)
		gp_buf_printf(&text, "%llu W  ", (unsigned long long)sensors->power_uw / 1000000);
	if (sensors->valid & GP_SENSOR_TEMPERATURE)
		gp_buf_printf(&text, "%llu C  ",
			      (unsigned long long)sensors->temperature_mc / 1000);
	if (sensors->valid & GP_SENSOR_CLOCK)
		gp_buf_printf(&text, "%llu MHz  ", (unsigned long long)sensors->clock_hz / 1000000);
	cus_text(top, index, &text);
	snprintf(out, size, "%s", gp_buf_str(&text));
	gp_buf_free(&text);
}

/* Half a number would be a wrong one: whole figures from the end go, which two blanks divide. */
static void leave_what_fits(char *text, int room)
{
	size_t length = strlen(text);

	while (length && (int)length > GP_MAX(room, 0)) {
		while (length &&
		       !(text[length - 1] == ' ' && length > 1 && text[length - 2] == ' '))
			length--;
		while (length && text[length - 1] == ' ')
			length--;
		text[length] = '\0';
	}
}

static void jobs_text(const struct gp_proto_msg_device *device, char out[TEXT])
{
	snprintf(out, TEXT, ngettext("%u job, %u held", "%u jobs, %u held", device->members),
		 device->members, device->held);
}

static void address_text(const struct gp_cli_top_data *top,
			 const struct gp_proto_msg_device *device, char out[TEXT])
{
	const struct gp_gpu *gpu = gp_cli_top_gpu(top, device->gpu_id);

	*out = '\0';
	if (gpu)
		gp_inspect_pci_address(gpu, out, TEXT);
	if (!*out)
		snprintf(out, TEXT, "0x%x", device->gpu_id);
}

static void widen(int *width, const char *text, int most)
{
	*width = GP_MAX(*width, GP_MIN((int)gp_term_width(text), most));
}

static struct widths measure(const struct gp_cli_top_data *top)
{
	bool common = gp_cli_top_common_policy(top); /* the first line of the screen has it */
	struct widths widths = {0};
	char text[TEXT];

	for (size_t i = 0; i < top->device_count; i++) {
		const struct gp_proto_msg_device *device = &top->devices[i];

		if (!common)
			widen(&widths.policy, gp_cli_top_policy(top, device), TEXT);
		jobs_text(device, text);
		widen(&widths.jobs, text, TEXT);
		address_text(top, device, text);
		widen(&widths.address, text, TEXT);
		gp_cli_top_gpu_name(top, device, text, sizeof(text));
		widen(&widths.name, text, NAME_MOST);
		sensors_text(top, i, text, sizeof(text));
		widen(&widths.sensors, text, TEXT);
	}
	return widths;
}

static int with_gap(int width)
{
	return width ? width + 2 : 0;
}

/* Address, name and sensors from column x on. Returns the next free column. */
static int draw_identity(struct gp_cli_top_screen *screen, int y, int x, size_t index,
			 const struct widths *widths)
{
	const struct gp_proto_msg_device *device = &screen->top.devices[index];
	struct gp_cli_canvas *canvas = &screen->canvas;
	char text[TEXT];

	address_text(&screen->top, device, text);
	gp_cli_canvas_put(canvas, y, x, canvas->width, text, GP_STYLE_DIM);
	x += with_gap(widths->address);
	gp_cli_top_gpu_name(&screen->top, device, text, sizeof(text));
	gp_cli_canvas_put(canvas, y, x, canvas->width, text, GP_STYLE_PLAIN);
	x += with_gap(widths->name);
	sensors_text(&screen->top, index, text, sizeof(text));
	leave_what_fits(text, canvas->width - x);
	gp_cli_canvas_put(canvas, y, x, canvas->width, text, GP_STYLE_PLAIN);
	return x + with_gap(widths->sensors);
}

/* Columns of index and load. */
enum { IDENTITY = 7, LOAD = BAR + 9 };

/* Index, load, policy, jobs; `whole`: also what the second line has otherwise. */
static void draw_line(struct gp_cli_top_screen *screen, int y, size_t index,
		      const struct widths *widths, bool charted, bool whole)
{
	const struct gp_proto_msg_device *device = &screen->top.devices[index];
	const struct gp_cli_top_rate *rate = &screen->rates.gpus[index];
	struct gp_cli_canvas *canvas = &screen->canvas;
	u8 percent = index < screen->rates.gpu_count ? rate->busy : GP_TOP_UNKNOWN;
	char text[TEXT];
	int x = IDENTITY;

	snprintf(text, sizeof(text), _("GPU %zu"), index);
	gp_cli_canvas_put(canvas, y, 0, IDENTITY - 1, text, GP_STYLE_BOLD);
	load_text(percent, text, sizeof(text));
	gp_cli_canvas_put(canvas, y, x, LOAD, text, load_style(percent));
	x += LOAD;
	if (widths->policy)
		gp_cli_canvas_put(canvas, y, x, widths->policy,
				  gp_cli_top_policy(&screen->top, device), policy_style(device));
	x += with_gap(widths->policy);
	jobs_text(device, text);
	gp_cli_canvas_put(canvas, y, x, widths->jobs, text,
			  device->held ? GP_STYLE_WARN : GP_STYLE_PLAIN);
	x += with_gap(widths->jobs);
	if (whole)
		x = draw_identity(screen, y, x, index, widths);
	if (!charted && index < screen->rates.gpu_count && canvas->width - x >= 8)
		gp_cli_canvas_chart(canvas, y, x, canvas->width - x, 1, rate->history,
				    GP_TOP_HISTORY, GP_STYLE_NOTE);
}

/* Lines that the chart of each GPU may take, besides its own line; 0: none. */
static int chart_rows(const struct gp_cli_top_screen *screen, int room, size_t gpus)
{
	int rows = gpus ? room / (int)gpus - 1 : 0;

	if (screen->canvas.width < 60 || rows < CHART_LEAST)
		return 0;
	return GP_MIN(rows, CHART_MOST);
}

/* The time below a chart: its begin, its middle, now. */
static void draw_axis(struct gp_cli_top_screen *screen, int y, int x, int width)
{
	struct gp_cli_canvas *canvas = &screen->canvas;
	int third = width / 3;
	char text[64];

	for (int part = 2; part; part--) {
		u64 span = (u64)width * screen->interval_ns * (u64)part / 2;

		snprintf(text, sizeof(text), _("%s ago"), gp_duration_text(span).text);
		gp_cli_canvas_put(canvas, y, part == 2 ? x : x + width / 2, third, text,
				  GP_STYLE_DIM);
	}
	gp_cli_canvas_put(canvas, y, x + width - third, third, _("now"),
			  GP_STYLE_DIM | GP_STYLE_RIGHT);
}

static void draw_chart(struct gp_cli_top_screen *screen, int y, int rows, size_t index)
{
	struct gp_cli_canvas *canvas = &screen->canvas;
	int width = GP_MIN(canvas->width - 6, (int)GP_TOP_HISTORY);

	if (index >= screen->rates.gpu_count)
		return;
	if (rows > AXIS_LEAST)
		draw_axis(screen, y + --rows, 6, width);
	gp_cli_canvas_put(canvas, y, 0, 5, "100%", GP_STYLE_DIM | GP_STYLE_RIGHT);
	if (rows > 2)
		gp_cli_canvas_put(canvas, y + rows - 1, 0, 5, "0%", GP_STYLE_DIM | GP_STYLE_RIGHT);
	gp_cli_canvas_chart(canvas, y, 6, width, rows, screen->rates.gpus[index].history,
			    GP_TOP_HISTORY, GP_STYLE_NOTE);
}

int gp_cli_top_draw_gpus(struct gp_cli_top_screen *screen, int y, int room)
{
	size_t count = screen->top.device_count, shown;
	struct widths widths = measure(&screen->top);
	int rows = chart_rows(screen, room, count);
	/* A narrow screen has a second line for what does not fit, instead of a row of the chart.
	 */
	bool split = rows > CHART_LEAST && IDENTITY + LOAD + with_gap(widths.policy) +
							   with_gap(widths.jobs) +
							   with_gap(widths.address) +
							   with_gap(widths.name) + widths.sensors >
						   screen->canvas.width;
	char text[96];

	room = GP_MAX(room, 1);
	shown = rows ? count : GP_MIN(count, (size_t)room);
	if (shown < count && room > 1)
		shown--; /* a line says how many more */
	screen->first_gpu = GP_MIN(screen->first_gpu, count - shown);
	for (size_t i = 0; i < shown; i++) {
		draw_line(screen, y++, screen->first_gpu + i, &widths, rows != 0, !split);
		if (split)
			draw_identity(screen, y, IDENTITY, screen->first_gpu + i, &widths);
		if (rows)
			draw_chart(screen, y + split, rows - split, screen->first_gpu + i);
		y += rows;
	}
	if (shown < count && room > 1) {
		snprintf(text, sizeof(text),
			 ngettext("%zu more GPU ([ and ] scroll)", "%zu more GPUs ([ and ] scroll)",
				  count - shown),
			 count - shown);
		gp_cli_canvas_put(&screen->canvas, y++, 0, screen->canvas.width, text,
				  GP_STYLE_NOTE);
	}
	return y;
}
