/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "driver/capture.h"
#include "driver/event.h"
#include "driver/issue.h"
#include "driver/queue.h"

static CUresult query(CUstream handle, bool per_thread)
{
	struct stream *stream;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&stream->exec->lock);
	result = capture_check_sync(stream);
	if (result == CUDA_SUCCESS)
		result = atomic_load_explicit(&stream->home->sticky, memory_order_relaxed);
	if (result == CUDA_SUCCESS && stream->last != NULL && !keeper_is_complete(stream->last))
		result = CUDA_ERROR_NOT_READY;
	pthread_mutex_unlock(&stream->exec->lock);
	return result;
}

FORMS(cuStreamQuery, cuStreamQuery_ptsz, (CUstream hStream), query(hStream, per_thread))

static CUresult synchronize(CUstream handle, bool per_thread)
{
	struct stream *stream;
	CUresult result = issue_stream(handle, per_thread, &stream);

	return result == CUDA_SUCCESS ? issue_sync(stream) : result;
}

FORMS(cuStreamSynchronize, cuStreamSynchronize_ptsz, (CUstream hStream),
      synchronize(hStream, per_thread))

static CUresult get_priority(CUstream handle, bool per_thread, int *priority)
{
	struct stream *stream;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result == CUDA_SUCCESS && priority == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*priority = stream->priority;
	return result;
}

FORMS(cuStreamGetPriority, cuStreamGetPriority_ptsz, (CUstream hStream, int *priority),
      get_priority(hStream, per_thread, priority))

static CUresult get_flags(CUstream handle, bool per_thread, unsigned int *flags)
{
	struct stream *stream;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result == CUDA_SUCCESS && flags == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*flags = stream->flags;
	return result;
}

FORMS(cuStreamGetFlags, cuStreamGetFlags_ptsz, (CUstream hStream, unsigned int *flags),
      get_flags(hStream, per_thread, flags))

static CUresult get_id(CUstream handle, bool per_thread, unsigned long long *id)
{
	struct stream *stream;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result == CUDA_SUCCESS && id == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*id = stream->id;
	return result;
}

FORMS(cuStreamGetId, cuStreamGetId_ptsz, (CUstream hStream, unsigned long long *streamId),
      get_id(hStream, per_thread, streamId))

static CUresult get_context(CUstream handle, bool per_thread, CUcontext *context)
{
	struct stream *stream;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result == CUDA_SUCCESS && context == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*context = (CUcontext)stream->home->context;
	return result;
}

FORMS(cuStreamGetCtx, cuStreamGetCtx_ptsz, (CUstream hStream, CUcontext *pctx),
      get_context(hStream, per_thread, pctx))

/* There are no green contexts here, so every stream belongs to an ordinary one. */
static CUresult get_context_2(CUstream handle, bool per_thread, CUcontext *context,
			      CUgreenCtx *green)
{
	CUresult result = get_context(handle, per_thread, context);

	if (result == CUDA_SUCCESS && green != NULL)
		*green = NULL;
	return result;
}

FORMS(cuStreamGetCtx_v2, cuStreamGetCtx_v2_ptsz,
      (CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx),
      get_context_2(hStream, per_thread, pCtx, pGreenCtx))

static CUresult get_device(CUstream handle, bool per_thread, CUdevice *device)
{
	struct stream *stream;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result == CUDA_SUCCESS && device == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*device = stream->exec->device->ordinal;
	return result;
}

FORMS(cuStreamGetDevice, cuStreamGetDevice_ptsz, (CUstream hStream, CUdevice *device),
      get_device(hStream, per_thread, device))

/* ---- attributes ---- */

/* They are kept and given back; none changes what is computed. NULL: not one of a stream. */
static CUlaunchAttributeValue *attribute_of(struct stream *stream, CUstreamAttrID attr)
{
	switch ((int)attr) {
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: return &stream->policy_window;
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: return &stream->sync_policy;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: return &stream->sync_domain;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: return &stream->domain_map;
	default: return NULL;
	}
}

static CUresult refuse_attribute(const char *call, CUstreamAttrID attr)
{
	char what[80];

	snprintf(what, sizeof(what), "stream attribute %d", (int)attr);
	return sim_refuse(call, what);
}

static CUresult get_attribute(CUstream handle, bool per_thread, CUstreamAttrID attr,
			      CUstreamAttrValue *value)
{
	struct stream *stream;
	CUlaunchAttributeValue *kept;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (value == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	kept = attribute_of(stream, attr);
	if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
		memset(value, 0, sizeof(*value));
		value->priority = stream->priority;
	} else if (kept == NULL) {
		return refuse_attribute("cuStreamGetAttribute", attr);
	} else {
		*value = *kept;
	}
	return CUDA_SUCCESS;
}

FORMS(cuStreamGetAttribute, cuStreamGetAttribute_ptsz,
      (CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value),
      get_attribute(hStream, per_thread, attr, value))

static CUresult set_attribute(CUstream handle, bool per_thread, CUstreamAttrID attr,
			      const CUstreamAttrValue *value)
{
	struct stream *stream;
	CUlaunchAttributeValue *kept;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (value == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	kept = attribute_of(stream, attr);
	if (kept == NULL) /* the priority too: it is fixed when the stream is made */
		return refuse_attribute("cuStreamSetAttribute", attr);
	*kept = *value;
	return CUDA_SUCCESS;
}

FORMS(cuStreamSetAttribute, cuStreamSetAttribute_ptsz,
      (CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *value),
      set_attribute(hStream, per_thread, attr, value))

static CUresult copy_attributes(CUstream dst, CUstream src, bool per_thread)
{
	struct stream *to, *from;
	CUresult result = issue_stream(dst, per_thread, &to);

	if (result == CUDA_SUCCESS)
		result = issue_stream(src, per_thread, &from);
	if (result != CUDA_SUCCESS)
		return result;
	to->policy_window = from->policy_window;
	to->sync_policy = from->sync_policy;
	to->sync_domain = from->sync_domain;
	to->domain_map = from->domain_map;
	return CUDA_SUCCESS;
}

FORMS(cuStreamCopyAttributes, cuStreamCopyAttributes_ptsz, (CUstream dst, CUstream src),
      copy_attributes(dst, src, per_thread))
