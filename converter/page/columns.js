"use strict";
/* The data of the page as numbers: base64, gzip, blocks, varints
 * (page_data.h has the order of the columns). */

class Varints {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  /* Numbers up to 2^53: multiplication, since shifts end at 32 bits. */
  next() {
    let value = 0, scale = 1, byte;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return value;
  }

  signed() {
    const value = this.next();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  get more() {
    return this.at < this.bytes.length;
  }
}

const columns = {
  async read(base64) {
    const text = atob(base64);
    const packed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++)
      packed[i] = text.charCodeAt(i);
    const stream = new Blob([packed]).stream()
      .pipeThrough(new DecompressionStream("gzip"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    return columns.split(bytes);
  },

  split(bytes) {
    const view = new DataView(bytes.buffer);
    const blocks = [];
    for (let at = 0; at < bytes.length;) {
      const length = view.getUint32(at, true);
      blocks.push(bytes.subarray(at + 4, at + 4 + length));
      at += 4 + length;
    }
    const facts = JSON.parse(new TextDecoder().decode(blocks[0]));
    return { facts, column: blocks.map((block) => new Varints(block)) };
  },
};
