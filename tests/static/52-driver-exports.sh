#!/bin/sh
# The simulated driver exports what the headers of the toolkit declare, and nothing else.
set -u
: "${BUILD:?BUILD names the build folder}"
library=$BUILD/simgpu/libcuda.so.1
cuda=$(sed -n 's/^CUDA_INCLUDE := //p' build/deps.mk)
work=$BUILD/check/driver-exports
mkdir -p "$work"
[ -e "$library" ] || {
	printf '%s is not built\n' "$library"
	exit 1
}

sh tools/gen/driver_stubs.sh "$cuda" | sed -n 's/^REFUSE(\(cu[A-Za-z0-9_]*\))$/\1/p' |
	LC_ALL=C sort >"$work/declared"
nm -D --defined-only "$library" | awk '{ print $3 }' | LC_ALL=C sort >"$work/exported"
[ "$(wc -l <"$work/declared")" -gt 600 ] || {
	printf 'only %s names declared\n' "$(wc -l <"$work/declared")"
	exit 1
}
diff "$work/declared" "$work/exported" || {
	printf 'lines with <: declared and not exported; with >: exported and not declared\n'
	exit 1
}
stub=$(sed -n 's/^CUDA_STUBS := //p' build/deps.mk)
if [ -n "$stub" ] && [ -e "$stub/libcuda.so" ]; then
	nm -D --defined-only "$stub/libcuda.so" | awk '{ print $3 }' | LC_ALL=C sort >"$work/toolkit"
	diff "$work/toolkit" "$work/exported" || {
		printf 'the toolkit has other names (lines with <) than the library\n'
		exit 1
	}
fi
