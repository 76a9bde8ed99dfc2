#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# memory.max by real programs on the simulated GPU: two processes of one tenant share it, every kind
# of memory counts, what is too much is out of memory and nothing else, kill -9 gives the share back;
# memory.min keeps others out; the GPU's own size is a limit without any quota.
set -u
. tests/support/system.sh

config <<'CONF'
tenants = (
  { name = "small"; memory = { max = "1 GiB"; }; },
  { name = "safe"; memory = { min = "60 GiB"; max = "70 GiB"; }; },
  { name = "free"; }
);
CONF
arbiter_start

# hog NAME TENANT ARG...: memhog to its end; hold: in the background, until it holds what it got.
hog()
{
	hog_name=$1
	hog_tenant=$2
	shift 2
	under "$hog_tenant" -- "$samples/memhog" "$@" >"$out/$hog_name" 2>"$out/$hog_name.err" && return
	say_bad "$hog_name failed:"
	show "$hog_name"
}

hold()
{
	hold_name=$1
	hold_tenant=$2
	shift 2
	begin "$hold_name" under "$hold_tenant" -- "$samples/memhog" --hold 600 "$@"
	wait_until "$hold_name" grep -qs '^memhog: ' "$out/$hold_name"
}

# has NAME CHUNKS: memhog got so many.
has()
{
	grep -q "^memhog: $2 chunks" "$out/$1" && return
	say_bad "$1: not $2 chunks:"
	show "$1"
}

used()
{
	status_now tenants name "$1" memory_used_bytes
}

# shellcheck disable=SC2317 # by wait_until
used_is()
{
	[ "$(used "$1")" = "$2" ]
}

MIB=1048576

# ---- every kind, up to the quota; the program sees the quota as the GPU ----
for kind in plain pitched managed async vmm; do
	hog "all-$kind" small --kind $kind --chunk 64
	has "all-$kind" 16
	grep -q 'chunks of 64.0 MiB, [a-z]*, 0.0 MiB free$' "$out/all-$kind" || {
		say_bad "$kind: the quota is full, and free memory not 0:"
		show "all-$kind"
	}
	grep -q '^result: ' "$out/all-$kind" || say_bad "$kind: no result"
	hog "byte-$kind" small --kind $kind --chunk 64 --total 512 --alone
	has "byte-$kind" 8
done
# shellcheck disable=SC2317 # by wait_until
nobody_is_left()
{
	status_read && ! grep -q '"pid"' "$out/status.json"
}
# ---- all of it in one go, beyond what was given ahead ----
hog whole small --chunk 1024
has whole 1
wait_until 'all to be gone' nobody_is_left

# ---- two processes of one tenant, all kinds beside each other ----
hold plain small --chunk 64 --total 256
hold managed small --chunk 64 --total 128 --kind managed
hold vmm small --chunk 64 --total 128 --kind vmm
hold async small --chunk 64 --total 128 --kind async
hold pitched small --chunk 64 --total 64 --kind pitched
[ "$(used small)" -ge $((704 * MIB)) ] || say_bad "five kinds: used $(used small)"
hog rest small --chunk 64
has rest 5
for name in plain managed vmm async pitched; do
	held=$(status_now processes pid "$(pid_of $name)" memory_used_bytes)
	[ "$held" -ge $((64 * MIB)) ] || say_bad "$name: uses $held bytes"
done

# ---- kill -9 of one frees its share for the others, at once ----
signal KILL plain vmm
wait_until 'what the killed held' used_is small $((320 * MIB))
hog again small --chunk 64
has again 11
signal KILL managed async pitched
wait_until 'what all held' used_is small 0

# ---- a quota that is lowered below the use: nothing more, nothing broken ----
hold above small --chunk 64 --total 512
sluice set small memory.max='256 MiB' >/dev/null || say_bad 'set memory.max failed'
hog none small --chunk 64
has none 0
sluice set small memory.max='768 MiB' >/dev/null
hog some small --chunk 64
has some 4
sluice reload || say_bad 'reload failed'
hog more small --chunk 64
has more 8

# ---- memory.min keeps its amount free of others, and the GPU itself ends somewhere ----
# Of 80 GiB, 60 are promised, and `small` has up to one.
hog unlimited free --chunk 1024
has unlimited 19
hold protected safe --chunk 1024 --total 61440
has protected 60
# Contexts take memory, too, which no limit counts.
hog beside free --chunk 1024
grep -Eq '^memhog: 1[5-8] chunks' "$out/beside" || {
	say_bad 'beside 60.5 GiB: not 15 to 18 chunks'
	show beside
}
signal KILL protected above
wait_until 'all to be gone' nobody_is_left
exit "$bad"
