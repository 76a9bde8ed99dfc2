#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two loops under MPS whose kernels each hold most of a GPU on which co-running costs much: status shows
# by how much each is slowed beside the other, and the two take turns; with `always` they do not. Two
# that leave each other room run side by side. No time is judged.
set -u
. tests/support/system.sh

# 108 SMs.
{
	cat tools/simgpu/presets/a100.conf
	echo 'corun_slowdown = "300 %";'
} >"$out/gpu.conf"

conf()
{
	printf 'pairs = "%s";\ntenants = ( { name = "one"; }, { name = "other"; } );\n' "$1" | config
}

kernel()
{
	printf 'costs = ( { kernel = "count"; duration_us = 500.0; sms = %s; } );\n' "$1" \
		>"$out/costs.conf"
	SIMGPU_COSTS=$out/costs.conf
	export SIMGPU_COSTS
}

# pair FIELD: of one beside other, in the status that was read last.
pair()
{
	status_get pairs tenant one "$1"
}

# shellcheck disable=SC2317 # by wait_until
verdict_is()
{
	status_read && [ "$(pair verdict)" = "$1" ]
}

# shellcheck disable=SC2317 # by wait_until
turns_are()
{
	status_read && [ "$(pair turns)" = "$1" ]
}

begin_both()
{
	for both in one other; do
		begin $both under $both --simulated="$out/gpu.conf" --mps -- "$programs/worker" busy
	done
	goes_on one
	goes_on other
}

end_both()
{
	ends_well one
	ends_well other
}

# shellcheck disable=SC2317 # by wait_until
wait_dump='cat "$out/status.json"; show one; show other'

# ---- they clash ----
kernel 80
conf progress
arbiter_start
begin_both
wait_until 'a verdict' verdict_is wait
wait_until 'turns' turns_are true
sluice status --pairs >"$out/pairs" || say_bad 'status --pairs failed'
grep -Eq '^TENANT +(one|other) +(one|other)$' "$out/pairs" || say_bad 'no matrix of the two'
grep -Eq '^one .*[1-9]\.[0-9]{2} \([0-9]+\) wait, in turns' "$out/pairs" ||
	say_bad 'one beside other: no slowdown with its verdict'
sluice status | grep -q 'MPS: two that slow each other take turns' ||
	say_bad 'status does not say that they take turns'

# ---- told not to ----
conf always
sluice reload || say_bad 'reload failed'
wait_until 'side by side' turns_are false
sluice status | grep -q 'MPS: processes overlap' || say_bad 'status does not say that they overlap'
end_both

# ---- they leave each other room ----
conf progress
sluice reload || say_bad 'reload failed'
kernel 30
begin_both
wait_until 'another verdict' verdict_is share
turns_are false || say_bad 'two that leave each other room take turns'
end_both

exit "$bad"
