/* SPDX-License-Identifier: Apache-2.0 */

/* One packet there and back: lengths, truncation, descriptors, waiting, connecting. */

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "sluice/wire_io.h"

static int fds[2];
static struct sluice_packet packet;

static void begin(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
}

static void end(void)
{
	close(fds[0]);
	close(fds[1]);
}

static int open_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

START_TEST(test_there_and_back)
{
	struct sluice_msg_mem sent = {.device = 3, .units = 77}, got;

	begin();
	sluice_wire_head(&sent, SLUICE_MSG_MEM_REQUEST, sizeof(sent), 5, -ENOMEM);
	ck_assert_int_eq(sluice_wire_send(fds[0], &sent, NULL, 0, 0), 0);
	ck_assert_int_eq(sluice_wire_recv(fds[1], &packet, 0), 1);
	ck_assert_uint_eq(packet.length, sizeof(sent));
	ck_assert_uint_eq(packet.fd_count, 0);
	sluice_wire_copy(&packet, &got, sizeof(got));
	ck_assert_int_eq(memcmp(&sent, &got, sizeof(got)), 0);
	ck_assert_int_eq(sluice_wire_recv(fds[1], &packet, MSG_DONTWAIT), -EAGAIN);
	close(fds[0]);
	ck_assert_int_eq(sluice_wire_recv(fds[1], &packet, 0), 0);
	close(fds[1]);
}
END_TEST

/* A shorter message of an older peer: the rest is zero. A longer one: its known head. */
START_TEST(test_other_versions)
{
	struct sluice_msg_device device = {.sms = 132, .held_bytes = 9}, got;

	begin();
	memset(&got, 0xff, sizeof(got));
	sluice_wire_head(&device, SLUICE_MSG_DEVICE, offsetof(struct sluice_msg_device, held_bytes),
			 1, 0);
	ck_assert_int_eq(sluice_wire_send(fds[0], &device, NULL, 0, 0), 0);
	ck_assert_int_eq(sluice_wire_recv(fds[1], &packet, 0), 1);
	sluice_wire_copy(&packet, &got, sizeof(got));
	ck_assert_uint_eq(got.sms, 132);
	ck_assert_uint_eq(got.held_bytes, 0);
	sluice_wire_copy(&packet, &got, sizeof(got.header));
	ck_assert_uint_eq(got.header.seq, 1);
	end();
}
END_TEST

START_TEST(test_lengths_that_lie)
{
	unsigned char bytes[SLUICE_PACKET_MAX + 64] = {0};

	begin();
	sluice_wire_head(bytes, 1, 40, 1, 0);
	for (int length = 1; length < 100; length++) {
		ck_assert_int_eq(send(fds[0], bytes, (size_t)length, 0), length);
		ck_assert_int_eq(sluice_wire_recv(fds[1], &packet, 0), length == 40 ? 1 : -EBADMSG);
	}
	sluice_wire_head(bytes, 1, sizeof(bytes), 1, 0);
	ck_assert_int_eq(send(fds[0], bytes, sizeof(bytes), 0), (int)sizeof(bytes));
	ck_assert_int_eq(sluice_wire_recv(fds[1], &packet, 0), -EBADMSG);
	/* And we do not send such. */
	ck_assert_int_eq(sluice_wire_send(fds[0], bytes, NULL, 0, 0), -EINVAL);
	sluice_wire_head(bytes, 1, 15, 1, 0);
	ck_assert_int_eq(sluice_wire_send(fds[0], bytes, NULL, 0, 0), -EINVAL);
	end();
}
END_TEST

START_TEST(test_descriptors)
{
	struct sluice_msg_header message;
	int pass[4], before;

	begin();
	before = open_descriptors();
	for (int i = 0; i < 4; i++)
		pass[i] = fds[0];
	sluice_wire_head(&message, 2, sizeof(message), 1, 0);
	ck_assert_int_eq(sluice_wire_send(fds[0], &message, pass, 4, 0), 0);
	ck_assert_int_eq(sluice_wire_send(fds[0], &message, pass, 5, 0), -EINVAL);
	ck_assert_int_eq(sluice_wire_recv(fds[1], &packet, 0), 1);
	ck_assert_uint_eq(packet.fd_count, 4);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(fcntl(packet.fd[i], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	sluice_wire_close_fds(&packet);
	sluice_wire_close_fds(&packet);
	ck_assert_int_eq(open_descriptors(), before);
	end();
}
END_TEST

/* More than fit, and some beside a packet that is not taken: none stays open. */
START_TEST(test_descriptors_never_leak)
{
	int many[50], before;
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(many))];
	} control = {0};
	char byte = 'x';
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};
	struct cmsghdr *cmsg = &control.align;

	begin();
	before = open_descriptors();
	for (int i = 0; i < 50; i++)
		many[i] = fds[0];
	for (unsigned int count = 1; count <= 50; count += 7) {
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(cmsg), many, sizeof(int) * count);
		ck_assert_int_eq(sendmsg(fds[0], &msg, 0), 1);
		ck_assert_int_eq(sluice_wire_recv(fds[1], &packet, 0), -EBADMSG);
		ck_assert_int_eq(open_descriptors(), before);
	}
	end();
}
END_TEST

START_TEST(test_wait)
{
	struct sluice_msg_header message;

	begin();
	ck_assert_int_eq(sluice_wire_wait(fds[1], POLLIN, 0), -ETIMEDOUT);
	ck_assert_int_eq(sluice_wire_wait(fds[1], POLLIN, sluice_now_ns() + 2000000), -ETIMEDOUT);
	ck_assert_int_eq(sluice_wire_wait(fds[1], POLLOUT, 0), 0);
	sluice_wire_head(&message, 2, sizeof(message), 1, 0);
	ck_assert_int_eq(sluice_wire_send(fds[0], &message, NULL, 0, 0), 0);
	ck_assert_int_eq(sluice_wire_wait(fds[1], POLLIN, UINT64_MAX), 0);
	end();
}
END_TEST

START_TEST(test_text)
{
	char field[8];

	memset(field, 'x', sizeof(field));
	ck_assert(!sluice_wire_is_text(field, sizeof(field)));
	sluice_wire_text(field, sizeof(field), "ab");
	ck_assert_int_eq(memcmp(field, "ab\0\0\0\0\0", 8), 0);
	sluice_wire_text(field, sizeof(field), "0123456789");
	ck_assert_str_eq(field, "0123456");
	ck_assert(sluice_wire_is_text(field, sizeof(field)));
	sluice_wire_text(field, sizeof(field), "a ~\n\x1b\x7f\x9b");
	sluice_wire_printable(field);
	ck_assert_str_eq(field, "a ~????");
}
END_TEST

START_TEST(test_connect)
{
	char longest[200];

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	ck_assert_int_eq(sluice_wire_connect(longest), -ENAMETOOLONG);
	ck_assert_int_eq(sluice_wire_connect("/nonexistent/sock"), -ENOENT);
	ck_assert_int_lt(sluice_wire_connect("/dev/null"), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wire io");
	TCase *tcase = tcase_create("packets");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, test_there_and_back);
	tcase_add_test(tcase, test_other_versions);
	tcase_add_test(tcase, test_lengths_that_lie);
	tcase_add_test(tcase, test_descriptors);
	tcase_add_test(tcase, test_descriptors_never_leak);
	tcase_add_test(tcase, test_wait);
	tcase_add_test(tcase, test_text);
	tcase_add_test(tcase, test_connect);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
