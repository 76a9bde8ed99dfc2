#!/bin/sh
# The scheduling core is pure: the linker says so. What its objects leave undefined, beyond one
# another, is on this list: memory, and assert. And no floating point in its decisions.
set -u

: "${BUILD:?BUILD names the build folder}"
archive=$BUILD/lib/libcore.a
status=0

if ! [ -e "$archive" ]; then
	printf 'no %s: build it first\n' "$archive" >&2
	exit 1
fi

allowed='calloc free memcpy memmove memset memcmp memchr __assert_fail __assert_fail_base'
# (128-bit division is a function of the compiler's)
allowed="$allowed __udivti3 _GLOBAL_OFFSET_TABLE_ __stack_chk_fail __memcpy_chk __memset_chk __memmove_chk"

defined=$(nm --defined-only --extern-only --format=posix "$archive" | awk 'NF > 1 { print $1 }' | sort -u)
undefined=$(nm --undefined-only --format=posix "$archive" | awk 'NF > 1 { print $1 }' | sort -u)
if [ -z "$defined" ] || [ -z "$undefined" ]; then
	printf 'nm shows nothing of %s\n' "$archive" >&2
	exit 1
fi

for symbol in $undefined; do
	printf '%s\n' "$defined" | grep -qx -- "$symbol" && continue
	printf '%s\n' "$allowed" | tr ' ' '\n' | grep -qx -- "$symbol" && continue
	printf 'scheduler/core uses %s: it may use memory and assert only\n' "$symbol" >&2
	status=1
done

# Variables that can be written would be state beyond the engine. (.data.rel.ro is constant.)
writable=$(objdump --syms "$archive" | awk 'NF > 3 && $(NF-2) ~ /^\.(data|bss|tdata|tbss)$/ && $(NF-1) != "0000000000000000" { print $NF }')
for symbol in $writable; do
	printf 'scheduler/core has the writable variable %s: state belongs to struct engine\n' "$symbol" >&2
	status=1
done

if grep -nwE 'float|double' scheduler/core/*.[ch] | grep -vE '^[^:]*:[0-9]*:[[:space:]]*(/?\*|//)'; then
	printf 'scheduler/core decides in integers\n' >&2
	status=1
fi
if grep -nE '#include' scheduler/core/*.[ch] | grep -vE '"(sluice/(pages|hist|escrow)\.h|[a-z_]+\.h)"|<(assert|errno|stdbool|stddef|stdint|stdlib|string)\.h>'; then
	printf 'scheduler/core includes include/sluice, itself and plain C headers only\n' >&2
	status=1
fi
exit $status
