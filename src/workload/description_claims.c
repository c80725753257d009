/* SPDX-License-Identifier: MIT */
/* What a description claims about its workload: the work of one run, and what papers say of it. */
#include "workload/description_reader.h"

#include "base/number.h"

#include <assert.h>
#include <string.h>

const char *corun_character_word(enum corun_character character)
{
    static const char *const words[] = {
#define WORD(name, word, meaning) word,
        CORUN_CHARACTERS(WORD)
#undef WORD
    };
    return character < CORUN_CHARACTER_COUNT ? words[character] : "?";
}

enum corun_status reader_character(struct reader *reader, const struct yaml_node *map, const char *key,
                                   enum corun_character *character)
{
    struct value text = {0};
    enum corun_status status = yaml_value(&reader->yaml, map, key, &text);
    if (status || !text.text)
        return status;
    for (enum corun_character i = 0; i < CORUN_CHARACTER_COUNT; i++) {
        if (strcmp(corun_character_word(i), text.text) == 0) {
            *character = i;
            return CORUN_OK;
        }
    }
    return corun_report(reader->yaml.list, CORUN_SYNTAX, text.place,
                        "'%.80s' is no character (compute memory problem-size)", text.text);
}

const char *corun_paper_title(const char *word)
{
    static const struct {
        const char *word, *title;
    } papers[] = {
#define PAPER(word, title) {word, title},
        CORUN_PAPERS(PAPER)
#undef PAPER
    };
    for (size_t i = 0; i < sizeof papers / sizeof *papers; i++) {
        if (strcmp(papers[i].word, word) == 0)
            return papers[i].title;
    }
    return NULL;
}

#define PAPER_WORD(word, title) " " word

static enum corun_status read_work(struct reader *reader, const struct yaml_node *node)
{
    struct work_description *work = &reader->description->work;
    enum corun_status status = yaml_expect_map(&reader->yaml, node, "outputs instructions bytes | tolerance");
    if (!status)
        status = yaml_value(&reader->yaml, node, "outputs", &work->outputs);
    if (!status)
        status = yaml_value(&reader->yaml, node, "instructions", &work->instructions);
    if (!status)
        status = yaml_value(&reader->yaml, node, "bytes", &work->bytes);
    const struct yaml_node *tolerance = yaml_find(node, "tolerance");
    if (!status && tolerance) {
        status = yaml_expect_map(&reader->yaml, tolerance, "| instructions bytes");
        if (!status)
            status = yaml_real(&reader->yaml, tolerance, "instructions", &work->instruction_tolerance);
        if (!status)
            status = yaml_real(&reader->yaml, tolerance, "bytes", &work->byte_tolerance);
    }
    return status;
}

static enum corun_status read_figure(struct reader *reader, const struct yaml_node *node,
                                     struct corun_paper_figure *figure)
{
    enum corun_status status = yaml_expect(&reader->yaml, node, YAML_TEXT);
    if (status)
        return status;
    figure->name = node->key;
    figure->text = node->text;
    if (!number_parse_real(node->text, &figure->value))
        return WRONG(reader, node, "'%.80s' is not a number for '%.80s'", node->text, node->key);
    return CORUN_OK;
}

static enum corun_status read_figures(struct reader *reader, const struct yaml_node *node,
                                      struct corun_paper_claim *claim)
{
    enum corun_status status = yaml_expect(&reader->yaml, node, YAML_MAP);
    if (status)
        return status;
    struct corun_paper_figure *rows =
        ARENA_ARRAY(reader->description->arena, struct corun_paper_figure, node->count + 1);
    if (!rows)
        return yaml_out_of_memory(&reader->yaml);
    for (const struct yaml_node *entry = node->first; entry && !status; entry = entry->next)
        status = read_figure(reader, entry, &rows[claim->figure_count++]);
    claim->figures = rows;
    return status;
}

static enum corun_status read_paper(struct reader *reader, const struct yaml_node *node)
{
    struct description *description = reader->description;
    struct corun_paper_claim claim = {.character = CORUN_CHARACTER_COUNT};
    struct value word = {0}, name = {0}, note = {.text = ""};
    enum corun_status status = yaml_expect_map(&reader->yaml, node, "paper name | class figures note");
    if (!status)
        status = yaml_value(&reader->yaml, node, "paper", &word);
    if (!status)
        status = yaml_value(&reader->yaml, node, "name", &name);
    if (!status)
        status = yaml_value(&reader->yaml, node, "note", &note);
    if (!status)
        status = reader_character(reader, node, "class", &claim.character);
    if (status)
        return status;
    assert(word.text && name.text);
    if (!corun_paper_title(word.text))
        return corun_report(reader->yaml.list, CORUN_SYNTAX, word.place,
                            "'%.80s' is no paper (known here:" CORUN_PAPERS(PAPER_WORD) ")", word.text);
    claim.paper = word.text;
    claim.name = name.text;
    claim.note = note.text;
    const struct yaml_node *figures = yaml_find(node, "figures");
    if (figures)
        status = read_figures(reader, figures, &claim);
    if (!status && !vector_push(&description->papers, claim))
        status = yaml_out_of_memory(&reader->yaml);
    return status;
}

enum corun_status reader_claims(struct reader *reader, const struct yaml_node *root)
{
    const struct yaml_node *work = yaml_find(root, "work"), *papers = yaml_find(root, "papers");
    enum corun_status status = work ? read_work(reader, work) : CORUN_OK;
    if (!status && papers)
        status = yaml_expect(&reader->yaml, papers, YAML_LIST);
    for (const struct yaml_node *entry = papers ? papers->first : NULL; entry && !status; entry = entry->next)
        status = read_paper(reader, entry);
    return status;
}
