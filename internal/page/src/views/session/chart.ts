// Figures of the picture of confidence over time. Pure.
import type { Synthesis, Thought } from './fold';

export interface BandPoint {
  at: number;
  low: number;
  middle: number;
  high: number;
}

/** The middle half of the confidences of thoughts, in windows that end at each synthesis. */
export function bandOf(thoughts: Thought[], syntheses: Synthesis[]): BandPoint[] {
  const band: BandPoint[] = [];
  let from = 0;
  const ends = [...syntheses.map((s) => s.at), Infinity];
  for (const end of ends) {
    const values: number[] = [];
    let last = 0;
    for (; from < thoughts.length && thoughts[from]!.at <= end; from++) {
      const thought = thoughts[from]!;
      last = thought.at;
      if (!thought.assumed) values.push(thought.confidence);
    }
    if (values.length < 3) continue;
    values.sort((a, b) => a - b);
    const share = (p: number) => values[Math.min(values.length - 1, Math.floor(p * values.length))]!;
    band.push({ at: end === Infinity ? last : end, low: share(0.25), middle: share(0.5), high: share(0.75) });
  }
  return band;
}

/** About four round times for the axis. */
export function timeTicks(end: number): number[] {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400];
  const step = steps.find((s) => end / s <= 5) ?? 86_400;
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
}

/** At most n elements of a list, evenly, with the last. */
export function sample<T>(list: T[], n: number): T[] {
  if (list.length <= n) return list;
  return Array.from({ length: n }, (_, i) => list[Math.floor(((i + 1) * list.length) / n) - 1]!);
}

/** A calibrated confidence between known pairs, or null without any. */
export function calibrate(claimed: number, pairs: { confidence: number; calibrated_confidence: number }[]): number | null {
  const sorted = pairs.toSorted((a, b) => a.confidence - b.confidence);
  if (sorted.length === 0) return null;
  const after = sorted.findIndex((p) => p.confidence >= claimed);
  if (after === -1) return sorted.at(-1)!.calibrated_confidence;
  const high = sorted[after]!;
  const low = sorted[after - 1] ?? high;
  const span = high.confidence - low.confidence;
  return span === 0 ? high.calibrated_confidence : low.calibrated_confidence + ((claimed - low.confidence) / span) * (high.calibrated_confidence - low.calibrated_confidence);
}

/** The words for a trend. */
export function trendWords(trend: string): string {
  return { converging: 'converging: the syntheses agree more and more', diverging: 'diverging: the syntheses change', plateau: 'on a plateau: nothing changes any more' }[trend] ?? trend;
}
