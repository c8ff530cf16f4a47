// SPDX-License-Identifier: MIT
#include "trace/analyse/claims.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/i18n.h"
#include "base/parse.h"
#include "base/csv.h"

enum column { C_CLAIM, C_TABLE, C_NAME, C_FIELD, C_VALUE, COLUMNS };
static const char *const titles[COLUMNS] = {"claim", "table", "name", "field", "value"};

struct checker {
	const struct gp_trace_submission *submission;
	struct gp_doc *doc;
	struct gp_trace_claims *claims;
	bool header;
};

/* A printed figure: nanoseconds, percent or a plain number, with what its digits allow. */
struct figure {
	double value, slack;
	bool below; /* "<0.01%" */
	enum gp_show_unit unit;
};

/* "136.19ms"; digits may be grouped by commas. */
static bool parse_figure(const struct gp_field *field, struct figure *out)
{
	static const struct {
		const char *name;
		double scale;
		enum gp_show_unit unit;
	} units[] = {{"ns", 1, GP_UNIT_NS},  {"us", 1e3, GP_UNIT_NS},   {"ms", 1e6, GP_UNIT_NS},
		     {"s", 1e9, GP_UNIT_NS}, {"%", 1, GP_UNIT_PERCENT}, {"", 1, GP_UNIT_COUNT}};
	const char *p = field->text, *end = p + field->len, *first;
	double step = 1;
	bool about, fraction = false;

	*out = (struct figure){0};
	out->below = GP_PARSE_LITERAL(&p, end, "<");
	about = GP_PARSE_LITERAL(&p, end, "~");
	for (first = p; p < end && (gp_is_digit(*p) || *p == ',' || (*p == '.' && !fraction));
	     p++) {
		if (*p == '.') {
			fraction = true;
		} else if (*p != ',') {
			out->value = out->value * 10 + (*p - '0');
			step /= fraction ? 10 : 1;
		}
	}
	if (p == first || p - first > 24)
		return false;
	out->value *= step;
	out->slack = about ? out->value / 20 : step;
	for (size_t i = 0; i < GP_ARRAY_SIZE(units); i++) {
		if (strcmp(p, units[i].name) != 0)
			continue;
		out->value *= units[i].scale;
		out->slack *= units[i].scale;
		out->unit = units[i].unit;
		return true;
	}
	return false;
}

/* What a claim is about, put together. */
struct sum {
	u64 calls, total, low, high, bytes;
	const struct gp_trace_use *last;
	bool timed, sized;
};

static void add_use(struct sum *sum, const struct gp_trace_use *use)
{
	if (use->valid & GP_USE_TIMED && (!sum->timed || use->low_ns < sum->low))
		sum->low = use->low_ns;
	if (use->valid & GP_USE_TIMED && use->high_ns > sum->high)
		sum->high = use->high_ns;
	sum->timed |= use->valid & GP_USE_TIMED;
	sum->sized |= use->valid & GP_USE_BYTES;
	sum->bytes += use->bytes;
	sum->calls += gp_trace_use_calls(use);
	sum->total += gp_trace_use_total(use);
	sum->last = use;
}

static bool find_uses(const struct gp_trace_submission *s, enum gp_trace_layer layer,
		      const char *name, struct sum *sum)
{
	size_t len = strlen(name);
	bool all = !len || name[len - 1] == '*';
	const struct gp_trace_use *use;

	if (!all) {
		use = gp_trace_submission_find(s, layer, name);
		if (use)
			add_use(sum, use);
		return use;
	}
	for (size_t i = 0; i < s->use_count; i++) {
		use = &s->uses[i];
		if (use->layer == layer &&
		    (!len || !strncmp(s->names.items[use->name].text, name, len - 1)))
			add_use(sum, use);
	}
	return sum->last;
}

