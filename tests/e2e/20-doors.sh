#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every door to the driver leads to a hook, whatever else was asked gets the answer that it gets
# without the shim: the same program bare and preloaded differs only in the library of the hooks.
set -u
. tests/support/preload.sh

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bad=0

# through DRIVER-FOLDER: both runs, and what they may differ in.
through()
{
	driver=$1
	env SLUICE_SOCKET="$out/none" LD_LIBRARY_PATH="$driver" LD_PRELOAD="$(preload_list)" \
		"$preload_build/tests/e2e/doors" >"$out/bare" 2>&1 || {
		echo "bare run on $driver failed"
		cat "$out/bare"
		bad=1
		return
	}
	env SLUICE_SOCKET="$out/none" LD_LIBRARY_PATH="$driver" \
		LD_PRELOAD="$(preload_list "$preload_build/lib/libsluice.so")" \
		"$preload_build/tests/e2e/doors" >"$out/shim" 2>&1 || {
		echo "preloaded run on $driver failed"
		cat "$out/shim"
		bad=1
		return
	}
	# What the shim answers for leads to the shim; all other lines stay as they are.
	sed -E '/ (cuDeviceGet|cuDriverGetVersion|cuGetErrorName): /!s/: libcuda\.so\.1$/: libsluice.so/' \
		"$out/bare" >"$out/expected"
	if ! diff "$out/expected" "$out/shim" >"$out/difference"; then
		echo "on $driver (< expected, > preloaded):"
		cat "$out/difference"
		bad=1
	fi
	[ "$(grep -c ': libsluice\.so$' "$out/shim")" -ge 50 ] || {
		echo "only $(grep -c libsluice "$out/shim") doors led to the shim"
		bad=1
	}
	grep -q '^wrong look-ups of 4 threads: 0$' "$out/shim" || {
		grep wrong "$out/shim"
		bad=1
	}
}

through "$preload_build/nulldriver"
[ -e "$preload_build/simgpu/libcuda.so.1" ] && through "$preload_build/simgpu"
exit $bad
