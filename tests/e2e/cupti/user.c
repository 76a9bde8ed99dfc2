/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool in the process (preloaded): loads CUPTI after a second, and subscribes for good. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *work(void *closure)
{
	int (*subscribe)(void **, void *, void *);
	void *library, *subscriber;

	sleep(1);
	library = dlopen(getenv("USER_CUPTI"), RTLD_LAZY);
	subscribe = (int (*)(void **, void *, void *))(library ? dlsym(library, "cuptiSubscribe")
							       : NULL);
	fprintf(stderr, "user: subscribed %d\n",
		subscribe ? subscribe(&subscriber, work, NULL) : -1);
	return NULL;
}

static __attribute__((constructor)) void begin(void)
{
	pthread_t thread;

	if (getenv("USER_CUPTI") && !pthread_create(&thread, NULL, work, NULL))
		pthread_detach(thread);
}
