#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What make plan-live says of its runs: within twice the spread or not, void on a busy machine, and which
# file is missing. The runs here are made up.
set -u
live=$BUILD/bin/sluice-live
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bad=0

# runs LATE: five runs whose services are 10.0 .. 10.4 ms, each with a trainer at half of its speed alone.
runs()
{
	python3 - "$out" "$1" <<'PY'
import json, os, sys
out, late = sys.argv[1], int(sys.argv[2])
def put(folder, name, what):
    os.makedirs(folder, exist_ok=True)
    json.dump(what, open(os.path.join(folder, name), "w"))
put(out + "/alone", "train.json", {"wrong_results": 0, "step_end_ns": [i * 10**7 for i in range(101)]})
for run in range(5):
    folder = "%s/7/%d" % (out, run + 1)
    services = [10.0 + run / 10] * 100
    put(folder, "serve.json", {"A_ms": services, "S_ms": services, "load": 0.4, "seed": run, "start_ns": 0,
                               "end_ns": 10**9, "wrong_results": 0})
    put(folder, "train.json", {"wrong_results": 0, "step_end_ns": [i * 2 * 10**7 for i in range(51)]})
    put(folder, "1.simgpu.json", {"kernels_run": 1000, "ops": 1000, "late_ops": late})
PY
}

# plan NS: one that says so much for all latencies.
plan()
{
	latency="{\"mean\": $1}"
	printf '{"rows": [{"tenants": {"chat": {"S_p50_ns": %s, "S_p99_ns": %s, "A_p99_ns": %s}, ' \
		"$latency" "$latency" "$latency" >"$out/7/plan.json"
	printf '"train": {"throughput_of_alone": {"mean": 0.5}}}}]}\n' >>"$out/7/plan.json"
}

# verdict STATUS WHAT
verdict()
{
	"$live" "$out/live.json" "$out" 7 >"$out/table" 2>"$out/err"
	status=$?
	[ $status -eq "$1" ] || {
		echo "$2: exit status $status instead of $1: $(cat "$out/err")"
		bad=1
	}
}

runs 5
plan 10900000
verdict 0 'planned 10.9 ms, reached 10.2, spread 0.4'
grep -q '"within_2_spreads": true' "$out/live.json" || bad=1
plan 11100000
verdict 1 'planned 11.1 ms: off by more than twice the spread'
grep -q 'no$' "$out/table" || bad=1
runs 20
plan 10200000
verdict 3 'one operation in fifty late'
grep -q 'too busy' "$out/err" || bad=1
rm "$out/7/plan.json"
verdict 1 'no plan'
grep -q 'plan.json has no S_p50_ns' "$out/err" || bad=1
exit $bad
