/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of CUPTI with which a tool begins, for programs that are linked with it: ours stand in
 * front, make way, and go on to CUPTI's. A program that loads CUPTI is seen by the door of dlopen.
 */
#include "door_resolve.h"
#include "profile.h"

#define CUPTI_NOT_THERE 15 /* CUPTI_ERROR_NOT_INITIALIZED */

/* The definition behind ours in the order of look-up. */
static void *behind(void *ours, const char *name)
{
	struct object object;
	void *symbol;

	profile_yield();
	return object_find_definer(ours, name, &object, &symbol) ? symbol : NULL;
}

#define CUPTI_HOOK(name, parameters, arguments) \
	__attribute__((visibility("default"))) int name parameters; \
	int name parameters \
	{ \
		int(*call) parameters = (int(*) parameters)behind((void *)name, #name); \
\
		return call ? call arguments : CUPTI_NOT_THERE; \
	}

CUPTI_HOOK(cuptiSubscribe, (void **subscriber, void *callback, void *closure),
	   (subscriber, callback, closure))
CUPTI_HOOK(cuptiSubscribe_v2, (void **subscriber, void *callback, void *closure, void *params),
	   (subscriber, callback, closure, params))
CUPTI_HOOK(cuptiActivityRegisterCallbacks, (cupti_want_buffer want, cupti_take_buffer take),
	   (want, take))
