/* SPDX-License-Identifier: Apache-2.0 */

/* What the driver's management library says, by a library of the test's own. */

#include "daemon_rows.h"

#include "daemon/nvml.h"
#include "sluice/escrow.h"

/* The library's own layout. */
struct process_info {
	unsigned int pid;
	unsigned long long used_gpu_memory;
	unsigned int gpu_instance_id, compute_instance_id;
};

/* Shared with the arbiter's process. */
static struct {
	_Atomic uint32_t count, mps_count;
	_Atomic int status;
	_Atomic uint32_t asked;
	_Atomic bool hangs;
	struct process_info process[8], mps_process[8];
} * gpu;

static int fake_init(void)
{
	return 0;
}

static int fake_count(unsigned int *count)
{
	*count = 2;
	return 0;
}

static int fake_handle(unsigned int index, void **handle)
{
	*handle = (void *)(uintptr_t)(index + 1);
	return 0;
}

static int fake_uuid(void *handle, char *text, unsigned int length)
{
	snprintf(text, length, "GPU-%s",
		 handle == (void *)1 ? "01010101-0101-0101-0101-010101010101"
				     : "abcdefAB-0000-1111-2222-333344445555");
	return 0;
}

static int fake_memory(void *handle, unsigned long long *total_free_used)
{
	total_free_used[0] = 12ull << 30;
	return 0;
}

static int list(const struct process_info *from, uint32_t count, unsigned int *room,
		struct process_info *info)
{
	atomic_fetch_add(&gpu->asked, 1);
	while (atomic_load(&gpu->hangs))
		usleep(1000);
	if (atomic_load(&gpu->status))
		return atomic_load(&gpu->status);
	if (count > *room)
		return 7;
	memcpy(info, from, count * sizeof(*info));
	*room = count;
	return 0;
}

static int fake_processes(void *handle, unsigned int *count, struct process_info *info)
{
	return list(gpu->process, atomic_load(&gpu->count), count, info);
}

static int fake_mps_processes(void *handle, unsigned int *count, struct process_info *info)
{
	return list(gpu->mps_process, atomic_load(&gpu->mps_count), count, info);
}

static const char *missing;

static void *find(const char *name)
{
	static const struct {
		const char *name;
		void *entry;
	} entries[] = {
		{"nvmlInit_v2", (void *)fake_init},
		{"nvmlShutdown", (void *)fake_init},
		{"nvmlDeviceGetCount_v2", (void *)fake_count},
		{"nvmlDeviceGetHandleByIndex_v2", (void *)fake_handle},
		{"nvmlDeviceGetUUID", (void *)fake_uuid},
		{"nvmlDeviceGetMemoryInfo", (void *)fake_memory},
		{"nvmlDeviceGetComputeRunningProcesses_v3", (void *)fake_processes},
		{"nvmlDeviceGetMPSComputeRunningProcesses_v3", (void *)fake_mps_processes},
	};

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (!strcmp(entries[i].name, name) && (!missing || strcmp(missing, name) != 0))
			return entries[i].entry;
	}
	return NULL;
}

static struct nvml *open_fake(void)
{
	return nvml_open_by(find);
}

