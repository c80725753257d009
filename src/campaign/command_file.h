/* SPDX-License-Identifier: MIT */
/* Descriptions of campaigns whose cases are of another command than `corun run`. */
#ifndef CORUN_CAMPAIGN_COMMAND_FILE_H
#define CORUN_CAMPAIGN_COMMAND_FILE_H

#include "base/yaml_reader.h"
#include "campaign/campaign_file.h"

struct command_reader {
    struct yaml_reader yaml;
    struct corun_campaign *campaign; /* has its command */
    struct arena *scratch;           /* for texts that are only checked */
};

/* Options and arguments are multiplied out to cases. `command` is what the description says. SYNTAX and others, with places. */
enum corun_status command_read(struct command_reader *reader, const struct yaml_node *root,
                               const struct value *command);

#endif
