// SPDX-License-Identifier: MIT
/* The text format of Prometheus: see metrics_write.h. */
#include "daemon/metrics/metrics_write.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

static const char *prefix(const char *name)
{
	return strncmp(name, "process_", 8) == 0 ? "" : "gpreempt_";
}

void gp_daemon_metrics_describe(struct gp_buf *out, const char *name, const char *type,
				const char *help)
{
	gp_buf_printf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", prefix(name), name, help,
		      prefix(name), name, type);
}

void gp_daemon_metrics_series(struct gp_buf *out, const char *name)
{
	gp_buf_printf(out, "%s%s", prefix(name), name);
}

static void escape(struct gp_buf *out, const char *value)
{
	for (; *value; value++) {
		if (*value == '\n')
			gp_buf_puts(out, "\\n");
		else if (*value == '"' || *value == '\\')
			gp_buf_printf(out, "\\%c", *value);
		else
			gp_buf_add(out, value, 1);
	}
}

/* The series is open while its last byte is that of its name or the quotation mark of a label. */
void gp_daemon_metrics_label(struct gp_buf *out, const char *label, const char *value)
{
	bool first = !out->len || out->data[out->len - 1] != '"';

	if (!*value)
		return;
	gp_buf_printf(out, "%c%s=\"", first ? '{' : ',', label);
	escape(out, value);
	gp_buf_puts(out, "\"");
}

void gp_daemon_metrics_label_number(struct gp_buf *out, const char *label, u64 value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	gp_daemon_metrics_label(out, label, text);
}

static void close_labels(struct gp_buf *out)
{
	gp_buf_puts(out, out->len && out->data[out->len - 1] == '"' ? "} " : " ");
}

void gp_daemon_metrics_value(struct gp_buf *out, u64 value)
{
	close_labels(out);
	gp_buf_printf(out, "%llu\n", (unsigned long long)value);
}

void gp_daemon_metrics_seconds(struct gp_buf *out, u64 ns)
{
	close_labels(out);
	gp_buf_printf(out, "%llu.%09llu\n", (unsigned long long)(ns / GP_NS_PER_S),
		      (unsigned long long)(ns % GP_NS_PER_S));
}

void gp_daemon_metrics_number(struct gp_buf *out, const char *name, const char *type,
			      const char *help, u64 value)
{
	gp_daemon_metrics_describe(out, name, type, help);
	gp_daemon_metrics_series(out, name);
	gp_daemon_metrics_value(out, value);
}

void gp_daemon_metrics_labelled(struct gp_buf *out, const char *name, const char *label,
				const char *value, u64 count)
{
	gp_daemon_metrics_series(out, name);
	gp_daemon_metrics_label(out, label, value);
	gp_daemon_metrics_value(out, count);
}

/* "0.002", "5": seconds without zeros that say nothing. */
static void bound_text(u64 ns, char *out, size_t size)
{
	int len = snprintf(out, size, "%llu.%09llu", (unsigned long long)(ns / GP_NS_PER_S),
			   (unsigned long long)(ns % GP_NS_PER_S));

	while (out[len - 1] == '0')
		len--;
	out[out[len - 1] == '.' ? len - 1 : len] = '\0';
}

static void open_part(struct gp_buf *out, const char *name, const char *part, const char *class)
{
	gp_daemon_metrics_series(out, name);
	gp_buf_puts(out, part);
	gp_daemon_metrics_label(out, "class", class ? class : "");
}

void gp_daemon_metrics_histogram(struct gp_buf *out, const char *name, const char *class,
				 const struct gp_daemon_spread *spread)
{
	u64 below = 0;

	for (u32 i = 0; i <= GP_DAEMON_SPREAD_BOUNDS; i++) {
		char bound[32] = "+Inf";

		if (i < GP_DAEMON_SPREAD_BOUNDS)
			bound_text(gp_daemon_spread_bound(i), bound, sizeof(bound));
		below += spread->bucket[i];
		open_part(out, name, "_bucket", class);
		gp_daemon_metrics_label(out, "le", bound);
		gp_daemon_metrics_value(out, below);
	}
	open_part(out, name, "_sum", class);
	gp_daemon_metrics_seconds(out, spread->sum_ns);
	open_part(out, name, "_count", class);
	gp_daemon_metrics_value(out, spread->count);
}
