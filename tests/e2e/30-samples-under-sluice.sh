#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every sample prints the same result line and exits 0 alone and under Sluice: as best-effort and as
# latency-critical tenant, taking turns and with MPS, all samples at once on one GPU each time.
set -u
. tests/support/system.sh

SIMGPU_COSTS=$PWD/samples/costs.conf
export SIMGPU_COSTS
config <<CONF
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); };
    target = { p99 = "20 ms"; }; },
  { name = "batch"; gpu = { weight = 200; }; memory = { max = "8 GiB"; }; }
);
CONF
names='vecadd graphs serve train memhog'

# begin_all RUN HOW [ARG...]: each sample, all at once.
begin_all()
{
	run=$1
	shift
	begin "$run-vecadd" "$@" "$samples/vecadd" --rounds 10
	begin "$run-graphs" "$@" "$samples/graphs"
	begin "$run-serve" "$@" "$samples/serve" --requests 15 --warmup 2
	begin "$run-train" "$@" "$samples/train" --steps 8
	begin "$run-memhog" "$@" "$samples/memhog" --chunk 64 --total 512
}

await_all()
{
	for name in $names; do
		await "$1-$name" || continue
		[ -s "$out/$1-$name.err" ] && {
			say_bad "$1-$name: said on stderr:"
			cat "$out/$1-$name.err"
		}
		[ -n "$(result_of "$1-$name")" ] || say_bad "$1-$name: no result line"
		[ "$1" = alone ] || [ "$(result_of "$1-$name")" = "$(result_of "alone-$name")" ] ||
			say_bad "$1-$name: '$(result_of "$1-$name")', alone '$(result_of "alone-$name")'"
	done
}

begin_all alone alone
await_all alone

# Whoever is not managed, or not the tenant that it asked for, says so on stderr.
SLUICE_LOG=error
export SLUICE_LOG
arbiter_start
for tenant in batch chat; do
	begin_all "$tenant-turns" under "$tenant" --
	await_all "$tenant-turns"
	begin_all "$tenant-mps" under "$tenant" --mps --
	await_all "$tenant-mps"
done

# As it is meant: the server latency-critical, the others in its gaps.
begin mixed-train under batch -- "$samples/train" --steps 8
begin mixed-memhog under - -- "$samples/memhog" --chunk 64 --total 512
begin mixed-graphs under - -- "$samples/graphs"
begin mixed-vecadd under batch -- "$samples/vecadd" --rounds 10
begin mixed-serve under chat -- "$samples/serve" --requests 15 --warmup 2
await_all mixed

# The GPU is told of once, not by each program that is the only one on it.
told()
{
	grep -c '^sluiced: gpu 0: .*take turns' "$out/arbiter"
}
before=0
for round in 1 2 3; do
	under - -- "$samples/vecadd" >"$out/said" 2>&1 || say_bad "vecadd, round $round: failed"
	[ "$round" = 1 ] && before=$(told)
done
[ "$before" -ge 1 ] || say_bad "the log tells of no GPU"
[ "$(told)" = "$before" ] || say_bad "the log tells of the same GPU again, with each program"
exit "$bad"
