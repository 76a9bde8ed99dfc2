/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arbiter: hands out pages and decides nothing, so that what is measured between two processes is
 * their own gate. No guard: its end would be a wait of known length in every figure. Prints its
 * socket's path, and ends when its input does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake_arbiter.h"

int main(void)
{
	static struct fake_arbiter fake;
	char byte;

	fake_arbiter_init(&fake);
	fake.grant_flags = SLUICE_GRANT_EXCLUSIVE | SLUICE_GRANT_WAITERS;
	fake_arbiter_start(&fake);
	printf("%s\n", fake.path);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
	fake_arbiter_stop(&fake);
	fake_arbiter_finish(&fake);
	return EXIT_SUCCESS;
}
