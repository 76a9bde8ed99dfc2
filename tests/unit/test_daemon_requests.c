/* SPDX-License-Identifier: Apache-2.0 */

/* From the rings that latency processes write to what status says of their targets. */

#include "daemon_rows.h"

#define MS SLUICE_NS_PER_MS
#define CONFIG \
	"policy = \"slo\";\n" \
	"tenants = ( { name = \"chat\"; class = \"latency-critical\"; match = { program = " \
	"\"test_daemon_*\"; }; target = { p99 = \"%s\"; of = \"%s\"; }; }, { name = \"train\"; } " \
	");\n"

static struct shim chat;
static struct rows rows;
static int tool;
static uint64_t clock_ns; /* of the last record */

static void begin(const char *target, const char *of)
{
	char config[512];

	snprintf(config, sizeof(config), CONFIG, target, of);
	fixture_begin(config);
	shim_join(&chat, "chat", 0);
	shim_device(&chat, fixture_device(1));
	tool = tool_connect();
	clock_ns = sluice_now_ns() - 3 * SLUICE_NS_PER_S;
}

static void end(void)
{
	close(tool);
	shim_close(&chat);
	fixture_end();
}

static const struct sluice_msg_status_tenant *look(void)
{
	status(tool, &rows);
	return row_of(&rows, "chat");
}

static void write_record_of(struct shim *shim, const struct sluice_request_record *record)
{
	struct sluice_request_ring *ring = &shim->channel->request[0];
	uint64_t head = atomic_load(&ring->head);

	ring->record[head % SLUICE_REQUEST_RECORDS] = *record;
	atomic_store(&ring->head, head + 1);
}

static void write_record(const struct sluice_request_record *record)
{
	write_record_of(&chat, record);
}

/* Requests of that service time, a while apart, with nothing beside them. */
static void play_flagged(unsigned int count, uint64_t service_ns, uint64_t waited_ns,
			 uint32_t flags)
{
	for (unsigned int i = 0; i < count; i++) {
		struct sluice_request_record record = {.kind = 7, .flags = flags};

		clock_ns += 1 * MS;
		record.start_ns = clock_ns;
		record.arrival_ns = waited_ns ? clock_ns - waited_ns : 0;
		record.end_ns = clock_ns += service_ns;
		write_record(&record);
	}
}

static void play(unsigned int count, uint64_t service_ns, uint64_t waited_ns)
{
	play_flagged(count, service_ns, waited_ns, SLUICE_REQUEST_ALONE);
}

/* More and more of them, in less time than passes, until the controller says so. */
static void play_until(enum sluice_slo_state state)
{
	uint64_t end_ns = sluice_now_ns() + FIXTURE_DEADLINE_NS;

	while (look()->slo_state != state) {
		ck_assert_msg(sluice_now_ns() < end_ns, "never in state %d", (int)state);
		play(30, 5 * MS, 0);
		usleep(300000);
	}
}

START_TEST(test_service_is_learned_and_shown)
{
	const struct sluice_msg_status_tenant *row;

	begin("+10 %", "service");
	row = look();
	ck_assert_uint_eq(row->slo_state, SLUICE_SLO_LEARNING);
	ck_assert_int_eq(row->level, 1000);
	ck_assert_uint_eq(row->window_ns, 300000);
	ck_assert_uint_eq(row->guard_ns, 60000);
	ck_assert_uint_eq(row->target_over_permille, 100);
	play(200, 5 * MS, 0);
	wait_until(look()->slo_state == SLUICE_SLO_STEERED);
	/* Nothing is ever added: up to where a GPU without partitions ends. */
	play(200, 5 * MS, 0);
	wait_until(look()->level > 1000);
	row = look();
	ck_assert_uint_eq(row->recent_service_p99_ns, 5 * MS);
	ck_assert_uint_eq(row->alone_service_p99_ns, 5 * MS);
	ck_assert_uint_eq(row->alone_median_ns, 5 * MS);
	ck_assert_uint_eq(row->recent_arrival_p99_ns, 0);
	ck_assert_uint_le((uint32_t)row->level, 2000);
	ck_assert_uint_gt(row->window_ns, 300000);
	ck_assert(!has_note(&rows, "tenant chat: target"));
	end();
}
END_TEST

/* Best-effort work comes and goes, and whoever launches it was not held: nothing says what a request
 * met but that all was complete before it began. */
START_TEST(test_what_was_complete_before_was_not_met)
{
	struct sluice_channel_device *page;
	struct shim train;

	begin("+10 %", "service");
	shim_join(&train, "train", 0);
	shim_device(&train, fixture_device(1));
	page = &train.channel->device[0];
	for (int late = 1; late >= 0; late--) {
		uint64_t end_ns = sluice_now_ns() + (late ? SLUICE_NS_PER_S : FIXTURE_DEADLINE_NS);

		while (sluice_now_ns() < end_ns && (late || !look()->alone_median_ns)) {
			uint64_t done_ns = atomic_load(&page->counters.completed_ns) + MS;

			atomic_store(&page->counters.completed_at_ns, late ? UINT64_MAX : clock_ns);
			atomic_store(&page->slot[0].launched_ns, done_ns);
			atomic_store(&page->counters.completed_ns, done_ns);
			play_flagged(1, 5 * MS, 0, 0);
			usleep(10000);
		}
		ck_assert_uint_eq(look()->alone_median_ns, late ? 0 : 5 * MS);
	}
	shim_close(&train);
	end();
}
END_TEST

