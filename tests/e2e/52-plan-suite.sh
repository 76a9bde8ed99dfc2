#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The suite of `make plan`, a small part of it: every policy runs, the report holds what it should,
# is the same byte for byte whoever does the jobs, and mistakes are named.
set -u
suite=$BUILD/bin/sluice-suite
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bad=0

say_bad()
{
	echo "$*"
	bad=1
}

for processes in 1 2; do
	PLAN_PAIRS=1 ONLY='' "$suite" --quick --processes $processes --out "$out/$processes.json" \
		>"$out/table" 2>"$out/err" || say_bad "exit status $?: $(cat "$out/err")"
done
cmp -s "$out/1.json" "$out/2.json" || say_bad "two processes come to another report than one"

# has PATH TYPE
has()
{
	python3 - "$out/1.json" "$1" "$2" <<'PY' || bad=1
import json, sys
at = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("/"):
    if not isinstance(at, dict) or key not in at:
        sys.exit("the report has no " + sys.argv[2])
    at = at[key]
wanted = {"number": (int, float), "bool": (bool,)}[sys.argv[3]]
if not isinstance(at, wanted) or (sys.argv[3] == "number" and isinstance(at, bool)):
    sys.exit(sys.argv[2] + " is no " + sys.argv[3])
PY
}

has simulated bool
for policy in time_slices/time mps/mps mps_priority/mps xsched/time xsched/mps orion/mps tally/mps \
	tally_whole/mps sluice/time sluice/mps; do
	for figure in A_mean A_worst S_mean be_mean be_of_idle; do
		has policies/$policy/$figure number
	done
done
for mode in time mps; do
	for target in p3 p10 p20; do
		for figure in reached_A be_of_best_fixed pairs_over; do
			has targets/$target/$mode/$figure number
		done
	done
	has arrivals/periodic/$mode/A number
	has decode/$mode/step_p99 number
	has decode/$mode/be number
	for target in p3 p10; do
		has settle/$mode/$target/load_up_s number
		has settle/$mode/$target/load_down_s number
	done
	has shares/$mode/err_1s number
	has shares/$mode/err_100ms_p95 number
	has summary/A_$mode bool
	has summary/S_$mode bool
	has summary/decode_$mode bool
	has summary/shares_$mode bool
done
has settle_s number
has summary/settled bool
has summary/targets_met bool
python3 - "$out/1.json" <<'PY' || bad=1
import json, sys
report = json.load(open(sys.argv[1]))
missed = {name for name, reached in report["summary"].items() if not reached}
if missed != {name for name, why in report["summary_notes"].items() if why}:
    sys.exit("notes are not those of the rows that are false")
for name, policy in report["policies"].items():
    if not all("settings" in policy[mode] for mode in ("time", "mps") if mode in policy):
        sys.exit(f"{name}: no settings")
PY
grep -q '^Simulated' "$out/table" || say_bad "the table does not say that it is simulated"

# The orders from papers, alone and with the rest, come to the same.
ONLY='' "$suite" --quick --orders --out "$out/orders.json" >/dev/null || say_bad "--orders failed"
python3 - "$out/1.json" "$out/orders.json" <<'PY' || bad=1
import json, sys
everything, orders = (json.load(open(path)) for path in sys.argv[1:])
if not orders["orders"] or orders["orders"] != everything["orders"]:
    sys.exit("--orders comes to other orders than a whole run")
if orders["policies"] or orders["arrivals"]:
    sys.exit("--orders ran more than orders")
for name, order in orders["orders"].items():
    for key in ("source", "about", "why"):
        if not order[key]:
            sys.exit(f"order {name}: no {key}")
    if not all(isinstance(order[key], bool) for key in ("wins", "default")):
        sys.exit(f"order {name}: no verdict")
    if not all(set(figure) == {"with", "without"} for figure in order["figures"].values()):
        sys.exit(f"order {name}: a figure without its pair")
PY

# One row alone; what is wrong is said.
PLAN_PAIRS=1 ONLY=orion "$suite" --quick --out "$out/orion.json" >/dev/null || say_bad "ONLY failed"
python3 -c 'import json, sys; sys.exit(list(json.load(open(sys.argv[1]))["policies"]) != ["orion"])' \
	"$out/orion.json" || say_bad "ONLY=orion ran other rows"
PLAN_PAIRS=none "$suite" --quick --out "$out/x" >/dev/null 2>"$out/err" && say_bad "PLAN_PAIRS=none was taken"
grep -q 'PLAN_PAIRS=none' "$out/err" || say_bad "PLAN_PAIRS: no complaint"
"$suite" --quick --folder "$out" --out "$out/x" >/dev/null 2>"$out/err" && say_bad "an empty folder was taken"
grep -q 'decode.conf.*cannot be opened' "$out/err" || say_bad "a missing workload is not named"
exit $bad
