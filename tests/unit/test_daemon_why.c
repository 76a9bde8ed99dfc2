/* SPDX-License-Identifier: Apache-2.0 */

/* Late requests and what delayed them, from the pages of both to a tool's answer. */

#include "daemon_fixture.h"

#include <stddef.h>

static const char config[] =
	"tenants = ( { name = \"chat\"; class = \"latency-critical\"; match = { uid = %u; };\n"
	"    target = { p99 = \"10 ms\"; }; },\n"
	"  { name = \"batch\"; } );\n";

#define MS SLUICE_NS_PER_MS

struct answer {
	uint32_t requests, causes;
	struct sluice_msg_why_request request[16];
	struct sluice_msg_why_cause cause[16];
	struct sluice_msg_why_end end;
};

static void begin(void)
{
	char text[512];

	snprintf(text, sizeof(text), config, (unsigned int)geteuid());
	fixture_begin(text);
}

static void ask(int fd, const char *tenant, const char *minutes)
{
	struct sluice_msg_set question = {.tenant = ""};

	sluice_wire_text(question.tenant, sizeof(question.tenant), tenant);
	sluice_wire_text(question.value, sizeof(question.value), minutes);
	fixture_send(fd, &question, SLUICE_MSG_WHY, sizeof(question), 5);
}

static void why(int fd, struct answer *answer)
{
	struct sluice_packet packet;

	memset(answer, 0, sizeof(*answer));
	ask(fd, "chat", "");
	for (;;) {
		switch (fixture_receive(fd, &packet)) {
		case SLUICE_MSG_WHY_REQUEST:
			ck_assert_uint_lt(answer->requests, 16);
			sluice_wire_copy(&packet, &answer->request[answer->requests++],
					 sizeof(answer->request[0]));
			break;
		case SLUICE_MSG_WHY_CAUSE:
			ck_assert_uint_lt(answer->causes, 16);
			sluice_wire_copy(&packet, &answer->cause[answer->causes],
					 sizeof(answer->cause[0]));
			ck_assert_uint_eq(answer->cause[answer->causes++].request,
					  answer->requests - 1);
			break;
		case SLUICE_MSG_WHY_END:
			sluice_wire_copy(&packet, &answer->end, sizeof(answer->end));
			ck_assert_uint_eq(answer->end.requests, answer->requests);
			return;
		default: ck_abort_msg("unexpected message %u", packet.header.type);
		}
	}
}

static void request(struct shim *shim, struct sluice_request_record record)
{
	struct sluice_request_ring *ring = &shim->channel->request[0];
	uint64_t head = atomic_load(&ring->head);

	ring->record[head % SLUICE_REQUEST_RECORDS] = record;
	atomic_store(&ring->head, head + 1);
}

static void arrival(struct shim *shim, struct sluice_arrival_record record)
{
	struct sluice_arrival_ring *ring = &shim->channel->arrival[0];
	uint64_t head = atomic_load(&ring->head);

	ring->record[head % SLUICE_ARRIVAL_RECORDS] = record;
	atomic_store(&ring->head, head + 1);
}

/* Activity pages come and go between the two: their generation is the arbiter's. */
static uint32_t generation_of(struct shim *latency)
{
	struct sluice_msg_activity about;

	fixture_await(latency->fd, SLUICE_MSG_ACTIVITY_OWN, &latency->last);
	sluice_wire_copy(&latency->last, &about, sizeof(about));
	sluice_wire_close_fds(&latency->last);
	return about.generation;
}

