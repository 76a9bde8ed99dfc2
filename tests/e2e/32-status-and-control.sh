#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What an administrator does: status as text and as JSON, set, pause and resume, reload by command
# and by signal, check-config. A bad file changes nothing and is named with its line.
set -u
. tests/support/system.sh

SIMGPU_COSTS=$PWD/samples/costs.conf
export SIMGPU_COSTS
good()
{
	cat <<CONF
default = { class = "best-effort"; memory = { max = "4 GiB"; }; };
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); };
    target = { p99 = "20 ms"; of = "service"; }; },
  { name = "train"; gpu = { weight = $1; max = "80 %"; }; memory = { max = "$2"; }; },
  { name = "hog"; memory = { max = "1 GiB"; }; }
);
CONF
}

# is WHAT EXPECTED FOUND
is()
{
	[ "$2" = "$3" ] || say_bad "$1: '$3', not '$2'"
}

# fails STATUS PATTERN COMMAND...: one line on stderr, nothing on stdout.
fails()
{
	wanted=$1
	pattern=$2
	shift 2
	"$@" >"$out/said" 2>"$out/why"
	is "$* (status)" "$wanted" "$?"
	[ -s "$out/said" ] && say_bad "$*: on stdout: $(cat "$out/said")"
	[ "$(wc -l <"$out/why")" = 1 ] && grep -Eq "$pattern" "$out/why" && return
	say_bad "$*: said, and not one line with '$pattern':"
	cat "$out/why"
}

# tenant NAME FIELD [EXPECTED], process NAME FIELD: of a status asked for now.
tenant()
{
	status_now tenants name "$1" "$2"
}

process()
{
	status_now processes pid "$(pid_of "$1")" "$2"
}

# shellcheck disable=SC2317 # by wait_until
tenant_is()
{
	[ "$(tenant "$1" "$2")" = "$3" ]
}

good 300 '2 GiB' | config
arbiter_start

# ---- nobody there ----
sluice status >"$out/text" || say_bad 'status failed with nobody there'
grep -q '^no GPU in use' "$out/text" || say_bad 'status: GPUs where nobody has used one'
for name in default chat train hog; do
	grep -Eq "^$name  .* no process" "$out/text" || say_bad "status: no row for $name"
	is "device of $name" null "$(tenant $name device)"
done
grep -qx "arbiter: pid $arbiter, configuration $out/sluice.conf" "$out/text" ||
	say_bad "status: not the arbiter's line: $(tail -n 1 "$out/text")"

# ---- three tenants at work ----
begin train under train -- "$samples/train" --seconds 600
begin hog under hog -- "$samples/memhog" --chunk 64 --total 512 --hold 600
begin serve under chat -- "$samples/serve" --requests 100000
# shellcheck disable=SC2317 # by wait_until
all_at_work()
{
	[ "$(process train launched_ns)" -gt 0 ] && [ "$(tenant chat requests)" -gt 5 ] &&
		[ "$(tenant hog memory_used_bytes)" = 536870912 ]
} 2>/dev/null
wait_until 'three tenants at work' all_at_work
sluice status >"$out/text" || say_bad 'status failed'
status_read || say_bad 'status --json failed'
if command -v jq >/dev/null 2>&1; then
	jq -e '.devices[0].simulated and (.tenants | length == 4) and (.processes | length == 3)
		and (.notes | length > 0) and .tenants[0].pressure.avg10 >= 0' \
		"$out/status.json" >/dev/null || say_bad 'status --json: not what jq looks for'
fi
device()
{
	status_get devices index 0 "$1"
}
is 'device: name' 'NVIDIA H100 80GB HBM3' "$(device name)"
is 'device: simulated' true "$(device simulated)"
is 'device: mps' false "$(device mps)"
is 'device: turns' true "$(device turns)"
is 'device: policy' slo "$(device policy)"
is 'device: sms' 132 "$(device sms)"
is 'device: processes' 3 "$(device processes)"
is 'device: memory' 85899345920 "$(device memory_bytes)"
[ "$(device memory_granted_bytes)" -ge 536870912 ] || say_bad 'device: granted too little'
is 'chat: class' latency-critical "$(status_get tenants name chat class)"
is 'chat: target' 20000000 "$(status_get tenants name chat target_ns)"
[ "$(status_get tenants name chat service_p99_ns)" -gt 1000000 ] || say_bad 'chat: no p99'
is 'train: class' best-effort "$(status_get tenants name train class)"
is 'train: memory.max' 2147483648 "$(status_get tenants name train memory_max_bytes)"
is 'train: target' null "$(status_get tenants name train target_ns)"
is 'train: processes' 1 "$(status_get tenants name train processes)"
for name in train serve; do
	row=$(pid_of $name)
	is "$name: program" "$name" "$(status_get processes pid "$row" program)"
	is "$name: managed" true "$(status_get processes pid "$row" managed)"
	is "$name: uid" "$(id -u)" "$(status_get processes pid "$row" uid)"
