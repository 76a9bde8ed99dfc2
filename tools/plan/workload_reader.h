/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_WORKLOAD_READER_H
#define PLAN_WORKLOAD_READER_H

/*
 * Reading a workload's file with libconfig: values with their ranges, and complaints that name
 * the line. All functions return 0, -EINVAL with the complaint in reader->err, or -ENOMEM.
 */

#include <libconfig.h>

#include "workload.h"

struct reader {
	struct workload *workload;
	struct workload_error *err;
	uint32_t room;	   /* of workload->ops */
	uint32_t next_key; /* of drawn operations */
};

/* Always -EINVAL. `at` NULL: no line. */
__attribute__((format(printf, 3, 4))) int reader_fail(struct reader *reader,
						      const config_setting_t *at,
						      const char *format, ...);
/* `known` ends with NULL; `what` is the group's name in the complaint. */
int reader_known_keys(struct reader *reader, const config_setting_t *group,
		      const char *const *known, const char *what);
int reader_number(struct reader *reader, const config_setting_t *value, const char *what,
		  uint64_t least, uint64_t most, uint64_t *ret);
int reader_member(struct reader *reader, const config_setting_t *group, const char *key,
		  uint64_t least, uint64_t most, uint64_t *ret);
int reader_optional(struct reader *reader, const config_setting_t *group, const char *key,
		    uint64_t least, uint64_t most, uint64_t *ret);
int reader_class(struct reader *reader, const config_setting_t *value, uint8_t *ret);
int reader_text(struct reader *reader, const config_setting_t *group, const char *key, char *ret,
		size_t size);
/* One value stands for all; else as many as `levels`, rising. */
int reader_rising(struct reader *reader, const config_setting_t *group, const char *key,
		  uint64_t most, uint64_t *ret, int levels);
/* Room for `count` more operations. */
int reader_reserve(struct reader *reader, const config_setting_t *at, uint64_t count);

/* The two kinds of file: a list of phases, a list of operations. */
int reader_phases(struct reader *reader, const config_setting_t *phases);
int reader_operations(struct reader *reader, const config_setting_t *list);

#endif