static void share_gpu(void)
{
	gpu = mmap(NULL, sizeof(*gpu), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(gpu, MAP_FAILED);
	missing = NULL;
}

START_TEST(test_answers)
{
	struct sluice_msg_device record = fixture_device(1);
	const struct nvml_process *processes;
	struct nvml *nvml;
	uint32_t count;

	share_gpu();
	nvml = open_fake();
	ck_assert_ptr_nonnull(nvml);
	ck_assert(nvml_knows(nvml, record.uuid));
	nvml_correct(nvml, &record);
	ck_assert_uint_eq(record.memory_bytes, 12ull << 30);
	gpu->process[0] = (struct process_info){.pid = 11, .used_gpu_memory = 5};
	gpu->mps_process[0] = (struct process_info){.pid = 12, .used_gpu_memory = ~0ull};
	gpu->count = gpu->mps_count = 1;
	ck_assert_int_eq(nvml_processes(nvml, record.uuid, 0, 1000, &processes, &count), -EAGAIN);
	wait_until(!nvml_processes(nvml, record.uuid, 0, 1000, &processes, &count));
	ck_assert_uint_eq(count, 2);
	ck_assert_int_eq(processes[0].pid, 11);
	ck_assert_uint_eq(processes[0].memory_bytes, 5);
	ck_assert_int_eq(processes[1].pid, 12);
	ck_assert_uint_eq(processes[1].memory_bytes, 0);
	/* Kept for a second. */
	gpu->count = 0;
	ck_assert_int_eq(nvml_processes(nvml, record.uuid, 0, 1000 + 999999999, &processes, &count),
			 0);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(gpu->asked, 2);
	/* Not for one who asks about what was later. */
	ck_assert_int_eq(nvml_processes(nvml, record.uuid, 1001, 1500, &processes, &count),
			 -EAGAIN);
	wait_until(!nvml_processes(nvml, record.uuid, 1001, 1500, &processes, &count));
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(gpu->asked, 4);
	/* While another is asked for, the last one counts. */
	gpu->hangs = true;
	ck_assert_int_eq(nvml_processes(nvml, record.uuid, 0, 2500000000, &processes, &count), 0);
	ck_assert_uint_eq(count, 1);
	wait_until(gpu->asked == 5);
	ck_assert_int_eq(nvml_processes(nvml, record.uuid, 0, 4500000000, &processes, &count), 0);
	ck_assert_int_eq(nvml_processes(nvml, record.uuid, 0, 24500000000, &processes, &count),
			 -EAGAIN);
	/* An error is no empty list. */
	gpu->status = 999;
	gpu->hangs = false;
	wait_until(nvml_processes(nvml, record.uuid, 4500000000, 24500000000, &processes, &count) ==
		   -ENODEV);
	memset(record.uuid, 9, sizeof(record.uuid));
	ck_assert(!nvml_knows(nvml, record.uuid));
	ck_assert_int_eq(nvml_processes(nvml, record.uuid, 0, 0, &processes, &count), -ENODEV);
	nvml_close(nvml);
}
END_TEST

/* In a process of its own, since a thread is left. */
static void open_and_hang(void)
{
	struct sluice_msg_device record = fixture_device(1);
	const struct nvml_process *processes;
	struct nvml *nvml = open_fake();
	uint32_t count;

	if (nvml_processes(nvml, record.uuid, 0, 1000, &processes, &count) != -EAGAIN)
		_exit(1);
	while (!atomic_load(&gpu->asked))
		usleep(1000);
	nvml_close(nvml);
	_exit(0);
}

/* The library does not come back: what is open then is left to it, and the end comes all the same. */
START_TEST(test_library_hangs_at_the_end)
{
	int status;
	pid_t pid;

	share_gpu();
	gpu->hangs = true;
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid)
		open_and_hang();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(test_old_library)
{
	share_gpu();
	missing = "nvmlDeviceGetComputeRunningProcesses_v3";
	ck_assert_ptr_null(open_fake());
	nvml_close(NULL);
	ck_assert(!nvml_knows(NULL, (const uint8_t *)"0123456789abcdef"));
}
END_TEST

static void play_holder(void *argument)
{
	static struct shim shim;

	shim_join(&shim, "train", 0);
	shim_device(&shim, fixture_device(1));
	ck_assert_int_eq(shim_memory(&shim, 8u << 21), 0);
	ck_assert(sluice_escrow_reserve(&shim.escrow->device[0].word, 8u << 21));
}

/* A dead process's memory is nobody's until the driver does not show the process any more. */
START_TEST(test_reclaiming)
{
	static struct shim shim;
	pid_t holder;

	share_gpu();
	fixture_nvml = open_fake;
	fixture_begin("tenants = ( { name = \"train\"; memory = { max = \"8 GiB\"; }; } );");
	holder = fixture_process(play_holder, NULL);
	gpu->process[0] = (struct process_info){.pid = (unsigned int)holder};
	gpu->count = 1;
	shim_join(&shim, "train", 0);
	shim_device(&shim, fixture_device(1));
	fixture_kill(holder);
	wait_until(shim_memory(&shim, 1) == -EAGAIN);
	ck_assert_uint_eq(shim_tenant_used(&shim), 8ull << 30);
	gpu->count = 0;
	wait_until(shim_memory(&shim, 1) == 0);
	ck_assert_uint_eq(shim_tenant_used(&shim), 0);
	shim_close(&shim);
	fixture_end();
	fixture_nvml = NULL;
}
END_TEST

/* A tenant that is removed and comes back owes what its dead held all the same. */
START_TEST(test_reclaiming_of_a_removed_tenant)
{
	static const char with[] =
		"tenants = ( { name = \"train\"; memory = { max = \"8 GiB\"; }; } );";
	static struct shim shim, other;
	pid_t holder;
	int fd;

	share_gpu();
	fixture_nvml = open_fake;
	fixture_begin(with);
	/* Keeps the device's record. */
	shim_join(&other, "", 0);
	shim_device(&other, fixture_device(1));
	holder = fixture_process(play_holder, NULL);
	gpu->process[0] = (struct process_info){.pid = (unsigned int)holder};
	gpu->count = 1;
	fixture_kill(holder);
	fd = tool_connect();
	fixture_write_config("");
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_RELOAD, "", "", "", NULL), 0);
	fixture_write_config(with);
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_RELOAD, "", "", "", NULL), 0);
	close(fd);
	shim_join(&shim, "train", 0);
	shim_device(&shim, fixture_device(1));
	ck_assert_int_eq(shim_memory(&shim, 1), -EAGAIN);
	gpu->count = 0;
	wait_until(shim_memory(&shim, 8u << 21) == 0);
	shim_close(&shim);
	shim_close(&other);
	fixture_end();
	fixture_nvml = NULL;
}
END_TEST