START_TEST(test_a_target_that_cannot_be_met_is_named)
{
	begin("4 ms", "service");
	play(200, 5 * MS, 0);
	play_until(SLUICE_SLO_UNREACHABLE);
	ck_assert(has_note(&rows, "tenant chat: target not reachable with best-effort closed: on "
				  "gpu 0 its p99 would be 5.00 ms with no best-effort work "
				  "beside it"));
	ck_assert_uint_lt(look()->reachable_p99_ns, 5 * MS + 1);
	end();
}
END_TEST

/* One that has begun runs to its end, however small the window is. */
START_TEST(test_a_launch_unit_longer_than_the_slack_is_named)
{
	static struct shim train;
	struct sluice_channel_device *page;

	begin("+10 %", "service");
	shim_join(&train, "train", 0);
	shim_device(&train, fixture_device(1));
	page = &train.channel->device[0];
	memcpy(page->counters.longest_unit, "whole_graph", 12);
	atomic_store(&page->counters.longest_unit_ns, 499 * SLUICE_NS_PER_US);
	play(200, 5 * MS, 0);
	wait_until(look()->slo_state == SLUICE_SLO_STEERED);
	ck_assert(!has_note(&rows, "one launch unit of tenant"));
	atomic_store(&page->counters.longest_unit_ns, 501 * SLUICE_NS_PER_US);
	wait_until((look(), has_note(&rows, "tenant chat: on gpu 0 its target leaves 500 us over "
					    "alone, and one launch unit of tenant train takes "
					    "501 us (whole_graph)")));
	shim_close(&train);
	end();
}
END_TEST

/* How many late requests `sluice why` knows of. */
static uint32_t ask_why(void)
{
	struct sluice_msg_set question = {.tenant = "chat"};
	struct sluice_msg_why_end answer;
	struct sluice_packet packet;

	fixture_send(tool, &question, SLUICE_MSG_WHY, sizeof(question), 5);
	fixture_await(tool, SLUICE_MSG_WHY_END, &packet);
	sluice_wire_copy(&packet, &answer, sizeof(answer));
	return answer.requests;
}

/* Its process does not know what the target comes to: the page's own count stays 0. */
START_TEST(test_late_counts_for_a_relative_target)
{
	begin("+10 %", "service");
	play(200, 5 * MS, 0);
	wait_until(look()->steered_requests);
	ck_assert_uint_eq(look()->requests_late, 0);
	play(3, 6 * MS, 0);
	wait_until(look()->requests_late == 3);
	ck_assert_uint_eq(ask_why(), 3);
	end();
}
END_TEST

START_TEST(test_late_counts_once_for_an_absolute_target)
{
	begin("5 ms", "service");
	play(20, 6 * MS, 0);
	wait_until(ask_why() == 20);
	ck_assert_uint_eq(look()->requests_late, 0);
	atomic_store(&chat.channel->device[0].counters.requests, 20);
	atomic_store(&chat.channel->device[0].counters.requests_late, 20);
	ck_assert_uint_eq(look()->requests_late, 20);
	end();
}
END_TEST

START_TEST(test_arrivals_are_told_from_service)
{
	begin("+10 %", "range:infer");
	ck_assert_uint_eq(look()->target_arrival, 1);
	play(100, 5 * MS, 0);
	wait_until(look()->slo_state == SLUICE_SLO_NO_ARRIVALS);
	ck_assert(has_note(&rows,
			   "tenant chat: its target counts from the opening of an NVTX range"));
	play(100, 5 * MS, 2 * MS);
	wait_until(look()->steered_requests == 100);
	ck_assert_uint_eq(look()->recent_arrival_p99_ns, 7 * MS);
	ck_assert_uint_eq(look()->alone_arrival_p99_ns, 7 * MS);
	end();
}
END_TEST

/* Whatever the page says: no more than a ring at a time, and only what can have been. */
START_TEST(test_a_hostile_ring_is_bounded)
{
	struct sluice_request_ring *ring;
	uint64_t now_ns = sluice_now_ns();
	struct sluice_request_record wrong[] = {
		{.start_ns = 0, .end_ns = 5},
		{.start_ns = 9, .end_ns = 5},
		{.start_ns = now_ns, .end_ns = UINT64_MAX},
		{.start_ns = 1, .end_ns = now_ns},
		{.arrival_ns = now_ns, .start_ns = now_ns - 5, .end_ns = now_ns},
		{.arrival_ns = 1, .start_ns = now_ns - 5, .end_ns = now_ns},
	};

	begin("+10 %", "service");
	ring = &chat.channel->request[0];
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		write_record(&wrong[i]);
	play(100, 5 * MS, 0);
	wait_until(look()->steered_requests == 71); /* alone was known from the 30th on */
	ck_assert_uint_eq(look()->recent_service_p99_ns, 5 * MS);
	/* Backwards, then very far forwards: of that only what the ring holds is taken. */
	atomic_store(&ring->head, 3);
	usleep(300000);
	atomic_store(&ring->head, UINT64_MAX / 2);
	usleep(300000);
	ck_assert_uint_le(look()->steered_requests, 71 + SLUICE_REQUEST_RECORDS);
	memset(ring->record, 0xff, sizeof(ring->record));
	atomic_store(&ring->head, UINT64_MAX);
	usleep(300000);
	ck_assert_uint_eq(look()->recent_service_p99_ns, 5 * MS);
	end();
}
END_TEST

