/* SPDX-License-Identifier: MIT */
/*
 * Tag arrays.
 *
 * A set is searched by 16-bit folds of its line numbers, kept apart from the rest so that they stay in the host's cache; sixteen
 * at a time are compared, and the full tag of a candidate decides. The order of use is a linked list per set with the most recent first and invalid lines last: constant time at any number of ways, and
 * no time stamps that wrap.
 */
#include "gpu/cache.h"

#include "base/bits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define NO_NUMBER UINT64_MAX
#define FEW_SET_BITS 4u /* up to here, a parity for each is cheaper than a fold */
#define COMPARED 16u    /* folds that are compared at once; the array is that much longer than its sets */

static uint16_t fold(uint64_t number)
{
    return (uint16_t)(cache_hash(number) >> 48);
}

static inline uint32_t set_of(const struct cache *cache, uint64_t number)
{
    if (cache->sets == 1)
        return 0;
    if (!cache->set_mask) {
        /* Rotated by a mix of the upper part: dense ranges stay perfectly even, strides become so. */
        uint64_t mix = cache->hashed ? number / cache->sets : 0;
        mix = (mix ^ mix >> 15) * UINT64_C(0x9e3779b97f4a7c15);
        return (uint32_t)((number + (mix >> 32 ^ mix >> 40)) % cache->sets);
    }
    if (cache->hashed) {
        if (cache->set_bits <= FEW_SET_BITS) {
            uint32_t set = 0;
            for (uint32_t bit = 0; bit < cache->set_bits; bit++)
                set |= (count_bits(number & cache->set_parity << bit) & 1u) << bit;
            return set;
        }
        /* Doubling the shift folds every group of set_bits bits onto the lowest one. */
        for (uint32_t shift = cache->set_bits; shift < 64; shift *= 2)
            number ^= number >> shift;
    }
    return (uint32_t)number & cache->set_mask;
}

/* As many places as lines, or up to twice as many. */
static size_t places_bytes(const struct cache *cache)
{
    return (UINT64_C(1) << (64 - cache->places_shift)) * sizeof *cache->places;
}

struct cache *cache_create(uint32_t bytes, uint32_t ways, uint32_t line_bytes, uint32_t sector_bytes, bool hashed)
{
    if (!ways || ways >= CACHE_NO_WAY || !is_power_of_two(line_bytes) || !is_power_of_two(sector_bytes) ||
        sector_bytes > line_bytes || line_bytes / sector_bytes > 32)
        return NULL;
    uint64_t set_bytes = (uint64_t)ways * line_bytes;
    if (!bytes || bytes % set_bytes)
        return NULL;
    struct cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    cache->ways = cache->ways_there = ways;
    cache->sets = (uint32_t)(bytes / set_bytes);
    cache->set_mask = is_power_of_two(cache->sets) ? cache->sets - 1 : 0;
    cache->set_bits = log2_floor(cache->sets);
    for (uint32_t bit = 0; cache->set_bits && bit < 64; bit += cache->set_bits)
        cache->set_parity |= UINT64_C(1) << bit;
    cache->line_shift = log2_floor(line_bytes);
    cache->all_sectors = (uint32_t)((UINT64_C(1) << line_bytes / sector_bytes) - 1);
    cache->hashed = hashed;
    cache->absent = NO_NUMBER;
    size_t count = (size_t)cache->sets * ways;
    cache->folds = calloc(count + COMPARED, sizeof *cache->folds);
    cache->lines = calloc(count, sizeof *cache->lines);
    cache->order = malloc(cache->sets * sizeof *cache->order);
    cache->index_bits = log2_floor(count) + 1;
    cache->places_shift = 64 - cache->index_bits;
    bool remembers = ways > COMPARED && cache->index_bits <= 16;
    if (remembers)
        cache->places = malloc(places_bytes(cache));
    if (!cache->folds || !cache->lines || !cache->order || (remembers && !cache->places)) {
        cache_destroy(cache);
        return NULL;
    }
    cache_flush(cache);
    return cache;
}

