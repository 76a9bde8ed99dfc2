/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers as bad as they can be, for a time. What becomes of them is of no interest; they fail only
 * where they get what they must not.
 *
 * hostile noise SOCKET SEED     packets of random bytes, and random ones with a right header, with
 *                               descriptors beside them; from many connections
 * hostile flood SOCKET COUNT    so many connections at once, most of them mute; waits for SIGTERM
 * hostile versions SOCKET       hellos of versions that there are not: each must be refused
 * hostile deaf SOCKET           asks for status for ever and never reads an answer: must be cut off
 * hostile scribble SEED         uses the GPU, and writes over all that it shares with the arbiter;
 *                               must not get write access to what it shares with others
 * hostile hold | fresh          uses the GPU once; then says in its activity page, for ever, that it is
 *                               active, with a new epoch each time, or that it was until just now
 */
#include <cuda.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sluice/pages.h"
#include "sluice/wire_io.h"

#define SECONDS 2 /* of noise and scribbling */
#define MAPS 64

static uint64_t seed;

static uint64_t next(void)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint64_t deadline_ns(void)
{
	return sluice_now_ns() + SECONDS * SLUICE_NS_PER_S;
}

static int fail(const char *what)
{
	printf("%s\n", what);
	return 1;
}

/* ---- on the socket ------------------------------------------------------------------------------ */

static unsigned char bytes[1 << 17];

static void noise_send(int fd)
{
	static const uint32_t sizes[] = {1, 15, 16, 24, 32, 40, 128, 160, 208, 528, 1024, 1025};
	uint32_t size = next() % 8 ? sizes[next() % (sizeof(sizes) / sizeof(sizes[0]))]
				   : (uint32_t)(next() % sizeof(bytes));
	int fds[SLUICE_WIRE_FDS] = {0, 1, 2, fd};

	for (uint32_t i = 0; i < size; i += 8) {
		uint64_t value = next() % 4 ? next() : 0;

		memcpy(bytes + i, &value, 8);
	}
	/* A header that is right as far as it goes: of a kind that there is, mostly. */
	if (next() % 2)
		sluice_wire_head(bytes, (uint32_t)(next() % 48), size, (uint32_t)next(), 0);
	if (next() % 2 && size >= 16 && size <= SLUICE_PACKET_MAX) {
		sluice_wire_head(bytes, (uint32_t)(next() % 48), size, (uint32_t)next(), 0);
		(void)sluice_wire_send(fd, bytes, fds, (unsigned int)(next() % 5), MSG_DONTWAIT);
		return;
	}
	(void)send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* A session or a tool's, so that the noise after it is heard as such. */
static void noise_greet(int fd)
{
	struct sluice_msg_hello hello = {.version = SLUICE_PROTOCOL_VERSION,
					 .oldest = SLUICE_PROTOCOL_OLDEST,
					 .session = next() % 2 ? next() : 0,
					 .program = "noise"};
	struct sluice_msg_tool tool = {.version = SLUICE_PROTOCOL_VERSION,
				       .oldest = SLUICE_PROTOCOL_OLDEST};

	if (next() % 2) {
		sluice_wire_head(&hello, SLUICE_MSG_HELLO, sizeof(hello), 1, 0);
		(void)sluice_wire_send(fd, &hello, NULL, 0, MSG_DONTWAIT);
	} else {
		sluice_wire_head(&tool, SLUICE_MSG_TOOL, sizeof(tool), 1, 0);
		(void)sluice_wire_send(fd, &tool, NULL, 0, MSG_DONTWAIT);
	}
}

static int noise(const char *path)
{
	uint64_t until_ns = deadline_ns();
	unsigned long connections = 0;

	while (sluice_now_ns() < until_ns) {
		int fd = sluice_wire_connect(path);

		if (fd < 0)
			return fail("the arbiter does not listen any more");
		if (next() % 4)
			noise_greet(fd);
		for (uint64_t i = next() % 16; i; i--)
			noise_send(fd);
		close(fd);
		connections++;
	}
	printf("%lu connections\n", connections);
	return 0;
}

static int flood(const char *path, int count)
{
	struct rlimit limit = {.rlim_cur = 65536, .rlim_max = 65536};
	int open_now = 0;

	if (setrlimit(RLIMIT_NOFILE, &limit)) {
		(void)getrlimit(RLIMIT_NOFILE, &limit);
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	for (int i = 0; i < count; i++) {
		int fd = sluice_wire_connect(path);

		if (fd < 0)
			break;
		if (i % 4 == 0)
			noise_greet(fd);
		open_now++;
	}
	printf("%d connections\n", open_now);
	fflush(stdout);
	pause();
	return 0;
}

static int versions(const char *path)
{
	static const uint32_t spoken[][2] = {
		{0, 0}, {99, 99}, {99, 2}, {~0u, ~0u}, {0, SLUICE_PROTOCOL_VERSION}};

	for (size_t i = 0; i < sizeof(spoken) / sizeof(spoken[0]); i++) {
		struct sluice_msg_hello hello = {.version = spoken[i][0], .oldest = spoken[i][1]};
		struct sluice_packet answer;
		int fd = sluice_wire_connect(path);

		if (fd < 0)
			return fail("cannot connect");
		sluice_wire_head(&hello, SLUICE_MSG_HELLO, sizeof(hello), 1, 0);
		if (sluice_wire_send(fd, &hello, NULL, 0, 0) ||
		    sluice_wire_recv(fd, &answer, 0) != 1)
			return fail("a version that there is not has no answer");
		if (answer.header.type != SLUICE_MSG_REFUSED || answer.fd_count)
			return fail("a version that there is not is welcome");
		if (sluice_wire_recv(fd, &answer, 0) != 0)
			return fail("a refused connection stays");
		close(fd);
	}
	return 0;
}

static int deaf(const char *path)
{
	struct sluice_msg_tool tool = {.version = SLUICE_PROTOCOL_VERSION,
				       .oldest = SLUICE_PROTOCOL_OLDEST};
	struct sluice_msg_header ask;
	int fd = sluice_wire_connect(path);

	if (fd < 0)
		return fail("cannot connect");
	sluice_wire_head(&tool, SLUICE_MSG_TOOL, sizeof(tool), 1, 0);
	(void)sluice_wire_send(fd, &tool, NULL, 0, 0);
	sluice_wire_head(&ask, SLUICE_MSG_STATUS, sizeof(ask), 2, 0);
	/* Blocks where the arbiter does not take any more, and fails once it has hung up. */
	while (!sluice_wire_send(fd, &ask, NULL, 0, 0))
		;
	return 0;
}

/* ---- on the shared pages ------------------------------------------------------------------------ */

struct map {
	char *base;
	size_t size;
	bool writable;
};

static int find_maps(struct map *maps)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];
	int count = 0;

	while (file && count < MAPS && fgets(line, sizeof(line), file)) {
		unsigned long from, to;
		char mode[8];

		if (!strstr(line, "memfd:sluice") ||
		    sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3)
			continue;
		maps[count++] = (struct map){
			.base = (char *)from, .size = to - from, .writable = mode[1] == 'w'};
	}
	if (file)
		fclose(file);
	return count;
}