START_TEST(test_a_target_is_set_by_hand)
{
	struct sluice_msg_set set = {.tenant = "chat", .key = "target.p99", .value = "4 ms"};
	struct sluice_packet packet;

	begin("+10 %", "service");
	play(200, 5 * MS, 0);
	wait_until(look()->slo_state == SLUICE_SLO_STEERED);
	fixture_send(tool, &set, SLUICE_MSG_SET, sizeof(set), 12);
	fixture_await(tool, SLUICE_MSG_DONE, &packet);
	ck_assert_uint_eq(look()->target_ns, 4 * MS);
	ck_assert_uint_eq(look()->target_over_permille, 0);
	play_until(SLUICE_SLO_UNREACHABLE);
	end();
}
END_TEST

START_TEST(test_what_runs_beside_another_tenant_does_not_steer)
{
	struct sluice_request_record long_one = {.kind = 9};
	struct shim slow;

	fixture_begin("policy = \"slo\";\n"
		      "tenants = ( { name = \"chat\"; class = \"latency-critical\"; match = { "
		      "program = \"test_daemon_*\"; }; target = { p99 = \"+10 %\"; of = "
		      "\"service\"; }; }, { name = \"slow\"; class = \"latency-critical\"; "
		      "match = { program = \"test_daemon_*\"; }; } );\n");
	shim_join(&chat, "chat", 0);
	shim_device(&chat, fixture_device(1));
	shim_join(&slow, "slow", 0);
	shim_device(&slow, fixture_device(1));
	tool = tool_connect();
	clock_ns = sluice_now_ns() - 3 * SLUICE_NS_PER_S;
	play(200, 5 * MS, 0);
	wait_until(look()->slo_state == SLUICE_SLO_STEERED);
	ck_assert(!has_note(&rows, "ran beside another latency tenant's"));
	long_one.start_ns = clock_ns;
	long_one.end_ns = clock_ns + 20 * SLUICE_NS_PER_S;
	write_record_of(&slow, &long_one);
	play_flagged(60, 20 * MS, 0, 0);
	wait_until(look() &&
		   has_note(&rows, "tenant chat: on gpu 0 23 % of its requests ran beside another "
				   "latency tenant's"));
	ck_assert_uint_eq(look()->recent_service_p99_ns, 5 * MS);
	shim_close(&slow);
	end();
}
END_TEST

START_TEST(test_a_fixed_level_is_kept)
{
	fixture_begin("level = \"-0.25\";\n"
		      "tenants = ( { name = \"chat\"; class = \"latency-critical\"; match = { "
		      "program = \"test_daemon_*\"; }; target = { p99 = \"4 ms\"; }; } );\n");
	shim_join(&chat, "chat", 0);
	shim_device(&chat, fixture_device(1));
	tool = tool_connect();
	clock_ns = sluice_now_ns() - 3 * SLUICE_NS_PER_S;
	play(200, 5 * MS, 0);
	wait_until(look()->recent_service_p99_ns == 5 * MS);
	ck_assert_int_eq(look()->level, -250);
	ck_assert_uint_eq(look()->window_ns, 75000);
	ck_assert_uint_eq(look()->guard_ns, 700000);
	ck_assert_uint_eq(look()->slo_state, SLUICE_SLO_FIXED);
	ck_assert(has_note(&rows, "the configuration fixes the level"));
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon requests");
	TCase *tcase = tcase_create("rings");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_service_is_learned_and_shown);
	tcase_add_test(tcase, test_what_was_complete_before_was_not_met);
	tcase_add_test(tcase, test_what_runs_beside_another_tenant_does_not_steer);
	tcase_add_test(tcase, test_a_target_that_cannot_be_met_is_named);
	tcase_add_test(tcase, test_a_launch_unit_longer_than_the_slack_is_named);
	tcase_add_test(tcase, test_late_counts_for_a_relative_target);
	tcase_add_test(tcase, test_late_counts_once_for_an_absolute_target);
	tcase_add_test(tcase, test_arrivals_are_told_from_service);
	tcase_add_test(tcase, test_a_hostile_ring_is_bounded);
	tcase_add_test(tcase, test_a_target_is_set_by_hand);
	tcase_add_test(tcase, test_a_fixed_level_is_kept);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
