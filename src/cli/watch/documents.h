/* SPDX-License-Identifier: MIT */
/*
 * The documents of the commands in this folder, made from the data of inspect/. The commands print
 * them; tests read them. Each returns a new document, or NULL without memory.
 */
#ifndef GP_CLI_WATCH_DOCUMENTS_H
#define GP_CLI_WATCH_DOCUMENTS_H

#include "inspect/doctor.h"
#include "inspect/ps.h"
#include "show/doc.h"

/* The table sums over GPUs; JSON has each GPU. */
struct gp_doc *gp_cli_ps_doc(const struct gp_inspect_ps *ps);
struct gp_doc *gp_cli_doctor_doc(const struct gp_inspect_doctor *d);

#endif
