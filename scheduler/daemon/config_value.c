/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>

#include "daemon/config_keys.h"
#include "sluice/wire_io.h"

/* Units, largest first; a value is shown in the largest that divides it. */
struct unit {
	const char *name;
	uint64_t size;
};

static const struct unit time_units[] = {
	{"h", 3600000000000ull}, {"min", 60000000000ull}, {"s", 1000000000ull},
	{"ms", 1000000ull},	 {"us", 1000ull},	  {"ns", 1ull},
};
static const struct unit size_units[] = {
	{"TiB", 1ull << 40},   {"TB", 1000000000000ull}, {"GiB", 1ull << 30},
	{"GB", 1000000000ull}, {"MiB", 1ull << 20},	 {"MB", 1000000ull},
	{"KiB", 1ull << 10},   {"kB", 1000ull},		 {"B", 1ull},
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Digits, and up to three decimals as thousandths. Returns what follows, or NULL. */
static const char *parse_number(const char *text, uint64_t *ret_whole, uint32_t *ret_thousandths)
{
	uint32_t scale = 100;

	*ret_whole = 0;
	*ret_thousandths = 0;
	if (!isdigit((unsigned char)*text))
		return NULL;
	for (; isdigit((unsigned char)*text); text++) {
		if (*ret_whole > (UINT64_MAX - 9) / 10)
			return NULL;
		*ret_whole = *ret_whole * 10 + (uint64_t)(*text - '0');
	}
	if (*text != '.')
		return text;
	for (text++; isdigit((unsigned char)*text) && scale; text++, scale /= 10)
		*ret_thousandths += (uint32_t)(*text - '0') * scale;
	return isdigit((unsigned char)*text) ? NULL : text;
}

static const char *skip_blanks(const char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	return text;
}

/* A number with one of the units. */
static bool parse_scaled(const char *text, const struct unit *units, size_t count,
			 uint64_t *ret_value)
{
	uint64_t whole, value;
	uint32_t thousandths;
	const char *rest = parse_number(skip_blanks(text), &whole, &thousandths);

	if (!rest)
		return false;
	rest = skip_blanks(rest);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(rest, units[i].name))
			continue;
		if (__builtin_mul_overflow(whole, units[i].size, &value) ||
		    __builtin_add_overflow(value, units[i].size / 1000 * thousandths, &value))
			return false;
		*ret_value = value;
		return true;
	}
	return false;
}

static bool parse_percent(const char *text, uint32_t *ret_permille)
{
	uint64_t whole;
	uint32_t thousandths;
	const char *rest = parse_number(skip_blanks(text), &whole, &thousandths);

	if (!rest || strcmp(skip_blanks(rest), "%") || whole > 100000 || thousandths % 100)
		return false;
	*ret_permille = (uint32_t)whole * 10 + thousandths / 100;
	return true;
}

static bool parse_integer(const char *text, uint64_t *ret_value)
{
	uint32_t thousandths;
	const char *rest = parse_number(text, ret_value, &thousandths);

	return rest && !*rest && !thousandths;
}

static int why_not(char *ret_why, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int why_not(char *ret_why, size_t room, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ret_why, room, format, args);
	va_end(args);
	return -EINVAL;
}

static void format_scaled(uint64_t value, const struct unit *units, size_t count, char *ret_text,
			  size_t room)
{
	size_t i = 0;

	/* Decimal size units are read, not written. */
	while (i + 1 < count && (!value || value % units[i].size ||
				 (units == size_units && (i & 1) && units[i].size > 1)))
		i++;
	snprintf(ret_text, room, "%llu %s", (unsigned long long)(value / units[i].size),
		 units[i].name);
}

static int parse_in_range(const struct config_key *key, const char *text, uint64_t *ret_value,
			  char *ret_why, size_t room)
{
	bool is_time = key->type == KEY_TIME || key->type == KEY_TARGET;
	const struct unit *units = is_time ? time_units : size_units;
	size_t count = is_time ? COUNT(time_units) : COUNT(size_units);
	char least[32], most[32];

	/* "max" is cgroup v2's word. */
	if (key->type == KEY_SIZE && key->most == UINT64_MAX &&
	    (!strcmp(text, "none") || !strcmp(text, "max"))) {
		*ret_value = UINT64_MAX;
		return 0;
	}
	if (!parse_scaled(text, units, count, ret_value))
		return why_not(ret_why, room, "\"%s\" is no %s; write it like \"%s\"", text,
			       is_time ? "time" : "size", is_time ? "20 ms" : "8 GiB");
	if (*ret_value >= key->least && *ret_value <= key->most)
		return 0;
	format_scaled(key->least, units, count, least, sizeof(least));
	if (key->most >= UINT64_MAX - 1)
		return why_not(ret_why, room, "\"%s\" is too small; at least \"%s\"", text, least);
	format_scaled(key->most, units, count, most, sizeof(most));
	return why_not(ret_why, room, "\"%s\" is out of range; from \"%s\" to \"%s\"", text, least,
		       most);
}

