import { expect, it } from 'vitest';
import { progressOf, type FileResult } from './memory';

const files = (...states: FileResult['state'][]) => states.map((state, i) => ({ name: String(i), state, says: '' }));

it.each([
  [files(), ''], [files('waiting', 'sending'), '0 of 2 files'], [files('done', 'sending', 'failed'), '2 of 3 files'],
  [files('done'), 'The file is in the memory.'], [files('done', 'done'), 'All 2 files are in the memory.'], [files('done', 'failed'), '1 of 2 files are in the memory; 1 could not be read.'],
] as const)('says progress %#', (list, want) => expect(progressOf([...list])).toBe(want));
