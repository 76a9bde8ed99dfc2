#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A real arbiter for a script, and a program under it on the driver that does nothing. To be
# sourced after preload.sh, with a scratch folder in `out` and a configuration in $out/sluice.conf:
#
#   arbiter_start              starts it, waits for its socket; its pid is in `arbiter`
#   arbiter_kill               kill -9
#   managed PROGRAM [ARG...]   runs a program of tests/e2e under it
#   wait_until WHAT COMMAND... ten seconds at most (wait_limit: twentieths), then the script
#                              fails, and does what is in wait_dump before

: "${out:?out names a scratch folder}"
arbiter=

# A pid may be another's by now.
is_our_child()
{
	grep -qs "^PPid:[[:space:]]*$$\$" "/proc/$1/status"
}

# shellcheck disable=SC2154 # preload.sh's
arbiter_start()
{
	rm -f "$out/socket"
	ASAN_OPTIONS=detect_leaks=0 "$preload_build/bin/sluiced" --user --socket="$out/socket" \
		--config="$out/sluice.conf" >>"$out/arbiter" 2>&1 &
	arbiter=$!
	wait_until 'the socket' test -S "$out/socket"
}

arbiter_kill()
{
	[ -n "$arbiter" ] && is_our_child "$arbiter" && kill -9 "$arbiter" 2>/dev/null
	wait "$arbiter" 2>/dev/null
	arbiter=
}

managed()
{
	managed_program=$1
	shift
	env SLUICE_SOCKET="$out/socket" LD_LIBRARY_PATH="$preload_build/nulldriver" \
		ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$(preload_list "$preload_build/lib/libsluice.so")" \
		"$preload_build/tests/e2e/$managed_program" "$@"
}

wait_until()
{
	wait_what=$1
	shift
	wait_tries=0
	until "$@"; do
		wait_tries=$((wait_tries + 1))
		if [ "$wait_tries" -ge "${wait_limit:-200}" ]; then
			echo "waited in vain: $wait_what"
			tail -n 20 "$out/arbiter"
			eval "${wait_dump:-}"
			exit 1
		fi
		sleep 0.05
	done
}
