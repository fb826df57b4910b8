// The pictures of usage. Pure.
export type Measure = 'money' | 'tokens' | 'calls';

export interface Row {
  key: string;
  calls: number;
  failed_calls: number;
  total_tokens: number;
  cost_usd: number;
  unpriced_calls: number;
}

export function valueOf(row: Row, measure: Measure): number {
  return measure === 'money' ? row.cost_usd : measure === 'tokens' ? row.total_tokens : row.calls;
}

/** Returns a row for each day up to the last one, also for days without calls. Days are YYYY-MM-DD. */
export function everyDay(rows: Row[], last: string, days: number): Row[] {
  const known = new Map(rows.map((r) => [r.key, r]));
  const first = rows.map((r) => r.key).filter((k) => /^\d{4}-\d\d-\d\d$/.test(k)).sort()[0];
  const end = Date.parse(`${last}T12:00:00Z`);
  const count = days > 0 ? days : first ? Math.round((end - Date.parse(`${first}T12:00:00Z`)) / 86_400_000) + 1 : 1;
  return Array.from({ length: Math.max(1, Math.min(count, 400)) }, (_, i, n = Math.max(1, Math.min(count, 400))) => {
    const key = new Date(end - (n - 1 - i) * 86_400_000).toISOString().slice(0, 10);
    return known.get(key) ?? { key, calls: 0, failed_calls: 0, total_tokens: 0, cost_usd: 0, unpriced_calls: 0 };
  });
}

/** Round values from 0 to at least max, for the lines of an axis. */
export function ticks(max: number, about = 4): number[] {
  if (!(max > 0)) return [0];
  const raw = max / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((m) => m * power >= raw * 0.999) ?? 10) * power;
  const list: number[] = [];
  for (let i = 0; ; i++) {
    list.push(Number((i * step).toPrecision(12)));
    if (i * step >= max * 0.999) return list;
  }
}

/** The largest rows first; small ones after the limit become one row. */
export function largest(rows: Row[], measure: Measure, limit = 8, others = 'others'): Row[] {
  const sorted = rows.filter((r) => valueOf(r, measure) > 0).sort((a, b) => valueOf(b, measure) - valueOf(a, measure));
  if (sorted.length <= limit) return sorted;
  const rest = sorted.slice(limit - 1).reduce((sum, r) => ({
    key: others, calls: sum.calls + r.calls, failed_calls: sum.failed_calls + r.failed_calls, total_tokens: sum.total_tokens + r.total_tokens,
    cost_usd: sum.cost_usd + r.cost_usd, unpriced_calls: sum.unpriced_calls + r.unpriced_calls,
  }));
  return [...sorted.slice(0, limit - 1), { ...rest, key: others }];
}

export interface Bin {
  low: number;
  high: number;
  sessions: number;
  mean_confidence: number;
  right: number;
}

/** The verdict on confidences by their bins, in words. */
export function calibrationWords(bins: Bin[]): string {
  const sessions = bins.reduce((n, b) => n + b.sessions, 0);
  if (sessions === 0) return 'No session has a known outcome yet.';
  const gap = bins.reduce((sum, b) => sum + b.sessions * (b.mean_confidence - b.right), 0) / sessions;
  if (Math.abs(gap) < 0.05) return 'On average, the confidence fits how often the answers were right.';
  const points = Math.round(Math.abs(gap) * 100);
  return gap > 0 ? `Answers claim ${points} points more confidence than they earn.` : `Answers claim ${points} points less confidence than they earn.`;
}

/** The Wilson interval (95 %) of a share of n. */
export function interval(share: number, n: number): [number, number] {
  if (n <= 0) return [0, 1];
  const z = 1.96;
  const centre = (share + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n));
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}