/* A field of the last kernel found. */
static bool shape(const struct gp_trace_use *use, const char *field, double *value)
{
	const struct {
		const char *name;
		u32 needs;
		double value;
	} fields[] = {
		{"grid", GP_USE_GRID, (double)use->grid_high},
		{"workgroup", GP_USE_GRID, (double)use->workgroup},
		{"workgroups", GP_USE_GRID,
		 use->workgroup ? (double)use->grid_high / (double)use->workgroup : 0},
		{"vgpr", GP_USE_REGISTERS, use->vgpr},
		{"sgpr", GP_USE_REGISTERS, use->sgpr},
		{"lds", GP_USE_LDS, (double)use->lds},
		{"scratch", GP_USE_LDS, (double)use->scratch},
		{"wave", GP_USE_WAVE, use->wave},
		{"gpu", GP_USE_GPU, (double)use->gpu},
		{"queue", GP_USE_QUEUE, (double)use->queue},
	};

	for (size_t i = 0; i < GP_ARRAY_SIZE(fields); i++) {
		if (!strcmp(field, fields[i].name)) {
			*value = fields[i].value;
			return use->valid & fields[i].needs;
		}
	}
	return false;
}

static bool of_calls(const struct gp_trace_submission *s, enum gp_trace_layer layer,
		     const char *name, const char *field, double *value)
{
	u64 wall = s->has_wall ? s->last_ns - s->first_ns : 0;
	struct sum sum = {0};

	if (!find_uses(s, layer, name, &sum))
		return false;
	if (!strcmp(field, "calls"))
		*value = (double)sum.calls;
	else if (!strcmp(field, "total"))
		*value = (double)sum.total;
	else if (!strcmp(field, "average") && sum.calls)
		*value = (double)sum.total / (double)sum.calls;
	else if (!strcmp(field, "share") && s->sum_ns[layer])
		*value = 100.0 * (double)sum.total / (double)s->sum_ns[layer];
	else if (!strcmp(field, "share_of_run") && wall)
		*value = 100.0 * (double)sum.total / (double)wall;
	else if (!strcmp(field, "min") && sum.timed)
		*value = (double)sum.low;
	else if (!strcmp(field, "max") && sum.timed)
		*value = (double)sum.high;
	else if (!strcmp(field, "bytes") && sum.sized)
		*value = (double)sum.bytes;
	else
		return shape(sum.last, field, value);
	return true;
}

static bool layer_by_name(const char *name, enum gp_trace_layer *layer)
{
	static const char *const names[GP_SUBMISSION_LAYERS] = {
		[GP_LAYER_HIP] = "hip",
		[GP_LAYER_HSA] = "hsa",
		[GP_LAYER_COPY] = "copy",
		[GP_LAYER_KERNEL] = "kernel",
	};

	for (u32 i = 0; i < GP_SUBMISSION_LAYERS; i++) {
		if (!strcmp(name, names[i])) {
			*layer = i;
			return true;
		}
	}
	return false;
}

/* Time by layer: the moments each was the deepest active one. */
static bool of_layer(const struct gp_trace_submission *s, const char *name, const char *field,
		     double *value)
{
	u64 wall = s->has_wall ? s->last_ns - s->first_ns : 0, alone;
	enum gp_trace_layer layer;

	if (!strcmp(name, "application") && (s->timed[GP_LAYER_HIP] || s->timed[GP_LAYER_HSA]))
		alone = s->application_ns;
	else if (layer_by_name(name, &layer) && s->timed[layer])
		alone = s->alone_ns[layer];
	else
		return false;
	*value = strcmp(field, "share") ? (double)alone : 100.0 * (double)alone / (double)wall;
	return wall && (!strcmp(field, "share") || !strcmp(field, "total"));
}

static bool of_run(const struct gp_trace_submission *s, const char *field, double *value)
{
	const struct gp_trace_use *kernel = NULL;

	for (size_t i = 0; i < s->use_count && !kernel; i++)
		if (s->uses[i].layer == GP_LAYER_KERNEL && s->uses[i].valid & GP_USE_GPU)
			kernel = &s->uses[i];
	if (!strcmp(field, "pid") && s->has_pid && !s->several_pids) {
		*value = s->pid;
		return true;
	}
	if (!strcmp(field, "wall") && s->has_wall) {
		*value = (double)(s->last_ns - s->first_ns);
		return true;
	}
	for (size_t i = 0; !strcmp(field, "cus") && kernel && i < s->device_count; i++) {
		if (s->devices[i].node == kernel->gpu) {
			*value = (double)s->devices[i].cus;
			return true;
		}
	}
	return false;
}

