/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_NVML_H
#define DAEMON_NVML_H

/*
 * What the driver itself says about real GPUs, where libnvidia-ml.so.1 is there: their memory,
 * and which processes use them. The library takes milliseconds, or hangs: a thread of its own asks
 * it for processes, and nobody waits for that; what is called here is the loop's, one thread. All
 * functions take NULL for "not there". GPUs are named by UUID.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/wire.h"

#define NVML_MAX_PROCESSES 256

struct nvml;

struct nvml_process {
	pid_t pid;
	uint64_t memory_bytes; /* 0: not known */
};

struct nvml *nvml_open(void);
/* The same with the library's entries looked up by the caller. */
typedef void *(*nvml_find_function)(const char *name);
struct nvml *nvml_open_by(nvml_find_function find);
void nvml_close(struct nvml *nvml);

/* Puts the driver's own memory size into the record, if it knows the GPU. */
void nvml_correct(struct nvml *nvml, struct sluice_msg_device *record);
bool nvml_knows(struct nvml *nvml, const uint8_t *uuid);
/* Processes on the GPU, at most NVML_MAX_PROCESSES, as of `since_ns` or later; a later answer is
 * asked for where the last is older than a second. The array stands until the next call for that
 * GPU. -EAGAIN: there is no such answer (yet); -ENODEV: the library does not know. */
int nvml_processes(struct nvml *nvml, const uint8_t *uuid, uint64_t since_ns, uint64_t now_ns,
		   const struct nvml_process **ret_processes, uint32_t *ret_count);

#endif
