// Folds the log of the subconscious into the pictures of the view: ticks, strengths over time,
// findings by role. Pure: rows of /api/mind/log and events of /api/mind/events give the same result.
import type { LogEvent } from '../../lib/stream';

export type Category = 'active_threads' | 'patterns' | 'hunches' | 'insights';

export interface RoleOutcome {
  role: string;
  skipped?: string;
  failed?: string;
  without_model?: boolean;
  new?: number;
  again?: number;
  findings?: number;
  calls?: number;
  tokens?: number;
  micro_usd?: number;
}

export interface Change {
  entry: string;
  category?: Category;
  /** added, reinforced, decayed, removed, pruned, moved, merged, resolved or forgotten */
  did: string;
  by?: string;
  why?: string;
  strength: number;
  summary?: string;
}

/** A row of /api/mind/log: a tick, an escalation or its decision, or a command of the user. */
export interface Row {
  kind: string;
  seq: number;
  at: string;
  tick?: number;
  report?: { tick: number; at: string; roles?: RoleOutcome[]; changes?: Change[] };
  id?: string;
  text?: string;
  reason?: string;
  outcome?: string;
}

export interface Tick {
  seq: number;
  number: number;
  at: number;
  roles: RoleOutcome[];
  changes: Change[];
  /** A rollback undid it. */
  undone: boolean;
}

/** A moment on the timeline that is no tick. */
export interface Mark {
  seq: number;
  kind: string;
  at: number;
  id: string;
  text: string;
}

/** The strength of an entry over time. */
export interface Track {
  id: string;
  summary: string;
  category: Category | '';
  points: { at: number; strength: number; tick: number }[];
  /** When it left the mind, or 0. */
  ended: number;
}

export interface Finding {
  seq: number;
  at: number;
  role: string;
  kind: string;
  text: string;
  importance: number;
  /** added, reinforced, known, dropped ... */
  effect: string;
  entry: string;
  untrusted: boolean;
}

export interface History {
  seq: number;
  ticks: Tick[];
  marks: Mark[];
  tracks: Track[];
  findings: Finding[];
}

export const emptyHistory: History = { seq: 0, ticks: [], marks: [], tracks: [], findings: [] };

const maxTicks = 400;
const maxMarks = 400;
const maxFindings = 400;
const maxTracks = 300;

/** Returns the history with further rows. A row that it has already is skipped. */
export function addRows(history: History, rows: Row[]): History {
  let next = history;
  for (const row of rows) if (row.seq > next.seq) next = addRow({ ...next, seq: row.seq }, row);
  return next;
}

/** Returns the history with further events of the log. */
export function addEvents(history: History, events: LogEvent[]): History {
  let next = history;
  for (const event of events) {
    if (event.seq <= next.seq) continue;
    next = { ...next, seq: event.seq };
    const row = rowOf(event);
    if (row) next = addRow(next, row);
    if (event.type === 'finding') next = { ...next, findings: [...next.findings, findingOf(event)].slice(-maxFindings) };
  }
  return next;
}

/** The row of /api/mind/log for an event, or null. */
export function rowOf(event: LogEvent): Row | null {
  const data = event.data ?? {};
  const row: Row = { kind: '', seq: event.seq, at: event.ts };
  if (event.type === 'subconscious') {
    const report = data['changes'] as Row['report'];
    return { ...row, kind: 'tick', tick: Number(data['tick'] ?? report?.tick ?? 0), report };
  }
  if (event.type === 'escalation') {
    const outcome = text(data['outcome']);
    return { ...row, kind: outcome ? 'decided' : 'escalated', id: text(data['escalation_id']), text: event.content ?? '', outcome };
  }
  if (event.type === 'resolved') {
    return { ...row, kind: text(data['as']) || 'resolved', id: text(data['ref']), text: event.content ?? '' };
  }
  return null;
}

function findingOf(event: LogEvent): Finding {
  const data = event.data ?? {};
  return {
    seq: event.seq,
    at: Date.parse(event.ts),
    role: text(data['by']),
    kind: text(data['kind']),
    text: event.content ?? '',
    importance: Number(data['importance'] ?? 0),
    effect: text(data['became']),
    entry: text(data['entry']),
    untrusted: data['untrusted'] === true,
  };
}

const text = (value: unknown) => (typeof value === 'string' ? value : '');

function addRow(history: History, row: Row): History {
  if (row.kind === 'tick') return addTick(history, row);
  const mark: Mark = { seq: row.seq, kind: row.kind, at: Date.parse(row.at), id: row.id ?? '', text: row.text ?? '' };
  const marks = [...history.marks, mark].slice(-maxMarks);
  if (row.kind === 'rolled_back') return rollBack({ ...history, marks }, Number(row.id || row.tick || 0), mark.at);
  if (row.kind === 'resolved' || row.kind === 'forgotten') {
    return { ...history, marks, tracks: history.tracks.map((t) => (t.id === mark.id && !t.ended ? { ...t, ended: mark.at } : t)) };
  }
  return { ...history, marks };
}

