#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sluice plan --record: what a server and a trainer launch on the simulated GPU becomes workloads, with the
# durations of the cost table, and a scenario of the two plays.
set -u
. tests/support/system.sh

fail()
{
	echo "$*"
	tail -n 5 "$out"/*.log "$out"/*.err
	exit 1
}

config <<CONF
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); }; },
  { name = "train"; match = { uid = $(id -u); }; }
);
CONF
SIMGPU_COSTS=$(pwd)/samples/costs.conf
export SIMGPU_COSTS
arbiter_start
record()
{
	"$sluice" plan -S "$out/socket" --record "$@"
}
record chat >"$out/none" 2>"$out/refused.log" && fail "an absent tenant was recorded"
grep -q 'no process on a GPU' "$out/refused.log" || fail "the absent tenant: no clear sentence"

begin train under train --simulated=h100 -- "$samples/train" --seconds 60
begin chat under chat --simulated=h100 -- "$samples/serve" --requests 2000 --rate 30
# Both are known to the arbiter, and their kernels have been measured.
tries=0
until record chat --seconds 0.5 -o "$out/try" >"$out/try.log" 2>&1 &&
	record train --seconds 0.5 -o "$out/try" >"$out/try.log" 2>&1; do
	tries=$((tries + 1))
	[ $tries -lt 40 ] || fail "nothing was recorded"
	sleep 0.5
done
sleep 3
for tenant in chat train; do
	record $tenant --seconds 3 -o "$out/$tenant.conf" -a "$out/$tenant.gaps" 2>"$out/$tenant.log" || fail "$tenant could not be recorded"
done

# The loop waits for the server, never the other way round: that is in what its host seems to take.
grep -q 'launches were held for' "$out/train.log" || fail "no word of the loop's holds"
grep -q 'launches were held for' "$out/chat.log" && fail "the server was said to be held"
grep -q 'a kernel is taken to hold the whole device' "$out/chat.log" || fail "no word of the grids"

# Files are looked at before the time is spent, and nothing stays where it failed.
started=$(date +%s)
record train --seconds 60 -o "$out/none/x" >"$out/none" 2>"$out/refused.log" && fail "recorded into no folder"
record train --seconds 60 -o "$out/w" -a "$out/none/x" >"$out/none" 2>"$out/refused.log" && fail "gaps into no folder"
[ $(($(date +%s) - started)) -lt 30 ] || fail "a file that cannot be written was found out late"
grep -q "cannot write $out/none/x: " "$out/refused.log" || fail "no clear sentence of the file"
find "$out" -name '*.new*' -o -name w | grep . && fail "something was left behind"
"$sluice" pause -S "$out/socket" train >"$out/none.log"
record train --seconds 0.5 -o "$out/w" >"$out/none.log" 2>"$out/refused.log" && fail "a paused tenant was recorded"
grep -q 'it is paused' "$out/refused.log" || fail "no word of the pause"
[ ! -e "$out/w" ] || fail "a file of nothing"
"$sluice" resume -S "$out/socket" train >"$out/none.log"
signal TERM train chat

# The heaviest kernels have the table's durations; predictions keep a low quantile, and hosts are slow.
python3 - "$out/chat.conf" "$out/train.conf" samples/costs.conf <<'PY' || fail "the workloads are not what ran"
import re, sys
table = [float(us) for us in re.findall(r'duration_us = ([0-9.]+)', open(sys.argv[3]).read())]
for path in sys.argv[1:3]:
    ops = [int(ns) for ns in re.findall(r'\("kernel", (\d+)', open(path).read())]
    if len(ops) < 20:
        sys.exit("%s: only %d kernels" % (path, len(ops)))
    for ns in sorted(ops)[-10:]:
        if not any(abs(ns / 1000 - us) <= 0.25 * us for us in table):
            sys.exit("%s: no kernel of the table takes %d ns" % (path, ns))
PY
grep -c . "$out/chat.gaps" >"$out/count"
[ "$(cat "$out/count")" -ge 20 ] || fail "hardly a gap between requests"

cat >"$out/case.cfg" <<CFG
device = "h100";
tenants = (
  { name = "chat"; class = "latency-critical"; workload = "chat.conf";
    arrivals = { kind = "recorded"; file = "chat.gaps"; }; },
  { name = "train"; workload = "train.conf"; }
);
policies = ( { name = "native"; mps = true; }, "slo" );
run = { requests = 200; seeds = 1; };
CFG
"$sluice" plan "$out/case.cfg" >"$out/table" 2>"$out/plan.log" || fail "the recorded pair does not play"
grep -q 'slo on time slices' "$out/table" || fail "the table lacks a row"
grep -qE '^native on MPS .* \+[0-9]{3,}\.[0-9] %' "$out/table" || fail "side by side they do not slow each other"
exit "$bad"
