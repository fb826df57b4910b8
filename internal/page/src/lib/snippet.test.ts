import { expect, it } from 'vitest';
import { excerpt, markWords } from './snippet';

it('marks words in any case and script, and keeps the whole text', () => {
  for (const [text, search] of [['The Sea is a sea.', 'sea'], ['Über die Brücke', 'brücke über'], ['a+b (c)', '(c) a+b'], ['جميل البحر', 'البحر'], ['東京の海', '海'], ['none', 'x y'], ['', 'a']] as const) {
    expect(markWords(text, search).map((p) => p.text).join('')).toBe(text);
  }
  expect(markWords('The Sea is a sea.', 'sea').filter((p) => p.hit).map((p) => p.text)).toEqual(['Sea', 'sea']);
  expect(markWords('bridges bridge', 'bridge bridges').filter((p) => p.hit).map((p) => p.text)).toEqual(['bridges', 'bridge']);
});

it('shows the part of a text with the words', () => {
  const text = 'start '.repeat(200) + 'the bridge fell ' + 'end '.repeat(200);
  expect(excerpt(text, 'bridge')).toContain('the bridge fell');
  expect(excerpt(text, 'bridge').length).toBeLessThan(300);
  expect(excerpt(text, 'nothing')).toMatch(/^start/);
  expect(excerpt('short', 'x')).toBe('short');
});