void cache_set_ways(struct cache *cache, uint32_t ways)
{
    assert(ways && ways <= cache->ways_there);
    cache->ways = ways;
    cache_flush(cache);
}

void cache_destroy(struct cache *cache)
{
    if (!cache)
        return;
    free(cache->folds);
    free(cache->lines);
    free(cache->order);
    free(cache->places);
    free(cache);
}

void cache_flush(struct cache *cache)
{
    for (uint32_t set = 0; set < cache->sets; set++) {
        for (uint32_t way = 0; way < cache->ways; way++) {
            size_t line = (size_t)set * cache->ways + way;
            cache->folds[line] = fold(NO_NUMBER);
            cache->lines[line] = (struct cache_line){
                .number = NO_NUMBER,
                .newer = way ? (uint16_t)(way - 1) : CACHE_NO_WAY,
                .older = way + 1 < cache->ways ? (uint16_t)(way + 1) : CACHE_NO_WAY,
            };
        }
        cache->order[set] = (struct cache_set){.newest = 0, .oldest = (uint16_t)(cache->ways - 1)};
    }
    if (cache->places) /* lines that are not in use any more keep their numbers */
        memset(cache->places, 0, places_bytes(cache));
}

/* Which of the next sixteen folds are the wanted one, as bits. */
static uint32_t compare_folds(const uint16_t *folds, uint16_t wanted)
{
#ifdef __SSE2__
    const __m128i all = _mm_set1_epi16((short)wanted);
    __m128i low = _mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *)(const void *)folds), all);
    __m128i high = _mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *)(const void *)(folds + 8)), all);
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));
#else
    uint32_t same = 0;
    for (uint32_t i = 0; i < COMPARED; i++)
        same |= (uint32_t)(folds[i] == wanted) << i;
    return same;
#endif
}

static inline void note_place(struct cache *cache, uint64_t hash, uint32_t line)
{
    if (cache->places)
        *cache_place(cache, hash) = cache_place_of(cache, hash, line);
}

uint32_t cache_search(struct cache *cache, uint64_t number, uint64_t hash)
{
    uint32_t set = set_of(cache, number), first = set * cache->ways, ways = cache->ways;
    const struct cache_line *lines = cache->lines + first;
    const uint16_t *folds = cache->folds + first;
    uint16_t wanted = (uint16_t)(hash >> 48);
    /* Programs come back to what they just used. */
    uint32_t newest = cache->order[set].newest;
    if (folds[newest] == wanted && lines[newest].number == number)
        return first + newest;
    for (uint32_t way = 0; way < ways; way += COMPARED)
        for (uint32_t same = compare_folds(folds + way, wanted); same; same &= same - 1) {
            uint32_t candidate = way + lowest_bit(same);
            if (candidate < ways && lines[candidate].number == number) {
                note_place(cache, hash, first + candidate);
                return first + candidate;
            }
        }
    cache->absent = number;
    cache->absent_set = set;
    return CACHE_NO_LINE;
}

static void unlink_line(struct cache_line *lines, struct cache_set *order, uint32_t way)
{
    struct cache_line *line = &lines[way];
    if (line->newer == CACHE_NO_WAY)
        order->newest = line->older;
    else
        lines[line->newer].older = line->older;
    if (line->older == CACHE_NO_WAY)
        order->oldest = line->newer;
    else
        lines[line->older].newer = line->newer;
}

static void make_newest(struct cache_line *lines, struct cache_set *order, uint32_t way)
{
    unlink_line(lines, order, way);
    lines[way].newer = CACHE_NO_WAY;
    lines[way].older = order->newest;
    lines[order->newest].newer = (uint16_t)way;
    order->newest = (uint16_t)way;
}

void cache_make_newest(struct cache *cache, uint32_t line)
{
    uint32_t set = line / cache->ways, way = line - set * cache->ways;
    make_newest(cache->lines + (size_t)set * cache->ways, &cache->order[set], way);
}

