/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_DOOR_PICK_H
#define SHIM_DOOR_PICK_H

/*
 * What the trampolines in doors_*.S ask: is the look-up ours to answer, and if not, where does it
 * go? glibc finds its caller by the return address (RTLD_NEXT, RTLD_DEFAULT, RUNPATH), hence what
 * is not ours is jumped to and never called from here. Usable wherever the loader is: no
 * allocation, no thread-local, no log, no session; whatever dlerror had to say, it still says.
 */

#include <stdatomic.h>
#include <stdint.h>

/* Two registers on x86-64 and aarch64: the assembly knows. */
struct door_answer {
	void *symbol; /* the answer, when jump is NULL */
	void *jump;   /* the function to go on with, arguments as they came */
};

struct door_answer door_pick_dlsym(void *handle, const char *name, const void *caller);
struct door_answer door_pick_dlvsym(void *handle, const char *name, const char *version,
				    const void *caller);

/* Where dlopen goes on; the assembly has taken RTLD_DEEPBIND out of its flags. */
void *door_pick_dlopen(const char *path);

/* Is profile.h to be told of each library before it is loaded? Not before the process is managed. */
extern _Atomic uint32_t door_watches_libraries;

#endif
