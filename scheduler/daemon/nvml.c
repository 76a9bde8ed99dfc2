/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/nvml.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "sluice/clock.h"

#define MAX_GPUS 16
#define KEEP_NS SLUICE_NS_PER_S
#define STALE_NS (20 * SLUICE_NS_PER_S) /* an answer that old says nothing */
#define CLOSE_S 2			/* at the end a call that hangs is waited for so long */
#define NVML_SUCCESS 0

/* The few declarations needed: the header is not part of the CUDA toolkit. Layouts as in NVML 12
 * and 13; the _v3 process queries are there since driver 510. */
typedef void *nvml_device_handle;
struct nvml_memory {
	unsigned long long total, free, used;
};
struct nvml_process_info {
	unsigned int pid;
	unsigned long long used_gpu_memory; /* all ones: not available */
	unsigned int gpu_instance_id, compute_instance_id;
};
typedef int (*nvml_init_fn)(void);
typedef int (*nvml_count_fn)(unsigned int *);
typedef int (*nvml_handle_fn)(unsigned int, nvml_device_handle *);
typedef int (*nvml_uuid_fn)(nvml_device_handle, char *, unsigned int);
typedef int (*nvml_memory_fn)(nvml_device_handle, struct nvml_memory *);
typedef int (*nvml_processes_fn)(nvml_device_handle, unsigned int *, struct nvml_process_info *);

/* A time in an answer is when it was asked for. */
struct nvml_answer {
	uint64_t at_ns; /* 0: there is none */
	int status;
	uint32_t count;
	struct nvml_process process[NVML_MAX_PROCESSES];
};

struct nvml_gpu {
	nvml_device_handle handle;
	uint8_t uuid[16];
	uint64_t memory_bytes;
	struct nvml_answer shown; /* the loop's own copy */
	/* Under nvml->lock: */
	struct nvml_answer answer;
	uint64_t wanted_ns; /* asked for then, and not begun; 0: nothing is */
	uint64_t begun_ns;  /* the same of what the thread asks now */
};

/* The library may take as long as it likes: a thread of its own asks it, and the arbiter's loop
 * looks at what there is. */
struct nvml {
	void *library;
	nvml_init_fn init, shutdown;
	nvml_count_fn count;
	nvml_handle_fn handle;
	nvml_uuid_fn uuid;
	nvml_memory_fn memory;
	nvml_processes_fn processes, mps_processes;
	uint32_t gpus;
	struct nvml_gpu gpu[MAX_GPUS];
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change; /* something is wanted, or the end; the thread has ended */
	bool ending, ended;
};

/* "GPU-" and 32 hexadecimal digits with dashes between. */
static bool parse_uuid(const char *text, uint8_t *ret_uuid)
{
	unsigned int digits = 0;

	if (strncmp(text, "GPU-", 4))
		return false;
	memset(ret_uuid, 0, 16);
	for (text += 4; *text; text++) {
		unsigned int value;

		if (*text == '-')
			continue;
		if (!isxdigit((unsigned char)*text) || digits == 32)
			return false;
		value = isdigit((unsigned char)*text)
				? (unsigned int)(*text - '0')
				: (unsigned int)(tolower((unsigned char)*text) - 'a') + 10;
		ret_uuid[digits / 2] = (uint8_t)(ret_uuid[digits / 2] << 4 | value);
		digits++;
	}
	return digits == 32;
}

static void *nvml_entry(const struct nvml *nvml, nvml_find_function find, const char *name)
{
	return find ? find(name) : dlsym(nvml->library, name);
}