uint32_t cache_allocate(struct cache *cache, uint64_t address, struct cache_victim *victim)
{
    uint64_t number = address >> cache->line_shift;
    uint32_t set = number == cache->absent ? cache->absent_set : set_of(cache, number), first = set * cache->ways;
    struct cache_line *lines = cache->lines + first;
    *victim = (struct cache_victim){0};
    uint32_t way = cache->order[set].oldest;
    while (lines[way].reserved) {
        way = lines[way].newer;
        if (way == CACHE_NO_WAY)
            return CACHE_NO_LINE;
    }
    struct cache_line *line = &lines[way];
    if (line->number != NO_NUMBER) {
        victim->address = line->number << cache->line_shift;
        victim->dirty = line->dirty;
        victim->kernel = line->kernel;
        victim->application = line->application;
    }
    line->number = number;
    line->valid = line->dirty = 0;
    line->kernel = 0;
    line->application = 0;
    uint64_t hash = cache_hash(number);
    cache->folds[first + way] = (uint16_t)(hash >> 48);
    note_place(cache, hash, first + way);
    if (line->newer != CACHE_NO_WAY)
        make_newest(lines, &cache->order[set], way);
    return first + way;
}

bool cache_clean_oldest(struct cache *cache, uint32_t line, uint32_t most, struct cache_victim *victim)
{
    uint32_t set = line / cache->ways, dirty = 0;
    struct cache_line *lines = cache->lines + (size_t)set * cache->ways;
    for (uint32_t way = 0; way < cache->ways; way++)
        dirty += lines[way].dirty != 0;
    if (dirty < most)
        return false;
    uint32_t way = cache->order[set].oldest;
    while (way != CACHE_NO_WAY && (!lines[way].dirty || lines[way].reserved))
        way = lines[way].newer;
    if (way == CACHE_NO_WAY)
        return false;
    *victim = (struct cache_victim){.address = lines[way].number << cache->line_shift,
                                    .dirty = lines[way].dirty,
                                    .kernel = lines[way].kernel,
                                    .application = lines[way].application};
    lines[way].dirty = 0;
    return true;
}

void cache_retire(struct cache *cache, const struct retired_kernels *retired)
{
    for (uint32_t i = 0; i < cache->ways * cache->sets; i++)
        cache->lines[i].kernel = heir_of(retired, cache->lines[i].kernel);
}

void cache_invalidate(struct cache *cache, uint32_t line)
{
    uint32_t set = line / cache->ways, way = line % cache->ways;
    struct cache_set *order = &cache->order[set];
    struct cache_line *lines = cache->lines + (size_t)set * cache->ways;
    lines[way].number = NO_NUMBER;
    lines[way].valid = lines[way].dirty = lines[way].reserved = 0;
    cache->folds[line] = fold(NO_NUMBER);
    if (order->oldest == way)
        return;
    /* Invalid lines stand behind all valid ones, so that they are taken first. */
    unlink_line(lines, order, way);
    lines[way].older = CACHE_NO_WAY;
    lines[way].newer = order->oldest;
    lines[order->oldest].older = (uint16_t)way;
    order->oldest = (uint16_t)way;
}

void cache_archive(struct corun_archive *archive, struct cache *cache)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct cache, folds),        ARCHIVE_HOLE(struct cache, lines),
        ARCHIVE_HOLE(struct cache, order),        ARCHIVE_HOLE(struct cache, places),
        ARCHIVE_HOLE(struct cache, places_shift), ARCHIVE_HOLE(struct cache, index_bits)};
    size_t count = (size_t)cache->sets * cache->ways_there;
    archive_same(archive, count, "lines of a cache");
    ARCHIVE_RECORD(archive, cache, holes);
    if (cache->ways > cache->ways_there || (size_t)cache->sets * cache->ways_there != count)
        archive_fail(archive, CORUN_SYNTAX, "a cache of %u ways", cache->ways);
    archive_bytes(archive, cache->folds, (count + COMPARED) * sizeof *cache->folds);
    archive_bytes(archive, cache->lines, count * sizeof *cache->lines);
    archive_bytes(archive, cache->order, cache->sets * sizeof *cache->order);
    if (archive->reads && cache->places)
        memset(cache->places, 0, places_bytes(cache));
}
