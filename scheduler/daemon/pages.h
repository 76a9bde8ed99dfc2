/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_PAGES_H
#define DAEMON_PAGES_H

/*
 * Shared pages: memfds of fixed size, mapped here for as long as they live. Sealed against
 * shrinking and growing before anyone else sees them, so that no mapping can be made to fault.
 * Mode 0400: reopening a read-only descriptor for writing is refused to other users; page_seal
 * refuses it to everybody, once its owner has mapped it.
 */

#include <stddef.h>

struct page {
	int fd;	     /* read-write; -1: none */
	int read_fd; /* a read-only descriptor of the same page; -1: none was made */
	void *base;
	size_t bytes;
};

/* Zeroed. 0 or -errno. */
int page_create(struct page *page, const char *name, size_t bytes);
void page_finish(struct page *page);

/* Makes read_fd. 0 or -errno. */
int page_make_reader(struct page *page);
/* From now on no new writable mapping can be made, by anyone; those there are go on. */
int page_seal(struct page *page);

#endif
