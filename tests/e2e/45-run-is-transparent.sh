#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sluice run` is not there: the program's exit status, signals, input, output, arguments, folder and
# environment are its own; a `sluice run` inside another takes the inner tenant; a preload of the
# user's stays.
set -u
. tests/support/system.sh

config <<'CONF'
tenants = ( { name = "outer"; }, { name = "inner"; } );
CONF
arbiter_start

is()
{
	[ "$2" = "$3" ] || say_bad "$1: '$3', not '$2'"
}

under outer -- sh -c 'exit 7'
is 'exit status' 7 $?
under outer -- sh -c 'kill -TERM $$' 2>/dev/null
is 'killed' 143 $?
is 'input and output' 'some text' "$(echo 'some text' | under outer -- cat)"
is 'arguments' '<a b><><-t><--><*>' "$(under outer -- printf '<%s>' 'a b' '' -t -- '*')"
is 'no --' '<-t><x>' "$(under outer printf '<%s>' -t x)"
is 'folder' "$PWD" "$(under outer -- pwd)"
is 'tenant' outer "$(under outer -- printenv SLUICE_TENANT)"
is 'no tenant' '' "$(under - -- printenv SLUICE_TENANT)"
is 'socket' "$out/socket" "$(under outer -- printenv SLUICE_SOCKET)"
is 'environment' kept "$(KEEP=kept under outer -- printenv KEEP)"
# The process that was started is the program: nothing of `sluice` stays.
begin child under outer -- sh -c 'echo $$; exec sleep 600'
wait_until 'the program' test -s "$out/child"
is 'process' "$(pid_of child)" "$(cat "$out/child")"
signal KILL child

# ---- what is preloaded already stays, behind the shim ----
cat >"$out/extra.c" <<'C'
int extra_is_here(void);
int extra_is_here(void)
{
	return 1;
}
C
if [ -z "${SAN:-}" ]; then
	${CC:-gcc} -shared -fPIC -o "$out/extra.so" "$out/extra.c" || exit 1
	loaded=$(LD_PRELOAD=$out/extra.so "$sluice" run --socket="$out/socket" --simulated -- \
		sh -c 'grep -o "/[^ ]*\(extra\|libsluice\).so" /proc/$$/maps' | sort -u | wc -l)
	is 'both preloads' 2 "$loaded"
fi

# ---- one inside another ----
begin nested under outer -- "$sluice" run --tenant=inner --simulated -- "$samples/memhog" \
	--total 64 --hold 600
wait_until nested grep -qs '^memhog: ' "$out/nested"
is 'tenant of the inner one' inner "$(status_now processes pid "$(pid_of nested)" tenant)"
[ "$(status_get processes pid "$(pid_of nested)" memory_used_bytes)" -ge $((64 << 20)) ] ||
	say_bad 'the inner one is not accounted for'
signal KILL nested
exit "$bad"
