/* SPDX-License-Identifier: Apache-2.0 */
#include "shim_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "cancel.h"
#include "environment.h"

static _Atomic unsigned int level_now;

struct line {
	size_t length;
	char text[SHIM_LOG_LINE];
};

static void put_char(struct line *line, char c)
{
	/* The last place is the newline's. */
	if (line->length < sizeof(line->text) - 1)
		line->text[line->length++] = c;
}

static void put_string(struct line *line, const char *string)
{
	for (const char *c = string ? string : "(null)"; *c; c++)
		put_char(line, *c);
}

static void put_number(struct line *line, unsigned long number, unsigned int base)
{
	char digits[24];
	unsigned int count = 0;

	do {
		digits[count++] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number);
	while (count)
		put_char(line, digits[--count]);
}

static void put_signed(struct line *line, int number)
{
	if (number < 0)
		put_char(line, '-');
	put_number(line, number < 0 ? 0ul - (unsigned long)number : (unsigned long)number, 10);
}

static void format_line(struct line *line, const char *format, va_list args)
{
	for (const char *c = format; *c; c++) {
		if (*c != '%') {
			put_char(line, *c);
			continue;
		}
		switch (*++c) {
		case 's': put_string(line, va_arg(args, const char *)); break;
		case 'd': put_signed(line, va_arg(args, int)); break;
		case 'u': put_number(line, va_arg(args, unsigned int), 10); break;
		case 'x': put_number(line, va_arg(args, unsigned int), 16); break;
		case 'l':
			put_number(line, va_arg(args, unsigned long), 10);
			c++;
			break;
		case '%': put_char(line, '%'); break;
		default: return;
		}
	}
}

void shim_log_init(void)
{
	static const char *const names[] = {"off", "error", "info", "debug"};
	const char *asked = environment()->log;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(asked, names[i]))
			atomic_store_explicit(&level_now, i, memory_order_relaxed);
}

void shim_log(enum shim_log_level level, const char *format, ...)
{
	struct line line = {0};
	int saved = errno, cancel;
	va_list args;

	if ((unsigned int)level > atomic_load_explicit(&level_now, memory_order_relaxed))
		return;
	put_string(&line, "sluice (pid ");
	put_number(&line, (unsigned long)getpid(), 10);
	put_string(&line, "): ");
	va_start(args, format);
	format_line(&line, format, args);
	va_end(args);
	line.text[line.length++] = '\n';
	cancel = cancel_hold();
	/* A reader that went away is no business of the application's: no second try. */
	if (write(STDERR_FILENO, line.text, line.length) < 0)
		errno = saved;
	cancel_resume(cancel);
	errno = saved;
}
