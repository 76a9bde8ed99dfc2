/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whatever comes over the socket or stands in a page: the arbiter lives, leaks nothing, and a
 * well-behaved session beside goes on. Seed: SLUICE_SEED, printed.
 */

#include "daemon_fixture.h"
#include "sluice/escrow.h"

static struct shim good;
static unsigned long long seed, state;

static uint32_t random_below(uint32_t limit)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 33) % limit);
}

static void begin(void)
{
	const char *given = secure_getenv("SLUICE_SEED");

	seed = given ? strtoull(given, NULL, 0) : 1;
	state = seed;
	fixture_begin("tenants = ( { name = \"good\"; memory = { max = \"4 GiB\"; }; }, { name = "
		      "\"bad\"; memory = { max = \"1 GiB\"; }; } );");
	shim_join(&good, "good", 0);
	shim_device(&good, fixture_device(1));
}

static void still_good(void)
{
	ck_assert_int_eq(kill(fixture_arbiter, 0), 0);
	ck_assert_int_eq(shim_memory(&good, 1000), 0);
	ck_assert_uint_eq(shim_tenant_used(&good), 0);
}

static void end(void)
{
	still_good();
	shim_close(&good);
	fixture_end();
}

/* A connection that has said hello, as the kind says. */
static int connect_as(uint32_t hello_type)
{
	struct sluice_msg_hello hello = {.version = 1, .oldest = 1, .tenant = "bad"};
	struct sluice_msg_device device = fixture_device(1);
	struct sluice_packet packet;
	int fd;

	if (hello_type == SLUICE_MSG_TOOL)
		return tool_connect();
	fd = fixture_connect();
	if (!hello_type)
		return fd;
	fixture_send(fd, &hello, SLUICE_MSG_HELLO, sizeof(hello), 1);
	fixture_await(fd, SLUICE_MSG_WELCOME, &packet);
	sluice_wire_close_fds(&packet);
	fixture_send(fd, &device, SLUICE_MSG_DEVICE, sizeof(device), 2);
	fixture_await(fd, SLUICE_MSG_DEVICE_OK, &packet);
	sluice_wire_close_fds(&packet);
	return fd;
}

static void drain(int fd)
{
	struct sluice_packet packet;

	while (sluice_wire_recv(fd, &packet, MSG_DONTWAIT) == 1)
		sluice_wire_close_fds(&packet);
}

/* Every type at every length, its content zero, all ones, or random. */
START_TEST(test_every_type_and_length)
{
	static const uint32_t kinds[] = {0, SLUICE_MSG_HELLO, SLUICE_MSG_TOOL};
	unsigned char bytes[SLUICE_PACKET_MAX];
	unsigned int before;

	begin();
	before = fixture_arbiter_fds();
	for (uint32_t type = 0; type < 48; type++) {
		for (uint32_t k = 0; k < 3; k++) {
			for (uint32_t length = 16; length <= 700; length += 4 + length / 3) {
				int fd = connect_as(kinds[k]);

				memset(bytes, length % 3 == 1 ? 0xff : 0, sizeof(bytes));
				for (uint32_t i = 16; length % 3 == 2 && i < length; i++)
					bytes[i] = (unsigned char)random_below(256);
				sluice_wire_head(bytes, type, length, 7, 0);
				(void)sluice_wire_send(fd, bytes, NULL, 0, 0);
				drain(fd);
				close(fd);
			}
		}
	}
	still_good();
	/* The last session waits for its process, which is ours, to come back. */
	wait_until(fixture_arbiter_fds() <= before + 3);
	end();
}
END_TEST

/* Headers that lie about their length, packets too short or too long, empty ones. */
START_TEST(test_lying_headers)
{
	static unsigned char bytes[2 * SLUICE_PACKET_MAX];

	begin();
	for (uint32_t i = 0; i < 300; i++) {
		int fd = connect_as(i % 2 ? SLUICE_MSG_HELLO : 0);
		uint32_t length = random_below(sizeof(bytes));
		struct sluice_packet packet;

		sluice_wire_head(bytes, random_below(50), random_below(2000), 7, 0);
		if (random_below(4) == 0)
			length = random_below(20);
		(void)send(fd, bytes, length, MSG_NOSIGNAL);
		/* It is closed, or it was a packet by chance: never silence without an end. */
		(void)send(fd, "", 0, MSG_NOSIGNAL);
		while (fixture_receive(fd, &packet))
			sluice_wire_close_fds(&packet);
		close(fd);
	}
	end();
}
END_TEST

/* Descriptors that nobody asked for are closed. */
START_TEST(test_unwanted_descriptors)
{
	struct sluice_msg_hello hello = {.version = 1, .oldest = 1};
	unsigned int before;
	int fds[4] = {0, 1, 2, 0};

	begin();
	before = fixture_arbiter_fds();
	for (int i = 0; i < 100; i++) {
		int fd = fixture_connect();
		struct sluice_packet packet;

		sluice_wire_head(&hello, SLUICE_MSG_HELLO, sizeof(hello), 1, 0);
		ck_assert_int_eq(sluice_wire_send(fd, &hello, fds, 4, 0), 0);
		ck_assert_uint_eq(fixture_receive(fd, &packet), 0);
		close(fd);
	}
	wait_until(fixture_arbiter_fds() <= before);
	end();
}
END_TEST

