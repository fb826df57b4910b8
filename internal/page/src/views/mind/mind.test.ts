import { describe, expect, it } from 'vitest';
import type { LogEvent } from '../../lib/stream';
import { grownSince } from './entries';
import { findingsBy } from './findings';
import { addEvents, addRows, emptyHistory, rowOf, sortedChanges, type Change, type Row } from './history';
import { openEscalations, sortedEscalations, toldParts, type Escalation } from './inbox';
import { decayTime, fadesAt, strengthAt } from './strength';
import { highest, lineOf, spread, timeMarks } from './timeline';

const start = Date.parse('2026-11-26T08:00:00Z');
const at = (minute: number) => new Date(start + minute * 60_000).toISOString();
const change = (entry: string, did: string, strength: number): Change => ({ entry, did, strength, summary: `about ${entry}`, category: 'patterns' });
const tick = (seq: number, number: number, minute: number, ...changes: Change[]): Row => ({
  kind: 'tick', seq, at: at(minute), tick: number, report: { tick: number, at: at(minute), roles: [{ role: 'watcher', findings: 1 }], changes },
});
const event = (seq: number, type: string, data: object, content = ''): LogEvent => ({ event_id: `e${seq}`, thread_id: 't', seq, ts: at(seq), type, content, data: data as Record<string, unknown> });

describe('history', () => {
  it('takes each row once, in any division into batches', () => {
    const rows = [tick(1, 1, 0, change('e1', 'added', 3)), tick(2, 2, 5, change('e1', 'reinforced', 4)), tick(3, 3, 20, change('e1', 'removed', 0))];
    const whole = addRows(emptyHistory, rows);
    for (let cut = 0; cut <= rows.length; cut++) {
      expect(addRows(addRows(emptyHistory, rows.slice(0, cut)), rows)).toEqual(whole);
    }
    expect(whole.tracks[0]).toMatchObject({ id: 'e1', summary: 'about e1', ended: start + 20 * 60_000 });
    expect(whole.tracks[0]!.points.map((p) => p.strength)).toEqual([3, 4, 0]);
  });

  it('gives the same for events as for rows of the log', () => {
    const rows = [tick(1, 1, 1, change('e1', 'added', 3)), { kind: 'resolved', seq: 2, at: at(2), id: 'e1', text: 'about e1' }];
    const events = [event(1, 'subconscious', { tick: 1, changes: rows[0]!.report }), event(2, 'resolved', { ref: 'e1' }, 'about e1')];
    expect(addEvents(emptyHistory, events)).toEqual(addRows(emptyHistory, rows));
    expect(rowOf(event(3, 'finding', {}))).toBeNull();
    expect(rowOf(event(4, 'escalation', { escalation_id: 'x', outcome: 'act' }))!.kind).toBe('decided');
  });

  it('restores strengths at a rollback', () => {
    const before = addRows(emptyHistory, [tick(1, 1, 0, change('e1', 'added', 3)), tick(2, 2, 5, change('e1', 'reinforced', 5), change('e2', 'added', 3))]);
    const after = addRows(before, [{ kind: 'rolled_back', seq: 3, at: at(6), id: '2' }]);
    expect(after.tracks.map((t) => [t.id, t.points.at(-1)!.strength, t.ended > 0])).toEqual([['e1', 3, false], ['e2', 0, true]]);
    expect(after.ticks.map((t) => t.undone)).toEqual([false, true]);
  });

  it('puts new entries first and lists faded ones apart', () => {
    const sorted = sortedChanges([change('a', 'decayed', 2), change('b', 'removed', 0), change('b', 'decayed', 0), change('c', 'added', 3)]);
    expect(sorted.changes.map((c) => c.entry)).toEqual(['c', 'b']);
    expect(sorted.faded.map((c) => c.entry)).toEqual(['a']);
  });

  it('keeps findings by role, the newest first, without doubles', () => {
    const history = addEvents(emptyHistory, [event(1, 'finding', { by: 'watcher', became: 'added' }, 'one'), event(2, 'finding', { by: 'oracle' }, 'two'), event(3, 'finding', { by: 'watcher' }, 'three')]);
    expect(findingsBy(history, 'watcher', ['zero', 'one']).map((f) => f.text)).toEqual(['three', 'one', 'zero']);
  });
});

