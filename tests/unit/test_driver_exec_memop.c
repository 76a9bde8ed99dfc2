/* SPDX-License-Identifier: Apache-2.0 */

/* Writes and waits of values in stream order, and faults that stay. */

#include "exec_fixture.h"

#include <sched.h>
#include <unistd.h>

static uint32_t *pinned;
static CUdeviceptr pinned_device;

static void take_pinned(void)
{
	ck_cuda(cuMemHostAlloc((void **)&pinned, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	ck_cuda(cuMemHostGetDevicePointer_v2(&pinned_device, pinned, 0));
	memset(pinned, 0, 4096);
}

static void drop_pinned(void)
{
	ck_cuda(cuMemFreeHost(pinned));
}

static uint32_t look(unsigned int word)
{
	return __atomic_load_n(&pinned[word], __ATOMIC_ACQUIRE);
}

START_TEST(test_a_write_is_made_at_its_time)
{
	uint32_t seen;

	take_pinned();
	for (int i = 0; i < 3; i++)
		exec_busy(w.spin, w.a);
	ck_cuda(cuEventRecord(w.event[0], w.a));
	ck_cuda(cuStreamWriteValue32_v2(w.a, pinned_device, 7, 0));
	ck_cuda(cuStreamWriteValue64(w.a, pinned_device + 8, 0x100000002ull, 0));
	exec_run(w.fill, w.a, 5, 1, 1);
	/* The kernel behind it is computed long before. */
	while (exec_peek(0) != 5)
		sched_yield();
	do {
		seen = look(0);
		if (cuEventQuery(w.event[0]) == CUDA_ERROR_NOT_READY)
			ck_assert_uint_eq(seen, 0);
	} while (seen == 0);
	ck_assert_uint_eq(seen, 7);
	ck_cuda(cuEventQuery(w.event[0]));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_assert_uint_eq(look(2), 2);
	ck_assert_uint_eq(look(3), 1);
	drop_pinned();
}
END_TEST

START_TEST(test_what_touches_a_written_place_waits)
{
	uint32_t result[2];

	exec_busy(w.spin, w.a);
	ck_cuda(cuStreamWriteValue32(w.a, w.data, 70, 0));
	exec_run(w.inc, w.a, 1, 1, 1);
	ck_cuda(cuStreamWriteValue32(w.a, w.data + 4, 80, 0));
	ck_cuda(cuMemcpyDtoDAsync_v2(w.data + 8, w.data, 8, w.a));
	ck_cuda(cuStreamWriteValue32(w.a, w.data, 90, 0));
	ck_cuda(cuEventRecord(w.event[0], w.a));
	/* And past a join to another stream. */
	ck_cuda(cuStreamWaitEvent(w.b, w.event[0], 0));
	exec_run(w.mul, w.b, 2, 1, 1);
	ck_cuda(cuStreamSynchronize(w.b));
	ck_cuda(cuMemcpyDtoH_v2(result, w.data + 8, 8));
	ck_assert_uint_eq(result[0], 71);
	ck_assert_uint_eq(result[1], 80);
	ck_cuda(cuMemcpyDtoH_v2(result, w.data, 4));
	ck_assert_uint_eq(result[0], 180);
}
END_TEST

/* Every thread that computes sits in such a kernel, and what they wait for needs one, too. */
START_TEST(test_waiting_kernels_do_not_use_up_the_threads)
{
	CUstream stream[12];

	for (int i = 0; i < 12; i++) {
		ck_cuda(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
		exec_busy(w.fill, stream[i]);
		ck_cuda(cuStreamWriteValue32(stream[i], w.data + 4 * (unsigned int)i, 3, 0));
		ck_cuda(exec_try(w.mul, stream[i], w.data + 4 * (unsigned int)i, 5, 1, 1));
	}
	ck_cuda(cuCtxSynchronize());
	for (unsigned int i = 0; i < 12; i++)
		ck_assert_uint_eq(exec_peek(i), 15);
	for (int i = 0; i < 12; i++)
		ck_cuda(cuStreamDestroy_v2(stream[i]));
}
END_TEST

static void wait_then(unsigned int flags, uint32_t value, uint32_t refused, uint32_t accepted)
{
	__atomic_store_n(pinned, refused, __ATOMIC_RELEASE);
	ck_cuda(cuStreamWaitValue32_v2(w.a, pinned_device, value, flags));
	exec_run(w.inc, w.a, 1, 1, 1);
	ck_cuda_is(cuStreamQuery(w.a), CUDA_ERROR_NOT_READY);
	usleep(2000);
	ck_cuda_is(cuStreamQuery(w.a), CUDA_ERROR_NOT_READY);
	__atomic_store_n(pinned, accepted, __ATOMIC_RELEASE);
	ck_cuda(cuStreamSynchronize(w.a));
}

START_TEST(test_waits)
{
	take_pinned();
	wait_then(CU_STREAM_WAIT_VALUE_EQ, 5, 6, 5);
	wait_then(CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 9);
	wait_then(CU_STREAM_WAIT_VALUE_GEQ, 1, 0xfffffff0u, 2); /* cyclic */
	wait_then(CU_STREAM_WAIT_VALUE_AND, 6, 8, 4);
	wait_then(CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH, 0xffff0000u, 0xffffu, 1);
	ck_assert_uint_eq(exec_peek(0), 5);
	ck_cuda_is(cuStreamWaitValue32(w.a, pinned_device, 1, 64), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuStreamWaitValue32(w.a, pinned_device + 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuStreamWaitValue32(w.a, (uintptr_t)&pinned, 1, 0), CUDA_ERROR_INVALID_VALUE);
	drop_pinned();
}
END_TEST

START_TEST(test_between_streams)
{
	CUstreamBatchMemOpParams batch[3];

	take_pinned();
	memset(batch, 0, sizeof(batch));
	batch[0].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	batch[0].waitValue.address = pinned_device;
	batch[0].waitValue.value = 1;
	batch[1].operation = CU_STREAM_MEM_OP_BARRIER;
	batch[2].operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
	batch[2].writeValue.address = pinned_device + 8;
	batch[2].writeValue.value64 = 2;
	ck_cuda(cuStreamBatchMemOp_v2(w.b, 3, batch, 0));
	ck_cuda(cuEventRecord(w.event[1], w.b));
	ck_cuda(cuStreamWaitValue64(w.c, pinned_device + 8, 2, CU_STREAM_WAIT_VALUE_EQ));
	exec_run(w.inc, w.c, 1, 1, 1);
	exec_busy(w.spin, w.a);
	ck_cuda(cuEventRecord(w.event[0], w.a));
	ck_cuda(cuStreamWriteValue32(w.a, pinned_device, 1, 0));
	ck_cuda(cuStreamSynchronize(w.c));
	ck_assert_uint_eq(exec_peek(0), 1);
	ck_assert_int_ge(exec_us(0, 1), 0);
	drop_pinned();
}
END_TEST

START_TEST(test_a_context_ends_with_a_wait_open)
{
	CUcontext other;
	CUstream stream;
	CUdeviceptr place;

	ck_cuda(cuCtxCreate_v4(&other, NULL, 0, 0));
	ck_cuda(cuMemAlloc_v2(&place, 4096));
	ck_cuda(cuMemsetD32_v2(place, 0, 4));
	ck_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	ck_cuda(cuStreamWaitValue32(stream, place, 1, CU_STREAM_WAIT_VALUE_EQ));
	ck_cuda(cuStreamWriteValue32(stream, place + 4, 1, 0));
	ck_cuda(cuCtxDestroy_v2(other));
	ck_cuda(cuCtxSetCurrent(w.context));
	exec_busy(w.fill, w.a);
	ck_cuda(cuStreamSynchronize(w.a));
}
END_TEST

/* ---- faults ---- */

static _Atomic int told;

static void CUDA_CB tell(CUstream stream, CUresult status, void *arg)
{
	told = (int)status;
}

static void CUDA_CB called(void *arg)
{
	told = 1;
}

static void CUDA_CB not_called(void *arg)
{
	told = -1;
}

START_TEST(test_a_fault_stays)
{
	CUcontext other;
	CUdeviceptr place;

	told = 0;
	ck_cuda(cuCtxCreate_v4(&other, NULL, 0, 0));
	ck_cuda(cuCtxSetCurrent(w.context));
	/* What went before it is over first, and the fault comes in its turn. */
	for (int i = 0; i < 5; i++)
		exec_busy(w.spin, w.a);
	exec_run(w.fill, w.a, 4, 1, 1);
	ck_cuda(cuLaunchHostFunc(w.a, called, NULL));
	ck_cuda(exec_try(w.fill, w.a, 64, 1, 1, 1));
	exec_run(w.fill, w.a, 6, 1, 1);
	ck_cuda(cuStreamWriteValue32(w.a, w.flag_device, 8, 0));
	ck_cuda(cuEventRecord(w.event[1], w.a));
	ck_cuda(cuStreamWaitEvent(w.b, w.event[1], 0));
	exec_run(w.fill, w.b, 9, 1, 1);
	ck_cuda(cuLaunchHostFunc(w.a, not_called, NULL));
	ck_cuda_is(cuStreamSynchronize(w.a), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_uint_eq(exec_peek(0), 4);
	ck_assert_uint_eq(*w.flag, 0);
	ck_cuda_is(exec_try(w.fill, w.b, w.data, 1, 1, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_cuda_is(cuStreamQuery(w.b), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_cuda_is(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_cuda_is(cuMemAlloc_v2(&place, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_cuda_is(cuEventQuery(w.event[0]), CUDA_ERROR_ILLEGAL_ADDRESS);
	/* The other context of the process is none the worse. */
	ck_cuda(cuCtxSetCurrent(other));
	ck_cuda(cuMemAlloc_v2(&place, 16));
	ck_cuda(cuMemsetD8_v2(place, 1, 16));
	ck_cuda(cuCtxSynchronize());
	ck_cuda(cuCtxDestroy_v2(other));
	ck_assert_int_eq(told, 1);
	ck_cuda(cuCtxSetCurrent(w.context));
}
END_TEST

START_TEST(test_a_callback_hears_of_the_fault)
{
	told = 0;
	ck_cuda(exec_try(w.fill, w.a, 64, 1, 1, 1));
	/* Refused if the fault is there already. */
	if (cuStreamAddCallback(w.a, tell, NULL, 0) == CUDA_SUCCESS) {
		while (told == 0)
			sched_yield();
		ck_assert_int_eq(told, CUDA_ERROR_ILLEGAL_ADDRESS);
	}
	ck_cuda_is(cuStreamSynchronize(w.a), CUDA_ERROR_ILLEGAL_ADDRESS);
}
END_TEST

static TCase *make(void)
{
	TCase *tcase = tcase_create("memory operations");

	tcase_add_test(tcase, test_a_write_is_made_at_its_time);
	tcase_add_test(tcase, test_what_touches_a_written_place_waits);
	tcase_add_test(tcase, test_waiting_kernels_do_not_use_up_the_threads);
	tcase_add_test(tcase, test_waits);
	tcase_add_test(tcase, test_between_streams);
	tcase_add_test(tcase, test_a_context_ends_with_a_wait_open);
	tcase_add_test(tcase, test_a_fault_stays);
	tcase_add_test(tcase, test_a_callback_hears_of_the_fault);
	return tcase;
}

int main(void)
{
	return exec_world_run("exec-memop", make);
}
