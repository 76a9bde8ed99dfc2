#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How long a program's kernels take is known to its next run, in the life of one arbiter and over its
# restart: then hardly a launch goes unpredicted. A damaged file is named once and stops nobody.
set -u
. tests/support/system.sh

SIMGPU_COSTS=$PWD/samples/costs.conf
export SIMGPU_COSTS
config <<'CONF'
tenants = ( { name = "first"; }, { name = "second"; }, { name = "third"; }, { name = "fourth"; } );
CONF

arbiter_end()
{
	kill "$arbiter"
	wait "$arbiter" || say_bad "the arbiter ended with status $?"
	arbiter=
}

# run TENANT: both samples, and how many launches had no estimate.
run()
{
	for name in train graphs; do
		case $name in
		train) set -- "$1" --steps 10 ;;
		graphs) set -- "$1" --replays 10 ;;
		esac
		run_tenant=$1
		shift
		begin "$run_tenant-$name" under "$run_tenant" -- "$samples/$name" "$@"
		await "$run_tenant-$name"
		set -- "$run_tenant"
	done
	status_now tenants name "$run_tenant" unpredicted
}

arbiter_start
run first >"$out/first"
run second >"$out/second"
arbiter_end
file=$out/socket.state/estimates.$(id -u)
[ -s "$file" ] || say_bad "no file of estimates: $(ls -l "$out/socket.state")"
arbiter_start
run third >"$out/third"
arbiter_end
printf 'x' | dd of="$file" bs=1 seek=40 conv=notrunc 2>/dev/null
arbiter_start
run fourth >"$out/fourth"
arbiter_end

first=$(cat "$out/first") second=$(cat "$out/second") third=$(cat "$out/third")
fourth=$(cat "$out/fourth")
echo "launches without an estimate: $first at first, $second in the next run, $third after a restart, $fourth after damage"
[ "${first:-0}" -ge 20 ] || say_bad "the first run knew too much: $first"
[ "${second:-99}" -le $((first / 10)) ] || say_bad "the second run: $second"
[ "${third:-99}" -le $((first / 10)) ] || say_bad "after a restart: $third"
[ "${fourth:-0}" -ge 20 ] || say_bad "after damage: $fourth"
[ "$(grep -c 'estimates.*ignored' "$out/arbiter")" = 1 ] ||
	say_bad "not one warning: $(cat "$out/arbiter")"
exit "$bad"
