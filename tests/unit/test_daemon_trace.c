/* SPDX-License-Identifier: Apache-2.0 */

/* Recording: a process notes its launches while somebody asks, and what is asked for is passed on. */

#include "daemon_rows.h"

#define CONFIG \
	"tenants = ( { name = \"train\"; match = { program = \"test_daemon_*\"; }; }, { name = " \
	"\"free\"; managed = false; match = { program = \"test_daemon_*\"; }; } );\n"

static struct shim train;
static int tool;

static void begin(void)
{
	fixture_begin(CONFIG);
	shim_join(&train, "train", 0);
	shim_device(&train, fixture_device(1));
	tool = tool_connect();
}

static void end(void)
{
	close(tool);
	shim_close(&train);
	fixture_end();
}

static bool is_traced(void)
{
	return atomic_load(&train.channel->device[0].grant.flags) & SLUICE_GRANT_TRACE;
}

static void note(uint64_t count)
{
	struct sluice_channel_device *page = &train.channel->device[0];
	uint64_t head = atomic_load(&page->trace_head);

	for (; count; count--, head++)
		page->trace[head % SLUICE_TRACE_RECORDS] =
			(struct sluice_trace_record){.key = head, .what = SLUICE_TRACE_KERNEL};
	atomic_store(&page->trace_head, head);
}

/* Asks; returns how many records came, which are numbered as their keys are. */
static uint32_t ask(struct sluice_msg_record *question, struct sluice_msg_trace_end *ret_end)
{
	struct sluice_packet packet;
	struct sluice_msg_trace trace;
	uint32_t count = 0;

	sluice_wire_text(question->tenant, sizeof(question->tenant), "train");
	fixture_send(tool, question, SLUICE_MSG_RECORD, sizeof(*question), 9);
	while (fixture_receive(tool, &packet) == SLUICE_MSG_TRACE) {
		sluice_wire_copy(&packet, &trace, sizeof(trace));
		ck_assert_uint_ge(trace.count, 1);
		ck_assert_uint_le(trace.count, SLUICE_TRACE_PACKET);
		for (uint32_t i = 0; i < trace.count; i++)
			ck_assert_uint_eq(trace.record[i].key, trace.first + i);
		count += trace.count;
	}
	ck_assert_uint_eq(packet.header.type, SLUICE_MSG_TRACE_END);
	sluice_wire_copy(&packet, ret_end, sizeof(*ret_end));
	question->from_now = 0;
	question->seen = ret_end->seen;
	question->pid = ret_end->pid;
	return count;
}

START_TEST(records_come_in_order)
{
	struct sluice_msg_record question = {.from_now = 1};
	struct sluice_msg_trace_end answer;

	begin();
	note(50);
	ck_assert(!is_traced());
	ck_assert_uint_eq(ask(&question, &answer), 0);
	ck_assert(is_traced());
	ck_assert_uint_eq(answer.pid, (uint32_t)getpid());
	ck_assert_uint_eq(answer.processes, 1);
	ck_assert_uint_eq(answer.seen, 50);
	note(70);
	ck_assert_uint_eq(ask(&question, &answer), 70);
	ck_assert_uint_eq(answer.lost, 0);
	ck_assert_uint_eq(ask(&question, &answer), 0);
	end();
}
END_TEST

START_TEST(what_was_written_over_is_counted)
{
	struct sluice_msg_record question = {.from_now = 1};
	struct sluice_msg_trace_end answer;

	begin();
	ask(&question, &answer);
	note(SLUICE_TRACE_RECORDS + 500);
	ck_assert_uint_eq(ask(&question, &answer), SLUICE_TRACE_RECORDS - 1);
	ck_assert_uint_eq(answer.lost, 501);
	/* A head that goes back is a lie: from there on. */
	atomic_store(&train.channel->device[0].trace_head, 10);
	ck_assert_uint_eq(ask(&question, &answer), 0);
	ck_assert_uint_eq(answer.seen, 10);
	end();
}
END_TEST

START_TEST(it_stops_when_nobody_asks)
{
	struct sluice_msg_record question = {.from_now = 1};
	struct sluice_msg_trace_end answer;

	begin();
	ask(&question, &answer);
	ck_assert(is_traced());
	wait_until(!is_traced());
	end();
}
END_TEST

static void refused(const char *tenant, uint32_t pid, const char *says)
{
	struct sluice_msg_record question = {.from_now = 1, .pid = pid};
	struct sluice_msg_text text;
	struct sluice_packet packet;

	sluice_wire_text(question.tenant, sizeof(question.tenant), tenant);
	fixture_send(tool, &question, SLUICE_MSG_RECORD, sizeof(question), 9);
	ck_assert_uint_eq(fixture_receive(tool, &packet), SLUICE_MSG_REFUSED);
	sluice_wire_copy(&packet, &text, sizeof(text));
	ck_assert_msg(strstr(text.text, says), "%s", text.text);
	ck_assert(!is_traced());
}

START_TEST(refusals_say_why)
{
	begin();
	refused("nobody", 0, "there is no tenant nobody");
	refused("free", 0, "bypasses Sluice");
	refused("default", 0, "has no process on a GPU now");
	refused("train", 1, "has ended");
	end();
}
END_TEST

static Suite *trace_suite(void)
{
	Suite *suite = suite_create("daemon trace");
	TCase *tcase = tcase_create("trace");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, records_come_in_order);
	tcase_add_test(tcase, what_was_written_over_is_counted);
	tcase_add_test(tcase, it_stops_when_nobody_asks);
	tcase_add_test(tcase, refusals_say_why);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(trace_suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
