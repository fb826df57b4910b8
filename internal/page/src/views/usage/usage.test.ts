import { expect, it } from 'vitest';
import { calibrationWords, everyDay, interval, largest, ticks, type Row } from './usage';

const row = (key: string, cost_usd: number): Row => ({ key, cost_usd, calls: 1, failed_calls: 0, total_tokens: 10, unpriced_calls: 0 });

it('has a row for each day, across months and years', () => {
  const days = everyDay([row('2026-12-31', 1), row('2027-01-02', 2)], '2027-01-03', 0);
  expect(days.map((d) => [d.key, d.cost_usd])).toEqual([['2026-12-31', 1], ['2027-01-01', 0], ['2027-01-02', 2], ['2027-01-03', 0]]);
  expect(everyDay([], '2027-03-01', 7).map((d) => d.key)[0]).toBe('2027-02-23');
  expect(everyDay([], '2027-03-01', 0)).toHaveLength(1);
});

it('has round lines that cover the largest value', () => {
  for (const max of [0.00031, 0.7, 1, 3, 9.99, 10, 1234, 5e6]) {
    const list = ticks(max);
    expect(list.at(-1)!).toBeGreaterThanOrEqual(max * 0.999);
    expect(list.length).toBeLessThanOrEqual(6);
    expect(list[0]).toBe(0);
  }
  expect(ticks(10)).toEqual([0, 5, 10]);
  expect(ticks(0)).toEqual([0]);
});

it('joins small rows and keeps the sum', () => {
  const rows = Array.from({ length: 12 }, (_, i) => row(`m${i}`, i));
  const shown = largest(rows, 'money', 5);
  expect(shown).toHaveLength(5);
  expect(shown[0]!.key).toBe('m11');
  expect(shown.at(-1)!.key).toBe('others');
  expect(shown.reduce((n, r) => n + r.cost_usd, 0)).toBe(66);
});

it('says whether confidences are too high', () => {
  const bin = (mean_confidence: number, right: number, sessions = 10) => ({ low: 0, high: 1, sessions, mean_confidence, right });
  expect(calibrationWords([])).toContain('No session');
  expect(calibrationWords([bin(0.9, 0.6)])).toContain('30 points more');
  expect(calibrationWords([bin(0.5, 0.7)])).toContain('20 points less');
  expect(calibrationWords([bin(0.9, 0.88), bin(0.2, 0.22)])).toContain('fits');
});

it('has intervals within 0 and 1 that contain the share', () => {
  for (const n of [1, 5, 100]) for (const share of [0, 0.2, 1]) {
    const [low, high] = interval(share, n);
    expect(low).toBeGreaterThanOrEqual(0);
    expect(high).toBeLessThanOrEqual(1);
    expect(low - 1e-9 <= share && share <= high + 1e-9).toBe(true);
  }
});
