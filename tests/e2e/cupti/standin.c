/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for libcupti: one subscriber, one pair of callbacks, and, while kernels are asked for,
 * every flush period a buffer with records of the one kernel that STANDIN_KERNEL names: each
 * 1 x 1 blocks of 1 thread, 7 ms. Says at the end of the process what was asked of it.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record {
	uint32_t kind, reserved0[3];
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3], shared[2];
	uint32_t local[2], correlation;
	int64_t grid_id;
	const char *name;
};
_Static_assert(offsetof(struct record, grid) == 52 && offsetof(struct record, name) == 104,
	       "CUPTI's layout");

static void (*want)(uint8_t **, size_t *, size_t *);
static void (*take)(void *, uint32_t, uint8_t *, size_t, size_t);
static _Atomic int subscribed, enabled, period_ms;
static unsigned int delivered, registered;

int cuptiSubscribe(void **subscriber, void *callback, void *closure)
{
	*subscriber = &subscribed;
	return subscribed++ ? (subscribed--, 39) : 0;
}

int cuptiUnsubscribe(void *subscriber)
{
	subscribed = 0;
	return 0;
}

int cuptiActivityRegisterCallbacks(void *wants, void *takes)
{
	registered++;
	want = wants;
	take = takes;
	return 0;
}

int cuptiActivityEnable(uint32_t kind)
{
	enabled = kind == 10;
	return kind == 10 ? 0 : 1;
}

int cuptiActivityDisable(uint32_t kind)
{
	enabled = 0;
	return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	uint8_t *at = *record ? (uint8_t *)*record + sizeof(struct record) : buffer;

	if (at + sizeof(struct record) > buffer + valid)
		return 12;
	*record = at;
	return 0;
}

static void deliver(void)
{
	const char *name = getenv("STANDIN_KERNEL");
	uint8_t *buffer = NULL;
	size_t size = 0, records = 0;

	want(&buffer, &size, &records);
	for (int i = 0; buffer && i < 4; i++) {
		struct record record = {.kind = 10,
					.start = 1000,
					.end = 7001000,
					.grid = {1, 1, 1},
					.block = {1, 1, 1},
					.name = name ? name : "none"};

		memcpy(buffer + i * sizeof(record), &record, sizeof(record));
		delivered++;
	}
	if (buffer)
		take(NULL, 0, buffer, size, 4 * sizeof(struct record));
}

static void *work(void *closure)
{
	for (;;) {
		usleep(10000);
		if (enabled && period_ms)
			deliver();
	}
	return NULL;
}

int cuptiActivityFlushPeriod(uint32_t ms)
{
	static int started;
	pthread_t thread;

	period_ms = (int)ms;
	if (!started++ && ms)
		pthread_create(&thread, NULL, work, NULL);
	return 0;
}

static __attribute__((destructor)) void report(void)
{
	if (registered)
		fprintf(stderr, "standin: registered %u subscribed %d enabled %d records %s\n",
			registered, subscribed, enabled, delivered ? "yes" : "no");
}
