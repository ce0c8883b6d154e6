/*
 * intern.c - interning over the house's hash table.
 */
#include <base/intern.h>
#include <string.h>

#include <stdlib.h>

typedef struct string_key {
    const pr_strings *strings;
    const char *at;
    size_t len;
} string_key;

static bool
same_string(const void *context, uint32_t value)
{
    const string_key *key = context;
    pr_bytes got = pr_strings_get(key->strings, value);
    return got.len == key->len &&
           (key->len == 0 || memcmp(got.at, key->at, key->len) == 0);
}

pr_code
pr_strings_add(pr_strings *strings, const char *at, size_t len, uint32_t *ret,
               pr_err *err)
{
    uint64_t hash = pr_hash_bytes(at, len);
    const string_key key = {strings, at, len};
    uint32_t id = pr_table_find(&strings->table, hash, same_string, &key);
    if (id != PR_TABLE_NONE) {
        *ret = id;
        return PR_OK;
    }
    if (strings->n >= PR_TABLE_NONE - 1)
        return PR_FAIL(err, PR_LIMIT, "too many names");
    if (len > SIZE_MAX - strings->n_text ||
        !pr_grow(&strings->text, &strings->cap_text, strings->n_text + len,
                 1) ||
        !pr_grow(&strings->end, &strings->cap, strings->n + 1,
                 sizeof *strings->end) ||
        !pr_table_insert(&strings->table, hash, (uint32_t)strings->n))
        return pr_no_memory(err);
    if (len)
        memcpy(strings->text + strings->n_text, at, len);
    strings->n_text += len;
    strings->end[strings->n] = strings->n_text;
    *ret = (uint32_t)strings->n++;
    return PR_OK;
}

void
pr_strings_release(pr_strings *strings)
{
    free(strings->text);
    free(strings->end);
    pr_table_release(&strings->table);
    *strings = (pr_strings){0};
}

typedef struct set_key {
    const pr_set *set;
    const void *item;
} set_key;

/* Most sets are of pairs of ids, for which XXH64 is slow. */
static uint64_t
hash_item(const pr_set *set, const void *item)
{
    uint64_t pair;
    if (set->size != sizeof pair)
        return pr_hash_bytes(item, set->size);
    memcpy(&pair, item, sizeof pair);
    return pr_mix64(pair);
}

static bool
same_pair(const void *context, uint32_t value)
{
    const set_key *key = context;
    const char *items = key->set->item;
    return memcmp(items + value * sizeof(uint64_t), key->item,
                  sizeof(uint64_t)) == 0;
}

static bool
same_item(const void *context, uint32_t value)
{
    const set_key *key = context;
    size_t size = key->set->size;
    const char *items = key->set->item;
    return memcmp(items + value * size, key->item, size) == 0;
}

static uint32_t
find_item(const pr_set *set, const void *item, uint64_t hash)
{
    const set_key key = {set, item};
    bool pair = set->size == sizeof(uint64_t);
    return pr_table_find(&set->table, hash, pair ? same_pair : same_item, &key);
}

uint32_t
pr_set_find(const pr_set *set, const void *item)
{
    return find_item(set, item, hash_item(set, item));
}

pr_code
pr_set_add(pr_set *set, const void *item, uint32_t *ret, pr_err *err)
{
    uint64_t hash = hash_item(set, item);
    uint32_t id = find_item(set, item, hash);
    if (id != PR_TABLE_NONE) {
        *ret = id;
        return PR_OK;
    }
    if (set->n >= PR_TABLE_NONE - 1)
        return PR_FAIL(err, PR_LIMIT, "too many entries");
    if (!pr_grow(&set->item, &set->cap, set->n + 1, set->size) ||
        !pr_table_insert(&set->table, hash, (uint32_t)set->n))
        return pr_no_memory(err);
    memcpy((char *)set->item + set->n * set->size, item, set->size);
    *ret = (uint32_t)set->n++;
    return PR_OK;
}

void
pr_set_release(pr_set *set)
{
    free(set->item);
    pr_table_release(&set->table);
    *set = (pr_set){.size = set->size};
}

void
pr_list_release(pr_list *list)
{
    free(list->at);
    *list = (pr_list){0};
}
