/** Collects the licences of the packages whose code or drawings are in the bundle. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Copied whole or drawn from by the build, so not among the bundle's inputs. */
const COPIED = ['htmx.org', 'lucide-static'];

function packageOf(path) {
  const inside = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
  return inside ? inside[1] : undefined;
}

async function licenceText(folder) {
  const name = (await readdir(folder)).find((file) => /^(licen[cs]e|copying)/i.test(file));
  return name ? (await readFile(join(folder, name), 'utf8')).trim() : 'No licence file in the package.';
}

/** Returns the text of THIRD-PARTY-LICENSES.txt for a bundle. */
export async function collectLicences(root, metafile) {
  const packages = new Set(COPIED);
  for (const input of Object.keys(metafile.inputs)) {
    const name = packageOf(input);
    if (name) packages.add(name);
  }
  const parts = ['Waypost contains code or drawings of these packages, under their own licences.'];
  for (const name of [...packages].sort()) {
    const folder = join(root, 'node_modules', name);
    const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    parts.push(`${name} ${version} (${license})\n\n${await licenceText(folder)}`);
  }
  return `${parts.join(`\n\n${'-'.repeat(78)}\n\n`)}\n`;
}
