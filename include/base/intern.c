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

pr_bytes
pr_strings_get(const pr_strings *strings, uint32_t id)
{
    size_t from = id ? strings->end[id - 1] : 0;
    /* the text is NULL while all strings are empty */
    const char *at = from ? strings->text + from : strings->text;
    return (pr_bytes){at, strings->end[id] - from};
}

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

static bool
same_item(const void *context, uint32_t value)
{
    const set_key *key = context;
    size_t size = key->set->size;
    const char *items = key->set->item;
    return memcmp(items + value * size, key->item, size) == 0;
}

uint32_t
pr_set_find(const pr_set *set, const void *item)
{
    const set_key key = {set, item};
    return pr_table_find(&set->table, pr_hash_bytes(item, set->size), same_item,
                         &key);
}

pr_code
pr_set_add(pr_set *set, const void *item, uint32_t *ret, pr_err *err)
{
    uint32_t id = pr_set_find(set, item);
    if (id != PR_TABLE_NONE) {
        *ret = id;
        return PR_OK;
    }
    if (set->n >= PR_TABLE_NONE - 1)
        return PR_FAIL(err, PR_LIMIT, "too many entries");
    if (!pr_grow(&set->item, &set->cap, set->n + 1, set->size) ||
        !pr_table_insert(&set->table, pr_hash_bytes(item, set->size),
                         (uint32_t)set->n))
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

pr_code
pr_list_add(pr_list *list, uint32_t value, pr_err *err)
{
    if (!pr_grow(&list->at, &list->cap, list->n + 1, sizeof *list->at))
        return pr_no_memory(err);
    list->at[list->n++] = value;
    return PR_OK;
}

void
pr_list_release(pr_list *list)
{
    free(list->at);
    *list = (pr_list){0};
}
