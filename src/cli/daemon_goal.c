/* SPDX-License-Identifier: MIT */
/* "90%", "ipc=300", "ms=20", "fps=30", "none". */
#include "cli/daemon_goal.h"

#include "base/number.h"
#include "wire/wire.h"

#include <stdio.h>
#include <string.h>

bool daemon_goal_parse(const char *text, struct daemon_goal *goal)
{
    char number[64];
    size_t length = strlen(text);
    *goal = (struct daemon_goal){CORUN_GOAL_NONE, 0};
    if (!strcmp(text, "none"))
        return true;
    for (int kind = CORUN_GOAL_IPC; kind <= CORUN_GOAL_FRAMES_PER_SECOND; kind++) {
        const char *word = wire_goal_word((enum corun_goal_kind)kind);
        size_t bytes = strlen(word);
        if (strncmp(text, word, bytes) != 0 || text[bytes] != '=')
            continue;
        goal->kind = (enum corun_goal_kind)kind;
        return number_parse_real(text + bytes + 1, &goal->value) && goal->value > 0;
    }
    if (length < 2 || length >= sizeof number || text[length - 1] != '%')
        return false;
    snprintf(number, sizeof number, "%.*s", (int)length - 1, text);
    goal->kind = CORUN_GOAL_FRACTION;
    bool good = number_parse_real(number, &goal->value) && goal->value > 0 && goal->value <= 100;
    goal->value /= 100;
    return good;
}
