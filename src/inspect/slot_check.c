// SPDX-License-Identifier: MIT
#include "inspect/slot_check.h"

#include "abi/bits.h"
#include "abi/kfd_hqd.h"
#include "base/i18n.h"

enum gp_inspect_check gp_inspect_check_active(const struct gp_kfd_slot *slot)
{
	if (!(slot->valid & GP_SLOT_REGISTERS))
		return GP_CHECK_UNKNOWN;
	return slot->active ? GP_CHECK_OK : GP_CHECK_INACTIVE;
}

enum gp_inspect_check gp_inspect_check_backlog(const struct gp_kfd_slot *slot)
{
	/* The figure is one of packets; SDMA and kernel queues count dwords. */
	if (!(slot->valid & GP_SLOT_BACKLOG) || !slot->aql)
		return GP_CHECK_UNKNOWN;
	return slot->backlog < GP_BACKLOG_HIGH ? GP_CHECK_OK : GP_CHECK_HIGH;
}

enum gp_inspect_check gp_inspect_check_quantum(const struct gp_kfd_slot *slot)
{
	if (!(slot->valid & GP_SLOT_PRIORITY))
		return GP_CHECK_UNKNOWN;
	return gp_bits(slot->quantum, GP_CP_HQD_QUANTUM__QUANTUM_EN__FROM,
		       GP_CP_HQD_QUANTUM__QUANTUM_EN__TO)
		       ? GP_CHECK_OK
		       : GP_CHECK_OFF;
}

enum gp_inspect_check gp_inspect_check_slot(const struct gp_kfd_slot *slot)
{
	enum gp_inspect_check check = gp_inspect_check_active(slot);

	if (check != GP_CHECK_OK)
		return check;
	check = gp_inspect_check_backlog(slot);
	if (check == GP_CHECK_HIGH)
		return check;
	check = gp_inspect_check_quantum(slot);
	return check == GP_CHECK_OFF ? check : GP_CHECK_OK;
}

const char *gp_inspect_check_word(enum gp_inspect_check check)
{
	switch (check) {
	case GP_CHECK_OK:
		return "ok";
	case GP_CHECK_HIGH:
		return "high";
	case GP_CHECK_OFF:
		return "off";
	case GP_CHECK_INACTIVE:
		return "inactive";
	case GP_CHECK_UNKNOWN:
		break;
	}
	return NULL;
}

void gp_inspect_slot_explain(struct gp_buf *out)
{
	gp_buf_puts(
		out,
		_("ACTIVE: the design document says CP_HQD_ACTIVE is 1 while a queue runs. True, "
		  "but it is bit 0 of the third\n"
		  "  word of a dump without names: 'grep CP_HQD_ACTIVE' on hqds never matches. A "
		  "slot whose bit is 0 keeps the\n"
		  "  ring address of an earlier queue; that is no queue.\n"));
	gp_buf_puts(
		out,
		_("BACKLOG: the document says RPTR - WPTR below 100. It is the other way round, "
		  "WPTR - RPTR, modulo the ring,\n"
		  "  and the registers count dwords: an AQL packet is 16. 'ok' is below 100 "
		  "packets, 'high' 100 or more.\n"
		  "  The read pointer moves when a packet is launched, so 0 does not mean that the "
		  "GPU is idle.\n"));
	gp_buf_puts(
		out,
		_("QUANTUM: the document says 512 to 1024. The register cannot hold that as a "
		  "time: bit 0 enables, bit 4 is the\n"
		  "  scale (1 = ms), bits 13:8 the duration. The driver writes 0x111 (on, 1 ms) to "
		  "every queue, and a captured\n"
		  "  MI308X shows just that. 'ok' is enabled; 'off' is a queue that is never "
		  "time-sliced.\n"));
}