/* What is mapped read-only belongs to another process. */
static int try_to_write(const struct map *map)
{
	char path[96];
	int fd;

	if (!mprotect(map->base, map->size, PROT_READ | PROT_WRITE))
		return fail("a read-only page can be made writable");
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)map->base,
		 (unsigned long)map->base + map->size);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return 0;
	/* Root may open it; the seals are what counts. */
	if (mmap(NULL, map->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
		return fail("another process's page can be mapped writable");
	if (write(fd, "x", 1) == 1 || !ftruncate(fd, 0))
		return fail("another process's page can be written or cut");
	close(fd);
	return 0;
}

static void *scribble(void *unused)
{
	struct map maps[MAPS];
	uint64_t until_ns = deadline_ns();
	int count = 0, wrong = 0, read_only = 0;
	unsigned long written = 0, turns = 0;

	while (sluice_now_ns() < until_ns) {
		const struct map *map;

		if (turns++ % 4096 == 0)
			count = find_maps(maps);
		if (!count)
			continue;
		map = &maps[next() % (uint64_t)count];
		if (!map->writable) {
			wrong += try_to_write(map);
			read_only++;
			continue;
		}
		*(uint64_t *)(map->base + next() % (map->size / 8) * 8) =
			next() % 3 ? next() : next() % 2;
		written++;
	}
	printf("scribbled %lu words, %d pages of others tried\n", written, read_only);
	fflush(stdout);
	/* The rest of the process is in whatever state it is. */
	_exit(written ? wrong != 0 : 1);
	return unused;
}

static int scribble_and_use(void)
{
	pthread_t thread;
	CUcontext context;
	CUdeviceptr block;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
	    cuMemAlloc(&block, 1 << 20) || cuMemsetD8(block, 1, 1 << 20))
		return fail("no GPU");
	if (pthread_create(&thread, NULL, scribble, NULL))
		return fail("no thread");
	for (;;) {
		CUdeviceptr other = 0;

		(void)cuMemAlloc(&other, 16 << 20);
		(void)cuMemsetD8Async(block, 2, 1 << 20, NULL);
		(void)cuStreamSynchronize(NULL);
		if (other)
			(void)cuMemFree(other);
	}
}

/* The activity page's devices, as the others see them; NULL: it has none yet. */
static struct sluice_activity *find_activity(void)
{
	struct map maps[MAPS];
	int count = find_maps(maps);

	for (int i = 0; i < count; i++) {
		struct sluice_activity *page = (struct sluice_activity *)maps[i].base;

		if (maps[i].writable && maps[i].size >= sizeof(*page) &&
		    page->magic == SLUICE_ACTIVITY_MAGIC)
			return page;
	}
	return NULL;
}

static int hold_others(bool fresh)
{
	struct timespec span = {.tv_nsec = 50000};
	struct sluice_activity *page = NULL;
	CUcontext context;
	CUdeviceptr block;
	uint64_t epoch = 0;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
	    cuMemAlloc(&block, 1 << 20))
		return fail("no GPU");
	while (!page) {
		if (cuMemsetD8Async(block, 1, 1 << 20, NULL) || cuStreamSynchronize(NULL))
			return fail("no memset");
		page = find_activity();
	}
	printf("holding\n");
	fflush(stdout);
	for (;;) {
		for (int i = 0; i < SLUICE_MAX_DEVICES; i++) {
			struct sluice_activity_device *device = &page->device[i];

			atomic_store(&device->idle_since_ns, fresh ? UINT64_MAX : 0);
			atomic_store(&device->word, ++epoch << 32 | !fresh);
		}
		nanosleep(&span, NULL);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "", *path = argc > 2 ? argv[2] : "";
	unsigned long number = strtoul(argv[argc - 1], NULL, 10);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	seed = number;
	if (!strcmp(mode, "noise"))
		return noise(path);
	if (!strcmp(mode, "flood"))
		return flood(path, (int)number);
	if (!strcmp(mode, "versions"))
		return versions(path);
	if (!strcmp(mode, "deaf"))
		return deaf(path);
	if (!strcmp(mode, "scribble"))
		return scribble_and_use();
	if (!strcmp(mode, "hold") || !strcmp(mode, "fresh"))
		return hold_others(!strcmp(mode, "fresh"));
	return 2;
}
