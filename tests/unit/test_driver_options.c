/* SPDX-License-Identifier: Apache-2.0 */

/* The environment: each case in a process of its own, since it is read once. */

#include <string.h>
#include <sys/wait.h>

#include "driver_fixture.h"

#include "device/model_impl.h"
#include "device/segment.h"

struct setting {
	const char *name, *value;
};

/* In a child with these settings: what cuInit answers, and then what `look` says (0: as wished). */
static int in_child(const struct setting *setting, int settings, CUresult expected,
		    int (*look)(void))
{
	int status;
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		for (int i = 0; i < settings; i++)
			if (setting[i].value)
				setenv(setting[i].name, setting[i].value, 1);
			else
				unsetenv(setting[i].name);
		if (cuInit(0) != expected)
			exit(100);
		exit(look ? look() : 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}

#define CHILD(expected, look, ...) \
	do { \
		const struct setting settings_[] = {__VA_ARGS__}; \
		ck_assert_int_eq(in_child(settings_, sizeof(settings_) / sizeof(settings_[0]), \
					  expected, look), \
				 0); \
	} while (0)

static int count_of(int expected)
{
	int count;

	return cuDeviceGetCount(&count) != CUDA_SUCCESS || count != expected;
}

static int one_device(void)
{
	return count_of(1);
}

static int three_devices(void)
{
	CUuuid one, other;

	if (count_of(3) || cuDeviceGetUuid(&one, 0) || cuDeviceGetUuid(&other, 1))
		return 1;
	return memcmp(&one, &other, sizeof(one)) == 0;
}

static int devices_two_and_zero(void)
{
	int first = 0, second = 0;

	if (count_of(2) ||
	    cuDeviceGetAttribute(&first, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0) != CUDA_SUCCESS ||
	    cuDeviceGetAttribute(&second, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1) != CUDA_SUCCESS)
		return 1;
	return first != 3 || second != 1;
}

static int has_mps(void)
{
	int mps = 0;

	return cuDeviceGetAttribute(&mps, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0) != CUDA_SUCCESS ||
	       mps != 1;
}

static int is_a100(void)
{
	char name[64];

	return cuDeviceGetName(name, sizeof(name), 0) != CUDA_SUCCESS || !strstr(name, "A100");
}

static int is_h100(void)
{
	char name[64];

	return cuDeviceGetName(name, sizeof(name), 0) != CUDA_SUCCESS || !strstr(name, "H100");
}

static int has_options(void)
{
	const struct sim_options *options = sim_options_get();

	return options->threads != 3 || !options->report ||
	       strcmp(options->report_path, "/tmp/report") != 0 ||
	       strcmp(options->costs_path, "/tmp/costs") != 0 || !options->allow_timing_only;
}

START_TEST(test_devices)
{
	CHILD(CUDA_SUCCESS, one_device, {"SIMGPU_DEVICES", NULL});
	CHILD(CUDA_SUCCESS, three_devices, {"SIMGPU_DEVICES", "3"});
	CHILD(CUDA_ERROR_INVALID_VALUE, NULL, {"SIMGPU_DEVICES", "0"});
	CHILD(CUDA_ERROR_INVALID_VALUE, NULL, {"SIMGPU_DEVICES", "17"});
	CHILD(CUDA_ERROR_INVALID_VALUE, NULL, {"SIMGPU_DEVICES", "2x"});
	CHILD(CUDA_ERROR_INVALID_VALUE, NULL, {"SIMGPU_DEVICES", "-1"});
}
END_TEST

START_TEST(test_visible)
{
	CHILD(CUDA_SUCCESS, devices_two_and_zero, {"SIMGPU_DEVICES", "3"},
	      {"CUDA_VISIBLE_DEVICES", "2, 0"});
	/* The list ends where an entry is no device. */
	CHILD(CUDA_SUCCESS, one_device, {"SIMGPU_DEVICES", "3"}, {"CUDA_VISIBLE_DEVICES", "1,9,2"});
	CHILD(CUDA_ERROR_NO_DEVICE, NULL, {"CUDA_VISIBLE_DEVICES", ""});
	CHILD(CUDA_ERROR_NO_DEVICE, NULL, {"CUDA_VISIBLE_DEVICES", "-1"});
	CHILD(CUDA_ERROR_NO_DEVICE, NULL, {"SIMGPU_DEVICES", "3"}, {"CUDA_VISIBLE_DEVICES", "1,1"});
}
END_TEST

START_TEST(test_mps)
{
	CHILD(CUDA_SUCCESS, has_mps, {"SIMGPU_MPS", "1"});
	CHILD(CUDA_ERROR_INVALID_VALUE, NULL, {"SIMGPU_MPS", "yes"});
}
END_TEST

static int priority_is(int32_t expected)
{
	struct sim_device *device;
	const struct model *model;
	CUcontext context;

	if (cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
	    cuCtxSetCurrent(context) != CUDA_SUCCESS)
		return 1;
	device = sim_current_or_null()->device;
	model = segment_model(device->segment);
	return model->proc[device->proc].priority != expected;
}

static int is_normal(void)
{
	return priority_is(0);
}

static int is_below_normal(void)
{
	return priority_is(1);
}

START_TEST(test_priority_of_an_mps_client)
{
	CHILD(CUDA_SUCCESS, is_normal, {"SIMGPU_MPS", "1"});
	CHILD(CUDA_SUCCESS, is_normal, {"SIMGPU_MPS", "1"}, {"CUDA_MPS_CLIENT_PRIORITY", "0"});
	CHILD(CUDA_SUCCESS, is_below_normal, {"SIMGPU_MPS", "1"},
	      {"CUDA_MPS_CLIENT_PRIORITY", "1"});
	CHILD(CUDA_ERROR_INVALID_VALUE, NULL, {"CUDA_MPS_CLIENT_PRIORITY", "2"});
}
END_TEST

/* The presets of the source tree, which this program lies below. */
START_TEST(test_presets)
{
	CHILD(CUDA_SUCCESS, is_a100, {"SIMGPU_CONFIG", NULL}, {"SIMGPU_PRESET", "a100"});
	CHILD(CUDA_SUCCESS, is_h100, {"SIMGPU_CONFIG", NULL});
	CHILD(CUDA_ERROR_NO_DEVICE, NULL, {"SIMGPU_CONFIG", NULL}, {"SIMGPU_PRESET", "h9000"});
	CHILD(CUDA_ERROR_INVALID_VALUE, NULL, {"SIMGPU_CONFIG", NULL}, {"SIMGPU_PRESET", "/etc/x"});
	CHILD(CUDA_ERROR_NO_DEVICE, NULL, {"SIMGPU_CONFIG", NULL}, {"SIMGPU_PRESET_DIR", "/tmp"});
	CHILD(CUDA_ERROR_NO_DEVICE, NULL, {"SIMGPU_CONFIG", "/nonexistent/gpu.conf"});
	CHILD(CUDA_ERROR_INVALID_VALUE, NULL, {"SIMGPU_CONFIG", "/proc/self/status"});
}
END_TEST

START_TEST(test_others)
{
	CHILD(CUDA_SUCCESS, has_options, {"SIMGPU_THREADS", "3"}, {"SIMGPU_REPORT", "/tmp/report"},
	      {"SIMGPU_COSTS", "/tmp/costs"}, {"SIMGPU_TIMING_ONLY", "1"});
	CHILD(CUDA_ERROR_INVALID_VALUE, NULL, {"SIMGPU_THREADS", "0"});
	CHILD(CUDA_ERROR_INVALID_VALUE, NULL, {"SIMGPU_TIMING_ONLY", "2"});
	CHILD(CUDA_ERROR_INVALID_VALUE, NULL, {"SIMGPU_INSTANCE", "../../x"});
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("options");
	TCase *tcase = tcase_create("all");

	fixture_start("options");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_devices);
	tcase_add_test(tcase, test_visible);
	tcase_add_test(tcase, test_mps);
	tcase_add_test(tcase, test_priority_of_an_mps_client);
	tcase_add_test(tcase, test_presets);
	tcase_add_test(tcase, test_others);
	suite_add_tcase(suite, tcase);
	return fixture_run(suite);
}
