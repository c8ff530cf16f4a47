// SPDX-License-Identifier: MIT
/* A program that no library can be loaded into. */
int main(void)
{
	return 0;
}
