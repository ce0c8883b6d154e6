/*
 * libelf_static.c - two functions that libelf.a of elfutils 0.192 (Debian 13)
 * calls and no package has (sourceware.org bug 32293).
 *
 * elf_begin() and elf_end() begin and end a tree of the chunks that
 * elf_getdata_rawchunk() has read.  pyrec never calls that, so the tree stays
 * the empty one that calloc() made, and there is nothing to do.  The linker
 * of a static program takes these functions only if libelf.a has none.
 */

void eu_search_tree_init(void *tree);
void eu_search_tree_fini(void *tree, void (*release)(void *node));

void
eu_search_tree_init(void *tree)
{
    (void)tree;
}

void
eu_search_tree_fini(void *tree, void (*release)(void *node))
{
    (void)tree;
    (void)release;
}
