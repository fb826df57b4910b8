// Folds the events of a conversation into what the page shows. Pure. Deltas add the text of an answer while it
// is written; lost, late or repeated ones are harmless, because events alone give the same view.
import type { LogEvent } from '../../lib/stream';

export interface Media {
  type: string;
  data?: string;
  url?: string;
  name?: string;
}

interface Entry {
  seq: number;
  at: string;
}
export interface UserEntry extends Entry {
  kind: 'user';
  text: string;
  media: Media[];
}
export interface AnswerEntry extends Entry {
  kind: 'answer';
  text: string;
  model: string;
  run: string;
  /** The answer was stopped by the user. */
  stopped: boolean;
}
export interface ToolEntry extends Entry {
  kind: 'tool';
  tool: string;
  args: unknown;
  /** null: it still runs. */
  result: string | null;
  failed: boolean;
  untrusted: boolean;
  cause: string;
}
export interface ApprovalEntry extends Entry {
  kind: 'approval';
  id: string;
  tool: string;
  args: unknown;
  reason: string;
  expires: string;
  sources: string[];
  state: 'open' | 'approved' | 'denied' | 'closed';
}
export interface FileEntry extends Entry {
  kind: 'file';
  name: string;
  type: string;
  text: string;
}
export interface NoteEntry extends Entry {
  kind: 'note';
  tone: 'quiet' | 'problem';
  text: string;
  /** The conversation that this one was branched from. */
  from?: string;
}
export interface InnerEntry extends Entry {
  kind: 'inner';
  text: string;
}
export type ChatEntry = UserEntry | AnswerEntry | ToolEntry | ApprovalEntry | FileEntry | NoteEntry | InnerEntry;

export interface Spent {
  calls: number;
  tokens: number;
  dollars: number;
}

export interface ChatState {
  entries: ChatEntry[];
  title: string;
  /** Open runs with their modes. */
  runs: Record<string, string>;
  /** Seq of the newest message that no turn has answered yet, or 0. */
  waiting: number;
  /** Texts that models write now, by run and key of the action. */
  drafts: Record<string, { run: string; key: string; attempt: number; text: string }>;
  /** Answered keys by run, so that late deltas add nothing. */
  done: Record<string, true>;
  spent: Spent;
  /** What each finished run has cost. */
  costs: Record<string, Spent>;
  head: number;
}

export function emptyChat(): ChatState {
  return { entries: [], title: '', runs: {}, waiting: 0, drafts: {}, done: {}, spent: { calls: 0, tokens: 0, dollars: 0 }, costs: {}, head: 0 };
}

