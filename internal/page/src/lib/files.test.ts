import { expect, it } from 'vitest';
import { admitFiles, maxFiles, mediaType, size } from './files';

const file = (name: string, bytes: number, type = '') => ({ name, size: bytes, type }) as File;

it.each([
  ['a.png', 'image/png', 'image/png'], ['a.svg', 'image/svg+xml', 'text/plain'], ['a.heic', 'image/heic', ''], ['a.pdf', '', 'application/pdf'],
  ['a.go', '', 'text/plain'], ['a.json', 'application/json', 'text/plain'], ['a.exe', 'application/x-msdownload', ''], ['notes', 'text/markdown', 'text/plain'],
  ['a.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', ''], ['a.mp3', 'audio/mpeg', 'audio/mpeg'],
])('%s of type %s is %s', (name, type, want) => expect(mediaType(name, type)).toBe(want));

it('names each file that does not fit, and why', () => {
  const { files, problems } = admitFiles([], [file('a.png', 10, 'image/png'), file('b.exe', 10), file('c.txt', 0), file('d\u202e.pdf', 9e6)]);
  expect(files.map((f) => f.name)).toEqual(['a.png']);
  expect(problems).toHaveLength(3);
  expect(problems[2]).toContain('d⟨U+202E⟩.pdf has 9.0 MB');
});

it('limits the number and the sum', () => {
  const many = admitFiles([], Array.from({ length: maxFiles + 2 }, (_, i) => file(`${i}.txt`, 10)));
  expect(many.files).toHaveLength(maxFiles);
  expect(many.problems).toHaveLength(2);
  const first = admitFiles([], [file('a.pdf', 4e6)]);
  expect(admitFiles(first.files, [file('b.pdf', 4e6), file('c.pdf', 1e6)]).files.map((f) => f.name)).toEqual(['c.pdf']);
});

it('says sizes in words', () => expect([size(12), size(1500), size(2_340_000)]).toEqual(['12 bytes', '2 KB', '2.3 MB']));
