#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sluice plan: the scenarios in samples/ play, the output is the same whoever plays the runs, the picture is
# one, and mistakes are named with file and line.
set -u
sluice=$BUILD/bin/sluice
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bad=0

say_bad()
{
	echo "$*"
	bad=1
}

# Each sample, cut down to a few requests of one seed.
played=0
for file in samples/plan/*.cfg; do
	small=$out/$(basename "$file")
	sed 's/requests = [0-9]*/requests = 40/; s/seeds = [0-9]*/seeds = 1/; s/warmup = [0-9]*/warmup = 5/' \
		"$file" >"$small"
	if ! "$sluice" plan "$small" >"$out/table" 2>"$out/err"; then
		say_bad "$file: $(cat "$out/err")"
		continue
	fi
	for word in 'simulated on' 'POLICY' 'delayed most'; do
		grep -q "$word" "$out/table" || say_bad "$file: the table lacks \"$word\""
	done
	played=$((played + 1))
done
[ $played -ge 3 ] || say_bad "only $played scenarios in samples/plan"

small=$out/serve-and-train.cfg
for workers in 1 3; do
	"$sluice" plan --json --workers $workers --svg "$out/$workers.svg" "$small" >"$out/$workers.json" ||
		say_bad "--json --svg failed with $workers workers"
done
cmp -s "$out/1.json" "$out/3.json" || say_bad "three processes come to other figures than one"
cmp -s "$out/1.svg" "$out/3.svg" || say_bad "three processes draw another picture than one"
python3 - "$out/1.json" "$out/1.svg" <<'EOP' || bad=1
import json, sys, xml.dom.minidom
plan = json.load(open(sys.argv[1]))
rows = plan["rows"]
if plan["simulated"] is not True or len(rows) != 11:
    sys.exit("the plan has %d rows" % len(rows))
for row in rows:
    serve, train = row["tenants"]["serve"], row["tenants"]["train"]
    if serve["requests"] != 40 or not 0 < train["throughput_of_alone"]["mean"] <= 1.01:
        sys.exit("%s: figures that cannot be" % row["label"])
by = {row["label"]: row["tenants"]["serve"] for row in rows}
if not by["slo on MPS, window 300 us"]["S_over_alone"]["mean"] < by["native on MPS"]["S_over_alone"]["mean"]:
    sys.exit("the gate does not help")
xml.dom.minidom.parse(sys.argv[2])
EOP

"$sluice" plan --policies >"$out/policies"
for unprinted in --policies --help "$small"; do
	"$sluice" plan "$unprinted" >/dev/full 2>"$out/err" && say_bad "$unprinted: not printed, and a success"
	[ "$(cat "$out/err")" = 'sluice: cannot print: No space left on device' ] ||
		say_bad "$unprinted, not printed: $(cat "$out/err")"
done
grep -Eq '[0-9]e\+[0-9]| $' "$out/policies" &&
	say_bad "figures of --policies are not as elsewhere"
for policy in native share slo xsched orion tally; do
	grep -q "^$policy: " "$out/policies" || say_bad "--policies does not list $policy"
done

# refused FILE WHAT: exit status 1, and that sentence.
refused()
{
	"$sluice" plan "$1" >"$out/table" 2>"$out/err"
	[ $? -eq 1 ] || say_bad "$1 was not refused with status 1"
	[ -s "$out/table" ] && say_bad "$1: refused, and yet there is a table"
	grep -q "$2" "$out/err" || say_bad "$1: not told \"$2\" but: $(cat "$out/err")"
}
sed 's/weight = 300/wait = 300/' "$out/two-teams.cfg" >"$out/key.cfg"
refused "$out/key.cfg" "key.cfg:[0-9]*: gpu has no key wait; there are weight, max, min"
sed 's/"decode"/"decodr"/' "$out/two-teams.cfg" >"$out/workload.cfg"
refused "$out/workload.cfg" "workload.cfg:[0-9]*: no workload decodr comes with Sluice"
refused "$out/none.cfg" "none.cfg: cannot read it"
"$sluice" plan >/dev/null 2>&1
[ $? -eq 2 ] || say_bad "no file: the exit status is not 2"
# Options that have no effect on what is asked for are wrong usage.
# misused WHAT ARGUMENT...
misused()
{
	what=$1
	shift
	"$sluice" plan "$@" >"$out/table" 2>"$out/err"
	[ $? -eq 2 ] || say_bad "plan $*: not refused with status 2"
	grep -q -e "$what" "$out/err" || say_bad "plan $*: not told \"$what\" but: $(cat "$out/err")"
}
for option in --seconds=5 --output=x --arrivals=x --socket=x; do
	misused "${option%=*} goes with --record" "$option" "$small"
	misused "${option%=*} goes with --record" "$option" --policies
done
for option in --json --svg=x.svg --workers=2; do
	misused "${option%=*} goes with a scenario" "$option" --record=train
	misused "${option%=*} goes with a scenario" "$option" --policies
done

# No picture is begun that cannot be finished: told before anything is played, and what was there stays.
# undrawn SCENARIO PICTURE WHAT
undrawn()
{
	"$sluice" plan --svg "$2" "$1" >"$out/table" 2>"$out/err"
	[ $? -eq 1 ] || say_bad "--svg $2 of $1: not refused with status 1"
	[ -s "$out/table" ] && say_bad "--svg $2 of $1: refused only after it was played"
	grep -q "$3" "$out/err" || say_bad "--svg $2 of $1: not told \"$3\" but: $(cat "$out/err")"
}
undrawn "$small" /nowhere/x.svg 'cannot write /nowhere/x.svg'
sed '/^policies/,/^);/d' "$small" >"$out/lone.cfg"
echo 'policies = ( "slo" );' >>"$out/lone.cfg"
echo kept >"$out/kept.svg"
undrawn "$out/lone.cfg" "$out/kept.svg" 'a frontier needs'
[ "$(cat "$out/kept.svg")" = kept ] || say_bad "a picture that was there is gone, and none came for it"
exit $bad
