// Words for sources.
import type { Evidence } from '../../lib/fold';

/** The place of a quote in a few words, such as 'Ozone, section 2 · example.org · 9 Jan 2023'. */
export function placeOf(e: Evidence): string {
  const parts = [e.title || e.source];
  if (e.section && e.section !== parts[0]) parts.push(e.section);
  if (e.page > 0) parts.push(`page ${e.page}`);
  const host = hostOf(e.url);
  if (host) parts.push(host);
  else if (e.title && e.source !== e.title) parts.push(fileName(e.source));
  if (e.published) parts.push(new Date(e.published).toLocaleDateString(undefined, { day: 'numeric', month: 'short', year: 'numeric' }));
  return parts.join(' · ');
}

export function hostOf(url: string): string {
  try {
    return new URL(url).host.replace(/^www\./, '');
  } catch {
    return '';
  }
}

export const fileName = (path: string) => path.split('/').at(-1) || path;