describe('strength', () => {
  const entry = { strength: 3, created: at(0) };
  it('fades evenly between whole steps and never jumps up', () => {
    let last = Infinity;
    for (let m = 0; m <= 20; m += 0.5) {
      const read = start + Math.floor(m / 5) * decayTime; // the server answers at each step
      const steps = Math.floor(m / 5);
      const now = strengthAt({ ...entry, strength: Math.max(0, 3 - steps) }, read, start + m * 60_000);
      expect(now).toBeLessThanOrEqual(last);
      expect(now).toBeCloseTo(Math.max(0, 3 - m / 5), 6);
      last = now;
    }
  });
  it('names the time of its end', () => {
    expect(fadesAt(entry, start + 60_000)).toBe(start + 3 * decayTime);
    expect(strengthAt(entry, start, fadesAt(entry, start))).toBe(0);
  });
});

describe('timeline', () => {
  const span = { from: start, to: start + 3_600_000 };
  it('draws a jump where an entry grows, and ends where it fades away', () => {
    const track = { id: 'e1', summary: '', category: '' as const, ended: 0, points: [{ at: start, strength: 3, tick: 1 }, { at: start + decayTime, strength: 5, tick: 2 }] };
    const line = lineOf(track, span, span.to);
    expect(line.map((p) => p.strength)).toEqual([3, 2, 5, 0]);
    expect(line.at(-1)!.at).toBe(start + 6 * decayTime);
    expect(line.every((p, i) => i === 0 || p.at >= line[i - 1]!.at)).toBe(true);
    expect(highest([track], span)).toBe(6);
  });
  it('moves labels apart within the picture', () => {
    for (const ys of [[5, 5, 5], [0, 100, 100], [100, 100, 0, 50]]) {
      const sorted = spread(ys, 10, 0, 100).toSorted((a, b) => a - b);
      expect(sorted.every((y, i) => i === 0 || y - sorted[i - 1]! >= 10 - 1e-9)).toBe(true);
      expect(Math.max(...sorted)).toBeLessThanOrEqual(100);
    }
  });
  it('marks round times inside the span', () => {
    const marks = timeMarks(span, 6);
    expect(marks.length).toBeGreaterThan(2);
    expect(marks.every((t) => t >= span.from && t <= span.to && t % 600_000 === 0)).toBe(true);
  });
});

describe('inbox', () => {
  const one = (id: string, importance: number, outcome: string, answer?: string): Escalation =>
    ({ id, at: at(importance), summary: id, importance, outcome, answer: answer ? { do: answer, at: at(9) } : undefined });
  it('shows open escalations first, the important ones before others', () => {
    const list = [one('dismissed', 9, 'dismiss'), one('answered', 8, 'message', 'act'), one('low', 5, 'message'), one('undecided', 7, '')];
    expect(sortedEscalations(list).map((e) => e.id)).toEqual(['undecided', 'low', 'dismissed', 'answered']);
    expect(openEscalations(list)).toHaveLength(2);
  });
  it('separates the message from the quotes of strangers', () => {
    expect(toldParts('Pay it.\n\nThis is based on text from strangers:\n> Mail from Anna\n  (mail:work)\n> Another')).toEqual({ message: 'Pay it.', quotes: ['Mail from Anna', 'Another'] });
    expect(toldParts('Pay it.\n\nText from strangers may have influenced this.')).toEqual({ message: 'Pay it.', quotes: [] });
    expect(toldParts('')).toEqual({ message: '', quotes: [] });
  });
});

describe('entries', () => {
  it('names the ones that are new or stronger', () => {
    const entry = (id: string, strength: number) => [id, { id, summary: '', strength, created: at(0), last_seen: at(0) }] as const;
    expect([...grownSince(new Map([entry('a', 3), entry('b', 5)]), new Map([entry('a', 4), entry('b', 5), entry('c', 3)]))]).toEqual(['a', 'c']);
  });
});
