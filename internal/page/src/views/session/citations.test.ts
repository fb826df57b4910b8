import { expect, test } from 'vitest';
import { locateClaims, splitCitations, withoutMarks } from './citations';

const placed = (text: string, claims: string[]) => locateClaims(text, claims).map((p) => [p.claim, text.slice(p.start, p.end)]);

test('citations are split from the text, and nothing else is', () => {
  expect(splitCitations('So [e1, e2]; [E3][4] [x] a[1]')).toEqual([
    { text: 'So ', ids: [] }, { text: '[e1, e2]', ids: ['e1', 'e2'] }, { text: '; ', ids: [] }, { text: '[E3]', ids: ['e3'] }, { text: '[4] [x] a[1]', ids: [] },
  ]);
  for (const text of ['', '[e]', 'plain', '[e1', 'e1]']) expect(splitCitations(text).map((p) => p.text).join('')).toBe(text);
});

test('claims are found though citations and marks stand between', () => {
  expect(placed('First it is so [e3]. [partly supported] Then, 5 % more [e1] fell. [unverified] End.', ['First it is so.', 'Then, 5 % more fell.'])).toEqual([
    [0, 'First it is so [e3].'], [1, 'Then, 5 % more [e1] fell.'],
  ]);
});

test('a citation after the full stop belongs to the next sentence', () => {
  expect(placed('It fell [e2]. [e3] says "it rose".', ['It fell.', 'says "it rose".'])).toEqual([[0, 'It fell [e2].'], [1, 'says "it rose".']]);
});

test('equal claims have different places, and unknown claims have none', () => {
  expect(placed('It fell. It fell.', ['It fell.', 'It fell.', 'It rose.', ''])).toEqual([[0, 'It fell.'], [1, 'It fell.']]);
  expect(placed('', ['It fell.'])).toEqual([]);
});

test('claims in any script are found', () => {
  expect(placed('臭氧层正在恢复 [e1]。 الأوزون يتعافى.', ['臭氧层正在恢复。', 'الأوزون يتعافى.'])).toEqual([[0, '臭氧层正在恢复 [e1]。'], [1, 'الأوزون يتعافى.']]);
});

test('places never overlap and lie in the text', () => {
  const words = ['a', 'b', 'a b', 'b a', 'c.'];
  for (let seed = 0; seed < 200; seed++) {
    const pick = (n: number) => Array.from({ length: n }, (_, i) => words[(seed * (i + 3) + i * i) % words.length]!);
    const text = pick(9).join(' ');
    const places = locateClaims(text, pick(4));
    places.forEach((p, i) => {
      if (p.start >= p.end || p.end > text.length || (i > 0 && places[i - 1]!.end > p.start)) throw new Error(`${text}: ${JSON.stringify(places)}`);
    });
  }
});

test('marks of verdicts are removed from the text', () => {
  expect(withoutMarks('So. [unverified] And [contradicted by e4] more [partly supported]. [note]')).toBe('So. And more. [note]');
});
