/* */
#include "live.h"
const struct live_row live_breaks[] = {{0}};
