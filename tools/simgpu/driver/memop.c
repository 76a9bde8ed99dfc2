/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/memop.h"

#include <stdlib.h>
#include <string.h>

#include "driver/capture.h"
#include "driver/issue.h"
#include "driver/queue.h"

#define MAX_BATCH 256
#define WAIT_FLAGS (3u | CU_STREAM_WAIT_VALUE_FLUSH)

/* Device memory or pinned host memory, never managed; aligned to its size. */
static CUresult check_address(uint64_t address, uint32_t size)
{
	struct sim_range range;

	if (address % size != 0 || !sim_memory_find(address, &range) || range.kind == SIM_MANAGED)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* Returns CUDA_SUCCESS and size 0 for what leaves no operation. */
static CUresult read_one(const CUstreamBatchMemOpParams *param, struct work_memop *ret_memop)
{
	memset(ret_memop, 0, sizeof(*ret_memop));
	switch (param->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		if ((param->waitValue.flags & ~WAIT_FLAGS) != 0)
			return CUDA_ERROR_INVALID_VALUE;
		ret_memop->is_wait = true;
		ret_memop->size = param->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ? 4 : 8;
		ret_memop->flags = param->waitValue.flags & 3;
		ret_memop->address = param->waitValue.address;
		ret_memop->value =
			ret_memop->size == 4 ? param->waitValue.value : param->waitValue.value64;
		return check_address(ret_memop->address, ret_memop->size);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		if ((param->writeValue.flags & ~CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) != 0)
			return CUDA_ERROR_INVALID_VALUE;
		ret_memop->size = param->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ? 4 : 8;
		ret_memop->address = param->writeValue.address;
		ret_memop->value =
			ret_memop->size == 4 ? param->writeValue.value : param->writeValue.value64;
		return check_address(ret_memop->address, ret_memop->size);
	case CU_STREAM_MEM_OP_BARRIER:
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult memop_prepare(const CUstreamBatchMemOpParams *params, unsigned int count,
		       struct work *ret_work)
{
	CUresult result = CUDA_SUCCESS;
	struct work_memop *list;
	uint32_t n = 0;

	if (count == 0 || count > MAX_BATCH || params == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	list = calloc(count, sizeof(*list));
	if (list == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned int i = 0; i < count && result == CUDA_SUCCESS; i++) {
		result = read_one(&params[i], &list[n]);
		n += list[n].size != 0;
	}
	if (result != CUDA_SUCCESS) {
		free(list);
		return result;
	}
	memset(ret_work, 0, sizeof(*ret_work));
	ret_work->kind = WORK_MEMOPS;
	ret_work->memops.op = list;
	ret_work->memops.count = n;
	return CUDA_SUCCESS;
}

void memop_single(const struct work_memop *memop, struct work *ret_work)
{
	memset(ret_work, 0, sizeof(*ret_work));
	ret_work->kind = memop->is_wait ? WORK_POLL : WORK_WRITE;
	ret_work->memop = *memop;
}

static CUresult queue_all(struct stream *stream, const struct work *list)
{
	CUresult result = capture_check_work(stream);
	struct work work;

	for (uint32_t i = 0; i < list->memops.count && result == CUDA_SUCCESS; i++) {
		memop_single(&list->memops.op[i], &work);
		result = queue_add(stream, &work, NULL);
	}
	return result;
}

static CUresult batch(CUstream handle, bool per_thread, unsigned int count,
		      const CUstreamBatchMemOpParams *params, unsigned int flags)
{
	struct stream *stream;
	struct work work;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result == CUDA_SUCCESS && flags != 0)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = memop_prepare(params, count, &work);
	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&stream->exec->lock);
	if (stream->capture != NULL) {
		result = capture_add(stream, &work);
	} else {
		result = queue_all(stream, &work);
		work_finish(&work);
	}
	pthread_mutex_unlock(&stream->exec->lock);
	return result;
}

/* One operation, by way of the same structure as a batch of one. */
static CUresult single(CUstream handle, bool per_thread, CUstreamBatchMemOpType type,
		       CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
	CUstreamBatchMemOpParams param;

	memset(&param, 0, sizeof(param));
	param.operation = type;
	if (type == CU_STREAM_MEM_OP_WAIT_VALUE_32 || type == CU_STREAM_MEM_OP_WAIT_VALUE_64) {
		param.waitValue.address = address;
		param.waitValue.value64 = value;
		param.waitValue.flags = flags;
	} else {
		param.writeValue.address = address;
		param.writeValue.value64 = value;
		param.writeValue.flags = flags;
	}
	return batch(handle, per_thread, 1, &param, 0);
}

#define MEMOP(name, bits, type) \
	FORMS(name, name##_ptsz, \
	      (CUstream stream, CUdeviceptr addr, cuuint##bits##_t value, unsigned int flags), \
	      single(stream, per_thread, type, addr, value, flags)) \
	FORMS(name##_v2, name##_v2_ptsz, \
	      (CUstream stream, CUdeviceptr addr, cuuint##bits##_t value, unsigned int flags), \
	      single(stream, per_thread, type, addr, value, flags))

MEMOP(cuStreamWaitValue32, 32, CU_STREAM_MEM_OP_WAIT_VALUE_32)
MEMOP(cuStreamWaitValue64, 64, CU_STREAM_MEM_OP_WAIT_VALUE_64)
MEMOP(cuStreamWriteValue32, 32, CU_STREAM_MEM_OP_WRITE_VALUE_32)
MEMOP(cuStreamWriteValue64, 64, CU_STREAM_MEM_OP_WRITE_VALUE_64)

FORMS(cuStreamBatchMemOp, cuStreamBatchMemOp_ptsz,
      (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray,
       unsigned int flags),
      batch(stream, per_thread, count, paramArray, flags))
FORMS(cuStreamBatchMemOp_v2, cuStreamBatchMemOp_v2_ptsz,
      (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray,
       unsigned int flags),
      batch(stream, per_thread, count, paramArray, flags))
