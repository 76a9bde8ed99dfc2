/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/proc.h"
#include "driver/sim.h"
#include "driver/state.h"

/* The first row of a name, or where it would stand. */
static unsigned int first_row(const char *name)
{
	unsigned int low = 0, high = proc_rows;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (strcmp(proc_table[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct proc_row *proc_find(const char *name, int version, bool per_thread, bool *ret_known)
{
	const struct proc_row *legacy = NULL, *own = NULL;

	*ret_known = false;
	for (unsigned int i = first_row(name); i < proc_rows; i++) {
		const struct proc_row *row = &proc_table[i];

		if (strcmp(row->name, name) != 0)
			break;
		if (row->address == row->refusal)
			continue;
		*ret_known = true;
		if (row->version > version)
			continue;
		if (row->per_thread)
			own = row;
		else
			legacy = row;
	}
	return per_thread && own ? own : legacy;
}

static CUresult look_up(const char *symbol, void **ret_pfn, int version, cuuint64_t flags,
			CUdriverProcAddressQueryResult *ret_status)
{
	const struct proc_row *row;
	bool known;

	if (!symbol || !ret_pfn || version < 0 || version > SIM_DRIVER_VERSION)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & ~(cuuint64_t)(CU_GET_PROC_ADDRESS_LEGACY_STREAM |
				  CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
		return CUDA_ERROR_INVALID_VALUE;
	row = proc_find(symbol, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
			&known);
	*ret_pfn = row ? row->address : NULL;
	if (ret_status)
		*ret_status = row     ? CU_GET_PROC_ADDRESS_SUCCESS
			      : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
				      : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *symbolStatus)
{
	return look_up(symbol, pfn, cudaVersion, flags, symbolStatus);
}

/* The form of CUDA 11.3 has no status, and answers with an error where there is no function. */
CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	CUresult result = look_up(symbol, pfn, cudaVersion, flags, NULL);

	if (result == CUDA_SUCCESS && !*pfn)
		return CUDA_ERROR_NOT_FOUND;
	return result;
}

/* NVIDIA's own runtime reads private tables and asks the driver in one of them to prove that it
 * is genuine, which a simulation does not imitate. */
CUresult cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!ppExportTable || !pExportTableId)
		return CUDA_ERROR_INVALID_VALUE;
	*ppExportTable = NULL;
	if (!atomic_flag_test_and_set(&said))
		fprintf(stderr,
			"simgpu: programs with NVIDIA's static CUDA runtime cannot run on the "
			"simulated GPU: link with `nvcc -cudart shared`\n");
	return CUDA_ERROR_INVALID_VALUE;
}