static int parse_choice(const struct config_key *key, const char *text, uint32_t *ret_index,
			char *ret_why, size_t room)
{
	char list[128] = "";
	size_t used = 0;

	for (uint32_t i = 0; key->choices[i]; i++) {
		if (!strcmp(key->choices[i], text)) {
			*ret_index = i;
			return 0;
		}
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s\"%s\"",
					 i ? ", " : "", key->choices[i]);
	}
	return why_not(ret_why, room, "\"%s\" is none of %s", text, list);
}

static int parse_id(const struct config_key *key, const char *text, uint32_t *ret_id, char *ret_why,
		    size_t room)
{
	bool user = key->type == KEY_USER;
	const struct passwd *passwd;
	const struct group *group;
	uint64_t number;

	if (parse_integer(text, &number) && number < CONFIG_NO_ID) {
		*ret_id = (uint32_t)number;
		return 0;
	}
	passwd = user ? getpwnam(text) : NULL;
	group = user ? NULL : getgrnam(text);
	if (!passwd && !group && (*text == '-' || !text[strspn(text, "0123456789")]))
		return why_not(ret_why, room, "\"%s\" is no %s's number; they go from 0 to %u",
			       text, user ? "user" : "group", CONFIG_NO_ID - 1);
	if (!passwd && !group)
		return why_not(ret_why, room,
			       "this system has no %s \"%s\"; create it or use a number",
			       user ? "user" : "group", text);
	*ret_id = user ? passwd->pw_uid : group->gr_gid;
	return 0;
}

static int parse_share(const struct config_key *key, const char *text, uint32_t *ret_permille,
		       char *ret_why, size_t room)
{
	uint32_t permille;

	if (!parse_percent(text, &permille))
		return why_not(ret_why, room,
			       "\"%s\" is no share; write it like \"30 %%\", at most 100 %%", text);
	if (permille > key->most)
		return why_not(ret_why, room, "\"%s\" is more than there is; at most \"100 %%\"",
			       text);
	if (permille < key->least)
		return why_not(ret_why, room, "\"%s\" would be none at all; at least \"0.1 %%\"",
			       text);
	*ret_permille = permille;
	return 0;
}

static int parse_target(const struct config_key *key, const char *text,
			struct config_target *ret_target, char *ret_why, size_t room)
{
	uint32_t over;
	uint64_t p99_ns;
	int r;

	if (*text == '+') {
		if (!parse_percent(text + 1, &over) || !over)
			return why_not(ret_why, room,
				       "\"%s\" is no relative target; write it like "
				       "\"+10 %%\"",
				       text);
		ret_target->over_permille = over;
		ret_target->p99_ns = 0;
		return 0;
	}
	r = parse_in_range(key, text, &p99_ns, ret_why, room);
	if (!r) {
		ret_target->p99_ns = p99_ns;
		ret_target->over_permille = 0;
	}
	return r;
}

static int parse_level(const char *text, int32_t *ret_level, char *ret_why, size_t room)
{
	bool negative = *text == '-';
	uint64_t whole;
	uint32_t thousandths;
	const char *rest = parse_number(text + negative, &whole, &thousandths);

	if (!strcmp(text, "auto")) {
		*ret_level = CONFIG_LEVEL_AUTO;
		return 0;
	}
	if (!rest || *rest || whole > 5 || whole * 1000 + thousandths > (negative ? 1000 : 5000))
		return why_not(
			ret_why, room,
			"\"%s\" is no level; write \"auto\" or a number from -1 to 5, like 1.5",
			text);
	*ret_level = (int32_t)(whole * 1000 + thousandths);
	if (negative)
		*ret_level = -*ret_level;
	return 0;
}

static void format_level(int32_t level, char *ret_text, size_t room)
{
	uint32_t size = level < 0 ? 0 - (uint32_t)level : (uint32_t)level;

	if (level == CONFIG_LEVEL_AUTO)
		snprintf(ret_text, room, "auto");
	else
		snprintf(ret_text, room, "%s%u.%03u", level < 0 ? "-" : "", size / 1000,
			 size % 1000);
}