const dataOf = (event: LogEvent) => (event.data ?? {}) as Record<string, unknown>;
const text = (value: unknown) => (typeof value === 'string' ? value : '');
const number = (value: unknown) => (typeof value === 'number' ? value : 0);
const keyOf = (cause: string) => cause.replace(/[#/].*$/, '');

/** Applies events in order. */
export function applyEvents(state: ChatState, events: LogEvent[]): ChatState {
  const next: ChatState = {
    ...state, entries: [...state.entries], runs: { ...state.runs }, drafts: { ...state.drafts }, done: { ...state.done }, costs: { ...state.costs },
  };
  for (const event of events) {
    if (event.seq <= next.head) continue;
    next.head = event.seq;
    apply(next, event);
  }
  return next;
}

function apply(s: ChatState, event: LogEvent) {
  const entry = { seq: event.seq, at: event.ts };
  const data = dataOf(event);
  const content = event.content ?? '';
  switch (event.type) {
    case 'user_message': {
      const decisions = Array.isArray(data.decisions) ? (data.decisions as { approval_id?: string; approved?: boolean }[]) : [];
      for (const d of decisions) decide(s, d.approval_id ?? '', d.approved ? 'approved' : 'denied');
      if (decisions.length === 0) s.entries.push({ ...entry, kind: 'user', text: content, media: Array.isArray(data.media) ? (data.media as Media[]) : [] });
      s.waiting = event.seq;
      return;
    }
    case 'assistant_message': {
      const key = keyOf(event.cause ?? '').replace(/^say-/, 'turn-');
      delete s.drafts[`${event.run_id} ${key}`];
      s.done[`${event.run_id} ${key}`] = true;
      s.entries.push({ ...entry, kind: 'answer', text: content, model: event.model ?? '', run: event.run_id ?? '', stopped: false });
      return;
    }
    case 'tool_call':
      s.entries.push({ ...entry, kind: 'tool', tool: event.tool_name ?? '', args: event.tool_args ?? {}, result: null, failed: false, untrusted: false, cause: `${event.run_id} ${event.cause}` });
      return;
    case 'tool_result': {
      const at = s.entries.findLastIndex((e) => e.kind === 'tool' && e.cause === `${event.run_id} ${event.cause}`);
      const call = s.entries[at];
      if (call?.kind === 'tool') s.entries[at] = { ...call, result: event.tool_result || text(data.error), failed: !!data.error, untrusted: data.untrusted === true };
      return;
    }
    case 'approval_requested':
      s.entries.push({
        ...entry, kind: 'approval', id: event.event_id, tool: event.tool_name ?? '', args: event.tool_args ?? {}, reason: event.reason ?? '',
        expires: text(data.expires), sources: Array.isArray(data.untrusted_sources) ? data.untrusted_sources.map(String) : [], state: 'open',
      });
      return;
    case 'attachment_added':
      s.entries.push({ ...entry, kind: 'file', name: text(data.name), type: text(data.media_type), text: content });
      return;
    case 'title_generated':
      s.title = content;
      return;
    case 'system_note': {
      const from = text(data.from_thread);
      if (from) {
        for (const e of s.entries) if (e.kind === 'approval') decide(s, e.id, 'closed');
        s.runs = {};
        s.waiting = 0;
      }
      if (from || content) s.entries.push({ ...entry, kind: 'note', tone: 'quiet', text: from ? '' : content, ...(from ? { from } : {}) });
      return;
    }
    case 'progress':
      if (content) s.entries.push({ ...entry, kind: 'note', tone: data.refused || /failed|refused/.test(text(data.stage)) ? 'problem' : 'quiet', text: content });
      return;
    case 'steer':
      if (data.do === 'cancel') keepSeen(s, event, entry);
      return;
    case 'run_started':
      s.runs[event.run_id ?? ''] = text(data.mode);
      return;
    case 'run_finished':
      finish(s, event, entry);
  }
}

/** An inner thought, such as a reflection between two turns. */
export function innerEntry(event: LogEvent): InnerEntry {
  return { seq: event.seq, at: event.ts, kind: 'inner', text: event.content || event.reason || '' };
}

/** The entries with inner thoughts at their places. */
export function withInner(entries: ChatEntry[], inner: InnerEntry[]): ChatEntry[] {
  const known = new Set(entries.map((e) => e.seq));
  return [...entries, ...inner.filter((e) => !known.has(e.seq))].sort((a, b) => a.seq - b.seq);
}

function decide(s: ChatState, id: string, state: ApprovalEntry['state']) {
  const at = s.entries.findIndex((e) => e.kind === 'approval' && (e.id === id || e.id.endsWith(id)) && id !== '');
  const found = s.entries[at];
  if (found?.kind === 'approval' && found.state === 'open') s.entries[at] = { ...found, state };
}

// A stopped answer is the part that the user has seen: the order to stop contains it.
function keepSeen(s: ChatState, event: LogEvent, entry: Entry) {
  const run = event.run_id ?? '';
  let seen = event.content ?? '';
  for (const e of s.entries) if (e.kind === 'answer' && e.run === run && seen.startsWith(e.text)) seen = seen.slice(e.text.length).trim();
  if (seen.trim()) s.entries.push({ ...entry, kind: 'answer', text: seen, model: '', run, stopped: true });
}

function finish(s: ChatState, event: LogEvent, entry: Entry) {
  const data = dataOf(event);
  const run = event.run_id ?? '';
  const mode = s.runs[run];
  delete s.runs[run];
  for (const [key, draft] of Object.entries(s.drafts)) if (draft.run === run) delete s.drafts[key];
  const spent = (data.spent ?? {}) as Record<string, unknown>;
  const cost = { calls: number(spent.calls), tokens: number(spent.tokens), dollars: number(spent.micro_usd) / 1e6 };
  s.costs[run] = cost;
  if (!run.includes('/')) s.spent = { calls: s.spent.calls + cost.calls, tokens: s.spent.tokens + cost.tokens, dollars: s.spent.dollars + cost.dollars };
  if (mode !== 'chat' && mode !== 'passthrough') return;
  if (!Object.values(s.runs).includes('chat')) s.waiting = 0;
  const reason = event.reason ?? '';
  if (data.status === 'failed') s.entries.push({ ...entry, kind: 'note', tone: 'problem', text: reason || 'The model gave no answer.' });
  if (data.status === 'cancelled') {
    const at = s.entries.findLastIndex((e) => e.kind === 'answer' && e.run === run);
    const answer = s.entries[at];
    if (answer?.kind === 'answer') s.entries[at] = { ...answer, stopped: true };
    else s.entries.push({ ...entry, kind: 'note', tone: 'quiet', text: 'You stopped this answer.' });
  }
}

/** Adds a delta: {run_id, key, text}. A later attempt at a call replaces the text of an earlier one. */
export function applyDelta(state: ChatState, delta: { run_id?: string; key?: string; text?: string }): ChatState {
  const [key = '', attempt = '1'] = (delta.key ?? '').split('#');
  const id = `${delta.run_id} ${key}`;
  const n = Number.parseInt(attempt, 10) || 1;
  const before = state.drafts[id];
  if (!delta.text || !key || state.done[id] || !state.runs[delta.run_id ?? ''] || (before && before.attempt > n)) return state;
  const said = before && before.attempt === n ? before.text : '';
  return { ...state, drafts: { ...state.drafts, [id]: { run: delta.run_id ?? '', key, attempt: n, text: said + delta.text } } };
}

/** The text that is written now. */
export function draftText(s: ChatState): string {
  return Object.values(s.drafts).map((d) => d.text).join('\n\n');
}

/** Reports whether an answer is in progress. */
export function isAnswering(s: ChatState): boolean {
  return s.waiting > 0 || Object.values(s.runs).some((mode) => mode === 'chat' || mode === 'passthrough');
}

/** Says what Ponder does in the background, or nothing. */
export function backgroundWork(s: ChatState): string {
  const modes = Object.values(s.runs);
  if (modes.includes('deep')) return 'Ponder reflects on this conversation';
  if (modes.includes('research')) return 'Ponder researches for this conversation';
  return '';
}

/** Reports whether a question can still be answered. */
export function isOpen(entry: ApprovalEntry, now: number): boolean {
  return entry.state === 'open' && (!entry.expires || Date.parse(entry.expires) > now);
}

/** The last event that a branch before the message at seq keeps, or 0. */
export function eventBefore(s: ChatState, seq: number): number {
  return s.entries.some((e) => e.seq < seq && (e.kind === 'user' || e.kind === 'answer')) ? seq - 1 : 0;
}
