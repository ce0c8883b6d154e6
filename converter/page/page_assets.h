/*
 * page_assets.h - the sources of the page, as the build embeds them.
 */
#ifndef CONVERTER_PAGE_PAGE_ASSETS_H
#define CONVERTER_PAGE_PAGE_ASSETS_H

#include <stddef.h>

typedef struct conv_page_asset {
    const char *name; /* "flame.js" */
    const unsigned char *bytes;
    size_t len;
    const char *sha256; /* of the bytes, 64 hexadecimal digits */
} conv_page_asset;

/* page.html, page.css, then the scripts in the order in which they run; ends
 * with an asset without a name.  build/.../page_assets.c has it. */
extern const conv_page_asset conv_page_assets[];

#endif
