/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif

static int page_fill(struct page *page, size_t bytes)
{
	if (ftruncate(page->fd, (off_t)bytes) || fchmod(page->fd, 0400) ||
	    fcntl(page->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return -errno;
	page->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, page->fd, 0);
	if (page->base == MAP_FAILED) {
		page->base = NULL;
		return -errno;
	}
	page->bytes = bytes;
	return 0;
}

int page_create(struct page *page, const char *name, size_t bytes)
{
	int r;

	*page = (struct page){.fd = -1, .read_fd = -1};
	page->fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (page->fd < 0)
		return -errno;
	r = page_fill(page, bytes);
	if (r)
		page_finish(page);
	return r;
}

void page_finish(struct page *page)
{
	if (page->base)
		munmap(page->base, page->bytes);
	if (page->fd >= 0)
		close(page->fd);
	if (page->read_fd >= 0)
		close(page->read_fd);
	*page = (struct page){.fd = -1, .read_fd = -1};
}

int page_make_reader(struct page *page)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", page->fd);
	page->read_fd = open(path, O_RDONLY | O_CLOEXEC);
	return page->read_fd < 0 ? -errno : 0;
}

int page_seal(struct page *page)
{
	return fcntl(page->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) ? -errno : 0;
}
