#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make plan-live: the policy on real processes, against the planner. The demo's server and trainer on the
# simulated GPU, without MPS, under an arbiter that steers by a target; five runs for each of three targets.
# Their own launches, recorded on the way, are played by the planner under the same policy and target. What
# was reached is to be within twice the spread of the five runs of what was planned. BUILD names the build folder.
#
#   LIVE_REQUESTS  requests a run (default 400)
#   LIVE_OUT       where the results go (default build/plan)
set -u

: "${BUILD:?BUILD names the build folder}"
requests=${LIVE_REQUESTS:-400}
out=${LIVE_OUT:-build/plan}
here=$(pwd)
case $out in /*) ;; *) out=$here/$out ;; esac
rate=45
warmup=60
targets='10 20 40'
sluice=$here/$BUILD/bin/sluice
work=$out/live
sockets=$(mktemp -d) || exit 1
socket=$sockets/sluiced.sock
daemon=
trainer=

stop_all()
{
	[ -z "$trainer" ] || kill "$trainer" 2>/dev/null
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null
	wait
	rm -rf "$sockets"
}

die()
{
	printf 'plan-live: %s\n' "$*" >&2
	exit 1
}

trap 'stop_all' EXIT
trap 'exit 130' INT TERM
SIMGPU_COSTS=$here/samples/costs.conf
SIMGPU_INSTANCE=live-$$
export SIMGPU_COSTS SIMGPU_INSTANCE
rm -rf "$work"
mkdir -p "$work/alone" || exit 1

# managed FOLDER TENANT PROGRAM...
managed()
{
	folder=$1
	tenant=$2
	shift 2
	SIMGPU_REPORT=$folder/%p.simgpu.json exec "$sluice" run -S "$socket" -t "$tenant" \
		--simulated=h100 -- "$@"
}

# start_arbiter PERCENT: the target, over alone.
start_arbiter()
{
	uid=$(id -u)
	cat >"$work/sluice.conf" <<CONF
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $uid; };
    target = { p99 = "+$1 %"; of = "service"; }; },
  { name = "train"; match = { uid = $uid; }; }
);
CONF
	"$here/$BUILD/bin/sluiced" --user --socket "$socket" --config "$work/sluice.conf" \
		>>"$work/sluiced.log" 2>&1 &
	daemon=$!
	tries=0
	until "$sluice" status -S "$socket" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 50 ] || die "sluiced did not start: see $work/sluiced.log"
		sleep 0.1
	done
}

stop_arbiter()
{
	kill "$daemon"
	wait "$daemon"
	daemon=
}

# one_run FOLDER SEED
one_run()
{
	mkdir -p "$1"
	(managed "$1" train "$here/$BUILD/samples/train" --seconds 170 --json "$1/train.json") >"$1/train.log" 2>&1 &
	trainer=$!
	sleep 1
	(managed "$1" chat "$here/$BUILD/samples/serve" --requests "$requests" --warmup "$warmup" --seed "$2" \
		--rate "$rate" --json "$1/serve.json") >"$1/serve.log" 2>&1 &
	server=$!
	if [ ! -e "$work/train.conf" ]; then
		sleep 4
		"$sluice" plan --record train -S "$socket" --seconds 2 -o "$work/train.conf" 2>>"$work/record.log" ||
			die "the trainer could not be recorded: see $work/record.log"
		"$sluice" plan --record chat -S "$socket" --seconds 2 -o "$work/chat.conf" 2>>"$work/record.log" ||
			die "the server could not be recorded: see $work/record.log"
	fi
	wait "$server" || die "the server failed: see $1/serve.log"
	kill -TERM "$trainer"
	wait "$trainer" || die "the trainer failed: see $1/train.log"
	trainer=
}

plan()
{
	cat >"$work/$1/scenario.cfg" <<CFG
name = "live, target +$1 %";
device = "h100";
tenants = (
  { name = "chat"; class = "latency-critical"; workload = "../chat.conf";
    arrivals = { kind = "poisson"; mean = "$((1000000 / rate)) us"; };
    target = { p99 = "+$1 %"; of = "service"; }; },
  { name = "train"; workload = "../train.conf"; }
);
policies = ( "slo" );
run = { requests = $requests; warmup = $warmup; seeds = 30; };
CFG
	"$sluice" plan --json "$work/$1/scenario.cfg" >"$work/$1/plan.json" ||
		die "the recorded pair does not play: see $work/$1/scenario.cfg"
}

printf 'plan-live: the trainer alone\n'
start_arbiter 10
(managed "$work/alone" train "$here/$BUILD/samples/train" --seconds 8 --json "$work/alone/train.json") \
	>"$work/alone/train.log" 2>&1 || die "the trainer failed: see $work/alone/train.log"
stop_arbiter
for target in $targets; do
	printf 'plan-live: target +%s %% over alone, five runs of %s requests\n' "$target" "$requests"
	for run in 1 2 3 4 5; do
		start_arbiter "$target"
		one_run "$work/$target/$run" "$run"
		"$sluice" status -S "$socket" --json >"$work/$target/$run/status.json" 2>&1
		stop_arbiter
	done
	plan "$target"
done
# shellcheck disable=SC2086 # words
"$here/$BUILD/bin/sluice-live" "$out/live.json" "$work" $targets
status=$?
printf 'figures: %s\n' "$out/live.json"
exit $status
