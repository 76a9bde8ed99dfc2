#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program with the toolkit's static runtime gets an error and one sentence that says why, on the
# simulated GPU.
# shellcheck disable=SC2119
set -u
. tests/support/preload.sh

nvcc=$(sed -n 's/^NVCC := //p' build/deps.mk)
lib=$(sed -n 's/^CUDA_LIB := //p' build/deps.mk)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
[ -r "$lib/libcudart_static.a" ] || {
	echo "the toolkit here has no static runtime"
	exit 77
}
if ! "$nvcc" -cudart static -arch=compute_75 -L"$lib" -o "$out/graphs" samples/graphs.cu \
	>"$out/log" 2>&1; then
	cat "$out/log"
	exit 1
fi
timeout 60 env LD_LIBRARY_PATH="$preload_build/simgpu" LD_PRELOAD="$(preload_list)" \
	ASAN_OPTIONS=detect_leaks=0 "$out/graphs" >"$out/log" 2>&1
status=$?
cat "$out/log"
if [ $status = 0 ] || [ $status -ge 124 ]; then
	echo "status $status: it must fail, and in good time"
	exit 1
fi
if [ "$(grep -c '^simgpu: .*static CUDA runtime.*-cudart shared' "$out/log")" != 1 ]; then
	echo "there is not one sentence that says why and what to do"
	exit 1
fi
