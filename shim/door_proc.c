/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuGetProcAddress in both of its forms. The driver answers first, with its own rules for
 * versions, flags and unknown names; then its address is replaced by a hook. The runtime asks for
 * hundreds of names before cuInit: nothing is begun here.
 *
 * That a driver answers with the addresses it exports is not verified on real hardware; where it
 * does not, door_table falls back to names.
 */
#include "door_table.h"
#include "real.h"

static void replace(CUresult result, const char *base, void **address, int version, uint64_t flags)
{
	if (result == CUDA_SUCCESS && base && address && *address)
		*address = hook_for_answer(*address, base, version, flags);
}

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	CUresult result;

	(void)real_load();
	result = real.cuGetProcAddress(symbol, pfn, cudaVersion, flags);
	replace(result, symbol, pfn, cudaVersion, flags);
	return result;
}

CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
				     cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
{
	CUresult result;

	(void)real_load();
	result = real.cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, symbolStatus);
	replace(result, symbol, pfn, cudaVersion, flags);
	return result;
}
