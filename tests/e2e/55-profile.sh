#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sluice run --profile` with a stand-in for CUPTI: its records become estimates; another user of CUPTI
# in the same process gets it for itself; without CUPTI, or on the simulated GPU alone, one sentence.
set -u
. tests/support/system.sh

costs count 500
config <<'CONF'
tenants = ( { name = "first"; }, { name = "second"; } );
CONF
arbiter_start
${CC:-gcc} -D_GNU_SOURCE -shared -fPIC -O1 -pthread -o "$out/libcupti.so.13" tests/e2e/cupti/standin.c || exit 1
${CC:-gcc} -D_GNU_SOURCE -shared -fPIC -O1 -pthread -o "$out/user.so" tests/e2e/cupti/user.c -ldl || exit 1

is_refused()
{
	pattern=$1
	shift
	under first "$@" -- "$programs/worker" busy >"$out/said" 2>"$out/refused" && say_bad "$*: not refused"
	[ "$(wc -l <"$out/refused")" = 1 ] && grep -q -- "$pattern" "$out/refused" && return
	say_bad "$*: $(cat "$out/refused")"
}
is_refused 'knows no simulated GPU' --profile
is_refused 'cannot be loaded here' --profile="$out/nothing.so"

SLUICE_LOG=error
STANDIN_KERNEL=count
export SLUICE_LOG STANDIN_KERNEL
begin first under first --profile="$out/libcupti.so.13" -- "$programs/worker" busy
goes_on first
goes_on first
sleep 1
ends_well first
grep -q 'standin: registered 1 subscribed 0 enabled 1 records yes' "$out/first.err" ||
	say_bad "with CUPTI: $(cat "$out/first.err")"

# The kernel takes 0.5 ms; what CUPTI claims is believed, and kept.
kill "$arbiter"
wait "$arbiter" || say_bad "the arbiter ended with status $?"
arbiter=
od -A n -v -t u4 -w4 "$out/socket.state/estimates.$(id -u)" | grep -q '^ *7000000$' ||
	say_bad "no estimate of 7 ms: $(od -A n -v -t u4 -w32 "$out/socket.state/estimates.$(id -u)")"
arbiter_start

USER_CUPTI=$out/libcupti.so.13
export USER_CUPTI
begin second under second --profile="$out/libcupti.so.13" -- \
	env LD_PRELOAD="$(preload_list "$preload_build/lib/libsluice.so" "$out/user.so")" \
	"$programs/worker" busy
goes_on second
sleep 2
goes_on second
ends_well second
grep -q 'user: subscribed 0' "$out/second.err" || say_bad "the other user: $(cat "$out/second.err")"
grep -q 'standin: registered 1 subscribed 1 enabled 0' "$out/second.err" ||
	say_bad "what is left to it: $(cat "$out/second.err")"
grep -q 'another tool uses CUPTI' "$out/second.err" || say_bad "not said: $(cat "$out/second.err")"
exit "$bad"