/* Random sessions: valid messages with random fields, in random order, then gone. */
START_TEST(test_random_sessions)
{
	static const uint32_t sizes[] = {
		[SLUICE_MSG_HELLO] = sizeof(struct sluice_msg_hello),
		[SLUICE_MSG_DEVICE] = sizeof(struct sluice_msg_device),
		[SLUICE_MSG_ACTIVITY_MAPPED] = sizeof(struct sluice_msg_activity),
		[SLUICE_MSG_ACTIVITY_SEEN] = sizeof(struct sluice_msg_activity),
		[SLUICE_MSG_WANT] = sizeof(struct sluice_msg_want),
		[SLUICE_MSG_MEM_REQUEST] = sizeof(struct sluice_msg_mem),
		[SLUICE_MSG_MEM_QUERY] = sizeof(struct sluice_msg_mem),
		[SLUICE_MSG_NOTE] = sizeof(struct sluice_msg_text),
	};
	unsigned char bytes[SLUICE_PACKET_MAX];

	begin();
	printf("daemon hostile: seed %llu\n", seed);
	for (int round = 0; round < 400; round++) {
		int fd = connect_as(SLUICE_MSG_HELLO);

		for (int i = 0; i < 30; i++) {
			uint32_t type = random_below(sizeof(sizes) / sizeof(sizes[0]));
			uint32_t *words = (uint32_t *)bytes;

			if (!sizes[type])
				continue;
			memset(bytes, 0, sizeof(bytes));
			/* Small numbers are the ones that are nearly right. */
			for (uint32_t w = 4; w < sizes[type] / 4; w++)
				words[w] = random_below(3) ? random_below(9)
							   : random_below(UINT32_MAX);
			sluice_wire_head(bytes, type, sizes[type], random_below(100), 0);
			if (sluice_wire_send(fd, bytes, NULL, 0, MSG_DONTWAIT))
				break;
			if (random_below(3) == 0)
				drain(fd);
		}
		close(fd);
	}
	end();
}
END_TEST

/* A page full of lies: counters, words, texts without an end. */
START_TEST(test_hostile_pages)
{
	struct sluice_packet packet;
	struct shim bad;
	uint32_t rows = 0;
	int fd;

	begin();
	shim_join(&bad, "bad", 0);
	shim_device(&bad, fixture_device(1));
	for (int round = 0; round < 20; round++) {
		uint64_t *words = (uint64_t *)bad.channel;
		struct sluice_msg_header ask;

		for (size_t i = 0; i < sizeof(*bad.channel) / 8; i++)
			words[i] = round % 3 == 0   ? UINT64_MAX
				   : round % 3 == 1 ? state * i
						    : 0x4141;
		random_below(5);
		memset(bad.escrow, round % 2 ? 0xff : 0, sizeof(*bad.escrow));
		(void)shim_memory(&bad, 5);
		(void)shim_memory(&bad, UINT32_MAX);
		shim_want(&bad);
		fd = tool_connect();
		fixture_send(fd, &ask, SLUICE_MSG_STATUS, sizeof(ask), 4);
		while (fixture_receive(fd, &packet) != SLUICE_MSG_STATUS_END) {
			struct sluice_msg_status_tenant *row = (void *)packet.bytes;

			if (packet.header.type != SLUICE_MSG_STATUS_TENANT ||
			    strcmp(row->name, "bad") != 0)
				continue;
			rows++;
			/* Its own limit is all that it can be said to use. */
			ck_assert_uint_le(row->memory_used_bytes, 1ull << 30);
			ck_assert_uint_le(row->used_permille, 1000);
			ck_assert_ptr_nonnull(
				memchr(row->longest_unit, 0, sizeof(row->longest_unit)));
		}
		close(fd);
		still_good();
	}
	ck_assert_uint_eq(rows, 20);
	shim_close(&bad);
	end();
}
END_TEST

/* Who does not read its answers is closed, and costs a bounded amount. */
START_TEST(test_peer_that_does_not_read)
{
	struct sluice_msg_mem question = {.units = 1};
	int fd, r = 0;

	begin();
	fd = connect_as(SLUICE_MSG_HELLO);
	for (int i = 0; !r && i < 1000000; i++) {
		sluice_wire_head(&question, SLUICE_MSG_MEM_QUERY, sizeof(question), 1, 0);
		r = sluice_wire_send(fd, &question, NULL, 0, 0);
	}
	ck_assert(r == -EPIPE || r == -ECONNRESET);
	close(fd);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon hostile");
	TCase *tcase = tcase_create("hostile peers");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_every_type_and_length);
	tcase_add_test(tcase, test_lying_headers);
	tcase_add_test(tcase, test_unwanted_descriptors);
	tcase_add_test(tcase, test_random_sessions);
	tcase_add_test(tcase, test_hostile_pages);
	tcase_add_test(tcase, test_peer_that_does_not_read);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
