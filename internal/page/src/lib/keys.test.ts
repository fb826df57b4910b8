import { flushSync } from 'svelte';
import { expect, test } from 'vitest';
import { keyed, keys } from './keys.svelte';

test('two views register keys, and take only their own away', () => {
  const key = (name: string) => ({ key: name, label: name, run() {} });
  const first = keyed([key('a')]);
  const second = keyed([key('b'), key('c')]);
  flushSync();
  expect(keys.list.map((k) => k.key)).toEqual(['a', 'b', 'c']);
  first();
  expect(keys.list.map((k) => k.key)).toEqual(['b', 'c']);
  second();
  expect(keys.list).toEqual([]);
});
