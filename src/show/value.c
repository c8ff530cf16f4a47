// SPDX-License-Identifier: MIT
#include "show/value.h"

#include "base/i18n.h"
#include "base/json.h"

static void show_ns(u64 ns, struct gp_buf *out)
{
	if (ns < 1000)
		gp_buf_printf(out, "%llu ns", (unsigned long long)ns);
	else if (ns < 1000000)
		gp_buf_printf(out, "%.2f µs", (double)ns / 1e3);
	else if (ns < 1000000000)
		gp_buf_printf(out, "%.2f ms", (double)ns / 1e6);
	else
		gp_buf_printf(out, "%.3f s", (double)ns / 1e9);
}

static void show_bytes(u64 bytes, struct gp_buf *out)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes < 1024) {
		gp_buf_printf(out, "%llu B", (unsigned long long)bytes);
		return;
	}
	for (value /= 1024; value >= 1024 && unit + 1 < GP_ARRAY_SIZE(units); value /= 1024)
		unit++;
	gp_buf_printf(out, "%.1f %s", value, units[unit]);
}

void gp_show_value_text(const struct gp_show_value *value, struct gp_buf *out)
{
	if (value->text) {
		gp_buf_add(out, value->text, value->len);
		return;
	}
	switch (value->unit) {
	case GP_UNIT_MISSING:
	case GP_UNIT_ABSENT:
		gp_buf_puts(out, "-");
		break;
	case GP_UNIT_JSON:
	case GP_UNIT_TEXT:
		break;
	case GP_UNIT_COUNT:
		gp_buf_printf(out, "%llu", (unsigned long long)value->number);
		break;
	case GP_UNIT_HEX:
		gp_buf_printf(out, "0x%llx", (unsigned long long)value->number);
		break;
	case GP_UNIT_NS:
		show_ns(value->number, out);
		break;
	case GP_UNIT_BYTES:
		show_bytes(value->number, out);
		break;
	case GP_UNIT_PERCENT:
		/* A small share must not show as 0. */
		gp_buf_printf(out, value->real > 0 && value->real < 0.1 ? "%.4f %%" : "%.2f %%",
			      value->real);
		break;
	case GP_UNIT_RATE:
		gp_buf_printf(out, "%.1f /s", value->real);
		break;
	case GP_UNIT_REAL:
		gp_buf_printf(out, "%.3g", value->real);
		break;
	case GP_UNIT_BOOL:
		gp_buf_puts(out, value->number ? _("yes") : _("no"));
		break;
	}
}

json_t *gp_show_value_json(const struct gp_show_value *value)
{
	switch (value->unit) {
	case GP_UNIT_JSON:
		return json_incref(value->json);
	case GP_UNIT_TEXT:
		return value->code ? gp_json_str(value->code)
				   : gp_json_text(value->text, value->len);
	case GP_UNIT_COUNT:
	case GP_UNIT_NS:
	case GP_UNIT_BYTES:
		return gp_json_u64_if(true, value->number);
	case GP_UNIT_HEX:
		return gp_json_hex(value->number);
	case GP_UNIT_PERCENT:
	case GP_UNIT_RATE:
	case GP_UNIT_REAL:
		return json_real(value->real);
	case GP_UNIT_BOOL:
		return json_boolean(value->number);
	case GP_UNIT_MISSING:
	case GP_UNIT_ABSENT:
		break;
	}
	return json_null();
}
