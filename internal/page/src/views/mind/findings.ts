// The findings of a role: events where they are known, else the summaries that the server keeps.
import type { Schemas } from '../../lib/api';
import { outcomeOf, type Finding, type History } from './history';

export interface RoleState {
  last_findings: string[];
  novelty_pressure: number;
  focus_hint: string;
}

/** The state of a role in /api/mind. */
export function roleStateOf(mind: Schemas['Mind'], role: string): RoleState {
  const state = (mind.thread_state[role] ?? {}) as Partial<RoleState>;
  return { last_findings: state.last_findings ?? [], novelty_pressure: state.novelty_pressure ?? 0, focus_hint: state.focus_hint ?? '' };
}

/** The findings of a role, the newest first. A summary without its event has no seq. */
export function findingsBy(history: History, role: string, summaries: string[]): Finding[] {
  const known = history.findings.filter((f) => f.role === role).toReversed();
  const texts = new Set(known.map((f) => f.text));
  const rest = [...new Set(summaries)].toReversed().filter((s) => !texts.has(s));
  return [...known, ...rest.map((text) => ({ seq: 0, at: 0, role, kind: '', text, importance: 0, effect: '', entry: '', untrusted: false }))];
}

/** When a role last looked, or 0. */
export function lastLook(history: History, role: string): number {
  const looked = history.ticks.findLast((t) => ['found', 'quiet'].includes(outcomeOf(t.roles.find((r) => r.role === role))));
  return looked?.at ?? 0;
}

const about: Record<string, string> = {
  watcher: 'Watches for new and unusual events.',
  librarian: 'Reads your own threads and memories.',
  oracle: 'Looks ahead to what is due.',
  dreamer: 'Looks for unexpected connections.',
};
export const roleAbout = (role: string) => about[role] ?? 'A role of yours.';

const effects: Record<string, string> = {
  added: 'new entry', reinforced: 'made an entry stronger', known: 'already known', merged: 'merged', dropped: 'dropped',
};
/** What a finding became, in words. */
export const effectWords = (effect: string) => effects[effect] ?? (effect || 'noted');
