#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The runtime API over the simulated driver, in a program of its own: symbols, managed variables,
# shapes of copies, graphs, pools, occupancy, errors; both flavours of the default stream.
set -u
. tests/support/preload.sh

out=$(mktemp)
trap 'rm -f "$out"' EXIT
for program in runtime_calls runtime_per_thread; do
	if ! on_simgpu "$BUILD/tests/e2e/$program" >"$out" 2>&1; then
		cat "$out"
		exit 1
	fi
	tail -n 1 "$out"
	grep -q '^checks: [1-9]' "$out" || exit 1
done
# What is not modelled says so, once, by name.
[ "$(grep -c '^simgpu: cudaMallocArray is not modelled$' "$out")" = 1 ] || {
	cat "$out"
	echo "cudaMallocArray was not refused by name, once"
	exit 1
}
