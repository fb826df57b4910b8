// The recorded log of a real session gives the state that the server exports.
import { expect, test } from 'vitest';
import { groupSources, valueOf } from '../../lib/fold';
import type { LogEvent } from '../../lib/stream';
import { SessionState } from './fold';
import exportText from './testdata/session.json?raw';
import log from './testdata/session.jsonl?raw';

const events = log.trim().split('\n').map((line) => JSON.parse(line) as LogEvent);
const exported = JSON.parse(exportText);

function stateOf(list: LogEvent[]): SessionState {
  const state = new SessionState();
  state.applyAll(list);
  return state;
}

const make = (seq: number, type: string, data: Record<string, unknown> = {}, more: Partial<LogEvent> = {}): LogEvent => ({
  event_id: `evt_${seq}`, thread_id: 'thr_1', seq, ts: '2026-03-01T12:00:00Z', type, run_id: 'run_1', data, ...more,
});
const start = make(1, 'run_started', { mode: 'session', options: { parallel: 2 } }, { content: 'Why?' });

test('a recorded session has the figures of its export', () => {
  const state = stateOf(events);
  const { session } = exported;
  expect(state).toMatchObject({ run: session.run_id, question: session.original_question, status: session.status, answer: session.final_synthesis, reason: session.stop_reason, endReason: session.end_reason, trend: session.confidence_trend });
  expect(state.elapsed).toBeCloseTo(session.progress.elapsed_seconds, 3);
  expect(state.limits).toEqual({ seconds: session.budget.time_seconds, calls: session.budget.calls, tokens: 0, dollars: session.budget.cost_usd });
  expect(state.foci).toEqual([]);
});

test('a recorded session has the thoughts, questions, syntheses and sources of its export', () => {
  const state = stateOf(events);
  const without = (o: Record<string, unknown>) => Object.fromEntries(Object.entries(o).filter(([, v]) => v !== undefined && v !== 0 && v !== '' && v !== false && v !== null && !(Array.isArray(v) && v.length === 0)));
  const list = (l: Record<string, unknown>[]) => l.map(without);
  expect(list(state.thoughts.map((t) => ({ sequence_number: t.number, thought_type: t.kind, confidence: t.confidence, importance: t.importance, related_to_question_id: t.question, said_again: t.repeats, cites: t.cites, time_offset_seconds: t.at })))).toEqual(list(exported.thoughts));
  expect(list(state.questions.map((q) => ({ id: q.id, parent_id: q.parent, priority: q.priority, explored: q.state === 'explored', state: q.state, asked_again: q.repeats, by: q.byUser ? 'user' : '', insights_gained: q.insights })))).toEqual(list(exported.questions));
  expect(list(state.syntheses.map((s) => ({ sequence_number: s.number, confidence_level: s.confidence, trend: s.trend, final: s.final, cites: s.cites })))).toEqual(list(exported.syntheses));
  expect(list(state.evidence.map((e) => ({ id: e.id, source: e.source, cited: e.cited })))).toEqual(list(exported.sources));
});

test('a recorded session has the changes of the user and their outcomes', () => {
  const { steering, corrections } = stateOf(events);
  expect(steering.changes.map((c) => [c.id, c.order, c.effect, c.undone, c.ackSeq])).toEqual(
    exported.steering.map((c: Record<string, unknown>) => [c['id'], c['order'], c['effect'], c['undone'] ?? false, c['effective_seq']]),
  );
  expect([...steering.pinned]).toEqual(exported.pinned_sources);
  expect([...steering.banned]).toEqual(exported.banned_sources);
  expect(corrections.map((c) => [c.id, c.text])).toEqual(exported.corrections.map((c: Record<string, string>) => [c['id'], c['text']]));
  expect(steering.newest?.order).toBe('pin_source');
});

