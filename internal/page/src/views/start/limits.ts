// Limits of a question as the user types them. Pure.
export type LimitName = 'minutes' | 'money' | 'tokens' | 'calls';

/** The typed text of each limit; empty: no limit. */
export type LimitTexts = Record<LimitName, string>;

export interface Limits {
  duration_minutes?: number;
  max_cost_usd?: number;
  max_tokens?: number;
  max_calls?: number;
}

export const limitFields: { name: LimitName; label: string; unit: string; example: string; field: keyof Limits }[] = [
  { name: 'minutes', label: 'Time', unit: 'minutes', example: '5', field: 'duration_minutes' },
  { name: 'money', label: 'Money', unit: 'US dollars', example: 'no limit', field: 'max_cost_usd' },
  { name: 'tokens', label: 'Tokens', unit: 'read and written', example: 'no limit', field: 'max_tokens' },
  { name: 'calls', label: 'Model calls', unit: 'questions to a model', example: 'no limit', field: 'max_calls' },
];

const factors: Record<string, number> = { '': 1, k: 1e3, m: 1e6 };

/** Reads a number as people type it: 0.50, 0,5, $2, 20k, 1.5M, 200,000. Returns NaN if it is none. */
export function readAmount(text: string): number {
  const plain = text.trim().toLowerCase().replace(/^\$\s*|\s*\$$|[\s_’']/g, '');
  const parts = /^(\d*[.,]?\d*|\d{1,3}(?:,\d{3})+(?:\.\d*)?)([km]?)$/.exec(plain);
  if (!parts || !/\d/.test(plain)) return NaN;
  const grouped = /^[1-9]\d{0,2}(,\d{3})+(\.|$)/.test(parts[1]!);
  const digits = grouped ? parts[1]!.replaceAll(',', '') : parts[1]!.replace(',', '.');
  return Number(digits) * factors[parts[2]!]!;
}

/** Returns the limits of a request, and a problem for each text that is no amount. */
export function readLimits(texts: LimitTexts): { limits: Limits; problems: Partial<Record<LimitName, string>> } {
  const limits: Limits = {};
  const problems: Partial<Record<LimitName, string>> = {};
  for (const { name, label, field } of limitFields) {
    const text = texts[name].trim();
    if (!text) continue;
    const amount = readAmount(text);
    const whole = name === 'tokens' || name === 'calls';
    if (Number.isNaN(amount) || amount <= 0) {
      problems[name] = `${label}: write a number above 0, such as ${name === 'tokens' ? '50k' : name === 'money' ? '0.50' : '5'}, or nothing.`;
    } else if (whole && amount % 1 !== 0) {
      problems[name] = `${label}: write a whole number.`;
    } else {
      limits[field] = amount;
    }
  }
  return { limits, problems };
}

/** The largest file that fits into a request of maxBody bytes: base64 needs a third more. */
export function largestFile(maxBody: number): number {
  return Math.floor(((maxBody - 4096) * 3) / 4);
}

/** Bytes as 820 B, 12 KB or 3.4 MB. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
