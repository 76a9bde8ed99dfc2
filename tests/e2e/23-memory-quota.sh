#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A tenant's memory.max, by the real shim and the real arbiter on the driver that does nothing:
# what it sees, what it gets, how two of its processes share, and what kill -9 gives back.
set -u
. tests/support/preload.sh

out=$(mktemp -d)
arbiter=
holder=
# shellcheck disable=SC2317 # by the trap
end()
{
	[ -n "$holder" ] && kill -9 "$holder" 2>/dev/null
	[ -n "$arbiter" ] && kill "$arbiter" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$out"
}
trap end EXIT
bad=0

cat >"$out/sluice.conf" <<'CONF'
default = { class = "best-effort"; memory = { max = "64 MiB"; }; };
CONF
ASAN_OPTIONS=detect_leaks=0 "$preload_build/bin/sluiced" --user --socket="$out/socket" \
	--config="$out/sluice.conf" >"$out/arbiter" 2>&1 &
arbiter=$!

# until WHAT COMMAND...: waits for it, ten seconds at most.
until_true()
{
	what=$1
	shift
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || { echo "waited in vain: $what"; tail -n 20 "$out/arbiter"; exit 1; }
		sleep 0.05
	done
}
until_true 'the socket' test -S "$out/socket"

tenant()
{
	env SLUICE_SOCKET="$out/socket" SLUICE_LOG=error LD_LIBRARY_PATH="$preload_build/nulldriver" \
		ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$(preload_list "$preload_build/lib/libsluice.so")" \
		"$preload_build/tests/e2e/quota" "$@"
}

tenant fill >"$out/fill" 2>&1 || { echo 'fill: failed'; bad=1; }
cat >"$out/expected" <<'EXPECTED'
at first: free 64 total 64 device 64
to be had: 64
plain 16: 0
managed 8: 0
pooled 4: 0
pitched 2: 0
created 2: 0
with all of them: free 32 total 64 device 64
too much: 2
frees: 0 0 0 0
with 16: free 48 total 64 device 64
to be had: 48
after a reset: free 64 total 64 device 64
EXPECTED
diff "$out/expected" "$out/fill" || bad=1

# One process holds a part; another has the rest; killed, it gives its part back.
tenant hold 40 >"$out/hold" 2>&1 &
until_true 'the holder' grep -q '^hold: 0 pid' "$out/hold"
holder=$(sed -n 's/^hold: 0 pid //p' "$out/hold")
tenant fill >"$out/beside" 2>&1
for line in 'at first: free 24 total 64 device 64' 'to be had: 24'; do
	grep -qx "$line" "$out/beside" && continue
	echo "beside a holder of 40: no line '$line'"
	cat "$out/beside"
	bad=1
done
kill -9 "$holder"
holder=
# shellcheck disable=SC2317 # by until_true
alone()
{
	tenant fill >"$out/after" 2>&1
	grep -qx 'to be had: 64' "$out/after"
}
until_true 'what the killed one held' alone
exit $bad
