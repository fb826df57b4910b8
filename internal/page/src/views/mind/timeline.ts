// Geometry of the timeline: times to x, strengths to lines. Pure.
import { decayTime } from './strength';
import type { History, Track } from './history';

export interface Span {
  from: number;
  to: number;
}

export const spans = [
  { label: '1 hour', ms: 3_600_000 },
  { label: '6 hours', ms: 6 * 3_600_000 },
  { label: '1 day', ms: 24 * 3_600_000 },
  { label: '1 week', ms: 7 * 24 * 3_600_000 },
];

/** Returns the shortest of spans that shows at least the last twelve ticks, or as many as there are. */
export function fittingSpan(history: History, now: number): number {
  const oldest = history.ticks.slice(-12)[0]?.at ?? now;
  return (spans.find((s) => now - oldest <= s.ms) ?? spans.at(-1)!).ms;
}

/** Returns the last length before now, or less: it begins shortly before the first tick. */
export function spanOf(history: History, now: number, length: number): Span {
  const first = history.ticks[0]?.at ?? now;
  return { from: Math.max(now - length, first - (now - first) * 0.05 - 60_000), to: now };
}

/** Returns the top of the scale: even, and at least 6. */
export function highest(tracks: Track[], span: Span): number {
  const shown = tracks.flatMap((t) => t.points.filter((p, i) => p.at >= span.from || (t.points[i + 1]?.at ?? 0) >= span.from));
  return Math.max(6, 2 * Math.ceil(Math.max(0, ...shown.map((p) => p.strength)) / 2));
}

/** Returns the x of a time, clamped to the picture. */
export function xOf(time: number, span: Span, width: number): number {
  const share = (time - span.from) / Math.max(1, span.to - span.from);
  return Math.min(1, Math.max(0, share)) * width;
}

/** Returns the points of a line: strength fades between two changes, and jumps when it grows. */
export function lineOf(track: Track, span: Span, now: number, strengthNow?: number): { at: number; strength: number }[] {
  const line: { at: number; strength: number }[] = [];
  for (const point of track.points) {
    const last = line.at(-1);
    if (last && point.strength > last.strength) line.push({ at: point.at, strength: faded(last, point.at) });
    line.push({ at: point.at, strength: point.strength });
  }
  const last = line.at(-1);
  if (last && last.strength > 0) {
    const end = track.ended || now;
    if (track.ended) line.push({ at: end, strength: faded(last, end) }, { at: end, strength: 0 });
    else {
      const strength = strengthNow ?? faded(last, end);
      // Without a word of the server the line ends where it would fade away.
      line.push(strength > 0 ? { at: end, strength } : { at: Math.min(end, last.at + last.strength * decayTime), strength: 0 });
    }
  }
  return clip(line, span);
}

const faded = (point: { at: number; strength: number }, at: number) =>
  Math.max(0, point.strength - (at - point.at) / decayTime);

function clip(line: { at: number; strength: number }[], span: Span): { at: number; strength: number }[] {
  const inside = line.filter((p) => p.at >= span.from && p.at <= span.to);
  const before = line.findLast((p) => p.at < span.from);
  const first = inside[0];
  if (!before || !first) return inside;
  const share = (span.from - before.at) / Math.max(1, first.at - before.at);
  return [{ at: span.from, strength: before.strength + share * (first.strength - before.strength) }, ...inside];
}

/** Returns round times within a span, about as many as wanted. */
export function timeMarks(span: Span, wanted: number): number[] {
  const steps = [5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((m) => m * 60_000);
  const step = steps.find((s) => (span.to - span.from) / s <= wanted) ?? steps.at(-1)!;
  const shift = new Date(span.from).getTimezoneOffset() * 60_000;
  const marks: number[] = [];
  for (let t = Math.ceil((span.from - shift) / step) * step + shift; t <= span.to; t += step) marks.push(t);
  return marks;
}

/** Moves labels apart, so that none overlaps: each keeps its order and at least gap to the next. */
export function spread(ys: number[], gap: number, low: number, high: number): number[] {
  const order = ys.map((y, i) => ({ y, i })).sort((a, b) => a.y - b.y);
  let last = low - gap;
  for (const o of order) last = o.y = Math.max(o.y, last + gap);
  let next = high + gap;
  for (const o of order.toReversed()) next = o.y = Math.min(o.y, next - gap);
  const out: number[] = [];
  for (const o of order) out[o.i] = o.y;
  return out;
}
