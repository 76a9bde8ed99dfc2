/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log.h"

#include "sluice/wire_io.h"

#define LIMIT_BURST 10u
#define LINE_MAX_BYTES 700

static bool log_prefix;

void log_init(bool prefix)
{
	log_prefix = prefix || secure_getenv("JOURNAL_STREAM");
}

/* Peers' text goes into lines: nothing in it may end one or drive a terminal. */
static void log_line(enum log_level level, const char *format, va_list args)
{
	char line[LINE_MAX_BYTES];
	int length = vsnprintf(line, sizeof(line), format, args);

	if (length < 0)
		return;
	sluice_wire_printable(line);
	if (log_prefix)
		fprintf(stderr, "<%d>%s\n", (int)level, line);
	else
		fprintf(stderr, "sluiced: %s\n", line);
}

void log_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(LOG_LEVEL_ERROR, format, args);
	va_end(args);
}

void log_warning(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(LOG_LEVEL_WARNING, format, args);
	va_end(args);
}

void log_info(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(LOG_LEVEL_INFO, format, args);
	va_end(args);
}

void log_limited(struct log_limit *limit, enum log_level level, uint64_t now_ns, const char *format,
		 ...)
{
	va_list args;

	if (now_ns - limit->since_ns >= SLUICE_NS_PER_S) {
		if (limit->dropped)
			log_warning("%u similar messages left out", limit->dropped);
		limit->since_ns = now_ns;
		limit->count = limit->dropped = 0;
	}
	if (limit->count >= LIMIT_BURST) {
		limit->dropped++;
		return;
	}
	limit->count++;
	va_start(args, format);
	log_line(level, format, args);
	va_end(args);
}
