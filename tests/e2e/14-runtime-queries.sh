#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Our runtime asks a driver for exactly what the toolkit's runtime asks for: names, versions, flags.
# shellcheck disable=SC2119
set -u
. tests/support/preload.sh

lib=$(sed -n 's/^CUDA_LIB := //p' build/deps.mk)
[ -r "$lib/libcudart.so.13" ] || {
	echo "the toolkit here has no libcudart.so.13 to compare with"
	exit 77
}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
if ! ${CC:-gcc} -D_GNU_SOURCE -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$out/libcuda.so.1" \
	tests/support/query_driver.c; then
	exit 1
fi

# folder of the runtime, file for the queries; the program ends for want of a device
queries()
{
	QUERY_LOG=$out/$2.raw LD_LIBRARY_PATH=$out:$1 LD_PRELOAD=$(preload_list) \
		ASAN_OPTIONS=detect_leaks=0 "$BUILD/samples/graphs" >"$out/$2.said" 2>&1
	if ! grep -q 'no CUDA-capable device' "$out/$2.said"; then
		cat "$out/$2.said"
		exit 1
	fi
	sort "$out/$2.raw" >"$out/$2"
}

queries "$lib" theirs
queries "$preload_build/simgpu" ours
count=$(wc -l <"$out/theirs")
if [ "$count" -lt 400 ]; then
	echo "the toolkit's runtime asked $count times only: this test proves nothing"
	exit 1
fi
if ! diff "$out/theirs" "$out/ours"; then
	echo "the queries above differ (<: the toolkit's, >: ours)"
	exit 1
fi
echo "$count queries"
