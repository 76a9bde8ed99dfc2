/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_LOG_H
#define DAEMON_LOG_H

/*
 * One line a message to stderr, lower case, subject first. With journald behind stderr (or
 * log_prefix) lines start with sd-daemon's <n>. Single-threaded.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_INFO = 6 };

/* Prefix lines with their level even if stderr is no journal. */
void log_init(bool prefix);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For lines that a peer can provoke: at most a burst, then one a second with the number left out. */
struct log_limit {
	uint64_t since_ns;
	uint32_t count, dropped;
};
void log_limited(struct log_limit *limit, enum log_level level, uint64_t now_ns, const char *format,
		 ...) __attribute__((format(printf, 4, 5)));

#endif
