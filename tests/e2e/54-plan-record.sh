#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sluice plan --record: what a server and a trainer launch on the simulated GPU becomes workloads, with the
# durations of the cost table, and a scenario of the two plays.
set -u
sluice=$BUILD/bin/sluice
out=$(mktemp -d)
socket=$out/socket
daemon=''
trainer=''
server=''
trap 'kill $trainer $server $daemon 2>/dev/null; wait; rm -rf "$out"' EXIT

fail()
{
	echo "$*"
	tail -n 5 "$out"/*.log
	exit 1
}

uid=$(id -u)
cat >"$out/sluice.conf" <<CONF
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $uid; }; },
  { name = "train"; match = { uid = $uid; }; }
);
CONF
SIMGPU_COSTS=$(pwd)/samples/costs.conf
SIMGPU_INSTANCE=record-$$
export SIMGPU_COSTS SIMGPU_INSTANCE
"$BUILD/bin/sluiced" --user --socket "$socket" --config "$out/sluice.conf" >"$out/sluiced.log" 2>&1 &
daemon=$!
tries=0
until "$sluice" status -S "$socket" >/dev/null 2>&1; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || fail "the arbiter did not start"
	sleep 0.1
done
"$sluice" plan --record chat -S "$socket" >"$out/none" 2>"$out/refused.log" && fail "an absent tenant was recorded"
grep -q 'no process on a GPU' "$out/refused.log" || fail "the absent tenant: no clear sentence"

"$sluice" run -S "$socket" -t train --simulated=h100 -- "$BUILD/samples/train" --seconds 60 >"$out/train.log" 2>&1 &
trainer=$!
"$sluice" run -S "$socket" -t chat --simulated=h100 -- "$BUILD/samples/serve" --requests 2000 --rate 30 \
	>"$out/serve.log" 2>&1 &
server=$!
# Both are known to the arbiter, and their kernels have been measured.
tries=0
until "$sluice" plan --record chat --seconds 0.5 -S "$socket" -o "$out/try" >"$out/try.log" 2>&1 &&
	"$sluice" plan --record train --seconds 0.5 -S "$socket" -o "$out/try" >"$out/try.log" 2>&1; do
	tries=$((tries + 1))
	[ $tries -lt 40 ] || fail "nothing was recorded"
	sleep 0.5
done
sleep 3
for tenant in chat train; do
	"$sluice" plan --record $tenant --seconds 3 -S "$socket" -o "$out/$tenant.conf" -a "$out/$tenant.gaps" \
		2>"$out/$tenant.log" || fail "$tenant could not be recorded"
done
kill $trainer $server
wait $trainer $server 2>/dev/null
trainer=''
server=''

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
policies = ( "native", "slo" );
run = { requests = 200; seeds = 1; };
CFG
"$sluice" plan "$out/case.cfg" >"$out/table" 2>"$out/plan.log" || fail "the recorded pair does not play"
grep -q 'slo on time slices' "$out/table" || fail "the table lacks a row"
