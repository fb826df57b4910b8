// The lists of the mind, with the words and colours that the whole view shares.
import type { Schemas } from '../../lib/api';
import type { Category } from './history';

export type Entry = Schemas['MindEntry'];

export const lists: { name: Category; label: string; about: string; room: number; tone: string }[] = [
  { name: 'active_threads', label: 'Active threads', about: 'Matters that are going on now.', room: 5, tone: 'var(--exploration)' },
  { name: 'patterns', label: 'Patterns', about: 'What comes again and again in the same way.', room: 5, tone: 'var(--connection)' },
  { name: 'hunches', label: 'Hunches', about: 'Guesses that another role may confirm.', room: 5, tone: 'var(--question)' },
  { name: 'insights', label: 'Insights', about: 'Confirmed hunches and strong ideas.', room: 3, tone: 'var(--insight)' },
];

export const toneOf = (category: string) => lists.find((l) => l.name === category)?.tone ?? 'var(--soft)';
export const labelOf = (category: string) => lists.find((l) => l.name === category)?.label ?? '';

/** All entries by ID, with their strength. */
export function strengthsOf(mind: Schemas['Mind'] | null): Map<string, Entry> {
  const all = new Map<string, Entry>();
  if (mind) for (const list of lists) for (const entry of mind[list.name]) all.set(entry.id, entry);
  return all;
}

/** The IDs of entries that are new or stronger than before. */
export function grownSince(before: Map<string, Entry>, after: Map<string, Entry>): Set<string> {
  const grown = new Set<string>();
  for (const [id, entry] of after) if (entry.strength > (before.get(id)?.strength ?? 0)) grown.add(id);
  return grown;
}
