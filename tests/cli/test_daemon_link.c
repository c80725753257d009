/* SPDX-License-Identifier: MIT */
/* Commands that ask a corund which stands still: they end, and say why. */
#include "cli/daemon_link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    struct sockaddr_un address;
    int listener;
    struct wire_link link;
    struct corun_diagnostics *list;
};

/* Whoever listens, but never answers: the kernel lets others connect all the same. */
static int begin(void **state)
{
    char folder[] = "/tmp/corun-link-XXXXXX";
    struct place *place = calloc(1, sizeof *place);
    assert_non_null(mkdtemp(folder));
    place->address.sun_family = AF_UNIX;
    snprintf(place->address.sun_path, sizeof place->address.sun_path, "%s/socket", folder);
    place->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(place->listener, (struct sockaddr *)&place->address, sizeof place->address), 0);
    assert_int_equal(listen(place->listener, 1), 0);
    place->list = corun_diagnostics_create();
    assert_int_equal(daemon_reach(&place->link, place->address.sun_path, place->list), CORUN_OK);
    *state = place;
    return 0;
}

static int end(void **state)
{
    struct place *place = *state;
    wire_close(&place->link);
    close(place->listener);
    unlink(place->address.sun_path);
    *strrchr(place->address.sun_path, '/') = 0;
    assert_int_equal(rmdir(place->address.sun_path), 0);
    corun_diagnostics_destroy(place->list);
    free(place);
    return 0;
}

static void shorten(struct place *place)
{
    const struct timeval moment = {.tv_usec = 10000};
    assert_int_equal(setsockopt(place->link.socket, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment), 0);
}

static const char *said(const struct place *place)
{
    size_t count = corun_diagnostics_count(place->list);
    return count ? corun_diagnostics_get(place->list, count - 1)->message : "";
}

static void waits_have_an_end(void **state)
{
    struct place *place = *state;
    static const int options[] = {SO_RCVTIMEO, SO_SNDTIMEO};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct timeval patience = {0};
        socklen_t bytes = sizeof patience;
        assert_int_equal(getsockopt(place->link.socket, SOL_SOCKET, options[i], &patience, &bytes), 0);
        assert_int_equal(patience.tv_sec, DAEMON_PATIENCE_SECONDS);
    }
}

static void who_does_not_answer_is_told_of(void **state)
{
    struct place *place = *state;
    struct daemon_list list = {.clients = {0}};
    shorten(place);
    assert_int_equal(daemon_ask_list(&place->link, place->list, &list), CORUN_FILE);
    assert_string_equal(said(place), "corund is there, but does not answer");
    daemon_list_free(&list);
}

static void a_wish_that_is_not_answered(void **state)
{
    struct place *place = *state;
    const struct wire_policy policy = {0};
    shorten(place);
    assert_int_equal(daemon_ask(&place->link, WIRE_POLICY, &policy, "even", 4, place->list), CORUN_FILE);
    assert_string_equal(said(place), "corund is there, but does not answer");
}

static void who_hangs_up_is_told_apart(void **state)
{
    struct place *place = *state;
    struct daemon_list list = {.clients = {0}};
    close(accept(place->listener, NULL, NULL));
    assert_int_equal(daemon_ask_list(&place->link, place->list, &list), CORUN_FILE);
    assert_string_equal(said(place), "corund has closed the connection");
    daemon_list_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(waits_have_an_end, begin, end),
        cmocka_unit_test_setup_teardown(who_does_not_answer_is_told_of, begin, end),
        cmocka_unit_test_setup_teardown(a_wish_that_is_not_answered, begin, end),
        cmocka_unit_test_setup_teardown(who_hangs_up_is_told_apart, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
