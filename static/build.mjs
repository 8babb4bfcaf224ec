/**
 * Bundles the front end into static/dist: hashed names, and a manifest.json that the Jinja global `asset` reads.
 *
 *   node static/build.mjs               build
 *   node static/build.mjs --if-changed  build only when a source differs from the last build (fast when none does)
 *   node static/build.mjs --watch       build again on each change, with source maps
 *   node static/build.mjs --release     leave only this build's files
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';
import { collectLicences } from './licences.mjs';
import { buildSprite } from './sprite.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const STATIC = join(ROOT, 'static');
const DIST = join(STATIC, 'dist');
const MANIFEST = join(DIST, 'manifest.json');
const STAMP = join(DIST, '.sources');

/** Name in the manifest → source. Every `*.worker.ts` below static/ is an entry of its own as well. */
const ENTRIES = {
  'app.css': 'static/css/app.css',
  'app.js': 'static/pages/app.ts',
  'designer.js': 'static/designer/designer.ts',
  'viewer.js': 'static/diagram/viewer.ts',
};

/** Files of an earlier build stay this long, so that a page loaded just before still finds its chunks. */
const KEEP_OLD_MS = 10 * 60 * 1000;

const flags = new Set(process.argv.slice(2));
const release = flags.has('--release');
const watch = flags.has('--watch');

/** Returns every file below a folder, sorted, without the built ones. */
async function filesBelow(folder) {
  const found = [];
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile() && !path.startsWith(DIST + sep)) found.push(path);
  }
  return found.sort();
}

/** Returns one hash over all that a build reads. */
async function sourceHash() {
  const hash = createHash('sha256');
  // The viewer bundles its own texts, because it stands on pages that don't hand it any.
  const texts = ['en', 'zh'].map((language) => join(ROOT, 'webapp/messages', language, 'diagram.json'));
  const others = [join(ROOT, 'package-lock.json'), join(ROOT, 'tsconfig.json'), ...texts];
  for (const path of [...(await filesBelow(STATIC)), ...others]) {
    hash.update(relative(ROOT, path).split(sep).join('/')).update('\0');
    hash.update(await readFile(path)).update('\0');
  }
  return hash.digest('hex');
}

async function entryPoints() {
  const entries = { ...ENTRIES };
  for (const path of await filesBelow(STATIC)) {
    const worker = /([^/\\]+)\.worker\.ts$/.exec(path);
    if (worker) entries[`${worker[1]}.worker.js`] = relative(ROOT, path).split(sep).join('/');
  }
  const missing = Object.values(entries).filter((path) => !existsSync(join(ROOT, path)));
  if (missing.length > 0 && !watch) throw new Error(`No such entry: ${missing.join(', ')}`);
  return Object.fromEntries(Object.entries(entries).filter(([, path]) => !missing.includes(path)));
}

function contentHash(content) {
  return createHash('sha256').update(content).digest('hex').slice(0, 8).toUpperCase();
}

/** Writes a file under a name that changes with its content; returns that name. */
async function emit(name, content) {
  const dot = name.lastIndexOf('.');
  const hashed = `${name.slice(0, dot)}-${contentHash(content)}${name.slice(dot)}`;
  await writeFile(join(DIST, hashed), content);
  return hashed;
}

function bundleOptions(entries) {
  return {
    absWorkingDir: ROOT,
    entryPoints: Object.entries(entries).map(([name, path]) => ({ in: path, out: name.replace(/\.[^.]+$/, '') })),
    outdir: DIST,
    entryNames: '[name]-[hash]',
    chunkNames: 'chunk-[name]-[hash]',
    assetNames: 'asset-[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['es2022', 'chrome110', 'firefox115', 'safari16.4'],
    minify: !watch,
    sourcemap: watch ? 'linked' : false,
    legalComments: 'none',
    loader: { '.svg': 'dataurl', '.woff2': 'file' },
    metafile: true,
    logLevel: 'warning',
  };
}

/** Returns manifest name → built file for what esbuild made. */
function builtEntries(metafile, entries) {
  const nameOf = new Map(Object.entries(entries).map(([name, path]) => [path, name]));
  const built = {};
  for (const [path, output] of Object.entries(metafile.outputs)) {
    const name = output.entryPoint && nameOf.get(output.entryPoint);
    if (!name) continue;
    built[name] = relative(DIST, join(ROOT, path));
    if (output.cssBundle) built[name.replace(/\.js$/, '.css')] = relative(DIST, join(ROOT, output.cssBundle));
  }
  return built;
}

async function removeOld(metafile, manifest) {
  const current = new Set(Object.values(manifest));
  for (const path of Object.keys(metafile.outputs)) current.add(relative(DIST, join(ROOT, path)));
  for (const name of await readdir(DIST)) {
    if (current.has(name) || !/-[0-9A-Z]{8}\./.test(name)) continue;
    const path = join(DIST, name);
    if (release || Date.now() - (await stat(path)).mtimeMs > KEEP_OLD_MS) await rm(path, { force: true });
  }
}

/** Finishes a build: what esbuild doesn't make, then the manifest, last, so that it never names a missing file. */
async function finish(metafile, entries, hash) {
  const htmx = await readFile(join(ROOT, 'node_modules/htmx.org/dist/htmx.min.js'));
  const icons = JSON.parse(await readFile(join(STATIC, 'icons.json'), 'utf8'));
  const manifest = {
    ...builtEntries(metafile, entries),
    'htmx.js': await emit('htmx.js', htmx),
    'icons.svg': await emit('icons.svg', await buildSprite(icons, join(ROOT, 'node_modules/lucide-static/icons'))),
  };
  await writeFile(join(DIST, 'THIRD-PARTY-LICENSES.txt'), await collectLicences(ROOT, metafile));
  const sorted = Object.fromEntries(Object.entries(manifest).sort(([a], [b]) => (a < b ? -1 : 1)));
  const fresh = `${MANIFEST}.${process.pid}`;
  await writeFile(fresh, `${JSON.stringify(sorted, null, 2)}\n`);
  await rename(fresh, MANIFEST);
  await writeFile(STAMP, hash);
  await removeOld(metafile, manifest);
  return sorted;
}

async function build() {
  const started = Date.now();
  const hash = await sourceHash();
  if (flags.has('--if-changed') && existsSync(MANIFEST) && existsSync(STAMP)) {
    if ((await readFile(STAMP, 'utf8')) === hash) return;
  }
  await mkdir(DIST, { recursive: true });
  const entries = await entryPoints();
  const { metafile } = await esbuild.build(bundleOptions(entries));
  const manifest = await finish(metafile, entries, hash);
  console.log(`Bundled ${Object.keys(manifest).length} assets in ${Date.now() - started} ms`);
}

async function buildOnChange() {
  await mkdir(DIST, { recursive: true });
  const entries = await entryPoints();
  const report = {
    name: 'report',
    setup(hooks) {
      hooks.onEnd(async (result) => {
        if (result.errors.length > 0) return;
        await finish(result.metafile, entries, await sourceHash());
        console.log(`Bundled at ${new Date().toLocaleTimeString()}`);
      });
    },
  };
  const context = await esbuild.context({ ...bundleOptions(entries), plugins: [report] });
  await context.watch();
  console.log('Watching static/; Ctrl+C ends it');
}

await (watch ? buildOnChange() : build());