function addTick(history: History, row: Row): History {
  const report = row.report;
  const tick: Tick = {
    seq: row.seq,
    number: row.tick ?? report?.tick ?? 0,
    at: Date.parse(report?.at ?? row.at),
    roles: report?.roles ?? [],
    changes: report?.changes ?? [],
    undone: false,
  };
  const tracks = new Map(history.tracks.map((t) => [t.id, t]));
  for (const change of tick.changes) {
    if (!change.entry) continue;
    const had = tracks.get(change.entry);
    const gone = change.strength <= 0 || ['removed', 'pruned', 'resolved', 'forgotten', 'merged'].includes(change.did);
    const point = { at: tick.at, strength: gone ? 0 : change.strength, tick: tick.number };
    tracks.set(change.entry, {
      id: change.entry,
      summary: change.summary || had?.summary || '',
      category: change.category || had?.category || '',
      points: [...(had?.points ?? []).filter((p) => p.at < tick.at), point],
      ended: gone ? tick.at : 0,
    });
  }
  return { ...history, ticks: [...history.ticks, tick].slice(-maxTicks), tracks: [...tracks.values()].slice(-maxTracks) };
}

/** Restores the strengths from before a tick, as the server does. */
function rollBack(history: History, tick: number, at: number): History {
  const tracks = history.tracks.map((track) => {
    const before = track.points.findLast((p) => p.tick < tick);
    const strength = before?.strength ?? 0;
    if (strength === track.points.at(-1)?.strength) return track;
    return { ...track, points: [...track.points, { at, strength, tick: tick - 1 }], ended: strength > 0 ? 0 : track.ended || at };
  });
  return { ...history, tracks, ticks: history.ticks.map((t) => (t.number >= tick ? { ...t, undone: true } : t)) };
}

/** The role names in a stable order: the four built-in ones first. */
export function rolesOf(history: History, known: string[] = []): string[] {
  const builtIn = ['watcher', 'librarian', 'oracle', 'dreamer'];
  const seen = new Set([...known, ...history.ticks.slice(-20).flatMap((t) => t.roles.map((r) => r.role))]);
  return [...builtIn.filter((r) => seen.has(r)), ...[...seen].filter((r) => !builtIn.includes(r)).sort()];
}

/** One word for the outcome of a role in a tick, for its picture. */
export function outcomeOf(role: RoleOutcome | undefined): 'none' | 'skipped' | 'failed' | 'quiet' | 'found' {
  if (!role) return 'none';
  if (role.failed) return 'failed';
  if (role.skipped) return 'skipped';
  return role.findings ? 'found' : 'quiet';
}

/** A tick in a sentence, for screen readers and the title of its mark. */
export function tickWords(tick: Tick): string {
  const parts = tick.roles.flatMap((r) => {
    const outcome = outcomeOf(r);
    if (outcome === 'found') return [`${r.role} found ${r.findings}`];
    return outcome === 'failed' ? [`${r.role} failed`] : [];
  });
  const added = tick.changes.filter((c) => c.did === 'added').length;
  const stronger = tick.changes.filter((c) => c.did === 'reinforced').length;
  if (added) parts.push(`${added} added`);
  if (stronger) parts.push(`${stronger} stronger`);
  return `Tick ${tick.number}${tick.undone ? ', undone' : ''}: ${parts.join(', ') || 'nothing found'}`;
}

/** Money and tokens of a tick. */
export function tickCost(tick: Tick): { calls: number; tokens: number; dollars: number } {
  const sum = { calls: 0, tokens: 0, dollars: 0 };
  for (const role of tick.roles) {
    sum.calls += role.calls ?? 0;
    sum.tokens += role.tokens ?? 0;
    sum.dollars += (role.micro_usd ?? 0) / 1e6;
  }
  return sum;
}

/** The changes of a tick: new and stronger entries first, then the lost ones; entries that only faded apart. */
export function sortedChanges(changes: Change[]): { changes: Change[]; faded: Change[] } {
  const order = ['added', 'moved', 'reinforced', 'merged', 'removed', 'pruned', 'resolved', 'forgotten'];
  const gone = new Set(changes.filter((c) => c.did !== 'decayed' && c.strength <= 0).map((c) => c.entry));
  return {
    changes: changes.filter((c) => c.did !== 'decayed').toSorted((a, b) => order.indexOf(a.did) - order.indexOf(b.did)),
    faded: changes.filter((c) => c.did === 'decayed' && !gone.has(c.entry)),
  };
}
