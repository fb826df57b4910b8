// Links to reports: how long each still lives.
export interface Share {
  id: string;
  thread_id: string;
  kind: string;
  title: string;
  created_at: string;
  expires_at: string;
  opened: number;
}

/** The share of its life that a link still has, from 1 to 0. */
export function lifeLeft(share: Share, now: number): number {
  const from = Date.parse(share.created_at);
  const to = Date.parse(share.expires_at);
  if (!(to > from)) return 0;
  return Math.min(1, Math.max(0, (to - now) / (to - from)));
}

/** The links that still work, the first to expire first. */
export function livingShares(shares: Share[], now: number): Share[] {
  return shares.filter((s) => Date.parse(s.expires_at) > now).toSorted((a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at));
}
