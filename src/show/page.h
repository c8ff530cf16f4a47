/* SPDX-License-Identifier: MIT */
/*
 * A document from JSON, so that a script that has figures gets the look of every other page instead
 * of writing HTML:
 *
 *   {"title": "..", "blocks": [
 *     {"headline": "12 times", "text": ".."}, {"section": ".."}, {"line": ".."}, {"note": ".."},
 *     {"fact": "host", "value": ".."},
 *     {"table": "title or null", "columns": ["A", "B"], "bars": [1], "rows": [["x", {"ns": 5}]]},
 *     {"chart": "title", "of": [["name", {"ns": 5}]]},
 *     {"curves": "title", "of": [["name", [1, 2, 3]]]},
 *     {"lanes": "title", "from_ns": 0, "to_ns": 9, "of": [["name", [[0, 4, "runs"]]]]}]}
 *
 * A value is null, a text, a number, or {"ns": 5}, also "bytes", "percent", "rate", with "text" for
 * what people see instead and "colour": "red", "green" or "yellow". Spans are "runs", "waits" or
 * "suspended".
 */
#ifndef GP_SHOW_PAGE_H
#define GP_SHOW_PAGE_H

#include "base/diag.h"
#include "show/doc.h"

/* NULL if the JSON is not as above, which is said on diag with the number of the block. */
struct gp_doc *gp_show_page(const json_t *json, struct gp_diag *diag);

#endif
