// Marks the words of a search in a text. Pure.
export interface Part {
  text: string;
  hit: boolean;
}

/** Splits text at the words of a search, without regard to case. */
export function markWords(text: string, search: string): Part[] {
  const words = [...new Set(search.toLocaleLowerCase().split(/[^\p{L}\p{N}]+/u))].filter((w) => w.length > 1 || /\p{Script=Han}/u.test(w));
  if (words.length === 0) return [{ text, hit: false }];
  const pattern = new RegExp(`(${words.sort((a, b) => b.length - a.length).join('|')})`, 'giu');
  return text.split(pattern).map((part, i) => ({ text: part, hit: i % 2 === 1 })).filter((part) => part.text !== '');
}

/** The part of a long text around its first marked word. */
export function excerpt(text: string, search: string, length = 280): string {
  const plain = text.replace(/\s+/g, ' ').trim();
  if (plain.length <= length) return plain;
  let at = 0;
  for (const part of markWords(plain, search)) {
    if (part.hit) break;
    at += part.text.length;
  }
  if (at >= plain.length) at = 0;
  const start = Math.max(0, Math.min(at - Math.floor(length / 3), plain.length - length));
  const word = start === 0 ? 0 : plain.indexOf(' ', start) + 1 || start;
  return (word > 0 ? '… ' : '') + plain.slice(word, word + length) + (word + length < plain.length ? ' …' : '');
}
