/*
 * page.c - the document: the sources, the policy, the data.
 *
 * page.html has three marks, which are replaced: <!--policy-->, <!--style-->,
 * <!--scripts-->.  The policy names each source by its SHA-256 (CSP Level 3,
 * hash-source), so nothing else in the document can run or style it.
 */
#include "converter/page/page.h"

#include "converter/page/page_assets.h"
#include "converter/page/page_data.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 3 * 1024 /* a multiple of 3 */, SHA256_BYTES = 32 };

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* RFC 4648 section 4; to[] has room for 4 characters for each 3 bytes begun.
 * Returns the number of characters. */
static size_t
encode_base64(const uint8_t *bytes, size_t len, char *to)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i += 3) {
        uint32_t v = (uint32_t)bytes[i] << 16;
        v |= i + 1 < len ? (uint32_t)bytes[i + 1] << 8 : 0;
        v |= i + 2 < len ? bytes[i + 2] : 0;
        to[n++] = digits[v >> 18];
        to[n++] = digits[v >> 12 & 63];
        to[n++] = i + 1 < len ? digits[v >> 6 & 63] : '=';
        to[n++] = i + 2 < len ? digits[v & 63] : '=';
    }
    return n;
}

static void
put_base64(conv_outfile *out, const uint8_t *bytes, size_t len)
{
    char text[PIECE / 3 * 4];
    for (size_t at = 0; at < len; at += PIECE) {
        size_t n = len - at < PIECE ? len - at : PIECE;
        conv_out_write(out, text, encode_base64(bytes + at, n, text));
    }
}

/* ---- the policy ---- */

static uint8_t
digit_value(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* 'sha256-...' of an asset. */
static void
put_hash(conv_outfile *out, const conv_page_asset *asset)
{
    uint8_t hash[SHA256_BYTES];
    for (size_t i = 0; i < SHA256_BYTES; i++)
        hash[i] = (uint8_t)(digit_value(asset->sha256[2 * i]) << 4 |
                            digit_value(asset->sha256[2 * i + 1]));
    conv_out_puts(out, " 'sha256-");
    put_base64(out, hash, sizeof hash);
    conv_out_puts(out, "'");
}

enum { HTML, CSS, FIRST_SCRIPT };

static void
put_policy(conv_outfile *out)
{
    conv_out_puts(out, "<meta http-equiv=\"Content-Security-Policy\" "
                       "content=\"default-src 'none'; base-uri 'none'; "
                       "form-action 'none'; img-src data:; style-src");
    put_hash(out, &conv_page_assets[CSS]);
    conv_out_puts(out, "; script-src");
    for (size_t i = FIRST_SCRIPT; conv_page_assets[i].name; i++)
        put_hash(out, &conv_page_assets[i]);
    conv_out_puts(out, "\">\n");
}

/* ---- the document ---- */

static void
put_element(conv_outfile *out, const char *name, const conv_page_asset *asset)
{
    conv_out_puts(out, "<");
    conv_out_puts(out, name);
    conv_out_puts(out, ">");
    conv_out_write(out, asset->bytes, asset->len);
    conv_out_puts(out, "</");
    conv_out_puts(out, name);
    conv_out_puts(out, ">\n");
}

/* The data is not a script: its type is unknown to browsers (HTML, 4.12.1). */
static void
put_scripts(conv_outfile *out, const uint8_t *data, size_t len)
{
    conv_out_puts(out, "<script type=\"text/plain\" id=\"data\">");
    put_base64(out, data, len);
    conv_out_puts(out, "</script>\n");
    for (size_t i = FIRST_SCRIPT; conv_page_assets[i].name; i++)
        put_element(out, "script", &conv_page_assets[i]);
}

/* The next mark in the document, or its end. */
static const char *
find_mark(const char *at, const char *end)
{
    static const char mark[] = "<!--";
    const char *found = memmem(at, (size_t)(end - at), mark, sizeof mark - 1);
    return found ? found : end;
}

static void
put_document(conv_outfile *out, const uint8_t *data, size_t len)
{
    const conv_page_asset *html = &conv_page_assets[HTML];
    const char *at = (const char *)html->bytes, *end = at + html->len;
    while (at < end) {
        const char *mark = find_mark(at, end);
        conv_out_write(out, at, (size_t)(mark - at));
        if (mark == end)
            break;
        if (strncmp(mark, "<!--policy-->", 13) == 0)
            put_policy(out);
        else if (strncmp(mark, "<!--style-->", 12) == 0)
            put_element(out, "style", &conv_page_assets[CSS]);
        else
            put_scripts(out, data, len);
        at = strstr(mark, "-->") + 3;
    }
}

pr_code
conv_page_write(conv_page *page, pr_err *err)
{
    uint8_t *data;
    size_t len;
    pr_code rc = conv_page_data_make(page, &data, &len, err);
    if (rc != PR_OK)
        return rc;
    put_document(page->out, data, len);
    free(data);
    return PR_OK;
}
