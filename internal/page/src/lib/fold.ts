// Parts of the folds of sessions and research: what both kinds of log have. Pure. The stored names
// are those of docs/log-format.md; a missing field means its zero value.
import type { LogEvent } from './stream';

export type Status = 'created' | 'thinking' | 'paused' | 'completed' | 'failed' | 'cancelled';

export const hasEnded = (status: Status) => status === 'completed' || status === 'failed' || status === 'cancelled';

/** Reads fields of unknown data without trust: a value of another type counts as absent. */
export class Fields {
  constructor(private data: Record<string, unknown>) {}

  static of(event: LogEvent) {
    return new Fields(event.data ?? {});
  }
  text(name: string): string {
    const value = this.data[name];
    return typeof value === 'string' ? value : '';
  }
  number(name: string): number {
    const value = this.data[name];
    return typeof value === 'number' && Number.isFinite(value) ? value : 0;
  }
  flag(name: string): boolean {
    return this.data[name] === true;
  }
  object(name: string): Fields {
    const value = this.data[name];
    return new Fields(value && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {});
  }
  texts(name: string): string[] {
    const value = this.data[name];
    return Array.isArray(value) ? value.filter((v): v is string => typeof v === 'string') : [];
  }
  numbers(name: string): number[] {
    const value = this.data[name];
    return Array.isArray(value) ? value.filter((v): v is number => typeof v === 'number') : [];
  }
  list(name: string): Fields[] {
    const value = this.data[name];
    return Array.isArray(value) ? value.filter((v) => v && typeof v === 'object').map((v) => new Fields(v as Record<string, unknown>)) : [];
  }
}

export const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim();

/** The thinking time of a run, from the clock of its holder. */
export class Clock {
  private now = 0;
  private began = -1;
  private wall = 0;

  observe(event: LogEvent, starts: boolean) {
    this.now = Math.max(this.now, event.elapsed_ms ?? 0);
    this.wall = Math.max(this.wall, Date.parse(event.ts) || 0);
    if (starts && this.began < 0) this.began = this.now;
  }
  get seconds(): number {
    return this.began < 0 ? 0 : Math.max(0, this.now - this.began) / 1000;
  }
  /** The thinking time at a wall clock, while the run thinks. */
  secondsAt(wall: number): number {
    return this.began < 0 ? 0 : this.seconds + Math.max(0, wall - this.wall) / 1000;
  }
}

/** Limits of a run, and the part that is kept for its answer. 0: no limit. */
export interface Limits {
  seconds: number;
  calls: number;
  tokens: number;
  dollars: number;
}

export const noLimits: Limits = { seconds: 0, calls: 0, tokens: 0, dollars: 0 };

export function limitsOf(budget: Fields): Limits {
  return {
    seconds: budget.number('time_ns') / 1e9,
    calls: budget.number('calls'),
    tokens: budget.number('tokens'),
    dollars: budget.number('micro_usd') / 1e6,
  };
}

export function changeLimits(limits: Limits, change: Fields): Limits {
  const next = limitsOf(change);
  const without = change.texts('unlimited');
  const pick = (name: string, now: number, then: number) => then || (without.includes(name) ? 0 : now);
  return {
    seconds: pick('time', limits.seconds, next.seconds),
    calls: pick('calls', limits.calls, next.calls),
    tokens: pick('tokens', limits.tokens, next.tokens),
    dollars: pick('money', limits.dollars, next.dollars),
  };
}

/** A signal of the quality of a source: 0 to 1, and a sentence that explains it. */
export interface Signal {
  name: string;
  value: number;
  says: string;
}

/** A quotation from a source. */
export interface Evidence {
  id: string;
  seq: number;
  quote: string;
  source: string;
  title: string;
  url: string;
  section: string;
  page: number;
  author: string;
  published: string;
  fetched: string;
  score: number;
  cluster: string;
  voices: number;
  quality: Signal[];
  untrusted: boolean;
  tool: string;
  query: string;
  archived: boolean;
  cited: boolean;
  at: number;
}

export function evidenceOf(event: LogEvent, at: number): Evidence {
  const data = Fields.of(event);
  const found = data.object('found');
  const url = data.text('url');
  return {
    id: data.text('evidence_id'),
    seq: event.seq,
    quote: event.content ?? '',
    source: oneLine(data.text('source')),
    title: oneLine(data.text('title')),
    url: /^https?:\/\//i.test(url) ? url : '',
    section: oneLine(data.text('section')),
    page: data.number('page'),
    author: oneLine(data.text('author')),
    published: data.text('published'),
    fetched: data.text('fetched'),
    score: data.number('score'),
    cluster: data.text('cluster'),
    voices: data.number('voices'),
    quality: data.list('quality').map((s) => ({ name: s.text('name'), value: s.number('value'), says: oneLine(s.text('says')) })),
    untrusted: data.flag('untrusted'),
    tool: oneLine(found.text('tool') || event.tool_name || ''),
    query: oneLine(found.text('query')),
    archived: data.text('original') !== '',
    cited: false,
    at,
  };
}

// The shares of knowledge/evidence: how much a bad signal takes from the value of a source.
const shares: Record<string, number> = {
  source: 0.6, directness: 0.3, corroboration: 0.3, date: 0.2, author: 0.15, transport: 0.05, advertising: 0.5, addressed: 0.8,
};

