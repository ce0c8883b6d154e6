/*
 * svg_box.c - a tooltip, a rectangle, and the letters that fit.
 */
#include <base/svg_box.h>

#include <base/quote.h>

enum {
    CHARACTER = 65, /* width of a letter, tenths of a pixel */
    LETTERS_MIN = 3
};

static size_t
next_letter(const pr_svg_box *box, size_t at)
{
    at++;
    while (at < box->name_len && ((unsigned char)box->name[at] & 0xc0) == 0x80)
        at++;
    return at;
}

static size_t
last_letter(const pr_svg_box *box, size_t at)
{
    at--;
    while (at && ((unsigned char)box->name[at] & 0xc0) == 0x80)
        at--;
    return at;
}

/* As many letters of the name as fit, if that is more than a few. */
static void
put_letters(pr_buffer *svg, const pr_svg_box *box)
{
    double room = (box->width - 4) * 10 / CHARACTER;
    size_t most = room > 0 ? (size_t)room : 0, n = 0;
    if (most < LETTERS_MIN)
        return;
    for (size_t letters = 0; n < box->name_len && letters < most; letters++)
        n = next_letter(box, n);
    bool cut = n < box->name_len;
    for (int drop = 0; cut && drop < 2 && n; drop++)
        n = last_letter(box, n);
    pr_buffer_printf(svg, "<text x=\"%.1f\" y=\"%.1f\">", box->x + 2,
                     box->y + PR_SVG_ROW - 5);
    pr_quote_xml(svg, box->name, n);
    pr_buffer_puts(svg, cut ? "..</text>" : "</text>");
}

void
pr_svg_put_box(pr_buffer *svg, const pr_svg_box *box)
{
    pr_buffer_puts(svg, "<g><title>");
    pr_quote_xml(svg, box->title, box->title_len);
    pr_buffer_printf(svg,
                     "\n%s</title><rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\""
                     " height=\"%d\" fill=\"%s\"/>",
                     box->amount, box->x, box->y, box->width, PR_SVG_ROW - 1,
                     box->fill);
    put_letters(svg, box);
    pr_buffer_puts(svg, "</g>\n");
}
