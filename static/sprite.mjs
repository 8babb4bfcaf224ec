/** Makes one SVG sprite of Lucide's drawings, so that a page loads its icons once: <use href="…icons.svg#inbox">. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Returns what stands inside an icon's <svg> element, on one line. */
function drawing(svg) {
  const inside = /<svg[^>]*>([\s\S]*)<\/svg>/.exec(svg);
  if (!inside) throw new Error('not an SVG file');
  return inside[1].replace(/\s+/g, ' ').replace(/> </g, '><').trim();
}

/**
 * Returns the sprite of the named icons.
 *
 * A symbol sets no stroke width: that is inherited from the page's CSS, since it depends on the size of use.
 */
export async function buildSprite(names, folder) {
  const symbols = [];
  for (const name of [...new Set(names)].sort()) {
    const svg = await readFile(join(folder, `${name}.svg`), 'utf8').catch(() => {
      throw new Error(`static/icons.json names '${name}', which Lucide does not have`);
    });
    symbols.push(
      `<symbol id="${name}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-linecap="round" ` +
        `stroke-linejoin="round">${drawing(svg)}</symbol>`,
    );
  }
  return `<svg xmlns="http://www.w3.org/2000/svg">\n${symbols.join('\n')}\n</svg>\n`;
}
