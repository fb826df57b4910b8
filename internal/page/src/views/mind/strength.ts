// The strength of an entry as the page shows it between two answers of the server. An entry loses 1
// for each five minutes since it was created (docs/subconscious.md).
export const decayTime = 5 * 60_000;
export const maxStrength = 10;

export interface Fading {
  strength: number;
  created: string;
}

/**
 * Returns the strength at a time, with fractions: read is the time of the answer that has entry.
 * The server subtracts whole steps of the entry's own clock, which started at its creation.
 */
export function strengthAt(entry: Fading, read: number, now: number): number {
  const clock = decayClock(entry, read);
  return Math.min(maxStrength, Math.max(0, entry.strength - Math.max(0, now - clock) / decayTime));
}

/** Returns when the entry disappears if nothing renews it. */
export function fadesAt(entry: Fading, read: number): number {
  return decayClock(entry, read) + entry.strength * decayTime;
}

/** Returns the last step of the entry's clock before read. */
function decayClock(entry: Fading, read: number): number {
  const created = Date.parse(entry.created);
  if (Number.isNaN(created) || read <= created) return read;
  return created + Math.floor((read - created) / decayTime) * decayTime;
}

/** Returns a share of 0 to 1 in words: how an entry stands. */
export function strengthWords(strength: number): string {
  if (strength >= 7) return 'strong';
  if (strength >= 4) return 'steady';
  return strength >= 2 ? 'faint' : 'nearly gone';
}
