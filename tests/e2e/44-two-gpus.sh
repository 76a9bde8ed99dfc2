#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two GPUs: each has its own turns, its own quota and its own rows; a latency-critical process on one
# does not hold those on the other; CUDA_VISIBLE_DEVICES renames a GPU and no more.
set -u
. tests/support/system.sh

costs count 1000
config <<CONF
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); }; },
  { name = "train"; memory = { max = "1 GiB"; }; }
);
CONF
arbiter_start
SIMGPU_DEVICES=2
export SIMGPU_DEVICES

# on GPU COMMAND...
on()
{
	CUDA_VISIBLE_DEVICES=$1
	export CUDA_VISIBLE_DEVICES
	shift
	"$@"
	unset CUDA_VISIBLE_DEVICES
}

device_of()
{
	status_get processes pid "$(pid_of "$1")" device
}

on 0 begin zero under train -- "$programs/worker" busy 128
on 1 begin one under train -- "$programs/worker" busy 256
goes_on zero
goes_on one
# A request without an end keeps all others from its GPU.
on 1 begin chat under chat -- "$programs/worker" ahead 32
goes_on chat
wait_until 'one to be held' stands_still one
status_read
[ "$(grep -c '"simulated": true' "$out/status.json")" = 2 ] || say_bad 'not two GPUs in status'
[ "$(device_of zero)" != "$(device_of one)" ] || say_bad 'two GPUs are taken for one'
[ "$(device_of chat)" = "$(device_of one)" ] || say_bad 'one GPU is taken for two'
sluice status | grep -c '^train ' | grep -qx 2 || say_bad 'status: train has not a row on each GPU'

goes_on zero
goes_on zero
ends_well chat
goes_on one

# The quota is each GPU's own.
on 0 under train -- "$samples/memhog" --chunk 64 >"$out/hog0" 2>&1 || say_bad 'memhog on 0 failed'
on 1 under train -- "$samples/memhog" --chunk 64 >"$out/hog1" 2>&1 || say_bad 'memhog on 1 failed'
grep -q '^memhog: 13 chunks' "$out/hog0" || say_bad "beside 128 MiB on 0: $(cat "$out/hog0")"
grep -q '^memhog: 11 chunks' "$out/hog1" || say_bad "beside 256 MiB on 1: $(cat "$out/hog1")"

# One process on both.
on 1,0 begin both under train -- "$samples/graphs"
await both
ends_well zero
ends_well one
exit "$bad"