done
is 'serve: tenant' chat "$(status_get processes pid "$(pid_of serve)" tenant)"
grep -q '^GPU 0  NVIDIA H100 80GB HBM3 (simulated)  132 SMs  policy slo  memory 51[0-9]\.*[0-9]* MiB of 80\(\.0\)* GiB .*take turns$' "$out/text" ||
	say_bad 'status: no line for the GPU'
grep -q '^TENANT  *CLASS  *PROCS' "$out/text" || say_bad 'status: no head'
grep -Eq '^chat +latency-critical +1 .* 20(\.0)? ms S +[0-9]+ of [0-9]+ ' "$out/text" ||
	say_bad 'status: no row of chat with its target and late requests'
grep -Eq '^hog +best-effort +1 .*512(\.0)? MiB / 1(\.0)? GiB' "$out/text" ||
	say_bad 'status: no memory of hog'
for note in 'no MPS' 'a simulated GPU does not tell'; do
	grep -q "^note: .*$note" "$out/text" || say_bad "status: no note '$note'"
	grep -q "^    \".*$note" "$out/status.json" ||
		say_bad "status --json: no note '$note'"
done

grep -Eq '^chat: target p99 20(\.0)? ms of service.*; level [-0-9.]+, window .*, guard ' "$out/text" ||
	say_bad 'status: no line for the target of chat'
grep -q '"slo": {' "$out/status.json" || say_bad 'status --json: no controller of chat'

# ---- set, and what cannot be set ----
is 'set' 'train: memory.max=3 GiB, until the next reload' \
	"$(sluice set train memory.max='3 GiB')"
is 'set: in force' 3221225472 "$(tenant train memory_max_bytes)"
sluice set train gpu.weight=50 >"$out/said" || say_bad 'set gpu.weight failed'
case " $(tenant train state) " in
*' set_by_hand '*) ;;
*) say_bad "set: not marked: $(tenant train state)" ;;
esac
sluice status | grep -Eq '^train .*set by hand' || say_bad 'set: not marked in the text'
fails 1 'no tenant nobody' sluice set nobody gpu.weight=50
fails 1 'gpu.wait' sluice set train gpu.wait=50
fails 1 'gpu.weight.*1.*10000' sluice set train gpu.weight=0
fails 1 'gpu.weight' sluice set train gpu.weight=heavy
fails 1 'match.uid|cannot be set|settable' sluice set train match.uid=7
fails 1 'memory' sluice set train memory.max=lots
fails 2 'not KEY=VALUE' sluice set train gpu.weight
fails 2 'not KEY=VALUE' sluice set train =50
is 'refused sets change nothing' 3221225472 "$(tenant train memory_max_bytes)"

# ---- reload: what was set is undone; a bad file changes nothing ----
sluice reload >"$out/said" || say_bad 'reload failed'
"$sluice" check-config "$out/sluice.conf" >"$out/checked"
is 'what reload says' "$(cat "$out/checked")" "$(cat "$out/said")"
grep -q ' tenants, policy ' "$out/said" || say_bad "reload says: $(cat "$out/said")"
is 'reload: memory.max' 2147483648 "$(tenant train memory_max_bytes)"
case " $(tenant train state) " in
*' set_by_hand '*) say_bad 'reload: still marked' ;;
esac
good 300 '5 GiB' | sed '5s/gpu = /gqu = /' | config
fails 1 "$out/sluice.conf:5: .*gqu" sluice reload
fails 1 "$out/sluice.conf:5: .*gqu" "$sluice" check-config "$out/sluice.conf"
is 'bad file' 2147483648 "$(tenant train memory_max_bytes)"
kill -HUP "$arbiter"
wait_until 'the log on a bad file' grep -q "$out/sluice.conf:5" "$out/arbiter"
is 'bad file by signal' 2147483648 "$(tenant train memory_max_bytes)"
good 300 '5 GiB' | config
"$sluice" check-config "$out/sluice.conf" >"$out/said" 2>&1 || {
	say_bad 'check-config refuses a good file:'
	cat "$out/said"
}
kill -HUP "$arbiter"
wait_until 'a good file by signal' tenant_is train memory_max_bytes 5368709120
good 300 '6 GiB' | sed '/name = "hog"/d; s/\(6 GiB.*\),$/\1/' | config
sluice reload || say_bad 'reload without hog failed'
is 'without hog' 6442450944 "$(tenant train memory_max_bytes)"
sluice status | grep -q '^note: tenant hog: removed from the configuration' ||
	say_bad 'no note of a tenant that is leaving'