START_TEST(test_why_joins_both_sides)
{
	struct answer answer;
	struct shim chat, batch;
	uint64_t start_ns = sluice_now_ns() - 2000 * MS;
	uint32_t generation;
	int fd;

	begin();
	shim_join(&chat, "chat", 0);
	shim_device(&chat, fixture_device(1));
	generation = generation_of(&chat);
	shim_join(&batch, "batch", 0);
	shim_device(&batch, fixture_device(1));
	fd = tool_connect();
	batch.channel->units[0] = (struct sluice_unit){.key = 0};
	*sluice_unit_look(batch.channel->units, 42) =
		(struct sluice_unit){.key = 42, .name = "ge\001mm"};
	/* In time; late by batch's work; behind that one; late by itself; what cannot have been. */
	request(&chat,
		(struct sluice_request_record){.start_ns = start_ns, .end_ns = start_ns + 9 * MS});
	request(&chat, (struct sluice_request_record){.start_ns = start_ns + 100 * MS,
						      .end_ns = start_ns + 120 * MS,
						      .launched_ns = 5 * MS,
						      .launches = 7});
	request(&chat, (struct sluice_request_record){.start_ns = start_ns + 120 * MS + 1000,
						      .end_ns = start_ns + 140 * MS});
	request(&chat, (struct sluice_request_record){.start_ns = start_ns + 300 * MS,
						      .end_ns = start_ns + 320 * MS});
	request(&chat, (struct sluice_request_record){.start_ns = start_ns + 400 * MS,
						      .end_ns = start_ns + 390 * MS});
	request(&chat, (struct sluice_request_record){.start_ns = 5, .end_ns = UINT64_MAX});
	arrival(&batch, (struct sluice_arrival_record){.busy_since_ns = start_ns + 100 * MS,
						       .in_flight_ns = 15 * MS,
						       .unit_ns = 14 * MS,
						       .launches = 3,
						       .key = 42,
						       .generation = generation});
	arrival(&batch, (struct sluice_arrival_record){.busy_since_ns = start_ns + 300 * MS,
						       .in_flight_ns = 15 * MS,
						       .generation = generation + 1});
	do
		why(fd, &answer);
	while (answer.requests < 3);
	ck_assert_uint_eq(answer.end.target_ns, 10 * MS);
	ck_assert_uint_eq(answer.end.minutes, 5);
	ck_assert_str_eq(answer.end.of, "service");
	/* The newest first. */
	ck_assert_uint_eq(answer.requests, 3);
	ck_assert_uint_eq(answer.request[0].took_ns, 20 * MS);
	ck_assert_uint_eq(answer.request[1].took_ns, 20 * MS - 1000);
	ck_assert_uint_eq(answer.request[2].took_ns, 20 * MS);
	ck_assert_uint_eq(answer.request[2].own_ns, 5 * MS);
	ck_assert_uint_eq(answer.request[2].launches, 7);
	ck_assert_uint_eq(answer.causes, 2);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(answer.cause[i].request, i + 1);
		ck_assert_uint_eq(answer.cause[i].before, i == 0);
		ck_assert_uint_eq(answer.cause[i].in_flight_ns, 15 * MS);
		ck_assert_uint_eq(answer.cause[i].unit_ns, 14 * MS);
		ck_assert_uint_eq(answer.cause[i].launches, 3);
		ck_assert_str_eq(answer.cause[i].tenant, "batch");
		ck_assert_str_eq(answer.cause[i].unit, "ge?mm");
	}
	shim_close(&chat);
	shim_close(&batch);
	close(fd);
	fixture_end();
}
END_TEST

/* More arrivals than a ring takes, counts that jump: what the page's owner does to itself. */
START_TEST(test_why_survives_a_hostile_ring)
{
	struct answer answer;
	struct shim batch;
	int fd;

	begin();
	shim_join(&batch, "batch", 0);
	shim_device(&batch, fixture_device(1));
	fd = tool_connect();
	for (uint64_t i = 0; i < 8; i++) {
		memset(batch.channel->arrival, 0xff, sizeof(batch.channel->arrival));
		memset(batch.channel->units, 0xff, sizeof(batch.channel->units));
		batch.channel->arrival[0].record[i].in_flight_ns = 1;
		batch.channel->arrival[0].record[i].busy_since_ns = 1;
		atomic_store(&batch.channel->arrival[0].head, i * 0x2222222222222222ull);
		usleep(120000);
		why(fd, &answer);
		ck_assert_uint_eq(answer.requests, 0);
	}
	shim_close(&batch);
	close(fd);
	fixture_end();
}
END_TEST

START_TEST(test_why_refuses_by_sentence)
{
	static const struct {
		const char *tenant, *minutes, *says;
	} asked[] = {{"nobody", "", "no tenant nobody"},
		     {"batch", "", "best-effort"},
		     {"chat", "0", "minutes"},
		     {"chat", "5x", "minutes"},
		     {"chat", "1441", "minutes"}};
	struct sluice_packet packet;
	struct sluice_msg_text text;
	int fd;

	begin();
	fd = tool_connect();
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		ask(fd, asked[i].tenant, asked[i].minutes);
		ck_assert_uint_eq(fixture_receive(fd, &packet), SLUICE_MSG_REFUSED);
		sluice_wire_copy(&packet, &text, sizeof(text));
		ck_assert_ptr_nonnull(strstr(text.text, asked[i].says));
	}
	close(fd);
	fixture_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon_why");
	TCase *tcase = tcase_create("why");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_why_joins_both_sides);
	tcase_add_test(tcase, test_why_survives_a_hostile_ring);
	tcase_add_test(tcase, test_why_refuses_by_sentence);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
