#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each sample runs on the simulated GPU, finds its own results right, and ends with the same result
# line a second time.
set -u
. tests/support/preload.sh

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bad=0

twice()
{
	name=$1
	shift
	for run in 1 2; do
		if ! on_simgpu "$@" >"$out/$name.$run" 2>"$out/$name.err"; then
			echo "$name: failed: $*"
			cat "$out/$name.$run" "$out/$name.err"
			bad=1
			return
		fi
		tail -n 1 "$out/$name.$run" | grep -Eq '^result: [0-9a-f]{16}$' || {
			echo "$name: the last line is no result: $(tail -n 1 "$out/$name.$run")"
			bad=1
			return
		}
	done
	first=$(tail -n 1 "$out/$name.1")
	second=$(tail -n 1 "$out/$name.2")
	if [ "$first" != "$second" ]; then
		echo "$name: two runs differ: $first, $second"
		bad=1
	else
		echo "$name: $first"
	fi
}

samples=$BUILD/samples
twice vecadd "$samples/vecadd"
twice vecadd-odd "$samples/vecadd" --elements 1001 --seed 7
twice graphs "$samples/graphs"
for kind in plain pitched managed async vmm; do
	twice "memhog-$kind" "$samples/memhog" --kind "$kind" --chunk 64 --total 1024 --alone
done
twice memhog-refused "$samples/memhog" --chunk 8192 --alone
SIMGPU_COSTS=samples/costs.conf
export SIMGPU_COSTS
twice serve "$samples/serve" --requests 20 --warmup 2 --json "$out/serve.json"
twice train "$samples/train" --steps 10 --json "$out/train.json"

# memory.refused must have been refused, or it proves nothing.
grep -q 'memhog: [1-9][0-9]* chunks' "$out/memhog-refused.1" || {
	echo "memhog-refused: $(cat "$out/memhog-refused.1")"
	bad=1
}
# Results differ where inputs differ: a constant would not.
on_simgpu "$samples/vecadd" --seed 2 >"$out/other" 2>&1
if [ "$(tail -n 1 "$out/other")" = "$(tail -n 1 "$out/vecadd.1")" ]; then
	echo "vecadd: the seed does not change the result"
	bad=1
fi
exit $bad
