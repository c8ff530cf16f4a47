// SPDX-License-Identifier: MIT
#include "cli/daemon/why_slices.h"

#include <string.h>

#include "base/i18n.h"
#include "base/units.h"

static void add_slice(struct gp_doc *doc, const struct gp_proto_msg_job *job)
{
	switch (job->slice_state) {
	case GP_SLICE_CONFIRMED:
		gp_doc_line(doc, "The driver reports a time slice of %s for it.",
			    gp_duration_text(job->slice_us * 1000ull).text);
		break;
	case GP_SLICE_REQUESTED:
		gp_doc_line(doc, "gpreemptd has requested a time slice for it, which the driver "
				 "has not confirmed yet.");
		break;
	case GP_SLICE_FAILED:
		gp_doc_line(doc, "Its time slice cannot be set: %s. gpreemptd keeps trying.",
			    strerror(-job->slice_error));
		break;
	default:
		break;
	}
}

static void add_activity(struct gp_doc *doc, const struct gp_proto_msg_job *job)
{
	if (!job->activity)
		return;
	gp_doc_line(doc,
		    ngettext("It got the GPU %llu time and had %u.%u %% of its time in the last "
			     "second.",
			     "It got the GPU %llu times and had %u.%u %% of its time in the last "
			     "second.",
			     (unsigned long)job->switches),
		    (unsigned long long)job->switches, job->share_ppm / 10000,
		    job->share_ppm / 1000 % 10);
	gp_doc_line(doc,
		    ngettext("The hardware preempted it %llu time; it waited %s in total.",
			     "The hardware preempted it %llu times; it waited %s in total.",
			     (unsigned long)job->switched_out),
		    (unsigned long long)job->switched_out, gp_duration_text(job->lost_ns).text);
}

static void add_memory(struct gp_doc *doc, const struct gp_proto_msg_job *job)
{
	if (job->memory && job->held_since != GP_DAEMON_NEVER)
		gp_doc_line(doc, "While it waits it keeps %s of GPU memory.",
			    gp_size_text(job->memory).text);
	else if (job->memory)
		gp_doc_line(doc, "It has %s of GPU memory.", gp_size_text(job->memory).text);
	if (*job->swap_said)
		gp_doc_line(doc, "It was not swapped out: %.*s.", (int)sizeof(job->swap_said),
			    job->swap_said);
}

void gp_cli_why_slices(struct gp_doc *doc, const struct gp_proto_msg_job *job)
{
	gp_doc_line(doc, job->activity ? _("The GPU divides its time between jobs in time "
					   "slices (nv-timeslice).")
				       : _("The GPU divides its time between jobs in time slices "
					   "(nv-timeslice); gpreemptd cannot determine which "
					   "jobs have work."));
	add_slice(doc, job);
	add_activity(doc, job);
	add_memory(doc, job);
}
