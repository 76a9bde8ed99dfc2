#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Latency-critical servers that learn of the end of a request by a callback, or by a word that the GPU
# writes into their memory, and never wait for the driver nor ask it: beside them a training loop goes
# on between requests as beside any other. Status says what it knows of their ends. The lease, which
# would open the gates in the end, is too long to do so here, and forward progress lets one launch go for
# each request or so.
set -u
. tests/support/system.sh

costs count 100
config <<CONF
lease = "600 s";
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); }; },
  { name = "train"; }
);
CONF
arbiter_start

requests=60
launches=300

# beside NAME: it serves requests, and meanwhile the loop launches.
beside()
{
	beside_train=$(at train)
	beside_at=$(at "$1")
	wait_until "$1: $requests requests" is_beyond "$1" $((${beside_at:-0} + requests * 10))
	beside_more=$(($(at train) - ${beside_train:-0}))
	[ "$beside_more" -ge "$launches" ] ||
		say_bad "$beside_more launches beside $requests requests of $1"
}

asks()
{
	sluice status >"$out/text"
	grep -q "^note: tenant chat (pid $(pid_of "$1")): ends of requests are seen by asking the GPU" \
		"$out/text"
}

begin train under train -- "$programs/worker" busy
goes_on train

begin callback under chat -- "$programs/worker" callback
goes_on callback
beside callback
asks callback && say_bad 'a callback shows the end, and the GPU is asked'
[ "$(status_now tenants name chat requests)" -ge "$requests" ] ||
	say_bad "callbacks: $(status_get tenants name chat requests) requests were seen"
ends_well callback

begin word under chat -- "$programs/worker" word
goes_on word
# Whoever looks must be asked to, once.
wait_until 'a note on ends that are seen by asking' asks word
beside word
# Others have been counted before.
[ "$(status_now tenants name chat requests)" -ge $((2 * requests)) ] ||
	say_bad "words: $(status_get tenants name chat requests) requests were seen"
ends_well word

# Both at once, and one that launches and never looks.
begin both1 under chat -- "$programs/worker" callback
begin both2 under chat -- "$programs/worker" word
begin once under chat -- "$programs/worker" once
goes_on once
goes_on both1
goes_on both2
goes_on train
goes_on train
ends_well both1
ends_well both2
ends_well once
ends_well train
exit "$bad"
