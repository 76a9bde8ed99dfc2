#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures what Sluice adds to the hot paths, on a driver that does nothing, with BUILD in the
# environment. Each program runs without and with the shim in front, in turn, and medians are
# compared; between processes, gates are measured with an arbiter that decides nothing. Writes
# build/bench/report.json (or BENCH_REPORT) and a table. Figures are judged, not the run: the exit
# status says whether they could be measured. On a busy machine they say little.
#
# BENCH_ROUNDS (default 7) runs of each kind, BENCH_SECONDS (default 10) of arbiter CPU.
set -eu

: "${BUILD:?BUILD names the build folder}"
case $BUILD in /*) build=$BUILD ;; *) build=$PWD/$BUILD ;; esac
rounds=${BENCH_ROUNDS:-7}
seconds=${BENCH_SECONDS:-10}
report=${BENCH_REPORT:-build/bench/report.json}
programs=$build/tests/bench
shim=$build/lib/libsluice.so
work=$(mktemp -d)
arbiter=
fake=
unset SLUICE_SOCKET SLUICE_TENANT LD_PRELOAD SLUICE_LOG

finish()
{
	for pid in $arbiter $fake; do
		kill "$pid" 2>/dev/null || true
		# It writes what it keeps before it ends.
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

fail()
{
	echo "bench: $*" >&2
	exit 1
}

for needed in "$shim" "$build/nulldriver/libcuda.so.1" "$build/bin/sluiced" "$programs/launch"; do
	[ -e "$needed" ] || fail "$needed is missing: make it first (make programs)"
done
LD_LIBRARY_PATH=$build/nulldriver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# run NAME PROGRAM ARGS... appends "NAME.key value" lines to the results.
run()
{
	name=$1
	program=$2
	shift 2
	"$programs/$program" "$@" >"$work/out" || fail "$program $* failed"
	sed "s/^/$name./" "$work/out" >>"$work/results"
}

with_shim()
{
	LD_PRELOAD=$shim run "$@"
}

cpu_ns()
{
	awk '{ print $1 }' "/proc/$1/schedstat"
}

# ---- against the real arbiter ----------------------------------------------------------------------

cat >"$work/sluice.conf" <<'CONF'
tenants = (
	{ name = "lc"; class = "latency-critical"; match = { program = "crowd"; }; },
	{ name = "be"; match = { program = "*"; }; }
);
CONF
export SLUICE_SOCKET="$work/sock"
"$build/bin/sluiced" --user --config "$work/sluice.conf" --socket "$work/sock" \
	2>"$work/sluiced.log" &
arbiter=$!
waited=0
while [ ! -S "$work/sock" ]; do
	waited=$((waited + 1))
	[ $waited -lt 100 ] || fail "the arbiter does not come up: $(cat "$work/sluiced.log")"
	sleep 0.1
done
SLUICE_TENANT=be
export SLUICE_TENANT

i=0
while [ $i -lt "$rounds" ]; do
	run bare1 launch 1
	with_shim with1 launch 1
	run bare4 launch 4
	with_shim with4 launch 4
	run bare_mem alloc 20000
	with_shim with_mem alloc 20000
	i=$((i + 1))
done
grep -q 'launch has come' "$work/sluiced.log" ||
	fail "the shim did not attach: $(cat "$work/sluiced.log")"

# crowd WORK_US KEY: the arbiter's share of a core while 64 processes are idle or at work.
crowd()
{
	mkfifo "$work/ready.$2"
	LD_PRELOAD=$shim "$programs/crowd" 64 $((seconds + 2)) "$1" >"$work/ready.$2" &
	crowd_pid=$!
	read -r line <"$work/ready.$2"
	[ "$line" = ready ] || fail "crowd: $line"
	sleep 0.5
	before=$(cpu_ns "$arbiter")
	sleep "$seconds"
	after=$(cpu_ns "$arbiter")
	wait "$crowd_pid" || fail "a process of the crowd failed"
	awk -v ns=$((after - before)) -v s="$seconds" -v key="$2" \
		'BEGIN { printf "%s %.3f\n", key, ns / s / 1e7 }' >>"$work/results"
}
crowd 0 arbiter.idle
crowd 100000 arbiter.loaded
kill -0 "$arbiter" 2>/dev/null || fail "the arbiter died: $(tail -n 5 "$work/sluiced.log")"

# ---- between two processes, without the arbiter's doing ------------------------------------------------

mkfifo "$work/stay" "$work/path"
"$programs/arbiter" <"$work/stay" >"$work/path" &
fake=$!
exec 9>"$work/stay"
read -r SLUICE_SOCKET <"$work/path"
unset SLUICE_TENANT
i=0
while [ $i -lt 3 ]; do
	with_shim predicted gate 1 600 predicted
	with_shim unpredicted gate 1 800 unpredicted
	with_shim crowd16 gate 16 800 predicted
	i=$((i + 1))
done
exec 9>&-

# ---- the report ------------------------------------------------------------------------------------

mkdir -p "$(dirname "$report")"
awk -v report="$report" -v load="$(cut -d' ' -f1 /proc/loadavg)" -v cpus="$(nproc)" '
{ value[$1, ++count[$1]] = $2 + 0 }

function median(key,    n, i, j, v, sorted)
{
	n = count[key]
	if (!n) {
		missing = missing " " key
		return 0
	}
	for (i = 1; i <= n; i++) {
		v = value[key, i]
		for (j = i - 1; j >= 1 && sorted[j] > v; j--)
			sorted[j + 1] = sorted[j]
		sorted[j + 1] = v
	}
	return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}

function most(key,    i, m)
{
	for (i = 1; i <= count[key]; i++)
		if (value[key, i] > m)
			m = value[key, i]
	return m + 0
}

function put(key, number, limit, what)
{
	json = json (json ? ",\n" : "") sprintf("  \"%s\": %.3f", key, number)
	if (limit == "")
		verdict = ""
	else
		verdict = number <= limit ? "pass" : "MISS"
	printf "%-26s %10.3f  %-8s %-5s %s\n", key, number, limit == "" ? "" : "<= " limit, verdict, what
}

END {
	bare = median("bare1.p50")
	put("launch_bare_ns", bare, "", "a launch without Sluice")
	put("launch_added_ns_p50", median("with1.p50") - bare, 15, "added to an admitted launch")
	put("launch_added_ns_p99", median("with1.p99") - bare, 60, "the same, p99 over batches of 16")
	put("launch_added_ns_4threads", median("with4.cpu") - median("bare4.cpu"), 20,
	    "CPU time added, four threads")
	put("alloc_added_ns", median("with_mem.alloc") - median("bare_mem.alloc"), 100,
	    "added to an allocation at 20,000 live")
	put("free_added_ns", median("with_mem.free") - median("bare_mem.free"), 30, "added to a free")
	put("gate_us_p50", median("predicted.open_p50"), 1, "gate opens -> launch, drain predicted")
	put("gate_us_p99", median("predicted.open_p99"), "", "")
	put("gate_cpu_us", median("predicted.open_cpu"), "", "CPU time of the waiter for one opening")
	put("gate_unpredicted_rel", median("unpredicted.open_p50") / median("unpredicted.wake_p50"), 1.2,
	    "unpredicted, over a bare futex wake")
	put("gate_bare_wake_us", median("unpredicted.wake_p50"), "", "the bare wake of that row")
	put("preempt_us_p99", median("crowd16.raise_p99"), 1, "request -> last best-effort launch, 16 processes")
	put("preempt_bare_us_p99", median("crowd16.store_p99"), "", "the same with nothing but a store")
	put("preempt_launches_max", most("crowd16.raise_launches"), 1, "launches of one thread after it")
	put("arbiter_cpu_idle_pct", median("arbiter.idle"), 1, "64 processes, of one core")
	put("arbiter_cpu_64_pct", median("arbiter.loaded"), 5, "the same, all at work")
	if (missing) {
		print "bench: not measured:" missing > "/dev/stderr"
		exit 1
	}
	json = json sprintf(",\n  \"cpus\": %d,\n  \"load_average\": %.2f", cpus, load)
	printf "{\n%s\n}\n", json > report
	printf "load average %s on %d CPUs; written to %s\n", load, cpus, report
}' "$work/results"
