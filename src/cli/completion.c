/* SPDX-License-Identifier: MIT */
/* corun completion: scripts for shells, which ask corun for the words that fit. */
#include "cli/candidates.h"
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>

/* The scripts only ask `corun completion words`: what there is to complete is known in one place. S(name, where it is installed below share/) */
#define SHELLS(S) \
    S(bash, "bash-completion/completions/corun") \
    S(zsh, "zsh/site-functions/_corun") \
    S(fish, "fish/vendor_completions.d/corun.fish")

/* Bash ends words at colons and equal signs, where it is told so, and replaces what is behind them. */
static const char script_bash[] =
    "# Completes the command line of corun; made by `corun completion bash`.\n"
    "_corun()\n"
    "{\n"
    "    local line=${COMP_LINE:0:COMP_POINT} candidate last before=\n"
    "    local -a words\n"
    "    read -ra words <<<\"$line\"\n"
    "    [[ $line != *[[:space:]] ]] || words+=('')\n"
    "    last=${words[-1]}\n"
    "    [[ $COMP_WORDBREAKS != *=* || $last != *=* ]] || before=${last%\"${last##*=}\"}\n"
    "    [[ $COMP_WORDBREAKS != *:* || ${last#\"$before\"} != *:* ]] || before=${last%\"${last##*:}\"}\n"
    "    COMPREPLY=()\n"
    "    while IFS=$'\\t' read -r candidate _; do\n"
    "        case $candidate in\n"
    "        @files)\n"
    "            compopt -o filenames 2>/dev/null\n"
    "            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"${last#\"$before\"}\") ;;\n"
    "        @directories)\n"
    "            compopt -o filenames 2>/dev/null\n"
    "            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- \"${last#\"$before\"}\") ;;\n"
    "        @programs)\n"
    "            compopt -o filenames 2>/dev/null\n"
    "            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <([[ $last = */* ]] && compgen -f -- \"$last\" || compgen "
    "-c -- \"$last\") ;;\n"
    "        *)\n"
    "            [[ $candidate != *= ]] || compopt -o nospace 2>/dev/null\n"
    "            COMPREPLY+=(\"${candidate#\"$before\"}\") ;;\n"
    "        esac\n"
    "    done < <(\"${words[0]}\" completion words -- \"${words[@]:1}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _corun corun\n";

static const char script_zsh[] = "#compdef corun\n"
                                 "# Completes the command line of corun; made by `corun completion zsh`.\n"
                                 "_corun()\n"
                                 "{\n"
                                 "    local line word\n"
                                 "    local -a names shown open open_shown\n"
                                 "    for line in \"${(@f)$(\"${(Q)words[1]}\" completion words -- "
                                 "\"${(@Q)words[2,CURRENT-1]}\" \"${(Q)PREFIX}\" 2>/dev/null)}\"; do\n"
                                 "        word=${line%%$'\\t'*}\n"
                                 "        case $line in\n"
                                 "        '') ;;\n"
                                 "        @files) compset -P '--*='; _files ;;\n"
                                 "        @directories) compset -P '--*='; _files -/ ;;\n"
                                 "        @programs) _command_names -e; _files ;;\n"
                                 "        *=$'\\t'*) open+=(\"$word\"); open_shown+=(\"$word  ${line#*$'\\t'}\") ;;\n"
                                 "        *) names+=(\"$word\"); shown+=(\"$word  ${line#*$'\\t'}\") ;;\n"
                                 "        esac\n"
                                 "    done\n"
                                 "    (( ! ${#names} )) || compadd -l -d shown -a names\n"
                                 "    (( ! ${#open} )) || compadd -S '' -l -d open_shown -a open\n"
                                 "}\n"
                                 "if [[ ${funcstack[1]} = _corun ]]; then\n"
                                 "    _corun \"$@\"\n"
                                 "else\n"
                                 "    compdef _corun corun\n"
                                 "fi\n";

static const char script_fish[] = "# Completes the command line of corun; made by `corun completion fish`.\n"
                                  "function __corun_candidates\n"
                                  "    set -l words (commandline -opc)\n"
                                  "    set -l last (commandline -ct)\n"
                                  "    set -l before (string match -r -- '^--[^=]*=' $last)\n"
                                  "    set -l path (string replace -r -- '^--[^=]*=' '' $last)\n"
                                  "    for line in ($words[1] completion words -- $words[2..-1] $last 2>/dev/null)\n"
                                  "        switch $line\n"
                                  "            case @files\n"
                                  "                for file in (__fish_complete_path $path)\n"
                                  "                    echo $before$file\n"
                                  "                end\n"
                                  "            case @directories\n"
                                  "                for folder in (__fish_complete_directories $path '')\n"
                                  "                    echo $before$folder\n"
                                  "                end\n"
                                  "            case @programs\n"
                                  "                __fish_complete_command\n"
                                  "                __fish_complete_path $last\n"
                                  "            case '*'\n"
                                  "                echo $line\n"
                                  "        end\n"
                                  "    end\n"
                                  "end\n"
                                  "complete -c corun -f -a '(__corun_candidates)'\n";

static const char doc[] =
    "Prints a script with which a shell completes the command line of corun: commands, options, GPUs, policies, "
    "workloads with "
    "their sizes, experiments. `make install` and the packages put it where the shells look; elsewhere, "
    "`source <(corun completion bash)` is enough.\vSHELL is one of\n"
#define SHELL_DOC(name, place) "  " #name " - installed as share/" place "\n"
    SHELLS(SHELL_DOC)
#undef SHELL_DOC
        "\n`corun completion words -- WORD...` is what the scripts call: it prints what could stand in place of the "
        "last of "
        "the words behind corun.";

struct completion {
    struct command command;
    const char *shell;
    int count; /* of the words */
    char **words;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct completion *completion = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (completion->shell)
            argp_error(state, "one shell at a time, not also `%s`", value);
        completion->shell = value;
        if (strcmp(value, "words") != 0)
            break;
        completion->words = state->argv + state->next;
        completion->count = state->argc - state->next;
        state->next = state->argc;
        break;
    case ARGP_KEY_NO_ARGS:
#define SHELL_WORD(name, place) " " #name
        argp_error(state, "the shell is missing: one of" SHELLS(SHELL_WORD));
#undef SHELL_WORD
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static enum corun_status print_completion(void *user)
{
    static const struct {
        const char *name, *script;
    } scripts[] = {
#define SHELL_ROW(name, place) {#name, script_##name},
        SHELLS(SHELL_ROW)
#undef SHELL_ROW
    };
    struct completion *completion = user;
    const char *names[sizeof scripts / sizeof *scripts];
    char hint[128];
    if (completion->words) {
        completion->command.exit_status = candidates_of_line(completion->count, completion->words);
        return CORUN_OK;
    }
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        names[i] = scripts[i].name;
        if (!strcmp(completion->shell, names[i])) {
            fputs(scripts[i].script, stdout);
            return CORUN_OK;
        }
    }
    return corun_report(completion->command.list, CORUN_USAGE, CORUN_NOWHERE, "there is no completion for `%s`; %s",
                        completion->shell,
                        command_hint(completion->shell, names, sizeof names / sizeof *names,
                                     "see `corun completion --help`", hint, sizeof hint));
}

int command_completion(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse_option, .args_doc = "SHELL", .doc = doc, .help_filter = command_help_filter};
    struct completion completion = {0};
    return command_perform(&completion.command, &argp, argc, argv, print_completion, &completion);
}
