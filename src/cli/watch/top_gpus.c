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

enum { BAR = 12, CHART_LEAST = 2, CHART_MOST = 8, NAME = 22, SIDE = 24 };

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

/* "12.0 GiB of 192.0 GiB  210 W  54 C  1900 MHz", as far as it is known. */
static void sensors_text(const struct gp_inspect_sensors *sensors, char *out, size_t size)
{
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
		gp_buf_printf(&text, "%llu MHz", (unsigned long long)sensors->clock_hz / 1000000);
	snprintf(out, size, "%s", gp_buf_str(&text));
	gp_buf_free(&text);
}

static int put(struct gp_cli_canvas *canvas, int y, int x, int width, const char *text, int style)
{
	gp_cli_canvas_put(canvas, y, x, width, text, style);
	return x + width + 1;
}

/* Index, load, policy, jobs; then what fits: address, name, sensors, and the past. */
static void draw_line(struct gp_cli_top_screen *screen, int y, size_t index, bool charted)
{
	const struct gp_proto_msg_device *device = &screen->top.devices[index];
	const struct gp_gpu *gpu = gp_cli_top_gpu(&screen->top, device->gpu_id);
	const struct gp_cli_top_rate *rate = &screen->rates.gpus[index];
	struct gp_cli_canvas *canvas = &screen->canvas;
	u8 percent = index < screen->rates.gpu_count ? rate->busy : GP_TOP_UNKNOWN;
	char text[128], name[GP_PROTO_NAME + 64];
	int x = 0;

	snprintf(text, sizeof(text), _("GPU %zu"), index);
	x = put(canvas, y, x, 6, text, GP_STYLE_BOLD);
	load_text(percent, text, sizeof(text));
	x = put(canvas, y, x, BAR + 7, text, load_style(percent));
	x = put(canvas, y, x, 11, gp_cli_top_policy(&screen->top, device), policy_style(device));
	snprintf(text, sizeof(text),
		 ngettext("%u job, %u held", "%u jobs, %u held", device->members), device->members,
		 device->held);
	x = put(canvas, y, x, 16, text, device->held ? GP_STYLE_WARN : GP_STYLE_PLAIN);
	*text = '\0';
	if (gpu)
		gp_inspect_pci_address(gpu, text, sizeof(text));
	if (!*text)
		snprintf(text, sizeof(text), "%x", device->gpu_id);
	x = put(canvas, y, x, *text && strlen(text) > 8 ? 12 : 8, text, GP_STYLE_DIM);
	gp_cli_top_gpu_name(&screen->top, device, name, sizeof(name));
	x = put(canvas, y, x, NAME, name, GP_STYLE_PLAIN);
	sensors_text(&screen->top.sensors[index], text, sizeof(text));
	if (*text)
		x = put(canvas, y, x, (int)strlen(text), text, GP_STYLE_PLAIN);
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

static void draw_chart(struct gp_cli_top_screen *screen, int y, int rows, size_t index)
{
	struct gp_cli_canvas *canvas = &screen->canvas;
	int width = GP_MIN(canvas->width - 6, (int)GP_TOP_HISTORY);
	char text[64];

	if (index >= screen->rates.gpu_count)
		return;
	gp_cli_canvas_put(canvas, y, 0, 5, "100%", GP_STYLE_DIM | GP_STYLE_RIGHT);
	snprintf(text, sizeof(text), "%s", gp_duration_text((u64)width * screen->interval_ns).text);
	if (rows > 2)
		gp_cli_canvas_put(canvas, y + rows - 1, 0, 5, "0%", GP_STYLE_DIM | GP_STYLE_RIGHT);
	gp_cli_canvas_chart(canvas, y, 6, width, rows, screen->rates.gpus[index].history,
			    GP_TOP_HISTORY, GP_STYLE_NOTE);
}

int gp_cli_top_draw_gpus(struct gp_cli_top_screen *screen, int y, int room)
{
	size_t count = screen->top.device_count, shown;
	int rows = chart_rows(screen, room, count);
	char text[96];

	room = GP_MAX(room, 1);
	shown = rows ? count : GP_MIN(count, (size_t)room);
	if (shown < count && room > 1)
		shown--; /* a line says how many more */
	screen->first_gpu = GP_MIN(screen->first_gpu, count - shown);
	for (size_t i = 0; i < shown; i++) {
		draw_line(screen, y++, screen->first_gpu + i, rows != 0);
		if (rows)
			draw_chart(screen, y, rows, screen->first_gpu + i);
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
