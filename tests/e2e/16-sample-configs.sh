#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The configurations in samples/ are good ones, and the cost table is read by the simulated GPU: a
# wrong one is refused with its line.
set -u
. tests/support/preload.sh

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
checked=0
for file in samples/*.conf; do
	[ "$file" = samples/costs.conf ] && continue
	"$BUILD/bin/sluice" check-config "$file" || exit 1
	checked=$((checked + 1))
done
[ $checked -ge 3 ] || {
	echo "only $checked configurations in samples/"
	exit 1
}

# With the table an entry changed, the trainer's step is as long as the table says: 400 ms and more.
sed 's/kernel = "augment_input"; duration_us = [0-9.]*/kernel = "augment_input"; duration_us = 400000.0/' \
	samples/costs.conf >"$out/slow.conf"
SIMGPU_COSTS=$out/slow.conf
export SIMGPU_COSTS
on_simgpu "$BUILD/samples/train" --steps 2 >"$out/log" 2>&1 || {
	cat "$out/log"
	exit 1
}
rate=$(sed -n 's/^train: 2 steps, \([0-9]*\)\..*/\1/p' "$out/log")
if [ -z "$rate" ] || [ "$rate" -gt 2 ]; then
	cat "$out/log"
	echo "a step of 400 ms was not: the cost table is not used"
	exit 1
fi
sed 's/sms = 40/smz = 40/' samples/costs.conf >"$out/slow.conf"
on_simgpu "$BUILD/samples/train" --steps 1 >"$out/log" 2>&1
if ! grep -q 'slow.conf:[0-9][0-9]*: ' "$out/log"; then
	cat "$out/log"
	echo "a misspelt key of the cost table was not named with its line"
	exit 1
fi
