/**
 * Runs the tests of the part that needs no DOM: each *.test.ts below static/ and tests/static/ is bundled for Node
 * and handed to its own test runner. Names after the command narrow it: npm test -- geometry
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
/** Below the project, and with the process's number, so that two runs at once don't meet. */
const OUT = join(ROOT, 'node_modules', '.cache', `tests-${process.pid}`);
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));

async function testFiles() {
  const found = [];
  for (const folder of ['static', 'tests/static']) {
    if (!existsSync(join(ROOT, folder))) continue;
    for (const entry of await readdir(join(ROOT, folder), { withFileTypes: true, recursive: true })) {
      const path = relative(ROOT, join(entry.parentPath ?? entry.path, entry.name));
      const chosen = wanted.length === 0 || wanted.some((word) => path.includes(word));
      if (entry.isFile() && path.endsWith('.test.ts') && chosen) found.push(path);
    }
  }
  return found.sort();
}

const files = await testFiles();
if (files.length === 0) {
  console.error(`No front-end test matches ${wanted.join(' ') || '*.test.ts'}`);
  process.exit(1);
}
try {
  const { metafile } = await esbuild.build({
    absWorkingDir: ROOT,
    entryPoints: files,
    outdir: OUT,
    outbase: ROOT,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    metafile: true,
    outExtension: { '.js': '.mjs' },
    loader: { '.css': 'empty', '.svg': 'dataurl' },
    logLevel: 'warning',
  });
  const built = Object.entries(metafile.outputs)
    .filter(([, output]) => output.entryPoint)
    .map(([path]) => join(ROOT, path));
  const run = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...built], {
    stdio: 'inherit',
    cwd: ROOT,
  });
  process.exitCode = run.status ?? 1;
} finally {
  await rm(OUT, { recursive: true, force: true });
}
