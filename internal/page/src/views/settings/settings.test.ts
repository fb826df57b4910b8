import { describe, expect, it } from 'vitest';
import { points, reach, sentenceOf, stripOf, type Comparison, type Report } from '../eval/eval';
import { lifeLeft, livingShares, type Share } from '../shares/shares';
import { checkWords, grouped, type Setting } from './settings';

const setting = (name: string, about = '', value = ''): Setting => ({ name, about, value, from: '', restart: false });

describe('settings', () => {
  it('puts each setting into one group and finds all words', () => {
    const all = ['models.fast', 'mind.sensors.files.a.paths', 'mindful', 'db', 'mcp.x.command'].map((n) => setting(n, n === 'db' ? 'file of the database' : ''));
    const names = grouped(all, '').flatMap((g) => g.settings.map((s) => s.name));
    expect(names.toSorted()).toEqual(all.map((s) => s.name).toSorted());
    expect(grouped(all, 'Database FILE').map((g) => g.label)).toEqual(['Other']);
    expect(grouped(all, 'nothing')).toEqual([]);
  });
  it('says the reason of a failed test', () => {
    expect(checkWords({ model: 'a', works: false, first_ms: 0, took_ms: 0, error: 'refused' })).toBe('refused');
    expect(checkWords({ model: 'a', works: true, first_ms: 420, took_ms: 900 })).toContain('0.42 s');
  });
});

describe('shares', () => {
  const share = (id: string, from: string, to: string): Share => ({ id, thread_id: 't', kind: 'session', title: '', created_at: from, expires_at: to, opened: 0 });
  const now = Date.parse('2026-11-26T12:00:00Z');
  it('counts the life of a link down to nothing', () => {
    expect(lifeLeft(share('a', '2026-11-26T06:00:00Z', '2026-11-26T18:00:00Z'), now)).toBe(0.5);
    expect(lifeLeft(share('a', '2026-11-27T06:00:00Z', '2026-11-27T18:00:00Z'), now)).toBe(1);
    expect(lifeLeft(share('a', '2026-11-26T06:00:00Z', '2026-11-26T06:00:00Z'), now)).toBe(0);
  });
  it('leaves out ended links', () => {
    const list = [share('late', '2026-11-20T00:00:00Z', '2026-11-30T00:00:00Z'), share('over', '2026-11-20T00:00:00Z', '2026-11-21T00:00:00Z'), share('soon', '2026-11-20T00:00:00Z', '2026-11-27T00:00:00Z')];
    expect(livingShares(list, now).map((s) => s.id)).toEqual(['soon', 'late']);
  });
});

describe('evaluations', () => {
  const comparison: Comparison = { variant: 'deep', against: 'plain', by: 'checks', questions: 3, questions_up: 1, questions_down: 1, difference: 0, interval: { low: -0.3, high: 0.3 }, p: 1, p_adjusted: 1, seeable_difference: 0.5, finding: 'no difference' };
  const report = {
    variants: [{ variant: 'plain' }, { variant: 'deep' }],
    items: [{ id: 'a', right: [0, 1], preferred: [null, -1] }, { id: 'b', right: [1, 0], preferred: [null, null] }, { id: 'c', right: [1, 1], preferred: [null, 1] }, { id: 'd', right: [1, null], preferred: [null, null] }, { id: 'e', right: [0, 0], preferred: [null, 0.5] }],
  } as unknown as Report;
  it('gives each question its paired difference, and piles equal ones', () => {
    expect(stripOf(report, comparison)).toEqual([{ id: 'a', difference: 1, level: 0 }, { id: 'b', difference: -1, level: 0 }, { id: 'c', difference: 0, level: 0 }, { id: 'e', difference: 0, level: 1 }]);
    expect(stripOf(report, { ...comparison, by: 'judge' }).map((d) => d.difference)).toEqual([-1, 1, 0.5]);
  });
  it('chooses an axis that holds every dot and interval', () => {
    expect(reach([comparison], [])).toBe(0.5);
    expect(reach([], [])).toBe(0.1);
    expect(reach([comparison], stripOf(report, comparison))).toBe(1);
  });
  it('never calls a missing proof an equality', () => {
    expect(sentenceOf({ ...comparison, questions_needed: 90 })).toContain('does not prove');
    expect(sentenceOf({ ...comparison, finding: 'worse', difference: -0.125 })).toContain('by 12.5 points');
    expect([points(0.125), points(-0.125), points(0)]).toEqual(['+12.5', '−12.5', '0.0']);
  });
});
