/*
 * svg_box.h - one frame of a flame graph as SVG, the same in every picture.
 */
#ifndef BASE_SVG_BOX_H
#define BASE_SVG_BOX_H

#include <base/buffer.h>

enum { PR_SVG_ROW = 17 }; /* pixels from one row of boxes to the next */

typedef struct pr_svg_box {
    double x, y, width; /* pixels; y of its top */
    const char *fill;   /* a colour of SVG */
    const char *name;   /* as much of it as fits is written into the box */
    size_t name_len;
    const char *title; /* the tooltip's first line: a name, too */
    size_t title_len;
    const char *amount; /* the tooltip's second line: the caller's words */
} pr_svg_box;

/* Append the box.  Names are quoted here (quote.h). */
void pr_svg_put_box(pr_buffer *svg, const pr_svg_box *box);

#endif