static int parse_text(const struct config_key *key, const char *text, char *field, char *ret_why,
		      size_t room)
{
	if (!*text)
		return why_not(ret_why, room, "it is empty; leave the key out or fill it in");
	if (strlen(text) >= key->room)
		return why_not(ret_why, room, "it is longer than %zu characters", key->room - 1);
	sluice_wire_text(field, key->room, text);
	return 0;
}

int config_key_parse(const struct config_key *key, void *base, const char *text, char *ret_why,
		     size_t why_room)
{
	void *field = (char *)base + key->offset;
	uint64_t value;

	switch (key->type) {
	case KEY_INTEGER:
		if (!parse_integer(text, &value) || value < key->least || value > key->most)
			return why_not(ret_why, why_room,
				       "\"%s\" is no whole number from %llu to %llu", text,
				       (unsigned long long)key->least,
				       (unsigned long long)key->most);
		*(uint32_t *)field = (uint32_t)value;
		return 0;
	case KEY_PERCENT: return parse_share(key, text, field, ret_why, why_room);
	case KEY_TIME:
	case KEY_SIZE: return parse_in_range(key, text, field, ret_why, why_room);
	case KEY_CHOICE: return parse_choice(key, text, field, ret_why, why_room);
	case KEY_BOOLEAN:
		if (strcmp(text, "true") && strcmp(text, "false"))
			return why_not(ret_why, why_room, "\"%s\" is neither true nor false", text);
		*(bool *)field = !strcmp(text, "true");
		return 0;
	case KEY_TEXT: return parse_text(key, text, field, ret_why, why_room);
	case KEY_USER:
	case KEY_GROUP: return parse_id(key, text, field, ret_why, why_room);
	case KEY_TARGET: return parse_target(key, text, field, ret_why, why_room);
	case KEY_LEVEL: return parse_level(text, field, ret_why, why_room);
	}
	return -EINVAL;
}

static void format_quoted(const char *text, char *ret_text, size_t room)
{
	size_t used = 0;

	ret_text[used++] = '"';
	for (; *text && used + 3 < room; text++) {
		if (*text == '"' || *text == '\\')
			ret_text[used++] = '\\';
		ret_text[used++] = *text;
	}
	ret_text[used++] = '"';
	ret_text[used] = 0;
}

bool config_key_format(const struct config_key *key, const void *base, char *ret_text, size_t room)
{
	const void *field = (const char *)base + key->offset;
	const struct config_target *target = field;
	uint64_t value = 0;
	uint32_t small = 0;
	char text[64];

	if (key->type == KEY_TIME || key->type == KEY_SIZE)
		value = *(const uint64_t *)field;
	else if (key->type != KEY_TEXT && key->type != KEY_BOOLEAN && key->type != KEY_TARGET &&
		 key->type != KEY_LEVEL)
		small = *(const uint32_t *)field;
	switch (key->type) {
	case KEY_INTEGER: snprintf(ret_text, room, "%u", small); return true;
	case KEY_USER:
	case KEY_GROUP: snprintf(ret_text, room, "%u", small); return small != CONFIG_NO_ID;
	case KEY_BOOLEAN:
		snprintf(ret_text, room, "%s", *(const bool *)field ? "true" : "false");
		return true;
	case KEY_CHOICE: snprintf(ret_text, room, "\"%s\"", key->choices[small]); return true;
	case KEY_TEXT: format_quoted(field, ret_text, room); return *(const char *)field != 0;
	case KEY_PERCENT:
		snprintf(text, sizeof(text), small % 10 ? "%u.%u %%" : "%u %%", small / 10,
			 small % 10);
		break;
	case KEY_TIME:
		format_scaled(value, time_units, COUNT(time_units), text, sizeof(text));
		break;
	case KEY_SIZE:
		if (value == UINT64_MAX)
			snprintf(text, sizeof(text), "none");
		else
			format_scaled(value, size_units, COUNT(size_units), text, sizeof(text));
		break;
	case KEY_LEVEL: format_level(*(const int32_t *)field, text, sizeof(text)); break;
	case KEY_TARGET:
		if (!target->p99_ns && !target->over_permille)
			return false;
		if (target->p99_ns)
			format_scaled(target->p99_ns, time_units, COUNT(time_units), text,
				      sizeof(text));
		else
			snprintf(text, sizeof(text),
				 target->over_permille % 10 ? "+%u.%u %%" : "+%u %%",
				 target->over_permille / 10, target->over_permille % 10);
		break;
	}
	snprintf(ret_text, room, "\"%s\"", text);
	return true;
}
