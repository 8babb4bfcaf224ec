import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildSprite } from '../../static/sprite.mjs';

const FLAG = `<!-- licence -->
<svg
  class="lucide"
  viewBox="0 0 24 24"
>
  <path d="M4 22V4" />
  <circle cx="1" cy="2" r="3" />
</svg>
`;

async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sprite-'));
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

test('a drawing becomes a symbol that leaves the stroke width to CSS', async () => {
  const sprite = await buildSprite(['flag'], await folderWith({ 'flag.svg': FLAG }));
  assert.match(
    sprite,
    /<symbol id="flag" viewBox="0 0 24 24"[^>]*><path d="M4 22V4" \/><circle cx="1" cy="2" r="3" \/>/,
  );
  assert.doesNotMatch(sprite, /stroke-width/);
});

test('names are sorted, and one named twice comes once', async () => {
  const folder = await folderWith({ 'flag.svg': FLAG, 'ban.svg': FLAG });
  const sprite = await buildSprite(['flag', 'ban', 'flag'], folder);
  assert.deepEqual(
    [...sprite.matchAll(/id="([^"]+)"/g)].map((match) => match[1]),
    ['ban', 'flag'],
  );
});

test('a name that Lucide does not have stops the build and is told', async () => {
  await assert.rejects(buildSprite(['flog'], await folderWith({ 'flag.svg': FLAG })), /names 'flog'/);
});
