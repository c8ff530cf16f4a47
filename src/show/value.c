// SPDX-License-Identifier: MIT
/*
 * How a value reads, per unit. A missing value is "-" in text and null in JSON; a small percentage
 * keeps enough digits not to read as 0.
 */
#include "show/value.h"

#include <math.h>

#include "base/i18n.h"
#include "base/json.h"
#include "base/units.h"

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
		gp_buf_puts(out, gp_duration_text(value->number).text);
		break;
	case GP_UNIT_BYTES:
		gp_buf_puts(out, gp_size_text(value->number).text);
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
		return isfinite(value->real) ? json_real(value->real) : json_null();
	case GP_UNIT_BOOL:
		return json_boolean(value->number);
	case GP_UNIT_MISSING:
	case GP_UNIT_ABSENT:
		break;
	}
	return json_null();
}