/** The value of a source from its signals, 0 to 1; null without signals. */
export function valueOf(quality: Signal[]): number | null {
  if (quality.length === 0) return null;
  const newest = new Map(quality.map((s) => [s.name, s.value]));
  let value = 1;
  for (const [name, v] of newest) value *= 1 - (shares[name] ?? 0) * (1 - Math.min(1, Math.max(0, v)));
  return value;
}

/** The passages of one source, its copies included. */
export interface Source {
  key: string;
  title: string;
  source: string;
  url: string;
  passages: Evidence[];
  copies: number; // other places with the same text
  value: number | null;
  score: number; // relevance of its best passage
  cited: number;
}

/** Groups passages by source; copies of one text are one source. */
export function groupSources(evidence: Evidence[]): Source[] {
  const groups = new Map<string, Evidence[]>();
  for (const e of evidence) {
    const key = e.cluster || e.url || e.source;
    const group = groups.get(key);
    if (group) group.push(e);
    else groups.set(key, [e]);
  }
  return [...groups].map(([key, passages]) => {
    const first = passages[0]!;
    const values = passages.map((p) => valueOf(p.quality)).filter((v) => v !== null);
    return {
      key,
      title: first.title || first.source,
      source: first.source,
      url: first.url,
      passages,
      copies: new Set(passages.map((p) => p.url || p.source)).size - 1,
      value: values.length > 0 ? Math.max(...values) : null,
      score: Math.max(...passages.map((p) => p.score)),
      cited: passages.filter((p) => p.cited).length,
    };
  });
}

/** Sources that contradict each other about one fact. */
export interface Conflict {
  subject: string;
  attribute: string;
  time: string;
  unit: string;
  sides: { value: string; quotes: string[]; voices: number; newest: string }[];
}

export function conflictsOf(data: Fields): Conflict[] {
  return data.list('conflicts').map((c) => ({
    subject: c.text('subject'),
    attribute: c.text('attribute'),
    time: c.text('time'),
    unit: c.text('unit'),
    sides: c.list('sides').map((s) => ({
      value: s.text('value'),
      quotes: s.list('quotes').map((q) => q.text('evidence_id')).concat(s.texts('quotes')).filter(Boolean),
      voices: s.number('voices'),
      newest: s.text('newest'),
    })),
  }));
}

/** A change that the user made, and its outcome. */
export interface Change {
  id: string;
  seq: number;
  order: string;
  content: string;
  question: string;
  source: string;
  priority: number;
  limits: Fields;
  at: number;
  group: string;
  sentence: string;
  undoes: string;
  // The outcome; ackSeq is 0 while it is open.
  ackSeq: number;
  effect: string;
  refused: boolean;
  undoable: boolean;
  undone: boolean;
}

/** The changes of the user, with pins and bans of sources. */
export class Steering {
  changes: Change[] = [];
  pinned = new Set<string>();
  banned = new Set<string>();
  private sentences = new Map<string, string>();
  private byId = new Map<string, Change>();

  add(event: LogEvent, at: number) {
    const data = Fields.of(event);
    const order = data.text('do') || 'add_question';
    const group = data.text('group');
    if (order === 'interpret') {
      this.sentences.set(group, oneLine(event.content ?? ''));
      return;
    }
    const args = data.object('args');
    const change: Change = {
      id: event.event_id, seq: event.seq, order, content: oneLine(event.content ?? ''),
      question: oneLine(args.text('question')), source: oneLine(args.text('source')), priority: args.number('priority'), limits: args,
      at, group, sentence: this.sentences.get(group) ?? '', undoes: data.text('undoes'),
      ackSeq: 0, effect: '', refused: false, undoable: false, undone: false,
    };
    this.byId.set(change.id, change);
    this.changes.push(change);
  }

  /** Applies the outcome of a change; returns the change if it took effect. */
  acknowledge(event: LogEvent, sourceOf: (name: string) => string): Change | null {
    const data = Fields.of(event);
    const change = this.byId.get(data.text('ref'));
    if (!change || change.ackSeq > 0) return null;
    change.ackSeq = event.seq;
    change.effect = oneLine(event.content ?? '');
    change.refused = data.flag('refused');
    change.undoable = data.list('undo').length > 0;
    if (change.refused) return null;
    if (change.undoes) for (const c of this.changes) if ((c.group || c.id) === change.undoes) c.undone = true;
    const source = sourceOf(change.source);
    if (['pin_source', 'ban_source', 'release_source'].includes(change.order)) {
      this.pinned.delete(source);
      this.banned.delete(source);
    }
    if (change.order === 'pin_source') this.pinned.add(source);
    if (change.order === 'ban_source') this.banned.add(source);
    return change;
  }

  /** The newest change that undo reverts. */
  get newest(): Change | null {
    return this.changes.findLast((c) => c.ackSeq > 0 && !c.refused && !c.undone && !c.undoes && c.undoable) ?? null;
  }
}

/** Text that a model writes now, by attempt. The log replaces it. */
export class Draft {
  private key = '';
  text = '';

  add(key: string, text: string) {
    if (key !== this.key) {
      this.key = key;
      this.text = '';
    }
    this.text += text;
  }
  clear() {
    this.text = '';
  }
}