test('every prefix of the log is a consistent state', () => {
  const state = new SessionState();
  const wrong: number[] = [];
  for (const event of events) {
    state.apply(event);
    const known = state.foci.every((f) => !f.question || state.questionOf(f.question));
    const newest = state.points.length === 0 || state.points.at(-1)!.seq === event.seq;
    if (!known || !newest || state.foci.length > state.parallel) wrong.push(event.seq);
  }
  expect(wrong).toEqual([]);
  expect(state.questions.every((q) => !q.parent || state.questionOf(q.parent)!.seq < q.seq)).toBe(true);
  expect(state.points.every((p, i) => i === 0 || p.at > state.points[i - 1]!.at)).toBe(true);
});

test('the text that a model writes belongs to one attempt, and the log replaces it', () => {
  const state = stateOf([start]);
  state.applyDelta({ run_id: 'run_1', key: 'synthesis-1#1', text: 'It is' });
  state.applyDelta({ run_id: 'run_1', key: 'synthesis-1#1', text: ' so.' });
  expect(state.draft.text).toBe('It is so.');
  state.applyDelta({ run_id: 'run_1', key: 'synthesis-1#2', text: 'Again' });
  expect(state.draft.text).toBe('Again');
  state.apply(make(2, 'synthesis', { confidence_level: 0.5 }, { content: 'It is so.' }));
  expect(state.draft.text).toBe('');
  expect(state.newest?.text).toBe('It is so.');
  state.apply(make(3, 'run_finished', { status: 'completed' }, { content: 'Done.' }));
  state.applyDelta({ run_id: 'run_1', key: 'final#1', text: 'late' });
  expect(state.draft.text).toBe('');
});

test('pauses, limits and foreign events', () => {
  const state = stateOf([
    start,
    make(2, 'run_paused', {}, { run_id: 'run_2' }),
    make(3, 'thought', { sequence_number: 0 }, { run_id: 'run_1/look' }),
  ]);
  expect([state.status, state.thoughts.length, state.limits.seconds]).toEqual(['thinking', 0, 300]);
  state.apply(make(4, 'run_paused', {}, { run_id: '', reason: 'sleep' }));
  expect([state.status, state.reason]).toEqual(['paused', 'sleep']);
  state.apply(make(5, 'run_resumed'));
  state.apply(make(6, 'steer', { do: 'budget', args: { calls: 9, unlimited: ['time'] }, group: 'g' }));
  expect(state.limits.calls).toBe(0);
  state.apply(make(7, 'progress', { stage: 'steered', ref: 'evt_6' }, { content: 'changed' }));
  expect([state.status, state.limits]).toEqual(['thinking', { seconds: 0, calls: 9, tokens: 0, dollars: 0 }]);
});

test('events with fields of wrong types change nothing else', () => {
  const wrong = { question_id: 7, parent_id: {}, priority: 'x', cites: [1, null], conflicts: 'no', quality: [null, 3], thoughts: 'x', stage: ['focus'], args: [], basis: 3 };
  const state = stateOf([start, ...['thought', 'sub_question', 'question_updated', 'synthesis', 'evidence', 'progress', 'steer', 'system_note', 'unknown'].map((type, i) => make(i + 2, type, wrong))]);
  expect([state.thoughts.length, state.questions.length, state.syntheses.length, state.evidence.length]).toEqual([1, 0, 1, 0]);
});

test('copies are one source, and signals give its value', () => {
  const piece = (id: string, source: string, cluster: string) => make(9, 'evidence', { evidence_id: id, source, cluster, quality: [{ name: 'source', value: 0.5, says: 'a blog' }, { name: 'date', value: 0 }] });
  const state = stateOf([start, piece('e1', 'a.md', 'k1'), piece('e2', 'b.md', 'k1'), piece('e3', 'c.md', '')]);
  const groups = groupSources(state.evidence);
  expect(groups.map((g) => [g.source, g.passages.length, g.copies])).toEqual([['a.md', 2, 1], ['c.md', 1, 0]]);
  expect(groups[0]!.value).toBeCloseTo(0.7 * 0.8);
  expect(valueOf([])).toBeNull();
});
