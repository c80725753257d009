/* SPDX-License-Identifier: MIT */
/* corun top: the programs that share the GPU of corund, again and again, on the terminal or as text. */
#include "cli/top_picture.h"

#include "base/duration.h"
#include "base/number.h"

#include <langinfo.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEY_BATCH = 'b', KEY_DELAY = 'd', KEY_COUNT = 'n', KEY_ONCE = 0x100 };

static const struct argp_option options[] = {
    {"once", KEY_ONCE, NULL, 0, "print one picture as text", 1},
    {"batch", KEY_BATCH, NULL, 0, "print pictures as text, one after the other", 1},
    {"delay", KEY_DELAY, "TIME", 0, "of the host, between two pictures: 2s, 500ms or 1m [2s]", 1},
    {"count", KEY_COUNT, "N", 0, "pictures; then it ends [without end]", 1},
    DAEMON_SOCKET_OPTION(1),
    {0},
};

static const char doc[] =
    "Shows the programs that share the GPU of corund: state and goal, what is reached of the goal, thread instructions "
    "per cycle and the same beside the rate alone since the picture before, SMs on average and over time, launches and "
    "runs with their P50 and P99 on the simulated GPU, memory. Keys: q ends it, h tells of the others.";

struct top_options {
    struct command command;
    const char *socket;
    bool batch;
    uint64_t count; /* 0: without end */
    double delay;   /* seconds */
    struct top_view view;
    struct wire_link link;
    struct daemon_list now, before;
    bool has_before, helps;
    int skipped, most_skipped; /* columns of the terminal's that lie to its left; the picture has no more */
};

#define MOVED_COLUMNS 8 /* by a key */

#define LONGEST_DELAY 3600.0

static bool parse_delay(const char *text, double *seconds)
{
    size_t length = strlen(text);
    char number[32];
    if (length > 2 && length < sizeof number && !strcmp(text + length - 2, "ms")) {
        snprintf(number, sizeof number, "%.*s", (int)length - 2, text);
        bool good = number_parse_real(number, seconds);
        *seconds /= 1e3;
        return good && *seconds >= 0.01 && *seconds <= LONGEST_DELAY;
    }
    return (duration_parse(text, seconds) || number_parse_real(text, seconds)) && *seconds >= 0.01 &&
           *seconds <= LONGEST_DELAY;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct top_options *top = state->input;
    switch (key) {
    case KEY_ONCE:
        top->batch = true;
        top->count = 1;
        break;
    case KEY_BATCH:
        top->batch = true;
        break;
    case KEY_DELAY:
        if (!parse_delay(value, &top->delay))
            argp_error(state, "--delay is a time like 2s, 500ms or 1m, from 10ms to 1h, not `%s`", value);
        break;
    case KEY_COUNT:
        command_number(&top->command, "--count", value, 1000, 1, 1000000000, &top->count);
        break;
    case KEY_DAEMON_SOCKET:
        top->socket = command_name("--socket", value, state);
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "`%s`: top takes no arguments", value);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* The list that is shown becomes the one before, which makes room for the new one. */
static enum corun_status refresh_list(struct top_options *top)
{
    struct daemon_list older = top->before;
    top->before = top->now;
    top->now = older;
    top->has_before = top->before.gpu_count != 0;
    return daemon_ask_list(&top->link, top->command.list, &top->now);
}

/* ---- as text ---- */

static void sleep_for(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&left, NULL);
}

static enum corun_status print_pictures(struct top_options *top)
{
    top->view.style = output_style(stdout);
    top->view.style.width = 0;
    top->view.style.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
    for (uint64_t i = 0; !top->count || i < top->count; i++) {
        if (i) {
            sleep_for(top->delay);
            putchar('\n');
        }
        enum corun_status status = refresh_list(top);
        if (status == CORUN_OK && !top_print(&top->view, &top->now, top->has_before ? &top->before : NULL, stdout))
            status = CORUN_MEMORY;
        if (status != CORUN_OK)
            return status;
        if (fflush(stdout) != 0)
            return CORUN_OK; /* nobody reads it any more, which output_guard says */
    }
    return CORUN_OK;
}

/* ---- on a terminal ---- */

static void show_help(const struct top_options *top)
{
    static const char *const lines[] = {
        "corun top",
        "",
#define ORDER_LINE(name, key, meaning) "  " #key "       sort " meaning,
        TOP_ORDERS(ORDER_LINE)
#undef ORDER_LINE
            "  'R'       the other way round",
        "  arrows    to the left and right",
        "  's', 'd'  seconds between two pictures",
        "  space     a picture now",
        "  'h', '?'  this page, and back",
        "  'q'       end",
    };
    erase();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        mvaddstr((int)i, 0, lines[i]);
    mvprintw((int)(sizeof lines / sizeof *lines) + 1, 0, "Every %g seconds.", top->delay);
    refresh();
}

