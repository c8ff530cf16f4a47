/* */
#include "live.h"
const struct live_row live_cycles[] = {{0}};
