#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make check-gpu: what only a real GPU can show. Skips with a message where there is none. Compares
# every sample's result alone and under Sluice, sees that each was under Sluice, then runs the demo
# and the bench, and keeps what it saw under tests/gpu/results/ with the GPU, the driver's version and
# the date.
set -u

: "${BUILD:?BUILD names the build folder}"
case $BUILD in /*) build=$BUILD ;; *) build=$PWD/$BUILD ;; esac
sluice=$build/bin/sluice
cuda_lib=$(sed -n 's/^CUDA_LIB := //p' build/deps.mk)
LD_LIBRARY_PATH=$cuda_lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
passed=0
failed=0
skipped=0

finish()
{
	printf '%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
	[ "$failed" = 0 ]
	exit $?
}

if ! "$build/samples/vecadd" >/dev/null 2>&1; then
	echo 'check-gpu: no GPU here (vecadd does not run on the installed driver); nothing was tested'
	skipped=1
	finish
fi

out=$(mktemp -d)
socket=$out/sluiced.sock
# A tenant a program: what it launched is seen in its tenant's figures.
cat >"$out/sluice.conf" <<CONF
tenants = (
	{ name = "vecadd"; class = "latency-critical"; match = { program = "vecadd"; }; },
	{ name = "serve"; class = "latency-critical"; match = { program = "serve"; }; },
	{ name = "train"; class = "latency-critical"; match = { program = "train"; }; },
	{ name = "graphs"; class = "latency-critical"; match = { program = "graphs"; }; },
	{ name = "memhog"; class = "latency-critical"; match = { program = "memhog"; }; }
);
CONF
"$build/bin/sluiced" --user --config "$out/sluice.conf" --socket "$socket" >"$out/sluiced.log" 2>&1 &
daemon=$!
trap 'kill $daemon 2>/dev/null; wait; rm -rf "$out"' EXIT
tries=0
until "$sluice" status -S "$socket" >/dev/null 2>&1; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] && kill -0 $daemon 2>/dev/null || {
		cat "$out/sluiced.log"
		echo 'FAIL the arbiter did not come up'
		failed=1
		finish
	}
	sleep 0.1
done

# How many requests the arbiter has seen of the tenant.
requests()
{
	"$sluice" status -S "$socket" --json | awk -v name="\"name\": \"$1\"" \
		'index($0, name) { on = 1 } on && /"requests":/ { print $2 + 0; exit }'
}

verdict()
{
	if [ -z "$2" ]; then
		passed=$((passed + 1))
		printf 'ok   %s\n' "$1"
	else
		failed=$((failed + 1))
		printf 'FAIL %s: %s\n' "$1" "$2"
	fi
}

# compare NAME COMMAND...: same status and same result line, alone and under Sluice.
compare()
{
	name=$1
	shift
	"$@" >"$out/$name.alone" 2>&1
	alone=$?
	"$sluice" run -S "$socket" -t "$name" -- "$@" >"$out/$name.sluice" 2>&1
	managed=$?
	a=$(grep '^result: ' "$out/$name.alone")
	b=$(grep '^result: ' "$out/$name.sluice")
	why=
	if [ $alone != 0 ] || [ $managed != 0 ] || [ -z "$a" ] || [ "$a" != "$b" ]; then
		why="alone status $alone \"$a\", under Sluice status $managed \"$b\""
		tail -n 5 "$out/$name.sluice"
	elif [ "$(requests "$name")" -lt 1 ]; then
		why='it was not under Sluice: the arbiter saw no request of it'
	fi
	verdict "$name" "$why"
}

compare vecadd "$build/samples/vecadd"
compare serve "$build/samples/serve" --requests 200
compare train "$build/samples/train" --steps 50
compare graphs "$build/samples/graphs"
compare memhog "$build/samples/memhog" --total 1024

results=tests/gpu/results/$(date +%Y-%m-%d).txt
mkdir -p tests/gpu/results
{
	date
	nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null ||
		cat /proc/driver/nvidia/version
} >"$results" 2>&1
BUILD=$build DEMO_OUT=$out/demo sh tools/demo/run.sh >>"$results" 2>&1
status=$?
# 3: a busy machine; the figures say so.
[ $status = 3 ] && status=0
verdict demo "$([ $status = 0 ] || echo "status $status, see $results")"
BUILD=$build sh tests/bench/run.sh >>"$results" 2>&1
status=$?
verdict bench "$([ $status = 0 ] || echo "status $status, see $results")"
printf 'check-gpu: demo and bench are in %s\n' "$results"
finish
