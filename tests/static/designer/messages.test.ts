import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CATEGORIES } from '../../../static/designer/model/activities';
import { UNITS } from '../../../static/designer/model/duration';
import { FUNCTIONS } from '../../../static/designer/model/expression';
import { VARIABLE_TYPES } from '../../../static/designer/model/variables';

/** The runner's working folder is the project's. */
const ROOT = process.cwd();

type Messages = Readonly<Record<string, unknown>>;

function read(language: string): Messages {
  const areas = ['designer', 'designer_settings', 'diagram'].map((area) =>
    join(ROOT, 'webapp/messages', language, `${area}.json`),
  );
  return Object.assign({}, ...areas.map((path) => JSON.parse(readFileSync(path, 'utf8')) as Messages)) as Messages;
}

function sources(): string {
  const folders = ['static/designer', 'static/diagram', 'templates/designer'];
  return folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && /\.(ts|html)$/.test(entry.name))
        .map((entry) => readFileSync(join(entry.parentPath ?? entry.path, entry.name), 'utf8')),
    )
    .join('\n');
}

const ENGLISH = read('en');
const KEYS = [...sources().matchAll(/['"`]((?:designer|diagram)\.[\w.]*)(\$\{)?/g)].map((match) => ({
  key: match[1] as string,
  open: match[2] !== undefined,
}));

test('every text that is asked for is in the catalog', () => {
  const missing = KEYS.filter(({ key, open }) => !open && !key.endsWith('.') && !(key in ENGLISH)).map(
    ({ key }) => key,
  );
  const files = new Set(['designer.css', 'designer.js', 'designer.ts', 'diagram.css', 'diagram.json']);
  assert.deepEqual(
    [...new Set(missing)].filter((key) => !files.has(key)),
    [],
  );
});

test('a key that is put together has texts under its stem', () => {
  const stems = new Set(KEYS.filter(({ open }) => open).map(({ key }) => key));
  assert.ok(stems.size > 10);
  for (const stem of stems)
    assert.ok(
      Object.keys(ENGLISH).some((key) => key.startsWith(stem) && key !== stem),
      stem,
    );
});

test('lists that the code walks have a text for each', () => {
  const keys = [
    ...CATEGORIES.map((each) => `designer.category.${each}`),
    ...UNITS.flatMap((each) => [`designer.unit.${each}`, `diagram.duration.${each}`]),
    ...FUNCTIONS.map(({ name }) => `designer.function.${name}`),
    ...VARIABLE_TYPES.map((each) => `designer.type.${each}`),
    ...['running', 'waiting', 'retrying', 'completed', 'faulted', 'canceled', 'compensated', 'idle'].map(
      (each) => `diagram.state.${each}`,
    ),
    ...['Draft', 'Published', 'Disabled', 'Archived'].flatMap((each) => [
      `designer.status.${each}`,
      `designer.reading.${each}`,
    ]),
  ];
  assert.deepEqual(
    keys.filter((key) => !(key in ENGLISH)),
    [],
  );
});

test('both languages have the same texts', () => {
  assert.deepEqual(Object.keys(read('zh')).sort(), Object.keys(ENGLISH).sort());
});
