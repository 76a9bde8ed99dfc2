/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the model plays what the planner gives it: a server and loops, one stream each, the
 * loops' queues full. The rate is printed, since a machine may be busy; what is asserted is that
 * every operation was played, and in the same times when it is played again. For a profile:
 * `test_device_speed THOUSANDS` plays so many operations of each kind.
 */

#include <stdio.h>
#include <time.h>

#include "device_support.h"

#define PROCS_MAX 5

static uint64_t thousands = 50;

struct scene {
	const char *name;
	bool mps, effects;
	uint32_t procs;
	uint32_t blocks; /* at most, of the 80 SMs' one wave or more */
};

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static struct model_desc scene_desc(const struct scene *scene)
{
	struct model_desc desc = device_desc(80, scene->mps);

	desc.launch_latency_ns = 4 * US;
	desc.kernel_gap_ns = 1 * US;
	if (!scene->effects)
		return desc;
	desc.saturation_sms[MODEL_CLASS_MEMORY] = 60;
	desc.saturation_sms[MODEL_CLASS_UNKNOWN] = 100;
	desc.saturation_sms[MODEL_CLASS_COMPUTE] = 200;
	desc.corun_permille = 100;
	desc.stagger_permille = 120;
	desc.merge_ns = 30 * US;
	desc.coalesce_ns = 2 * US;
	desc.age_from_ready = 1;
	return desc;
}

/* Made up, the same each time: mostly short kernels, of which a third fill the device. */
static struct model_op_desc kernel_number(const struct scene *scene, uint64_t n)
{
	uint64_t mixed = n * 0x9e3779b97f4a7c15ull >> 20;
	struct model_op_desc desc = kernel_of(1 + mixed % scene->blocks, 3 * US + mixed % 40000);

	desc.bw_class = mixed % MODEL_CLASSES;
	return desc;
}

/* Returns a sum over all ends. */
static uint64_t play(const struct scene *scene, uint64_t ops)
{
	struct model_desc desc = scene_desc(scene);
	struct model *model = device_create(&desc);
	uint32_t proc[PROCS_MAX], stream[PROCS_MAX], depth[PROCS_MAX] = {0};
	uint64_t submitted = 0, ended = 0, sum = 0, op;
	struct model_done done[8];

	for (uint32_t p = 0; p < scene->procs; p++) {
		proc[p] = device_proc(model);
		stream[p] = device_stream(model, proc[p], 0);
	}
	while (ended < ops) {
		for (uint32_t p = 0; p < scene->procs; p++)
			while (depth[p] < (p ? MODEL_STREAM_DEPTH : 8) && submitted < ops) {
				struct model_op_desc kernel = kernel_number(scene, submitted++);

				MUST_EQ(model_submit(model, model->now_ns, stream[p], &kernel, &op),
					0);
				depth[p]++;
			}
		(void)model_run(model, MODEL_NEVER - 1);
		for (uint32_t p = 0; p < scene->procs; p++) {
			uint32_t got = model_collect(model, proc[p], 8, done);

			depth[p] -= got;
			ended += got;
			for (uint32_t i = 0; i < got; i++)
				sum = sum * 31 + done[i].end_ns;
		}
	}
	MUST_EQ(model->counters.kernels, ops);
	free(model);
	return sum;
}

START_TEST(speed)
{
	static const struct scene scenes[] = {
		{"simple, MPS, 2 processes", true, false, 2, 80},
		{"simple, slices, 2 processes", false, false, 2, 80},
		{"simple, MPS, 5 processes", true, false, 5, 80},
		{"effects, MPS, 2 processes", true, true, 2, 240},
		{"effects, slices, 2 processes", false, true, 2, 240},
		{"effects, MPS, 5 processes", true, true, 5, 240},
	};

	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		uint64_t from = clock_ns(), first = play(&scenes[i], thousands * 1000), spent;

		spent = clock_ns() - from;
		printf("%s: %.2f million operations/s\n", scenes[i].name,
		       (double)thousands * 1e6 / (double)spent);
		ck_assert_uint_eq(first, play(&scenes[i], thousands * 1000));
	}
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_test(tcase, speed);
}

int main(int argc, char **argv)
{
	if (argc == 2 && sscanf(argv[1], "%lu", &thousands) != 1) {
		fprintf(stderr, "usage: test_device_speed [THOUSANDS of operations]\n");
		return 2;
	}
	return device_main("device speed", add);
}
