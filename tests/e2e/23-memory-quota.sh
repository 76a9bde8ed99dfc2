#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A tenant's memory.max, by the real shim and the real arbiter on the driver that does nothing:
# what it sees, what it gets, how two of its processes share, and what kill -9 gives back.
set -u
. tests/support/preload.sh

out=$(mktemp -d)
. tests/support/arbiter.sh
holder=
# shellcheck disable=SC2317 # by the trap
end()
{
	[ -n "$holder" ] && kill -9 "$holder" 2>/dev/null
	arbiter_kill
	wait 2>/dev/null
	rm -rf "$out"
}
trap end EXIT
bad=0

cat >"$out/sluice.conf" <<'CONF'
default = { class = "best-effort"; memory = { max = "64 MiB"; }; };
CONF
arbiter_start

managed quota fill >"$out/fill" 2>&1 || { echo 'fill: failed'; bad=1; }
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
managed quota hold 40 >"$out/hold" 2>&1 &
wait_until 'the holder' grep -q '^hold: 0 pid' "$out/hold"
holder=$(sed -n 's/^hold: 0 pid //p' "$out/hold")
managed quota fill >"$out/beside" 2>&1
for line in 'at first: free 24 total 64 device 64' 'to be had: 24'; do
	grep -qx "$line" "$out/beside" && continue
	echo "beside a holder of 40: no line '$line'"
	cat "$out/beside"
	bad=1
done
kill -9 "$holder"
holder=
# shellcheck disable=SC2317 # by wait_until
all_is_back()
{
	managed quota fill >"$out/after" 2>&1
	grep -qx 'to be had: 64' "$out/after"
}
wait_until 'what the killed one held' all_is_back
exit $bad
