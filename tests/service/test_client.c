/* SPDX-License-Identifier: MIT */
/* A program's side of the agent's socket, against an agent of the test: a thread that says what it is told to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "corun/service.h"
#include "corun/service_messages.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

union message {
    uint32_t kind;
#define MEMBER(name, structure) struct corun_service_##structure structure;
    CORUN_SERVICE_MESSAGES(MEMBER)
#undef MEMBER
    char bytes[8192];
};

struct agent {
    char folder[64], path[80];
    int listener, client;
};

static void listen_again(struct agent *agent)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", agent->path);
    agent->client = -1;
    agent->listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    assert_return_code(bind(agent->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_return_code(listen(agent->listener, 8), 0);
}

static int begin(void **state)
{
    struct agent *agent = calloc(1, sizeof *agent);
    strcpy(agent->folder, "/tmp/corun-service-XXXXXX");
    assert_non_null(mkdtemp(agent->folder));
    snprintf(agent->path, sizeof agent->path, "%s/agent", agent->folder);
    listen_again(agent);
    *state = agent;
    return 0;
}

static void hang_up(struct agent *agent)
{
    if (agent->client >= 0)
        close(agent->client);
    if (agent->listener >= 0)
        close(agent->listener);
    unlink(agent->path);
    agent->client = agent->listener = -1;
}

static int end(void **state)
{
    struct agent *agent = *state;
    hang_up(agent);
    rmdir(agent->folder);
    free(agent);
    return 0;
}

/* The next message within a second; its bytes, 0 at the end of the connection. */
static size_t hear(struct agent *agent, union message *message)
{
    struct pollfd fd = {agent->client, POLLIN, 0};
    memset(message, 0, sizeof *message);
    assert_int_equal(poll(&fd, 1, 5000), 1);
    ssize_t bytes = recv(agent->client, message, sizeof *message, 0);
    return bytes > 0 ? (size_t)bytes : 0;
}

static void expect(struct agent *agent, uint32_t kind, size_t bytes, union message *message)
{
    assert_int_equal(hear(agent, message), bytes);
    assert_int_equal(message->kind, kind);
}

static void welcome(struct agent *agent)
{
    const struct corun_service_welcome say = {CORUN_SERVICE_WELCOME, CORUN_SERVICE_PROTOCOL, 20000000};
    assert_int_equal(send(agent->client, &say, sizeof say, 0), sizeof say);
}

static void start(struct agent *agent, uint64_t query)
{
    const struct corun_service_start say = {CORUN_SERVICE_START, 1, query};
    assert_int_equal(send(agent->client, &say, sizeof say, 0), sizeof say);
}

static void accept_one(struct agent *agent)
{
    agent->client = accept(agent->listener, NULL, NULL);
    assert_return_code(agent->client, 0);
}

static void test_without_an_agent_queries_come_in_order(void **state)
{
    (void)state;
    unsetenv("CORUN_AGENT");
    uint64_t query;
    struct corun_service *service = corun_service_open(NULL, "words", 1);
    assert_false(corun_service_governed(service));
    assert_true(corun_service_arrive(service, 7, 1));
    assert_true(corun_service_arrive(service, 3, 1));
    assert_false(corun_service_arrive(service, 7, 1));
    corun_service_finish(service);
    assert_true(corun_service_next(service, &query));
    assert_int_equal(query, 7);
    corun_service_begin(service, 7, NULL, 0);
    corun_service_progress(service, 7, 0.5);
    corun_service_end(service, 7);
    assert_true(corun_service_next(service, &query));
    assert_int_equal(query, 3);
    corun_service_end(service, 3);
    assert_false(corun_service_next(service, &query));
    corun_service_close(service);
}

static void test_all_that_is_told(void **state)
{
    struct agent *agent = *state;
    union message message;
    const int32_t threads[] = {11, 12, 13};
    uint64_t query;
    struct corun_service *service = corun_service_open(agent->path, "words", 3);
    accept_one(agent);
    assert_true(corun_service_governed(service));
    expect(agent, CORUN_SERVICE_HELLO, sizeof(struct corun_service_hello), &message);
    assert_string_equal(message.hello.name, "words");
    assert_int_equal(message.hello.workers, 3);
    assert_int_equal(message.hello.role, CORUN_SERVICE_SERVES);
    welcome(agent);
    corun_service_arrive(service, 5, 120);
    corun_service_arrive(service, 6, 40);
    expect(agent, CORUN_SERVICE_ARRIVE, sizeof(struct corun_service_arrive), &message);
    assert_int_equal(message.arrive.query, 5);
    assert_true(message.arrive.size == 120 && message.arrive.at_ns > 0);
    expect(agent, CORUN_SERVICE_ARRIVE, sizeof(struct corun_service_arrive), &message);
    start(agent, 6); /* the agent's order counts */
    assert_true(corun_service_next(service, &query));
    assert_int_equal(query, 6);
    corun_service_begin(service, 6, threads, 3);
    expect(agent, CORUN_SERVICE_BEGIN, sizeof(struct corun_service_begin) + sizeof threads, &message);
    assert_memory_equal(message.bytes + sizeof(struct corun_service_begin), threads, sizeof threads);
    corun_service_progress(service, 6, 0.25);
    expect(agent, CORUN_SERVICE_PROGRESS, sizeof(struct corun_service_progress), &message);
    assert_true(message.progress.progress == 0.25);
    corun_service_end(service, 6);
    expect(agent, CORUN_SERVICE_END, sizeof(struct corun_service_end), &message);
    corun_service_end(service, 99); /* of which the agent knows nothing */
    corun_service_close(service);
    assert_int_equal(hear(agent, &message), 0);
}

