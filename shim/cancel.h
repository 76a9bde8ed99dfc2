/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_CANCEL_H
#define SHIM_CANCEL_H

/*
 * The application may cancel its threads (pthread_cancel). One that ended so inside a call of ours,
 * in the kernel or in the driver, would leave what it holds locked for ever: from cancel_hold to
 * cancel_resume it is not, but at its next chance. Futexes and mmap are no points of cancellation.
 * Any thread; may be nested.
 */

#include <pthread.h>

static inline int cancel_hold(void)
{
	int state = PTHREAD_CANCEL_ENABLE;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void cancel_resume(int state)
{
	(void)pthread_setcancelstate(state, NULL);
}

#endif
