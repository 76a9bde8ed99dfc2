/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_DESC_H
#define SIMGPU_DESC_H

/*
 * Reads the description of a device (libconfig; presets in tools/simgpu/presets) into a
 * struct model_desc. Strict: an unknown key, a missing one, a wrong type or unit, or a value that
 * no device can have is an error that names the line. The list `costs` (kernel durations) belongs
 * to the driver's cost table and is passed over here. No state; thread-safe.
 */

#include <stdbool.h>
#include <stdint.h>

#include "device/model.h"

#define DESC_ERROR_MAX 256

struct desc_error {
	int line; /* 0: not of one line (cannot be read, key missing) */
	char text[DESC_ERROR_MAX];
};

enum desc_mps { DESC_MPS_FILE, DESC_MPS_OFF, DESC_MPS_ON }; /* as the file says, or not */

/* 0, -errno where the file cannot be read, -EINVAL where it is wrong; then ret_error is filled. */
int desc_load(const char *path, enum desc_mps mps, struct model_desc *ret_desc,
	      struct desc_error *ret_error);

/* The same of a group in another file (libconfig's config_setting_t). Keys of `passed` (ended by
 * NULL) are the caller's. partial: *desc is complete, and what the group says is changed in it. */
struct config_setting_t;
int desc_load_group(const struct config_setting_t *group, const char *const *passed, bool partial,
		    struct model_desc *desc, struct desc_error *ret_error);

#endif
