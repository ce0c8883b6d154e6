/*
 * flame_layout.c - frames that a stack shares with the one before stay open.
 */
#include "query/render/flame_layout.h"

#include <base/array.h>
#include <stdlib.h>
#include <string.h>

static bool
same_box(const q_flame_box *box, const char *name, const char *file)
{
    return strcmp(box->name, name) == 0 && strcmp(box->file, file) == 0;
}

static bool
open_box(q_flame *f, const char *name, const char *file, size_t depth)
{
    if (!pr_grow(&f->box, &f->cap_boxes, f->n_boxes + 1, sizeof *f->box) ||
        !pr_grow(&f->open, &f->cap_open, depth + 1, sizeof *f->open))
        return false;
    q_flame_box box = {strdup(name), strdup(file), depth, f->samples, 0};
    f->box[f->n_boxes] = box;
    f->open[depth] = f->n_boxes++;
    f->n_open = depth + 1;
    if (depth + 1 > f->levels)
        f->levels = depth + 1;
    return box.name && box.file;
}

void
q_flame_add(void *context, const char *const *name, const char *const *file,
            size_t depth, int64_t samples, int64_t us)
{
    q_flame *f = context;
    size_t same = 0;
    (void)us;
    while (!f->failed && same < f->n_open && same < depth &&
           same_box(&f->box[f->open[same]], name[same], file[same]))
        same++;
    f->n_open = same;
    for (size_t i = same; i < depth && !f->failed; i++)
        f->failed = !open_box(f, name[i], file[i], i);
    for (size_t i = 0; i < depth && !f->failed; i++)
        f->box[f->open[i]].samples += samples;
    f->samples += samples;
}

void
q_flame_release(q_flame *flame)
{
    for (size_t i = 0; i < flame->n_boxes; i++) {
        free(flame->box[i].name);
        free(flame->box[i].file);
    }
    free(flame->box);
    free(flame->open);
    *flame = (q_flame){0};
}
