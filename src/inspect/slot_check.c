// SPDX-License-Identifier: MIT
#include "inspect/slot_check.h"

#include "abi/bits.h"
#include "abi/kfd_hqd.h"

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
