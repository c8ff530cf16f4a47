/* SPDX-License-Identifier: MIT */
/*
 * Writes the text format of Prometheus (version 0.0.4). Names get the prefix gpreempt_, except
 * those that start with "process_". No floating point, so that no locale puts a comma into a
 * number.
 */
#ifndef GP_DAEMON_METRICS_WRITE_H
#define GP_DAEMON_METRICS_WRITE_H

#include "base/buf.h"
#include "daemon/metrics/spread.h"

/* HELP and TYPE of a metric, before its first series. */
void gp_daemon_metrics_describe(struct gp_buf *out, const char *name, const char *type,
				const char *help);

/* A series: its name, any number of labels, then one value. A label without a value is left out. */
void gp_daemon_metrics_series(struct gp_buf *out, const char *name);
void gp_daemon_metrics_label(struct gp_buf *out, const char *label, const char *value);
void gp_daemon_metrics_label_number(struct gp_buf *out, const char *label, u64 value);
void gp_daemon_metrics_value(struct gp_buf *out, u64 value);
void gp_daemon_metrics_seconds(struct gp_buf *out, u64 ns);

/* A metric of one series without labels. */
void gp_daemon_metrics_number(struct gp_buf *out, const char *name, const char *type,
			      const char *help, u64 value);
/* One of several series, with one label. */
void gp_daemon_metrics_labelled(struct gp_buf *out, const char *name, const char *label,
				const char *value, u64 count);
/* All series of a histogram; `class` NULL: without that label. */
void gp_daemon_metrics_histogram(struct gp_buf *out, const char *name, const char *class,
				 const struct gp_daemon_spread *spread);

#endif
