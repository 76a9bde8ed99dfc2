/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "driver/error.h"
#include "driver/sim.h"

struct error_text {
	CUresult code;
	const char *name, *text;
};

#define ERROR(code, text) \
	{ \
		code, #code, text \
	}

static const struct error_text error_table[] = {
	ERROR(CUDA_SUCCESS, "no error"),
	ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
	ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
	ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
	ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
	ERROR(CUDA_ERROR_PROFILER_DISABLED, "profiler disabled while using external tool"),
	ERROR(CUDA_ERROR_PROFILER_NOT_INITIALIZED, "profiler not initialized"),
	ERROR(CUDA_ERROR_PROFILER_ALREADY_STARTED, "profiler already started"),
	ERROR(CUDA_ERROR_PROFILER_ALREADY_STOPPED, "profiler already stopped"),
	ERROR(CUDA_ERROR_STUB_LIBRARY, "driver is a stub library"),
	ERROR(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, "call requires a newer driver"),
	ERROR(CUDA_ERROR_DEVICE_UNAVAILABLE, "device is busy or unavailable"),
	ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
	ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
	ERROR(CUDA_ERROR_DEVICE_NOT_LICENSED, "device has no valid license"),
	ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
	ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
	ERROR(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, "context already current"),
	ERROR(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed"),
	ERROR(CUDA_ERROR_UNMAP_FAILED, "unmapping of buffer object failed"),
	ERROR(CUDA_ERROR_ARRAY_IS_MAPPED, "array is mapped"),
	ERROR(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped"),
	ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU,
	      "no kernel image is available for execution on the device"),
	ERROR(CUDA_ERROR_ALREADY_ACQUIRED, "resource already acquired"),
	ERROR(CUDA_ERROR_NOT_MAPPED, "resource not mapped"),
	ERROR(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, "resource not mapped as array"),
	ERROR(CUDA_ERROR_NOT_MAPPED_AS_POINTER, "resource not mapped as pointer"),
	ERROR(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
	ERROR(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
	ERROR(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, "context is in use by another thread"),
	ERROR(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
	      "peer access is not supported between these two devices"),
	ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
	ERROR(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, "invalid OpenGL or DirectX context"),
	ERROR(CUDA_ERROR_NVLINK_UNCORRECTABLE, "uncorrectable NVLink error detected"),
	ERROR(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "PTX JIT compiler library not found"),
	ERROR(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "PTX version is not supported"),
	ERROR(CUDA_ERROR_JIT_COMPILATION_DISABLED, "PTX JIT compilation is disabled"),
	ERROR(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "execution affinity is not supported"),
	ERROR(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, "device-side synchronization is not supported"),
	ERROR(CUDA_ERROR_CONTAINED, "contained memory error"),
	ERROR(CUDA_ERROR_INVALID_SOURCE, "device kernel source is invalid"),
	ERROR(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
	ERROR(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found"),
	ERROR(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, "shared object initialization failed"),
	ERROR(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
	ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
	ERROR(CUDA_ERROR_ILLEGAL_STATE, "resource is in a state that forbids the operation"),
	ERROR(CUDA_ERROR_LOSSY_QUERY, "the query would lose information"),
	ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
	ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
	ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
	ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
	ERROR(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
	ERROR(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, "launch uses incompatible texturing mode"),
	ERROR(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
	ERROR(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
	ERROR(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active"),
	ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
	ERROR(CUDA_ERROR_ASSERT, "device-side assert triggered"),
	ERROR(CUDA_ERROR_TOO_MANY_PEERS, "peer mapping resources exhausted"),
	ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
	      "part or all of the requested memory range is already mapped"),
	ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer is not a registered memory region"),
	ERROR(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
	ERROR(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
	ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
	ERROR(CUDA_ERROR_INVALID_ADDRESS_SPACE,
	      "operation not supported on global/shared address space"),
	ERROR(CUDA_ERROR_INVALID_PC, "invalid program counter"),
	ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
	ERROR(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
	ERROR(CUDA_ERROR_TENSOR_MEMORY_LEAK, "tensor memory not completely freed"),
	ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
	ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
	ERROR(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
	ERROR(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
	      "system has unsupported display driver / cuda driver combination"),
	ERROR(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
	      "forward compatibility was attempted on non supported HW"),
	ERROR(CUDA_ERROR_MPS_CONNECTION_FAILED, "MPS client failed to connect to the MPS server"),
	ERROR(CUDA_ERROR_MPS_RPC_FAILURE, "MPS server failed to reply"),
	ERROR(CUDA_ERROR_MPS_SERVER_NOT_READY, "MPS server is not ready"),
	ERROR(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, "maximum number of MPS clients reached"),
	ERROR(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, "maximum number of MPS connections reached"),
	ERROR(CUDA_ERROR_MPS_CLIENT_TERMINATED, "MPS client has been terminated by the server"),
	ERROR(CUDA_ERROR_CDP_NOT_SUPPORTED, "dynamic parallelism is not supported"),
	ERROR(CUDA_ERROR_CDP_VERSION_MISMATCH, "dynamic parallelism version mismatch"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	      "operation not permitted when stream is capturing"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
	      "operation failed due to a previous error during capture"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_MERGE,
	      "operation would result in a merge of separate capture sequences"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
	      "dependency created on uncaptured work in another stream"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
	      "operation would make the legacy stream depend on a capturing blocking stream"),
	ERROR(CUDA_ERROR_CAPTURED_EVENT,
	      "operation not permitted on an event last recorded in a capturing stream"),
	ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
	      "attempt to terminate a thread-local capture sequence from another thread"),
	ERROR(CUDA_ERROR_TIMEOUT, "wait operation timed out"),
	ERROR(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
	      "the graph update was not performed because it would violate its constraints"),
	ERROR(CUDA_ERROR_EXTERNAL_DEVICE, "an asynchronous error occurred in an external device"),
	ERROR(CUDA_ERROR_INVALID_CLUSTER_SIZE, "invalid cluster size"),
	ERROR(CUDA_ERROR_FUNCTION_NOT_LOADED, "function handle is not loaded"),
	ERROR(CUDA_ERROR_INVALID_RESOURCE_TYPE, "invalid resource type"),
	ERROR(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "invalid resource configuration"),
	ERROR(CUDA_ERROR_KEY_ROTATION, "encryption keys are being rotated"),
	ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};

static const struct error_text *error_find(CUresult code)
{
	for (size_t i = 0; i < sizeof(error_table) / sizeof(error_table[0]); i++)
		if (error_table[i].code == code)
			return &error_table[i];
	return NULL;
}

CUresult cuGetErrorName(CUresult error, const char **pStr)
{
	const struct error_text *found = error_find(error);

	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = found ? found->name : NULL;
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **pStr)
{
	const struct error_text *found = error_find(error);

	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = found ? found->text : NULL;
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult error_from_errno(int err)
{
	switch (err < 0 ? -err : err) {
	case 0: return CUDA_SUCCESS;
	case ENOMEM: return CUDA_ERROR_OUT_OF_MEMORY;
	case EAGAIN: return CUDA_ERROR_DEVICE_UNAVAILABLE;
	case EINVAL: return CUDA_ERROR_INVALID_VALUE;
	case ENOENT: return CUDA_ERROR_FILE_NOT_FOUND;
	default: return CUDA_ERROR_OPERATING_SYSTEM;
	}
}

/* Names already said, so that a refusal in a loop stays one line. Names are literals of this
 * library: comparing pointers is enough, and a name from two places may be said twice. */
#define REFUSALS_KEPT 1024
static _Atomic(const char *) refused[REFUSALS_KEPT];

static bool refusal_is_new(const char *name)
{
	for (int i = 0; i < REFUSALS_KEPT; i++) {
		const char *seen = NULL;

		if (atomic_compare_exchange_strong(&refused[i], &seen, name))
			return true;
		if (seen == name)
			return false;
	}
	return false;
}

CUresult sim_refuse(const char *name, const char *why)
{
	if (refusal_is_new(name))
		fprintf(stderr, "simgpu: %s is not modelled%s%s\n", name, why ? ": " : "",
			why ? why : "");
	return CUDA_ERROR_NOT_SUPPORTED;
}
