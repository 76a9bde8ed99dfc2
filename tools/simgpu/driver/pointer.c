/* SPDX-License-Identifier: Apache-2.0 */

/* What may be asked of an address. */

#include "driver/memory.h"
#include "driver/pool.h"

struct facts {
	bool known;
	struct sim_range range;
	int ordinal; /* of the device; -2: none */
	bool sync_memops, writable;
	CUmemoryPool pool;
};

static void look_up(CUdeviceptr pointer, struct facts *ret)
{
	struct memory_node *node;

	memset(ret, 0, sizeof(*ret));
	ret->ordinal = CU_DEVICE_INVALID;
	memory_lock();
	node = memory_table_at(pointer);
	ret->known = node && memory_table_find(pointer, &ret->range, &ret->writable);
	if (ret->known) {
		ret->sync_memops = node->sync_memops;
		if (node->device)
			ret->ordinal = node->device->ordinal;
		else if (ret->range.context)
			ret->ordinal = ret->range.context->device->ordinal;
		if (ret->range.kind == SIM_DEVICE)
			ret->pool = pool_of(node);
	}
	memory_unlock();
}

static bool is_host(const struct facts *facts)
{
	return facts->range.kind == SIM_PINNED || facts->range.kind == SIM_REGISTERED;
}

static void put_int(void *data, int value)
{
	memcpy(data, &value, sizeof(value));
}

static void put_wide(void *data, uint64_t value)
{
	memcpy(data, &value, sizeof(value));
}

/* Truth values have four bytes: the runtime asks with an int that it has not cleared. */
static CUresult answer_truth(const struct facts *facts, CUpointer_attribute attribute, void *data)
{
	bool truth = false;

	switch ((int)attribute) {
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: truth = facts->sync_memops; break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		truth = facts->known && facts->range.kind == SIM_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED: truth = facts->known; break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	put_int(data, truth);
	return CUDA_SUCCESS;
}

static unsigned int memory_type(const struct facts *facts)
{
	if (!facts->known)
		return 0;
	return is_host(facts) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static unsigned int access_flags(const struct facts *facts)
{
	if (!facts->known)
		return CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
	return facts->writable ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
			       : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ;
}

/* Device memory has no address for the host; asking for it alone is an error, beside others NULL. */
static CUresult answer_host_pointer(const struct facts *facts, CUdeviceptr pointer, void *data)
{
	bool has = facts->known && (is_host(facts) || facts->range.kind == SIM_MANAGED);

	put_wide(data, has ? pointer : 0);
	return has ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult answer(const struct facts *facts, CUpointer_attribute attribute,
		       CUdeviceptr pointer, void *data)
{
	switch ((int)attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		put_wide(data, (uint64_t)(uintptr_t)facts->range.context);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: put_int(data, (int)memory_type(facts)); break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: put_wide(data, facts->known ? pointer : 0); break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER: return answer_host_pointer(facts, pointer, data);
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return CUDA_ERROR_NOT_SUPPORTED;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: put_wide(data, facts->range.buffer_id); break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: put_int(data, facts->ordinal); break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: put_wide(data, facts->range.base); break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: put_wide(data, facts->range.size); break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: put_wide(data, 0); break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: put_int(data, (int)access_flags(facts)); break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		put_wide(data, (uint64_t)(uintptr_t)facts->pool);
		break;
	default: return answer_truth(facts, attribute, data);
	}
	return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct facts facts;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!data)
		return CUDA_ERROR_INVALID_VALUE;
	look_up(ptr, &facts);
	if (!facts.known)
		return CUDA_ERROR_INVALID_VALUE;
	return answer(&facts, attribute, ptr, data);
}

/* No error for memory that is none of ours: then every attribute has its null value. */
CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
				void **data, CUdeviceptr ptr)
{
	struct facts facts;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (numAttributes == 0 || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < numAttributes; i++)
		if (!data[i] || (int)attributes[i] < CU_POINTER_ATTRIBUTE_CONTEXT ||
		    attributes[i] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
			return CUDA_ERROR_INVALID_VALUE;
	look_up(ptr, &facts);
	for (unsigned int i = 0; i < numAttributes; i++) {
		result = answer(&facts, attributes[i], ptr, data[i]);
		if (result == CUDA_ERROR_NOT_SUPPORTED)
			return result;
	}
	return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct memory_node *node;
	unsigned int truth;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&truth, value, sizeof(truth));
	memory_lock();
	node = memory_table_at(ptr);
	if (node)
		node->sync_memops = truth != 0;
	memory_unlock();
	return node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
