// The recorded log of a real research gives the state that the server exports.
import { expect, test } from 'vitest';
import type { LogEvent } from '../../lib/stream';
import { ResearchState, sectionsOf } from './fold';
import exportText from './testdata/research.json?raw';
import log from './testdata/research.jsonl?raw';

const events = log.trim().split('\n').map((line) => JSON.parse(line) as LogEvent);
const exported = JSON.parse(exportText);

function stateOf(list: LogEvent[]): ResearchState {
  const state = new ResearchState();
  state.applyAll(list);
  return state;
}
const make = (seq: number, type: string, data: Record<string, unknown> = {}, more: Partial<LogEvent> = {}): LogEvent => ({
  event_id: `evt_${seq}`, thread_id: 'thr_1', seq, ts: '2026-03-01T12:00:00Z', type, run_id: 'run_1', cause: `a-${seq}`, data, ...more,
});
const start = make(1, 'run_started', { mode: 'research', options: { docs: ['a'], since: { thread: 'thr_0' } } }, { content: 'When?' });

test('a recorded research has the figures, claims and passages of its export', () => {
  const state = stateOf(events);
  expect(state).toMatchObject({ question: exported.question, status: exported.status, reason: exported.stop_reason, round: exported.rounds, answer: exported.answer, endReason: exported.end_reason });
  expect(state.elapsed).toBeCloseTo(exported.seconds, 1);
  expect(state.claims.map((c) => [c.text, c.verdict])).toEqual(exported.claims.map((c: Record<string, string>) => [c['text'], c['status'] ?? c['verdict']]));
  expect(state.evidence.map((e) => e.quote)).toEqual(exported.evidence.map((e: Record<string, string>) => e['quote']));
  expect(state.queries.map((q) => q.found)).toEqual(exported.queries.map((q: Record<string, number>) => q['found'] ?? 0));
});

test('the step comes from the log, and a step beyond the total is no step', () => {
  const state = stateOf([start]);
  expect(state.step).toBeNull();
  state.apply(make(2, 'progress', { stage: 'research', plan_step: 8, total_steps: 4 }));
  expect(state.step).toBeNull();
  state.apply(make(3, 'progress', { stage: 'research', plan_step: 2, total_steps: 4 }));
  state.apply(make(4, 'progress', { stage: 'note' }));
  expect(state.step).toEqual({ step: 2, total: 4 });
});

test('a plan waits for approval until another one runs', () => {
  const state = stateOf([start, make(2, 'plan', { proposed: true, steps: ['One?'], web_queries: ['one'] }), make(3, 'run_paused', {}, { reason: 'the plan waits for approval' })]);
  expect([state.status, state.proposal?.steps, state.plans.length]).toEqual(['paused', ['One?'], 0]);
  state.applyAll([make(4, 'run_resumed'), make(5, 'plan', { steps: ['Two?'], round: 1 })]);
  expect([state.status, state.proposal, state.plans[0]!.steps, state.round]).toEqual(['thinking', null, ['Two?'], 1]);
});

test('retries of a search count as one, and an error is kept', () => {
  const call = (seq: number, attempt: number) => make(seq, 'tool_call', {}, { cause: `look-1#${attempt}`, tool_name: 'web_search', tool_args: { query: ' ozone\n layer ' } });
  const state = stateOf([start, call(2, 1), make(3, 'tool_result', { error: 'busy', retry_at: '2026-03-01T12:00:01Z' }, { cause: 'look-1#1' }), call(4, 2)]);
  expect([state.queries.length, state.queries[0]!.text, state.queries[0]!.done]).toEqual([1, 'ozone layer', false]);
  state.apply(make(5, 'tool_result', { error: 'no route' }, { cause: 'look-1#2' }));
  expect([state.queries[0]!.done, state.queries[0]!.error]).toEqual([true, 'no route']);
});

test('events with fields of wrong types change nothing else', () => {
  const wrong = { steps: 'x', quotes: [1, {}], cites: null, verdict: 3, plan_step: '1', args: 5, conflicts: [{ sides: 'x' }], final: true };
  const state = stateOf([start, ...['plan', 'tool_call', 'tool_result', 'evidence', 'claim', 'synthesis', 'progress', 'steer', 'unknown'].map((type, i) => make(i + 2, type, wrong))]);
  expect([state.claims[0]!.verdict, state.evidence.length, state.conflicts[0]!.sides]).toEqual(['unverified', 0, []]);
});

test('sections have the numbers that a rewrite takes', () => {
  expect(sectionsOf('Intro.\n\n# One\nText\n## Two\n```\n# no\n```\n').map((s) => s.title)).toEqual(['Intro.', 'One', 'Two']);
  expect(sectionsOf('First\nline.\n\nSecond.\n').map((s) => [s.number, s.title])).toEqual([[1, 'First'], [2, 'Second.']]);
  expect(sectionsOf('')).toEqual([]);
});