/* Behind so many signs, each of which takes a column. */
static char *behind(char *text, int signs)
{
    while (*text && (signs || ((unsigned char)*text & 0xc0) == 0x80))
        signs -= ((unsigned char)*text++ & 0xc0) != 0x80;
    return text;
}

static int signs_of(const char *text)
{
    int signs = 0;
    for (; *text; text++)
        signs += ((unsigned char)*text & 0xc0) != 0x80;
    return signs;
}

/* As much of each line as the terminal has columns. */
static void show_lines(struct top_options *top, char *text)
{
    int line = 0, longest = 0;
    erase();
    for (char *rest = text, *next; rest && *rest && line < LINES; rest = next, line++) {
        next = strchr(rest, '\n');
        if (next)
            *next++ = 0;
        bool title = !strncmp(rest, "name ", 5);
        int signs = signs_of(rest);
        longest = signs > longest ? signs : longest;
        char *shown = behind(rest, top->skipped);
        *behind(shown, COLS) = 0;
        if (title)
            attron(A_REVERSE);
        mvaddstr(line, 0, shown);
        if (title)
            attroff(A_REVERSE);
    }
    top->most_skipped = longest > COLS ? longest - COLS : 0;
    refresh();
}

static enum corun_status show_picture(struct top_options *top)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    bool fine = stream && top_print(&top->view, &top->now, top->has_before ? &top->before : NULL, stream);
    fine &= stream && fclose(stream) == 0 && text;
    if (fine)
        show_lines(top, text);
    free(text);
    return fine ? CORUN_OK : CORUN_MEMORY;
}

static void ask_delay(struct top_options *top)
{
    char text[32];
    double seconds;
    mvprintw(LINES - 1, 0, "Seconds between two pictures [%g]: ", top->delay);
    clrtoeol();
    echo();
    timeout(-1);
    if (getnstr(text, (int)sizeof text - 1) == OK && parse_delay(text, &seconds))
        top->delay = seconds;
    noecho();
}

/* False: the end. */
static bool press(struct top_options *top, int key)
{
#define ORDER_KEY(name, letter, meaning) \
    if (key == letter) \
        top->view.order = TOP_BY_##name;
    TOP_ORDERS(ORDER_KEY)
#undef ORDER_KEY
    if (key == 'R')
        top->view.reverse = !top->view.reverse;
    if (key == KEY_RIGHT)
        top->skipped += MOVED_COLUMNS;
    if (key == KEY_LEFT)
        top->skipped -= MOVED_COLUMNS;
    top->skipped = top->skipped > top->most_skipped ? top->most_skipped : top->skipped < 0 ? 0 : top->skipped;
    if (key == 's' || key == 'd')
        ask_delay(top);
    if (key == 'h' || key == '?')
        top->helps = !top->helps;
    return key != 'q' && key != 'Q';
}

static enum corun_status watch(struct top_options *top)
{
    enum corun_status status = CORUN_OK;
    int key = ' ';
    for (uint64_t shown = 0; status == CORUN_OK && (!top->count || shown < top->count); shown++) {
        if (key == ERR || key == ' ')
            status = refresh_list(top);
        if (status == CORUN_OK && top->helps)
            show_help(top);
        else if (status == CORUN_OK)
            status = show_picture(top);
        timeout((int)(top->delay * 1e3));
        key = getch();
        if (!press(top, key))
            return status;
    }
    return status;
}

static enum corun_status use_terminal(struct top_options *top)
{
    const char *term = getenv("TERM");
    SCREEN *screen = NULL;
    if (isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && term && *term)
        screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return corun_report(top->command.list, CORUN_USAGE, CORUN_NOWHERE,
                            "corun top needs a terminal; --once prints one picture, --batch one after the other");
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    (void)curs_set(0);
    top->view.style = (struct report_style){.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8")};
    enum corun_status status = watch(top);
    endwin();
    delscreen(screen);
    return status;
}

static enum corun_status run_top(void *user)
{
    struct top_options *top = user;
    enum corun_status status = daemon_reach(&top->link, top->socket, top->command.list);
    if (status == CORUN_OK)
        status = top->batch ? print_pictures(top) : use_terminal(top);
    daemon_list_free(&top->now);
    daemon_list_free(&top->before);
    wire_close(&top->link);
    return status;
}

int command_top(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse_option, .doc = doc, .help_filter = command_help_filter};
    struct top_options top = {.delay = 2, .view = {.samples = 20}, .link = {.socket = -1, .file = -1}};
    return command_perform(&top.command, &argp, argc, argv, run_top, &top);
}
