/* SPDX-License-Identifier: Apache-2.0 */
#include "environment.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "futex.h"
#include "sluice/wire_io.h"

static struct {
	struct futex_lock lock;
	_Atomic bool is_read;
	struct environment values;
} state;

static void take(const char *name, size_t size, char *ret_value)
{
	const char *value = secure_getenv(name);
	size_t length = value ? strnlen(value, size - 1) : 0;

	if (length)
		memcpy(ret_value, value, length);
	ret_value[length] = 0;
}

const struct environment *environment(void)
{
	struct environment *values = &state.values;

	/* Pairs with the release below. */
	if (atomic_load_explicit(&state.is_read, memory_order_acquire))
		return values;
	futex_lock(&state.lock);
	if (!atomic_load_explicit(&state.is_read, memory_order_relaxed)) {
		take(SLUICE_SOCKET_ENV, sizeof(values->socket), values->socket);
		take("XDG_RUNTIME_DIR", sizeof(values->runtime), values->runtime);
		take("SLUICE_TENANT", sizeof(values->tenant), values->tenant);
		take("SLUICE_LOG", sizeof(values->log), values->log);
		take("SLUICE_PROFILE", sizeof(values->profile), values->profile);
		take("SLUICE_NVTX_NEXT", sizeof(values->nvtx_next), values->nvtx_next);
		take("CUDA_DEVICE_MAX_CONNECTIONS", sizeof(values->connections),
		     values->connections);
		atomic_store_explicit(&state.is_read, true, memory_order_release);
	}
	futex_unlock(&state.lock);
	return values;
}

void environment_forked(void)
{
	state.lock = (struct futex_lock){0};
	state.is_read = false;
}
