/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/absent.h"
#include "daemon/lately.h"
#include "daemon/nvml.h"
#include "daemon/reclaim.h"
#include "sluice/clock.h"
#include "sluice/wire_io.h"

#define DEVICES_PER_USER 8u /* that nobody else has entered */

static int devices_find(const struct arbiter *arbiter, const uint8_t *uuid)
{
	for (int i = 0; i < CORE_MAX_DEVICES; i++) {
		if (arbiter->device[i].used && !memcmp(arbiter->device[i].record.uuid, uuid, 16))
			return i;
	}
	return -1;
}

static const char *devices_judge(const struct sluice_msg_device *message)
{
	if (!sluice_wire_is_text(message->name, sizeof(message->name)))
		return "the device's name is not terminated";
	if (!message->memory_bytes || message->memory_bytes > (1ull << 50) || !message->sms ||
	    message->sms > 100000 || message->mps > 1 || message->simulated > 1)
		return "the device's record makes no sense";
	return NULL;
}

static int devices_tell(struct arbiter *arbiter, uint32_t index)
{
	const struct sluice_msg_device *record = &arbiter->device[index].record;
	struct event event = {.kind = EVENT_DEVICE,
			      .device = index,
			      .device_added = {.mps = record->mps == 1,
					       .sms = record->sms,
					       .memory_bytes = record->memory_bytes}};

	return arbiter_feed(arbiter, &event);
}

/* What tenants did on the GPU that had this place. */
static void devices_forget_past(struct arbiter *arbiter, uint32_t index)
{
	for (uint32_t i = 0; i < CORE_MAX_TENANTS; i++) {
		free(arbiter->tenant[i].past[index]);
		arbiter->tenant[i].past[index] = NULL;
		arbiter->tenant[i].late[index] = 0;
		lately_forget(&arbiter->tenant[i], index);
	}
}

/* Once in the arbiter's life, unless what it is has changed: each program may be its first. */
static void devices_log(struct arbiter *arbiter, int index, const struct sluice_msg_device *before)
{
	const struct sluice_msg_device *record = &arbiter->device[index].record;

	if (!memcmp(before->uuid, record->uuid, sizeof(record->uuid)) &&
	    !strcmp(before->name, record->name) && before->memory_bytes == record->memory_bytes &&
	    before->sms == record->sms && before->mps == record->mps &&
	    before->simulated == record->simulated)
		return;
	log_limited(&arbiter->log_lives, LOG_LEVEL_INFO, arbiter->now_ns,
		    "gpu %d: %s, %u SMs, %llu MiB%s, processes %s", index, record->name,
		    record->sms, (unsigned long long)(record->memory_bytes >> 20),
		    record->simulated ? ", simulated" : "",
		    record->mps ? "overlap (MPS)" : "take turns (no MPS)");
}

static int devices_add(struct arbiter *arbiter, const struct sluice_msg_device *message, uid_t uid,
		       const char **ret_why)
{
	struct sluice_msg_device before;
	uint32_t own = 0;
	int free_index = -1, r;

	for (int i = 0; i < CORE_MAX_DEVICES; i++) {
		bool was_here = !memcmp(arbiter->device[i].record.uuid, message->uuid, 16);

		/* Its own old place, where tenants' pasts are kept, else the first free one. */
		if (!arbiter->device[i].used && (free_index < 0 || was_here))
			free_index = i;
		own += arbiter->device[i].used && arbiter->device[i].uid == uid;
	}
	if (free_index < 0 || (own >= DEVICES_PER_USER && uid)) {
		*ret_why = "more GPUs than the arbiter keeps records of";
		return -EINVAL;
	}
	if (memcmp(arbiter->device[free_index].record.uuid, message->uuid, 16))
		devices_forget_past(arbiter, (uint32_t)free_index);
	before = arbiter->device[free_index].record;
	arbiter->device[free_index] =
		(struct known_device){.used = true, .record = *message, .uid = uid};
	nvml_correct(arbiter->nvml, &arbiter->device[free_index].record);
	r = devices_tell(arbiter, (uint32_t)free_index);
	if (r) {
		arbiter->device[free_index].used = false;
		return r;
	}
	absent_device(arbiter, (uint32_t)free_index);
	arbiter->polled_ns = 0;
	devices_poll(arbiter);
	devices_log(arbiter, free_index, &before);
	return free_index;
}

int devices_enter(struct arbiter *arbiter, const struct sluice_msg_device *message, uid_t uid,
		  const char **ret_why)
{
	struct known_device *device;
	int index;

	*ret_why = devices_judge(message);
	if (*ret_why)
		return -EINVAL;
	index = devices_find(arbiter, message->uuid);
	if (index < 0)
		index = devices_add(arbiter, message, uid, ret_why);
	if (index < 0)
		return index;
	device = &arbiter->device[index];
	device->processes++;
	if (device->record.mps && !message->mps) {
		device->record.mps = 0;
		log_limited(&arbiter->log_peers, LOG_LEVEL_WARNING, arbiter->now_ns,
			    "gpu %d: a process outside MPS has come; best-effort processes take "
			    "turns from now on",
			    index);
		(void)devices_tell(arbiter, (uint32_t)index);
	}
	return index;
}

void devices_settle(struct arbiter *arbiter, uint32_t index)
{
	struct event event = {.kind = EVENT_DEVICE_GONE, .device = index};

	/* Memory that is still being freed is accounted on the device: it stays until then. */
	if (!arbiter->device[index].used || arbiter->device[index].processes ||
	    reclaim_is_on(arbiter, index))
		return;
	arbiter->device[index].used = false;
	absent_device_gone(arbiter, index);
	(void)arbiter_feed(arbiter, &event);
}

void devices_leave(struct arbiter *arbiter, uint32_t index)
{
	arbiter->device[index].processes--;
	devices_settle(arbiter, index);
}

#define POLL_NS (5 * SLUICE_NS_PER_S)

void devices_poll(struct arbiter *arbiter)
{
	const struct nvml_process *processes;
	uint32_t count;

	if (arbiter->now_ns - arbiter->polled_ns < POLL_NS)
		return;
	arbiter->polled_ns = arbiter->now_ns;
	for (uint32_t i = 0; i < CORE_MAX_DEVICES; i++) {
		if (arbiter->device[i].used)
			(void)nvml_processes(arbiter->nvml, arbiter->device[i].record.uuid, 0,
					     arbiter->now_ns, &processes, &count);
	}
}

/* Anyone can register a GPU that is not there: that must not keep a configuration out. */
static bool devices_is_vouched(const struct arbiter *arbiter, const struct known_device *device)
{
	return !device->uid || device->uid == geteuid() ||
	       nvml_knows(arbiter->nvml, device->record.uuid);
}

uint64_t devices_least_bytes(const struct arbiter *arbiter)
{
	uint64_t least = 0;

	for (int i = 0; i < CORE_MAX_DEVICES; i++) {
		const struct known_device *device = &arbiter->device[i];

		if (device->used && devices_is_vouched(arbiter, device) &&
		    (!least || device->record.memory_bytes < least))
			least = device->record.memory_bytes;
	}
	return least;
}
