/*
 * flame.c - the stacks of an answer: collapsed, or as a flame graph.
 *
 * The flame graph is one SVG without scripts: it can be read wherever an image
 * can, and each box says in a tooltip what it is.
 */
#include "query/render/render.h"

#include "query/render/display.h"
#include "query/render/flame_layout.h"

#include <base/buffer.h>
#include <base/hash.h>
#include <base/printed.h>
#include <base/quote.h>
#include <base/svg_box.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- collapsed ---- */

/* ';' ends a frame, and a line ends a stack. */
static void
write_frame(const char *name, FILE *out)
{
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        putc(c == ';' ? ':' : c < 0x20 || c == 0x7f ? ' ' : c, out);
    }
}

static void
write_collapsed(void *context, const char *const *name, const char *const *file,
                size_t depth, int64_t samples, int64_t us)
{
    FILE *out = context;
    (void)file;
    (void)us;
    for (size_t i = 0; i < depth; i++) {
        if (i)
            putc(';', out);
        write_frame(name[i], out);
    }
    fprintf(out, " %" PRId64 "\n", samples);
}

/* ---- svg ---- */

enum { WIDTH = 1200, HEAD = 28 };
static const double NARROWEST = 0.3; /* pixels */

static void
put_box(const q_flame *flame, const q_flame_box *box, pr_buffer *svg)
{
    double scale = (double)WIDTH / (double)flame->samples;
    double width = (double)box->samples * scale;
    char amount[64], fill[32];
    pr_buffer title = {0};
    if (width < NARROWEST)
        return;
    /* equal names have equal colours, in every graph */
    uint64_t hash = pr_hash_bytes(box->name, strlen(box->name));
    snprintf(fill, sizeof fill, "rgb(%u,%u,%u)", 205 + (unsigned)(hash % 50),
             90 + (unsigned)(hash >> 8) % 130, (unsigned)(hash >> 16) % 60);
    snprintf(amount, sizeof amount, "%" PRId64 " samples, %.2f %%",
             box->samples,
             100.0 * (double)box->samples / (double)flame->samples);
    pr_buffer_puts(&title, box->name);
    pr_buffer_puts(&title, " (");
    pr_buffer_puts(&title, box->file);
    pr_buffer_puts(&title, ")");
    const pr_svg_box drawn = {.x = (double)box->first * scale,
                              .y = HEAD + (double)box->depth * PR_SVG_ROW,
                              .width = width,
                              .fill = fill,
                              .name = box->name,
                              .name_len = strlen(box->name),
                              .title = title.at,
                              .title_len = title.len,
                              .amount = amount};
    pr_svg_put_box(svg, &drawn);
    svg->failed = svg->failed || title.failed;
    pr_buffer_release(&title);
}

/* False: out of memory. */
static bool
write_svg(const q_flame *flame, const char *query, FILE *out)
{
    int height = HEAD + (int)flame->levels * PR_SVG_ROW + 8;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\""
            " height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"monospace\""
            " font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\""
            " fill=\"#fff8f0\"/>\n<text x=\"4\" y=\"18\">",
            WIDTH, height, WIDTH, height);
    pr_print_xml(out, query, strlen(query));
    fprintf(out, ": %" PRId64 " samples</text>\n", flame->samples);
    pr_buffer box = {0};
    for (size_t i = 0; i < flame->n_boxes; i++) {
        pr_buffer_reset(&box);
        put_box(flame, &flame->box[i], &box);
        fwrite(box.len ? box.at : "", 1, box.len, out);
    }
    bool written = !box.failed;
    pr_buffer_release(&box);
    fputs("</svg>\n", out);
    return written;
}

pr_code
q_render_stacks(q_database *database, const char *query, q_format format,
                FILE *out, pr_err *err)
{
    q_flame flame = {0};
    pr_code rc;
    if (format == Q_COLLAPSED) {
        rc = q_run_stacks(database, query, write_collapsed, out, err);
    } else {
        rc = q_run_stacks(database, query, q_flame_add, &flame, err);
        if (rc == PR_OK && flame.failed)
            rc = PR_FAIL(err, PR_NOMEM, "flame graph");
        if (rc == PR_OK && !write_svg(&flame, query, out))
            rc = pr_no_memory(err);
        q_flame_release(&flame);
    }
    return rc == PR_OK ? pr_flush(out, "the answer", err) : rc;
}
