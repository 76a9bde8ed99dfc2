#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# derive.sh NAME PHASES TABLE.csv > NAME.conf
#
# A workload's figures from a table of kernels. The table has comment lines that begin with '#', the
# first saying where it is from; then one row per kernel in issue order:
#
#     duration_us,sm_needed,class,...        class: compute, memory or unknown
#
# The iteration is cut into PHASES stretches of equally many kernels, so that long and short kernels
# come about as they do in the table; the kernels of a phase are grouped by class and by whether
# they fill the device (SMS, default 80: the table's); of each group its count, its total time,
# quantiles of duration (0, 25, 50, 75, 90, 100 %) and of width (0, 50, 100 %) are kept. The head
# has the same figures of the whole table, and of windows of 16 kernels, to compare with.
set -eu
[ $# -eq 3 ] || { echo "usage: derive.sh NAME PHASES TABLE.csv" >&2; exit 2; }
name=$1 phases=$2 table=$3
[ -r "$table" ] || { echo "derive.sh: $table cannot be read" >&2; exit 1; }

${AWK:-awk} -F, -v name="$name" -v phases="$phases" -v device="${SMS:-80}" '
# Heap sort of v[1..n].
function sift(v, i, n,    c, t) {
	while ((c = 2 * i) <= n) {
		if (c < n && v[c + 1] > v[c]) c++
		if (v[i] >= v[c]) return
		t = v[i]; v[i] = v[c]; v[c] = t
		i = c
	}
}
function sort(v, n,    i, t) {
	for (i = int(n / 2); i >= 1; i--) sift(v, i, n)
	for (i = n; i > 1; i--) { t = v[1]; v[1] = v[i]; v[i] = t; sift(v, 1, i - 1) }
}
# Between the two nearest of the sorted v[1..n].
function quantile(v, n, permille,    at, i) {
	at = permille / 1000 * (n - 1)
	i = int(at)
	if (i + 2 > n) return int(v[n] + 0.5)
	return int(v[i + 1] + (at - i) * (v[i + 2] - v[i + 1]) + 0.5)
}
function window(width,    i, sum, n) {
	n = 0; sum = 0
	for (i = 1; i <= rows; i++) {
		sum += ns[i]
		if (i > width) sum -= ns[i - width]
		if (i >= width) many[++n] = sum
	}
	sort(many, n)
	return n
}
function group(class, full, first, last,    i, n, total, text) {
	n = 0; total = 0
	for (i = first; i <= last; i++)
		if (kind[i] == class && (sms[i] >= device) == full) {
			n++; d[n] = ns[i]; w[n] = sms[i]; total += ns[i]
		}
	if (!n) return
	sort(d, n); sort(w, n)
	text = d[1]
	if (n > 1)
		text = text ", " quantile(d, n, 250) ", " quantile(d, n, 500) ", " \
			quantile(d, n, 750) ", " quantile(d, n, 900) ", " d[n]
	printf "%s\t\t{ class = \"%s\"; count = %d; total_ns = %.0f; ns = [%s]; sms = [%s]; }", \
		(groups++ ? ",\n" : ""), class, n, total, text, \
		(n > 1 ? w[1] ", " quantile(w, n, 500) ", " w[n] : w[1])
}
/^#/ { if (!source) { source = $0; sub(/^# *(source: *)?/, "", source); gsub(/["\\]/, "", source) } next }
$1 !~ /^[0-9.]+$/ { next }
$3 != "compute" && $3 != "memory" && $3 != "unknown" || $2 < 1 || $1 <= 0 {
	printf "derive.sh: row %d is no kernel: %s\n", NR, $0 > "/dev/stderr"; failed = 1; exit 1
}
{ rows++; ns[rows] = int($1 * 1000 + 0.5); sms[rows] = $2; kind[rows] = $3; sum += ns[rows]; all[rows] = ns[rows]
  if ($2 >= device) filling += ns[rows]; if ($3 == "compute") compute += ns[rows]; if ($3 == "memory") memory += ns[rows] }
END {
	if (failed) exit 1
	if (rows < phases) { print "derive.sh: fewer rows than phases" > "/dev/stderr"; exit 1 }
	printf "/* Derived by tools/plan/suites/derive.sh with %d phases; counts, totals and quantiles only. */\n", phases
	printf "name = \"%s\";\nsource = \"%s\";\ndevice_sms = %d;\n", name, substr(source, 1, 250), device
	sort(all, rows)
	printf "table = { operations = %d; total_ns = %.0f; filling_ns = %.0f; compute_ns = %.0f; memory_ns = %.0f;\n", \
		rows, sum, filling, compute, memory
	printf "\tp50_ns = %d; p90_ns = %d; p99_ns = %d; max_ns = %d;", \
		quantile(all, rows, 500), quantile(all, rows, 900), quantile(all, rows, 990), all[rows]
	n = window(16)
	printf " window16_p50_ns = %d; window16_p99_ns = %d; };\n", quantile(many, n, 500), quantile(many, n, 990)
	print "phases = ("
	for (p = 0; p < phases; p++) {
		printf "\t(\n"
		groups = 0
		for (full = 0; full < 2; full++) {
			group("compute", full, int(p * rows / phases) + 1, int((p + 1) * rows / phases))
			group("memory", full, int(p * rows / phases) + 1, int((p + 1) * rows / phases))
			group("unknown", full, int(p * rows / phases) + 1, int((p + 1) * rows / phases))
		}
		printf "\n\t)%s\n", p + 1 < phases ? "," : ""
	}
	print ");"
}' "$table"
