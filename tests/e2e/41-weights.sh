#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two training loops with weights 3 to 1 take turns on one GPU: so do their launches, roughly, over
# some seconds, and one that is alone has all. Skipped where the machine is too busy to tell.
set -u
. tests/support/system.sh

costs count 500
config <<'CONF'
tenants = (
  { name = "heavy"; gpu = { weight = 300; }; },
  { name = "light"; gpu = { weight = 100; }; }
);
CONF
arbiter_start
SIMGPU_REPORT=$out/report-%p.json
export SIMGPU_REPORT

begin heavy under heavy -- "$programs/worker" busy
begin light under light -- "$programs/worker" busy
goes_on heavy
goes_on light
sleep 1
heavy_from=$(at heavy) light_from=$(at light)
sleep 8
heavy_did=$(($(at heavy) - heavy_from)) light_did=$(($(at light) - light_from))
status_read
heavy_due=$(status_get tenants name heavy gpu_entitled)
light_due=$(status_get tenants name light gpu_entitled)
ends_well heavy
light_from=$(at light)
sleep 2
light_alone=$(($(at light) - light_from))
ends_well light

late=$(cat "$out"/report-*.json | awk '
	/"late_ops_pct"/ { gsub(/[",:]/, " "); if ($2 > most) most = $2 }
	END { printf "%d", most * 100 }')
echo "in 8 s: $heavy_did to $light_did launches of 500 us; the light one alone $light_alone in 2 s; late $late in 10000"
[ "$heavy_due $light_due" = '0.75 0.25' ] ||
	say_bad "due: $heavy_due and $light_due, not 0.75 and 0.25"
[ "$bad" = 0 ] || exit 1
# Whoever has only late operations, or a GPU that stands still, measures the machine.
if [ "$late" -gt 100 ] || [ $((heavy_did + light_did)) -lt 8000 ]; then
	echo "the machine is too busy for a measurement: $late in 10000 operations late, $((heavy_did + light_did)) of 16000 launches"
	exit 77
fi
tenths=$((heavy_did * 10 / (light_did + 1)))
case $tenths in
2[0-9] | 3[0-9] | 4[0-4]) ;;
*) say_bad "not within 2 and 4.5 to 1: $heavy_did to $light_did" ;;
esac
exit "$bad"