is 'a leaving tenant' 536870912 "$(tenant hog memory_used_bytes)"
fails 1 "no-such-file" "$sluice" check-config "$out/no-such-file"
for file in samples/serve-and-train.conf samples/two-teams.conf samples/notebooks.conf; do
	"$sluice" check-config "$file" >"$out/said" 2>&1 || {
		say_bad "check-config refuses $file:"
		cat "$out/said"
	}
done

# ---- pause holds, resume lets go ----
is 'pause' 'train: paused, until it is resumed' "$(sluice pause train)"
# shellcheck disable=SC2317 # by wait_until
train_has_stopped()
{
	before=$(process train launched_ns)
	sleep 0.5
	[ "$(process train launched_ns)" = "$before" ]
}
wait_until 'the paused to stop' train_has_stopped
case " $(tenant train state) " in
*' paused '*) ;;
*) say_bad "pause: not marked: $(tenant train state)" ;;
esac
sluice status | grep -Eq '^train .*paused' || say_bad 'pause: not marked in the text'
sleep 1
is 'paused, and yet it launched' "$before" "$(process train launched_ns)"
# One that comes while its tenant is paused waits, too; another tenant does not.
begin late under train -- "$samples/vecadd"
under - -- "$samples/vecadd" >"$out/other" 2>&1 || say_bad "beside a paused one: $(cat "$out/other")"
# shellcheck disable=SC2317 # by wait_until
late_waits()
{
	case " $(process late state) " in *' paused '*) ;; *) return 1 ;; esac
}
wait_until 'the latecomer' late_waits
sleep 0.5
grep -q '^result' "$out/late" && say_bad 'a latecomer of a paused tenant ran'
is 'resume' 'train: resumed' "$(sluice resume train)"
# shellcheck disable=SC2317 # by wait_until
train_goes_on()
{
	[ "$(process train launched_ns)" -gt "$before" ]
} 2>/dev/null
wait_until 'the resumed to go on' train_goes_on
await late
fails 1 'no tenant nobody' sluice pause nobody

# ---- watch, and the end ----
begin watch alone "$sluice" status --socket="$out/socket" --watch=0.1
# shellcheck disable=SC2317 # by wait_until
watched()
{
	[ "$(grep -cs "^arbiter: pid" "$out/watch")" -ge 3 ]
} 2>/dev/null
wait_until 'three looks' watched
# ---- an arbiter that cannot start says why, once ----
# does_not_start SENTENCE CONFIG SOCKET
does_not_start()
{
	if "$preload_build/bin/sluiced" --user --config="$2" --socket="$3" 2>"$out/start"; then
		say_bad "it starts: $1"
	fi
	if [ "$(wc -l <"$out/start")" != 1 ] || ! grep -q "$1" "$out/start"; then
		say_bad "not the one sentence ($1): $(cat "$out/start")"
	fi
}
printf 'tenants = (\n\t{ name = "a"; gpu = { wait = 1; }; }\n);\n' >"$out/wrong.conf"
does_not_start 'wrong.conf:2: ' "$out/wrong.conf" "$out/other"
does_not_start 'another arbiter listens there' "$out/sluice.conf" "$out/socket"
does_not_start 'other/other: cannot listen: ' "$out/sluice.conf" "$out/status.json/other/other"
signal TERM watch hog serve
signal TERM train
await train
[ -n "$(result_of train)" ] || say_bad 'train has no result'
exit "$bad"