static bool actual(const struct gp_trace_submission *s, const struct gp_field *fields,
		   double *value)
{
	const char *table = fields[C_TABLE].text, *name = fields[C_NAME].text;
	const char *field = fields[C_FIELD].text;
	enum gp_trace_layer layer;

	if (layer_by_name(table, &layer))
		return of_calls(s, layer, name, field, value);
	if (!strcmp(table, "layer"))
		return of_layer(s, name, field, value);
	return !strcmp(table, "run") && of_run(s, field, value);
}

static struct gp_show_value show(enum gp_show_unit unit, double value)
{
	if (unit == GP_UNIT_PERCENT)
		return gp_v_real(unit, value);
	return gp_v_number(unit, value < 0 ? 0 : (u64)(value + 0.5));
}

static void put_row(struct checker *checker, const struct gp_field *fields,
		    const struct figure *figure)
{
	static const char *const codes[] = {"reproduced", "wrong", "absent"};
	const char *const words[] = {_("reproduced"), _("wrong"), _("not in this data")};
	enum gp_trace_claim_verdict verdict = GP_CLAIM_ABSENT;
	double value = 0;

	if (actual(checker->submission, fields, &value)) {
		/* Cut off instead of rounded is right too, and binary fractions are not exact. */
		bool right = figure->below ? value < figure->value
					   : fabs(value - figure->value) <
						     figure->slack * (1 - 1e-9) + 1e-9;

		verdict = right ? GP_CLAIM_REPRODUCED : GP_CLAIM_WRONG;
	}
	checker->claims->counts[verdict]++;
	gp_doc_cell(checker->doc, gp_v_textn(fields[C_CLAIM].text, fields[C_CLAIM].len));
	gp_doc_cell(checker->doc, gp_v_textn(fields[C_VALUE].text, fields[C_VALUE].len));
	gp_doc_cell(checker->doc, gp_v_if(verdict != GP_CLAIM_ABSENT, show(figure->unit, value)));
	gp_doc_cell(checker->doc, gp_v_word(codes[verdict], words[verdict]));
}

static int take_record(void *ctx, const struct gp_csv_record *record)
{
	struct checker *checker = ctx;
	struct figure figure;

	if (!checker->header) {
		checker->header = true;
		for (size_t i = 0; i < COLUMNS; i++)
			if (record->count != COLUMNS || strcmp(record->fields[i].text, titles[i]))
				return -EINVAL;
		return 0;
	}
	/* A claim about something that is in no profile needs no figure. */
	if (record->count != COLUMNS || (!parse_figure(&record->fields[C_VALUE], &figure) &&
					 strcmp(record->fields[C_TABLE].text, "none"))) {
		checker->claims->damaged++;
		return 0;
	}
	put_row(checker, record->fields, &figure);
	return 0;
}

int gp_trace_claims_check(int fd, const char *name, struct gp_diag *diag,
			  const struct gp_trace_submission *submission, struct gp_doc *doc,
			  struct gp_trace_claims *claims)
{
	struct checker checker = {.submission = submission, .doc = doc, .claims = claims};
	struct gp_csv_stats stats;
	int ret;

	memset(claims, 0, sizeof(*claims));
	gp_doc_section(doc, "claims", _("Figures of the document"));
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "claim", _("CLAIM"));
	gp_doc_column(doc, "said", _("SAID"));
	gp_doc_column(doc, "found", _("FOUND"));
	gp_doc_column(doc, "verdict", _("VERDICT"));
	ret = gp_csv_read(fd, name, diag, take_record, &checker, &stats);
	if (ret == -EINVAL || (!ret && !checker.header))
		return gp_fail(diag, -EINVAL,
			       "%s: not a list of claims; its first line must be "
			       "claim,table,name,field,value",
			       name);
	claims->damaged += stats.damaged;
	gp_doc_fact(doc, "reproduced", _("Reproduced"),
		    gp_v_count(claims->counts[GP_CLAIM_REPRODUCED]));
	gp_doc_fact(doc, "wrong", _("Wrong"), gp_v_count(claims->counts[GP_CLAIM_WRONG]));
	gp_doc_fact(doc, "absent", _("Not in this data"),
		    gp_v_count(claims->counts[GP_CLAIM_ABSENT]));
	return ret;
}
