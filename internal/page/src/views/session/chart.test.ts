import { expect, test } from 'vitest';
import { bandOf, calibrate, sample, timeTicks } from './chart';
import type { Question, Synthesis, Thought } from './fold';
import { layout, rowsOf } from './tree';

const thought = (at: number, confidence: number, assumed = false) => ({ at, confidence, assumed }) as Thought;
const synthesis = (at: number) => ({ at }) as Synthesis;
const question = (id: string, parent: string, priority: number) => ({ id, parent, priority }) as Question;

test('the band is the middle half of the thoughts before each synthesis', () => {
  const thoughts = [thought(1, 0.1), thought(2, 0.5), thought(3, 0.6), thought(4, 0.9), thought(4, 0, true), thought(11, 0.5), thought(20, 0.4), thought(21, 0.4), thought(22, 0.8)];
  expect(bandOf(thoughts, [synthesis(10), synthesis(12)])).toEqual([
    { at: 10, low: 0.5, middle: 0.6, high: 0.9 },
    { at: 22, low: 0.4, middle: 0.4, high: 0.8 },
  ]);
  expect(bandOf([], [synthesis(1)])).toEqual([]);
});

test('ticks are round and few', () => {
  for (const end of [0, 1, 59, 61, 240, 7200, 200_000]) expect(timeTicks(end).length).toBeLessThanOrEqual(6);
  expect(timeTicks(240)).toEqual([0, 60, 120, 180, 240]);
});

test('a sample has the last element', () => {
  expect(sample([1, 2, 3, 4, 5], 2)).toEqual([2, 5]);
  expect(sample([1], 2)).toEqual([1]);
});

test('a calibrated value lies between its neighbours', () => {
  const pairs = [{ confidence: 0.9, calibrated_confidence: 0.7 }, { confidence: 0.5, calibrated_confidence: 0.4 }];
  expect([0.1, 0.5, 0.7, 0.9, 1].map((c) => calibrate(c, pairs))).toEqual([0.4, 0.4, 0.5499999999999999, 0.7, 0.7].map((v) => expect.closeTo(v)));
  expect(calibrate(0.5, [])).toBeNull();
});

test('the tree has each question once, below its parent, by priority', () => {
  const list = [question('q1', '', 2), question('q2', '', 9), question('q3', 'q1', 5), question('q4', 'q1', 8)];
  expect(rowsOf(list).map((r) => [r.question.id, r.depth])).toEqual([['q2', 0], ['q1', 0], ['q4', 1], ['q3', 1]]);
  const picture = layout(list, 300);
  expect(picture.nodes.length).toBe(5);
  expect(picture.links.every((l) => l.from.x < l.to.x)).toBe(true);
  expect(picture.nodes.every((n) => n.x >= 0 && n.x <= 300 && n.y >= 0 && n.y <= picture.height)).toBe(true);
});

test('a tree as deep as it has questions is laid out', () => {
  const list = Array.from({ length: 400 }, (_, i) => question(`q${i + 1}`, i > 0 ? `q${i}` : '', 5));
  expect(rowsOf(list).length).toBe(400);
  expect(layout(list, 300).nodes.length).toBe(401);
});
