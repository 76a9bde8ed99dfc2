/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_LOG_H
#define SHIM_LOG_H

/*
 * One bounded line to stderr by one write(2), off unless SLUICE_LOG=error|info|debug. Slow paths
 * only, never inside a door, never per launch. Formats: %s %d %u %lu %x %%; no width, no floats,
 * nothing that allocates. Any thread; keeps errno.
 */

enum shim_log_level {
	SHIM_LOG_OFF = 0,
	SHIM_LOG_ERROR = 1,
	SHIM_LOG_INFO = 2,
	SHIM_LOG_DEBUG = 3,
};

#define SHIM_LOG_LINE 512

/* Reads SLUICE_LOG. Once, at the attempt to attach. */
void shim_log_init(void);

void shim_log(enum shim_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
