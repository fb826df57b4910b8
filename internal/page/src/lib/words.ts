// Numbers and times in words. Times are in the viewer's zone.
import { session } from './session.svelte';

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

/** A time as 14:03 today, else as 3 Mar 2026. */
export function shortTime(time: string | number): string {
  const date = new Date(time);
  return date.toDateString() === new Date(session.now()).toDateString() ? clock.format(date) : day.format(date);
}

/** A time in full, for a title. */
export function fullTime(time: string | number): string {
  return full.format(new Date(time));
}

/** A time relative to now, such as 5 minutes ago. */
export function since(time: string | number): string {
  const seconds = Math.round((new Date(time).getTime() - session.now()) / 1000);
  const units = [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
  ] as const;
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
  }
  return relative.format(seconds, 'second');
}

/** Seconds as 0:42, 12:07 or 1:02:07. */
export function span(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  const two = (n: number) => String(n).padStart(2, '0');
  const hours = Math.floor(s / 3600);
  return hours > 0 ? `${hours}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`;
}

/** US dollars: cents, and more digits below one cent. */
export function money(dollars: number): string {
  if (dollars === 0) return '$0';
  return dollars < 0.01 ? `$${dollars.toPrecision(2)}` : `$${dollars.toFixed(2)}`;
}

/** A count such as 950, 1,240 or 12.4k. */
export function count(n: number): string {
  return n < 10_000 ? n.toLocaleString() : new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 }).format(n);
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
