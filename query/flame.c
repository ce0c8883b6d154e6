/*
 * flame.c - the stacks of an answer: collapsed, or as a flame graph.
 *
 * The flame graph is one SVG without scripts: it can be read wherever an image
 * can, and each box says in a tooltip what it is.
 */
#include "query/render.h"

#include "query/display.h"
#include "query/flame_layout.h"

#include <base/buffer.h>
#include <base/hash.h>
#include <base/quote.h>
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

static void
write_escaped(const char *text, size_t len, FILE *out)
{
    pr_buffer shown = {0};
    pr_quote_xml(&shown, text, len);
    if (shown.len)
        fwrite(shown.at, 1, shown.len, out);
    pr_buffer_release(&shown);
}

/* Equal names have equal colours, in every graph. */
static void
write_colour(const char *name, FILE *out)
{
    uint64_t hash = pr_hash_bytes(name, strlen(name));
    fprintf(out, "rgb(%u,%u,%u)", 205 + (unsigned)(hash % 50),
            90 + (unsigned)(hash >> 8) % 130, (unsigned)(hash >> 16) % 60);
}

enum { WIDTH = 1200, ROW = 17, HEAD = 28, LETTER = 7 };

static void
write_box(const q_flame *flame, const q_flame_box *box, FILE *out)
{
    double scale = (double)WIDTH / (double)flame->samples;
    double x = (double)box->first * scale;
    double width = (double)box->samples * scale;
    int y = HEAD + (int)box->depth * ROW;
    if (width < 0.3)
        return;
    fprintf(out, "<g><title>");
    write_escaped(box->name, strlen(box->name), out);
    fprintf(out, " (%" PRId64 " samples, %.2f%%, ", box->samples,
            100.0 * (double)box->samples / (double)flame->samples);
    write_escaped(box->file, strlen(box->file), out);
    fprintf(out,
            ")</title><rect x=\"%.1f\" y=\"%d\" width=\"%.1f\""
            " height=\"%d\" rx=\"1\" fill=\"",
            x, y, width, ROW - 1);
    write_colour(box->name, out);
    fputs("\"/>", out);
    size_t letters = (size_t)(width / LETTER);
    size_t len = strlen(box->name);
    if (letters >= 3) {
        fprintf(out, "<text x=\"%.1f\" y=\"%d\">", x + 3, y + 12);
        size_t cut = len <= letters ? len : letters - 1;
        while (cut < len && cut > 0 &&
               ((unsigned char)box->name[cut] & 0xc0) == 0x80)
            cut--;
        write_escaped(box->name, cut, out);
        fputs(cut < len ? "…</text>" : "</text>", out);
    }
    fputs("</g>\n", out);
}

static void
write_svg(const q_flame *flame, const char *query, FILE *out)
{
    int height = HEAD + (int)flame->levels * ROW + 8;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\""
            " height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"monospace\""
            " font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\""
            " fill=\"#fff8f0\"/>\n<text x=\"4\" y=\"18\">",
            WIDTH, height, WIDTH, height);
    write_escaped(query, strlen(query), out);
    fprintf(out, ": %" PRId64 " samples</text>\n", flame->samples);
    for (size_t i = 0; i < flame->n_boxes; i++)
        write_box(flame, &flame->box[i], out);
    fputs("</svg>\n", out);
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
        if (rc == PR_OK)
            write_svg(&flame, query, out);
        q_flame_release(&flame);
    }
    if (rc == PR_OK && ferror(out))
        rc = PR_FAIL(err, PR_IO, "cannot write the answer");
    return rc;
}
