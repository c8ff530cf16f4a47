/* */
#include "live.h"
const struct live_row live_control[] = {{0}};
