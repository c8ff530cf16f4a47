/* Makes a fake resource manager and prints its directory; removed when standard input ends. */
#include <stdio.h>

#include "fake.h"

int main(void)
{
	struct fake fake;

	if (fake_create(&fake, "580.159.04"))
		return 1;
	printf("%s\n", fake.dir);
	fflush(stdout);
	while (getchar() != EOF)
		;
	fake_destroy(&fake);
	return 0;
}