/* Processes in status that are ours, and others; -1: it does not know of others. */
static int count_others(int fd, uint32_t *ret_ours)
{
	struct rows rows;
	int others = 0;

	status(fd, &rows);
	*ret_ours = 0;
	for (uint32_t i = 0; i < rows.processes; i++) {
		*ret_ours += rows.process[i].managed;
		if (rows.process[i].managed)
			continue;
		others++;
		ck_assert_uint_eq(rows.process[i].pid, (uint32_t)getppid());
		ck_assert_uint_eq(rows.process[i].memory_used_bytes, 77);
		ck_assert_str_ne(rows.process[i].program, "");
		ck_assert_uint_eq(rows.process[i].uid, getuid());
		ck_assert_str_eq(rows.process[i].tenant, "");
	}
	return has_note(&rows, "are not known") ? -1 : others;
}

START_TEST(test_unmanaged_processes)
{
	static struct shim shim;
	uint32_t ours;
	int fd;

	share_gpu();
	gpu->process[0] = (struct process_info){.pid = (unsigned int)getpid()};
	gpu->process[1] =
		(struct process_info){.pid = (unsigned int)getppid(), .used_gpu_memory = 77};
	gpu->count = 2;
	fixture_nvml = open_fake;
	fixture_begin("");
	fd = tool_connect();
	/* However long the library takes, the arbiter answers. */
	gpu->hangs = true;
	shim_join(&shim, "", 0);
	shim_device(&shim, fixture_device(1));
	wait_until(gpu->asked == 1);
	ck_assert_int_eq(count_others(fd, &ours), -1);
	ck_assert_uint_eq(ours, 1);
	ck_assert_int_eq(shim_memory(&shim, 1), 0);
	gpu->hangs = false;
	wait_until(count_others(fd, &ours) == 1);
	ck_assert_uint_eq(ours, 1);
	close(fd);
	shim_close(&shim);
	fixture_end();
	fixture_nvml = NULL;
}
END_TEST

static void play_real_holder(void *argument)
{
	struct sluice_msg_device device = fixture_device(1);
	static struct shim shim;

	device.simulated = 0;
	shim_join(&shim, "train", 0);
	shim_device(&shim, device);
	ck_assert_int_eq(shim_memory(&shim, 8u << 21), 0);
	if (argument)
		ck_assert(sluice_escrow_reserve(&shim.escrow->device[0].word, 8u << 21));
}

/* Nobody tells when a real driver has freed what a dead process used: it counts for a while yet. */
START_TEST(test_reclaiming_without_nvml)
{
	struct sluice_msg_device device = fixture_device(1);
	static struct shim shim;
	pid_t idle, holder;

	device.simulated = 0;
	fixture_begin("tenants = ( { name = \"train\"; memory = { max = \"8 GiB\"; }; } );");
	shim_join(&shim, "train", 0);
	shim_device(&shim, device);
	idle = fixture_process(play_real_holder, NULL);
	fixture_kill(idle);
	wait_until(shim_memory(&shim, 8u << 21) == 0);
	ck_assert_uint_eq(shim_tenant_used(&shim), 0);
	holder = fixture_process(play_real_holder, &shim);
	fixture_kill(holder);
	wait_until(shim_memory(&shim, 8u << 21) == -EAGAIN);
	ck_assert_uint_eq(shim_tenant_used(&shim), 8ull << 30);
	wait_until(shim_memory(&shim, 8u << 21) == 0);
	ck_assert_uint_eq(shim_tenant_used(&shim), 0);
	shim_close(&shim);
	fixture_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon nvml");
	TCase *tcase = tcase_create("nvml");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_answers);
	tcase_add_test(tcase, test_library_hangs_at_the_end);
	tcase_add_test(tcase, test_old_library);
	tcase_add_test(tcase, test_reclaiming);
	tcase_add_test(tcase, test_reclaiming_of_a_removed_tenant);
	tcase_add_test(tcase, test_unmanaged_processes);
	tcase_add_test(tcase, test_reclaiming_without_nvml);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
