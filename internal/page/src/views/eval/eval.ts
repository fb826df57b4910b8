// Results of ponder eval as geometry and words. Pure.
export interface Interval {
  low: number;
  high: number;
}
export interface Variant {
  variant: string;
  answers: number;
  failed?: number;
  checked_questions?: number;
  right?: number;
  right_interval?: Interval;
  median_seconds: number;
  p90_seconds: number;
  words: number;
  mean: { seconds: number; calls: number; tokens: number; usd: number };
}
export interface Comparison {
  variant: string;
  against: string;
  by: string;
  questions: number;
  questions_up: number;
  questions_down: number;
  difference: number;
  interval: Interval;
  p: number;
  p_adjusted: number;
  questions_needed?: number;
  seeable_difference: number;
  finding: string;
}
export interface Report {
  name: string;
  at: string;
  judge?: string;
  questions: number;
  samples: number;
  variants: Variant[];
  comparisons: Comparison[] | null;
  judged?: { pairs: number; inconsistent: number; first_place: number };
  items: { id: string; right: (number | null)[]; preferred: (number | null)[] }[];
}
export interface Listed {
  name: string;
  at: string;
  questions: number;
  samples: number;
  variants: string[];
}

/** A dot of the strip: a question with its difference, and its place in the pile of equal ones. */
export interface Dot {
  id: string;
  difference: number;
  level: number;
}

/** The differences of a comparison by question, as piles of dots: equal ones lie on each other. */
export function stripOf(report: Report, comparison: Comparison): Dot[] {
  const at = report.variants.findIndex((v) => v.variant === comparison.variant);
  const base = report.variants.findIndex((v) => v.variant === comparison.against);
  const piles = new Map<number, number>();
  const dots: Dot[] = [];
  for (const item of report.items) {
    const mine = comparison.by === 'judge' ? item.preferred[at] : item.right[at];
    const other = comparison.by === 'judge' ? 0 : item.right[base];
    if (mine == null || other == null) continue;
    const difference = mine - other;
    const pile = Math.round(difference * 40);
    const level = piles.get(pile) ?? 0;
    piles.set(pile, level + 1);
    dots.push({ id: item.id, difference, level });
  }
  return dots;
}

/** The half width of an axis for differences: the smallest round share that holds all. */
export function reach(comparisons: Comparison[], dots: Dot[]): number {
  const most = Math.max(0.1, ...comparisons.flatMap((c) => [Math.abs(c.interval.low), Math.abs(c.interval.high)]), ...dots.map((d) => Math.abs(d.difference)));
  return [0.1, 0.2, 0.25, 0.5, 0.75, 1].find((r) => most <= r + 1e-9) ?? 1;
}

/** A share as +12.5 points or 62 %. */
export const points = (n: number) => `${n > 0 ? '+' : n < 0 ? '−' : ''}${Math.abs(100 * n).toFixed(1)}`;
export const percent = (n: number) => `${Math.round(100 * n)} %`;

/** The name of a variant for people: model=openai/x is openai/x. */
export const nameOf = (variant: string) => variant.replace(/^model=/, '');

/** The finding of a comparison in one sentence. */
export function sentenceOf(c: Comparison): string {
  const unit = c.by === 'judge' ? 'points of pairs won' : 'points';
  switch (c.finding) {
    case 'better':
      return `${nameOf(c.variant)} is better than ${nameOf(c.against)} by ${points(c.difference)} ${unit}.`;
    case 'worse':
      return `${nameOf(c.variant)} is worse than ${nameOf(c.against)} by ${points(Math.abs(c.difference)).replace('+', '')} ${unit}.`;
    case 'unclear':
      return `It is unclear: too few questions to exclude chance.`;
  }
  if (c.questions_up + c.questions_down === 0) return 'Each question has the same result with both.';
  const needed = c.questions_needed ? ` About ${c.questions_needed} questions would show a difference of this size.` : '';
  return `No difference is shown. This does not prove that they are equal.${needed}`;
}