static bool nvml_load(struct nvml *nvml, nvml_find_function find)
{
	const struct {
		const char *name;
		void *where;
	} entries[] = {
		{"nvmlInit_v2", &nvml->init},
		{"nvmlShutdown", &nvml->shutdown},
		{"nvmlDeviceGetCount_v2", &nvml->count},
		{"nvmlDeviceGetHandleByIndex_v2", &nvml->handle},
		{"nvmlDeviceGetUUID", &nvml->uuid},
		{"nvmlDeviceGetMemoryInfo", &nvml->memory},
		{"nvmlDeviceGetComputeRunningProcesses_v3", &nvml->processes},
		{"nvmlDeviceGetMPSComputeRunningProcesses_v3", &nvml->mps_processes},
	};

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		void *entry = nvml_entry(nvml, find, entries[i].name);

		if (!entry)
			return false;
		memcpy(entries[i].where, &entry, sizeof(entry));
	}
	return nvml->init() == NVML_SUCCESS;
}

static void nvml_list(struct nvml *nvml)
{
	unsigned int count = 0;

	if (nvml->count(&count) != NVML_SUCCESS)
		return;
	for (unsigned int i = 0; i < count && nvml->gpus < MAX_GPUS; i++) {
		struct nvml_gpu *gpu = &nvml->gpu[nvml->gpus];
		struct nvml_memory memory = {0};
		char uuid[96] = "";

		if (nvml->handle(i, &gpu->handle) != NVML_SUCCESS ||
		    nvml->uuid(gpu->handle, uuid, sizeof(uuid)) != NVML_SUCCESS ||
		    !parse_uuid(uuid, gpu->uuid))
			continue;
		if (nvml->memory(gpu->handle, &memory) == NVML_SUCCESS)
			gpu->memory_bytes = memory.total;
		nvml->gpus++;
	}
}

/* ---- the thread ------------------------------------------------------------------------------------ */

static int nvml_ask(struct nvml_gpu *gpu, nvml_processes_fn ask, struct nvml_answer *answer)
{
	struct nvml_process_info info[NVML_MAX_PROCESSES];
	unsigned int count = NVML_MAX_PROCESSES;
	int r = ask(gpu->handle, &count, info);

	/* Also when there are more than fit: a part would read as all. */
	if (r != NVML_SUCCESS)
		return -ENODEV;
	for (unsigned int i = 0; i < count; i++) {
		if (answer->count == NVML_MAX_PROCESSES)
			break;
		answer->process[answer->count++] = (struct nvml_process){
			.pid = (pid_t)info[i].pid,
			.memory_bytes =
				info[i].used_gpu_memory == ~0ull ? 0 : info[i].used_gpu_memory};
	}
	return 0;
}

/* With the lock, and without it while the library is at work. */
static void nvml_serve(struct nvml *nvml, struct nvml_gpu *gpu)
{
	struct nvml_answer answer = {.at_ns = gpu->wanted_ns};

	gpu->begun_ns = gpu->wanted_ns;
	gpu->wanted_ns = 0;
	pthread_mutex_unlock(&nvml->lock);
	answer.status = nvml_ask(gpu, nvml->processes, &answer);
	/* Not all drivers answer for MPS; its processes are then in the other list. */
	if (!answer.status)
		(void)nvml_ask(gpu, nvml->mps_processes, &answer);
	pthread_mutex_lock(&nvml->lock);
	gpu->answer = answer;
	gpu->begun_ns = 0;
}

static struct nvml_gpu *nvml_wanted(struct nvml *nvml)
{
	for (uint32_t i = 0; i < nvml->gpus; i++) {
		if (nvml->gpu[i].wanted_ns)
			return &nvml->gpu[i];
	}
	return NULL;
}

static void *nvml_run(void *argument)
{
	struct nvml *nvml = argument;

	pthread_mutex_lock(&nvml->lock);
	while (!nvml->ending) {
		struct nvml_gpu *gpu = nvml_wanted(nvml);

		if (gpu)
			nvml_serve(nvml, gpu);
		else
			pthread_cond_wait(&nvml->change, &nvml->lock);
	}
	nvml->ended = true;
	pthread_cond_broadcast(&nvml->change);
	pthread_mutex_unlock(&nvml->lock);
	return NULL;
}

