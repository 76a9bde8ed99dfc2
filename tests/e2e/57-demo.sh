#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demo in short: four phases end to end, the report with all its keys, no wrong result, a picture
# that is XML, the status near the end. Its figures are not judged: a machine that runs tests is busy.
set -u
. tests/support/preload.sh
[ -z "${SAN:-}" ] || {
	echo 'instrumented programs need the sanitizer first in LD_PRELOAD, which the demo does not set'
	exit 77
}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bad=0

say_bad()
{
	printf '%s\n' "$*"
	bad=1
}

BUILD=$preload_build DEMO_SIMULATED=1 DEMO_REQUESTS=60 DEMO_TRAIN_S=2 DEMO_SEED=5 DEMO_OUT=$out/demo \
	sh tools/demo/run.sh >"$out/said" 2>&1
status=$?
# 3: the figures are void, by the machine.
[ $status = 0 ] || [ $status = 3 ] || {
	cat "$out/said"
	exit 1
}
report=$out/demo/report.json
value()
{
	sed -n "s/^ *\"$1\": \(.*[^,]\),*\$/\\1/p" "$report" | head -n 1
}
for key in device simulated load requests seed late_ops_pct kernels_run wrong_results void \
	shared_A_p99_of_alone sluice_A_p99_of_alone sluice_train_rel; do
	[ -n "$(value $key)" ] || say_bad "report.json: no $key"
done
for key in A_p50_ms A_p99_ms A_p999_ms S_p50_ms S_p99_ms train_rel; do
	[ "$(grep -c "\"$key\": [0-9]" "$report")" = 3 ] || say_bad "report.json: not three of $key"
done
[ "$(value wrong_results)" = 0 ] || say_bad "wrong results: $(value wrong_results)"
[ "$(value simulated)" = true ] || say_bad 'not said to be simulated'
[ "$(value requests)" = 60 ] && [ "$(value seed)" = 5 ] || say_bad 'other requests or another seed'
[ "$(value kernels_run)" -gt 16000 ] || say_bad "only $(value kernels_run) kernels: 3 x 60 requests have more"
[ $status = 3 ] || [ "$(value void)" = false ] || say_bad 'void, and the status is 0'
grep -q 'all figures are simulated' "$out/said" || say_bad 'it does not say that figures are simulated'
grep -q 'both, under Sluice' "$out/said" || say_bad 'no table'
grep -q '^chat ' "$out/demo/status.txt" || say_bad 'no status near the end'
grep -q '^train ' "$out/demo/status.txt" || say_bad 'no training in the status near the end'
head -c 4 "$out/demo/latency.svg" | grep -q '<svg' && tail -n 1 "$out/demo/latency.svg" | grep -q '</svg>' ||
	say_bad 'latency.svg is no picture'
[ $bad = 0 ] || cat "$out/said"
exit $bad
