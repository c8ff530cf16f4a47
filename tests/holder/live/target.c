/* */
#include "live.h"
const struct live_row live_target[] = {{0}};
