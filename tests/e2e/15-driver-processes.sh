#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Processes that share one simulated device by the driver API: each computes rightly, without MPS
# they take turns and with it they do not, values go from one to the other in stream order, and
# what a killed one held comes back.
set -u
. tests/support/preload.sh

dir=$(mktemp -d)
holder=
trap '[ -n "$holder" ] && kill -9 "$holder" 2>/dev/null; rm -rf "$dir"' EXIT
program=$BUILD/tests/e2e/driver_calls
fail()
{
	cat "$dir"/*.log
	echo "$*"
	exit 1
}

sed 's/^memory = .*/memory = "2 GiB";/; s/^context = .*/context = "64 MiB";/' \
	tools/simgpu/presets/l4.conf >"$dir/device.conf"
cat >>"$dir/device.conf" <<-END
	costs = ( { kernel = "burn"; duration_us = 500.0; } );
END
export SIMGPU_CONFIG=$dir/device.conf
export SIMGPU_INSTANCE=e2e-15-$$

on_simgpu "$program" vecadd >"$dir/one.log" 2>&1 || fail "a vector addition failed"

# Kernels for 200 ms of each of two processes: many slices of the device.
for mps in 0 1; do
	export SIMGPU_MPS=$mps SIMGPU_REPORT="$dir/report-$mps-%p.json"
	on_simgpu "$program" burn 400 >"$dir/a.log" 2>&1 &
	a=$!
	on_simgpu "$program" burn 400 >"$dir/b.log" 2>&1 &
	b=$!
	wait $a || fail "the first of two processes failed"
	wait $b || fail "the second of two processes failed"
	switches=$(sed -n 's/.*"switches": \([0-9]*\).*/\1/p' "$dir"/report-$mps-*.json | sort -n | tail -n 1)
	kernels=$(sed -n 's/.*"kernels_run": \([0-9]*\).*/\1/p' "$dir"/report-$mps-*.json | tr '\n' ' ')
	[ "$kernels" = "400 400 " ] || fail "kernels run: $kernels"
	if [ $mps = 0 ]; then
		[ "$switches" -gt 10 ] || fail "only $switches turns without MPS"
	else
		[ "$switches" = 0 ] || fail "$switches turns with MPS"
	fi
done
unset SIMGPU_MPS SIMGPU_REPORT

on_simgpu "$program" pass "$dir/word" 0 >"$dir/a.log" 2>&1 &
a=$!
on_simgpu "$program" pass "$dir/word" 1 >"$dir/b.log" 2>&1 || fail "the second player failed"
wait $a || fail "the first player failed"

# 1.5 of the 2 GiB, held by a process that is killed in the middle of its work.
: >"$dir/hold.log"
on_simgpu "$program" hold 1536 >"$dir/hold.log" 2>&1 &
for _ in $(seq 200); do
	holder=$(sed -n 's/^ready //p' "$dir/hold.log")
	[ -n "$holder" ] && break
	sleep 0.05
done
[ -n "$holder" ] || fail "the holder did not start"
on_simgpu "$program" need 1024 0 >"$dir/need.log" 2>&1 && fail "memory was given out twice"
grep -q CUDA_ERROR_OUT_OF_MEMORY "$dir/need.log" || fail "not the error of a full device"
on_simgpu "$program" need 1024 30 >"$dir/need.log" 2>&1 &
a=$!
sleep 0.2
kill -9 "$holder"
wait $a || fail "a killed process's memory did not come back"
holder=
echo "two processes: $kernels kernels each way, memory of a killed one came back"