static void test_an_agent_that_dies_holds_nothing_back(void **state)
{
    struct agent *agent = *state;
    union message message;
    uint64_t query;
    struct corun_service *service = corun_service_open(agent->path, "words", 1);
    accept_one(agent);
    expect(agent, CORUN_SERVICE_HELLO, sizeof(struct corun_service_hello), &message);
    corun_service_arrive(service, 1, 1);
    corun_service_arrive(service, 2, 1);
    start(agent, 1);
    assert_true(corun_service_next(service, &query));
    hang_up(agent);
    corun_service_end(service, 1);
    assert_true(corun_service_next(service, &query));
    assert_int_equal(query, 2);
    assert_false(corun_service_governed(service));
    corun_service_end(service, 2);
    corun_service_close(service);
}

static void test_the_next_agent_hears_what_waits_and_nothing_of_what_runs(void **state)
{
    struct agent *agent = *state;
    union message message;
    uint64_t query;
    struct corun_service *service = corun_service_open(agent->path, "words", 2);
    accept_one(agent);
    corun_service_arrive(service, 1, 1);
    start(agent, 1);
    assert_true(corun_service_next(service, &query));
    hang_up(agent);
    listen_again(agent);
    while (corun_service_governed(service)) /* it finds out when it says something */
        corun_service_progress(service, 1, 0.5);
    usleep(1100000);
    corun_service_arrive(service, 2, 9);
    accept_one(agent);
    expect(agent, CORUN_SERVICE_HELLO, sizeof(struct corun_service_hello), &message);
    corun_service_end(service, 1);
    expect(agent, CORUN_SERVICE_ARRIVE, sizeof(struct corun_service_arrive), &message);
    assert_int_equal(message.arrive.query, 2);
    start(agent, 2);
    assert_true(corun_service_next(service, &query));
    corun_service_end(service, 2);
    expect(agent, CORUN_SERVICE_END, sizeof(struct corun_service_end), &message);
    corun_service_close(service);
}

static void test_an_agent_that_talks_nonsense_is_left(void **state)
{
    struct agent *agent = *state;
    uint64_t query;
    struct corun_service *service = corun_service_open(agent->path, "words", 1);
    accept_one(agent);
    corun_service_arrive(service, 1, 1);
    assert_int_equal(send(agent->client, "START 1", 7, 0), 7);
    assert_true(corun_service_next(service, &query));
    assert_false(corun_service_governed(service));
    corun_service_end(service, 1);
    corun_service_close(service);
}

#define QUERIES 2000u
struct crowd {
    struct corun_service *service;
    pthread_mutex_t lock;
    uint32_t seen[QUERIES];
};

static void *work(void *user)
{
    struct crowd *crowd = user;
    for (uint64_t query; corun_service_next(crowd->service, &query);) {
        pthread_mutex_lock(&crowd->lock);
        crowd->seen[query]++;
        pthread_mutex_unlock(&crowd->lock);
        corun_service_end(crowd->service, query);
    }
    return NULL;
}

/* Starts whatever arrives, never waiting for room, and hangs up in the middle. */
static void *govern(void *user)
{
    struct agent *agent = user;
    static uint64_t starts[QUERIES];
    uint32_t count = 0, begun = 0;
    agent->client = accept(agent->listener, NULL, NULL);
    for (uint32_t heard = 0; heard < QUERIES;) {
        struct pollfd fd = {agent->client, (short)(POLLIN | (begun < count ? POLLOUT : 0)), 0};
        union message message;
        poll(&fd, 1, 1000);
        if (fd.revents & POLLIN && recv(agent->client, &message, sizeof message, 0) > 0 && ++heard &&
            message.kind == CORUN_SERVICE_ARRIVE)
            starts[count++] = message.arrive.query;
        const struct corun_service_start say = {CORUN_SERVICE_START, 1, starts[begun]};
        begun += begun < count && send(agent->client, &say, sizeof say, MSG_DONTWAIT) > 0;
    }
    hang_up(agent);
    return NULL;
}

static void test_many_workers_get_each_query_once(void **state)
{
    struct agent *agent = *state;
    struct crowd crowd = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t workers[4], governor;
    pthread_create(&governor, NULL, govern, agent);
    crowd.service = corun_service_open(agent->path, "words", 4);
    for (int i = 0; i < 4; i++)
        pthread_create(&workers[i], NULL, work, &crowd);
    for (uint64_t query = 0; query < QUERIES; query++)
        assert_true(corun_service_arrive(crowd.service, query, 1));
    corun_service_finish(crowd.service);
    for (int i = 0; i < 4; i++)
        pthread_join(workers[i], NULL);
    pthread_join(governor, NULL);
    for (uint32_t i = 0; i < QUERIES; i++)
        assert_int_equal(crowd.seen[i], 1);
    corun_service_close(crowd.service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_an_agent_queries_come_in_order),
        cmocka_unit_test_setup_teardown(test_all_that_is_told, begin, end),
        cmocka_unit_test_setup_teardown(test_an_agent_that_dies_holds_nothing_back, begin, end),
        cmocka_unit_test_setup_teardown(test_the_next_agent_hears_what_waits_and_nothing_of_what_runs, begin, end),
        cmocka_unit_test_setup_teardown(test_an_agent_that_talks_nonsense_is_left, begin, end),
        cmocka_unit_test_setup_teardown(test_many_workers_get_each_query_once, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
