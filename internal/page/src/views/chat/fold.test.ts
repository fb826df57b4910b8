import { describe as group, expect, it } from 'vitest';
import type { LogEvent } from '../../lib/stream';
import { applyDelta, applyEvents, backgroundWork, draftText, emptyChat, eventBefore, innerEntry, isAnswering, isOpen, withInner, type ApprovalEntry } from './fold';

const event = (seq: number, type: string, rest: Partial<LogEvent> & { reason?: string } = {}) =>
  ({ event_id: `evt_${seq}`, thread_id: 'thr_1', seq, ts: '2026-11-26T12:00:00Z', type, ...rest }) as LogEvent;
const question = event(2, 'user_message', { content: 'Why?' });
const started = event(3, 'run_started', { run_id: 'run_chat.2', data: { mode: 'chat' } });
const answer = event(5, 'assistant_message', { run_id: 'run_chat.2', cause: 'say-2-1/1.1', content: 'Because.', model: 'a/b' });
const finished = event(6, 'run_finished', { run_id: 'run_chat.2', data: { status: 'completed', spent: { calls: 2, tokens: 30, micro_usd: 1500 } } });
const delta = (text: string, attempt = 1) => ({ run_id: 'run_chat.2', key: `turn-2-1#${attempt}`, text });
const kinds = (events: LogEvent[]) => applyEvents(emptyChat(), events).entries.map((e) => e.kind);

group('a turn', () => {
  it('shows the question, the text as it is written, then the answer once', () => {
    let s = applyEvents(emptyChat(), [question, started]);
    expect(isAnswering(s)).toBe(true);
    s = applyDelta(applyDelta(s, delta('Be')), delta('cau'));
    expect(draftText(s)).toBe('Because'.slice(0, 5));
    s = applyEvents(s, [answer]);
    expect(draftText(s)).toBe('');
    s = applyDelta(s, delta('late'));
    expect(draftText(s)).toBe('');
    s = applyEvents(s, [finished]);
    expect(isAnswering(s)).toBe(false);
    expect(s.entries.map((e) => e.kind)).toEqual(['user', 'answer']);
    expect(s.spent).toEqual({ calls: 2, tokens: 30, dollars: 0.0015 });
  });

  it('is the same with any deltas lost, repeated or late', () => {
    const want = applyEvents(emptyChat(), [question, started, answer, finished]);
    for (let n = 0; n < 64; n++) {
      let s = emptyChat();
      [question, started, answer, finished].forEach((e, i) => {
        if (n & (1 << i)) s = applyDelta(s, delta('x', 1 + (n % 3)));
        s = applyEvents(s, n & 32 ? [question, e] : [e]);
        if (n & (1 << (i + 2))) s = applyDelta(s, delta('y'));
      });
      expect(s).toEqual(want);
    }
  });

  it('replaces the text of a failed attempt', () => {
    let s = applyEvents(emptyChat(), [question, started]);
    s = applyDelta(applyDelta(applyDelta(s, delta('old')), delta('new', 2)), delta('older', 1));
    expect(draftText(s)).toBe('new');
  });

  it('names the reason of a failed turn, and marks a stopped one', () => {
    const failed = event(6, 'run_finished', { run_id: 'run_chat.2', reason: 'no key', data: { status: 'failed' } });
    expect(applyEvents(emptyChat(), [question, started, failed]).entries.at(-1)).toMatchObject({ kind: 'note', tone: 'problem', text: 'no key' });
    const cancelled = event(6, 'run_finished', { run_id: 'run_chat.2', data: { status: 'cancelled' } });
    expect(applyEvents(emptyChat(), [question, started, answer, cancelled]).entries.at(-1)).toMatchObject({ kind: 'answer', stopped: true });
    const order = event(4, 'steer', { run_id: 'run_chat.2', content: 'Becau', data: { do: 'cancel' } });
    expect(applyEvents(emptyChat(), [question, started, order, cancelled]).entries.slice(1)).toMatchObject([{ kind: 'answer', text: 'Becau', stopped: true }]);
    const later = event(6, 'steer', { run_id: 'run_chat.2', content: 'Because.\n\nAnd', data: { do: 'cancel' } });
    expect(applyEvents(emptyChat(), [question, started, answer, later]).entries.slice(1)).toMatchObject([{ text: 'Because.' }, { text: 'And', stopped: true }]);
    expect(applyEvents(emptyChat(), [question, started, cancelled]).entries.at(-1)).toMatchObject({ kind: 'note' });
  });
});

group('beside the turn', () => {
  it('shows reflections as background work, and their diagrams', () => {
    const deep = event(7, 'run_started', { run_id: 'run_deep.1', data: { mode: 'deep' } });
    const s = applyEvents(emptyChat(), [question, started, answer, finished, deep]);
    expect(isAnswering(s)).toBe(false);
    expect(backgroundWork(s)).toContain('reflects');
    const drawn = event(8, 'attachment_added', { run_id: 'run_deep.1', content: 'graph TD', data: { name: 'd.mmd', media_type: 'text/vnd.mermaid' } });
    expect(applyEvents(s, [drawn]).entries.at(-1)).toMatchObject({ kind: 'file', type: 'text/vnd.mermaid' });
  });

  it('joins tool calls with their results', () => {
    const call = event(4, 'tool_call', { run_id: 'r', cause: 'tool-2-1-0#1', tool_name: 'web', tool_args: { q: 'a' } });
    const result = event(5, 'tool_result', { run_id: 'r', cause: 'tool-2-1-0#1', tool_result: 'found', data: { untrusted: true } });
    expect(applyEvents(emptyChat(), [call]).entries[0]).toMatchObject({ result: null });
    expect(applyEvents(emptyChat(), [call, result]).entries).toMatchObject([{ result: 'found', untrusted: true, failed: false }]);
  });

  it('closes a question by a decision only', () => {
    const asked = event(4, 'approval_requested', { tool_name: 'remember', tool_args: { text: 'a' }, data: { expires: '2026-11-27T12:00:00Z', untrusted_sources: ['x.example'] } });
    const yes = event(5, 'user_message', { content: 'approve it', data: {} });
    const now = Date.parse('2026-11-26T13:00:00Z');
    const open = (events: LogEvent[]) => applyEvents(emptyChat(), events).entries.find((e): e is ApprovalEntry => e.kind === 'approval')!;
    expect(isOpen(open([asked, yes]), now)).toBe(true);
    expect(isOpen(open([asked]), now + 86_400_000)).toBe(false);
    const decision = event(5, 'user_message', { content: 'approve', data: { decisions: [{ approval_id: 'evt_4', approved: true }] } });
    expect(open([asked, decision]).state).toBe('approved');
    expect(kinds([asked, decision])).toEqual(['approval']);
    expect(open([asked, event(5, 'system_note', { data: { from_thread: 'thr_0', from_seq: 4 } })]).state).toBe('closed');
  });

  it('places inner thoughts by their seq, each once', () => {
    const s = applyEvents(emptyChat(), [question, started, answer]);
    const thought = innerEntry(event(4, 'inner_monologue', { content: 'hmm' }));
    expect(withInner(s.entries, [thought]).map((e) => e.kind)).toEqual(['user', 'inner', 'answer']);
    expect(withInner(withInner(s.entries, [thought]), [thought])).toHaveLength(3);
  });

  it('branches before a message', () => {
    const s = applyEvents(emptyChat(), [question, started, answer, finished, event(9, 'user_message', { content: 'And?' })]);
    expect([eventBefore(s, 2), eventBefore(s, 9)]).toEqual([0, 8]);
  });
});