static bool nvml_start(struct nvml *nvml)
{
	sigset_t all, before;
	int r;

	pthread_mutex_init(&nvml->lock, NULL);
	pthread_cond_init(&nvml->change, NULL);
	/* Signals are the loop's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&nvml->thread, NULL, nvml_run, nvml);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !r;
}

/* False: the library does not come back; then nothing of it may be taken away. */
static bool nvml_stop(struct nvml *nvml)
{
	struct timespec until;
	bool ended;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += CLOSE_S;
	pthread_mutex_lock(&nvml->lock);
	nvml->ending = true;
	pthread_cond_broadcast(&nvml->change);
	while (!nvml->ended &&
	       pthread_cond_timedwait(&nvml->change, &nvml->lock, &until) != ETIMEDOUT)
		;
	ended = nvml->ended;
	pthread_mutex_unlock(&nvml->lock);
	if (ended)
		pthread_join(nvml->thread, NULL);
	else
		pthread_detach(nvml->thread);
	return ended;
}

/* ---- the loop's side --------------------------------------------------------------------------------- */

static void nvml_unload(struct nvml *nvml)
{
	if (nvml->library)
		dlclose(nvml->library);
	free(nvml);
}

struct nvml *nvml_open_by(nvml_find_function find)
{
	struct nvml *nvml = calloc(1, sizeof(*nvml));

	if (!nvml)
		return NULL;
	if (!find)
		nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if ((!find && !nvml->library) || !nvml_load(nvml, find)) {
		nvml_unload(nvml);
		return NULL;
	}
	nvml_list(nvml);
	if (nvml_start(nvml))
		return nvml;
	nvml->shutdown();
	nvml_unload(nvml);
	return NULL;
}

struct nvml *nvml_open(void)
{
	return nvml_open_by(NULL);
}

void nvml_close(struct nvml *nvml)
{
	if (!nvml || !nvml_stop(nvml))
		return;
	pthread_cond_destroy(&nvml->change);
	pthread_mutex_destroy(&nvml->lock);
	nvml->shutdown();
	nvml_unload(nvml);
}

static struct nvml_gpu *nvml_find(struct nvml *nvml, const uint8_t *uuid)
{
	for (uint32_t i = 0; nvml && i < nvml->gpus; i++) {
		if (!memcmp(nvml->gpu[i].uuid, uuid, 16))
			return &nvml->gpu[i];
	}
	return NULL;
}

bool nvml_knows(struct nvml *nvml, const uint8_t *uuid)
{
	return nvml_find(nvml, uuid) != NULL;
}

void nvml_correct(struct nvml *nvml, struct sluice_msg_device *record)
{
	const struct nvml_gpu *gpu = nvml_find(nvml, record->uuid);

	if (gpu && gpu->memory_bytes)
		record->memory_bytes = gpu->memory_bytes;
}

/* With the lock. */
static void nvml_want(struct nvml *nvml, struct nvml_gpu *gpu, uint64_t since_ns, uint64_t now_ns)
{
	uint64_t latest_ns = gpu->begun_ns ? gpu->begun_ns : gpu->answer.at_ns;

	if (gpu->wanted_ns || (latest_ns && latest_ns >= since_ns && now_ns - latest_ns < KEEP_NS))
		return;
	gpu->wanted_ns = now_ns;
	pthread_cond_signal(&nvml->change);
}

int nvml_processes(struct nvml *nvml, const uint8_t *uuid, uint64_t since_ns, uint64_t now_ns,
		   const struct nvml_process **ret_processes, uint32_t *ret_count)
{
	struct nvml_gpu *gpu = nvml_find(nvml, uuid);
	uint64_t at_ns;

	if (!gpu)
		return -ENODEV;
	pthread_mutex_lock(&nvml->lock);
	nvml_want(nvml, gpu, since_ns, now_ns);
	at_ns = gpu->answer.at_ns;
	if (at_ns != gpu->shown.at_ns)
		gpu->shown = gpu->answer;
	pthread_mutex_unlock(&nvml->lock);
	if (!at_ns || at_ns < since_ns || now_ns - at_ns >= STALE_NS)
		return -EAGAIN;
	*ret_processes = gpu->shown.process;
	*ret_count = gpu->shown.count;
	return gpu->shown.status;
}
