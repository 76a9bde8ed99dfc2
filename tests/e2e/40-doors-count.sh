#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# By whatever door a program comes to the simulated driver, what it launches and allocates is counted
# by the arbiter, and its launches are done: linked, opened, looked up, and through the runtime.
set -u
. tests/support/system.sh

costs count 300
config <<'CONF'
tenants = ( { name = "batch"; memory = { max = "2 GiB"; }; } );
CONF
arbiter_start

include=$(sed -n 's/^CUDA_INCLUDE := //p' build/deps.mk)
${CC:-gcc} -D_GNU_SOURCE -std=gnu11 -I"$include" -o "$out/launch" tests/e2e/doors/launch.c -ldl || exit 1

# counted NAME LEAST_BYTES: the arbiter knows of launches and memory of the process.
counted()
{
	status_read || say_bad "$1: no status"
	row=$(pid_of "$1")
	bytes=$(status_get processes pid "$row" memory_used_bytes)
	launched=$(status_get processes pid "$row" launched_ns)
	[ "$(status_get processes pid "$row" tenant)" = batch ] || say_bad "$1: is not of the tenant"
	[ "${bytes:-0}" -ge "$2" ] || say_bad "$1: ${bytes:-no} bytes counted, not $2"
	[ "${launched:-0}" -gt 0 ] || say_bad "$1: ${launched:-no} launches counted"
}

doors='local global default proc proc_v1 deepbind'
# A sanitizer's runtime refuses RTLD_DEEPBIND.
[ -z "${SAN:-}" ] || doors='local global default proc proc_v1'
for door in $doors; do
	begin "$door" under batch -- "$out/launch" "$door" 60 96
	wait_until "$door" grep -qs '^counted' "$out/$door"
	grep -qx 'counted 60' "$out/$door" || say_bad "$door: $(cat "$out/$door")"
	counted "$door" $((96 << 20))
	signal KILL "$door"
done

# Linked to the driver.
begin linked under batch -- "$programs/worker" busy 48
goes_on linked
counted linked $((48 << 20))
ends_well linked

# Through the runtime, which asks the driver by cuGetProcAddress.
begin runtime under batch -- "$samples/memhog" --chunk 64 --total 192 --hold 600
wait_until runtime grep -qs '^memhog: ' "$out/runtime"
counted runtime $((192 << 20))
signal KILL runtime

# A program in a shell in a script: the preload goes through.
printf '#!/bin/sh\n"%s" local 10 32\n' "$out/launch" >"$out/script"
chmod +x "$out/script"
begin nested under batch -- sh -c "exec sh -c 'exec $out/script'"
wait_until nested grep -qs '^counted 10' "$out/nested"
status_read
[ "$(status_get processes program launch memory_used_bytes)" -ge $((32 << 20)) ] ||
	say_bad 'nested: not counted'
kill -9 "$(status_get processes program launch pid)"
exit "$bad"
