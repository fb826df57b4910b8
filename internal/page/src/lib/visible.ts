// Characters that show nothing or turn the direction of the text around them. Names of files, code,
// addresses and arguments of tools show them as their number, so that no text hides in them.
// eslint-disable-next-line no-control-regex
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff](?![\udc00-\udfff])/gu;

/** Returns text with invisible characters as their numbers, such as ⟨U+202E⟩. A joiner between emoji stays. */
export function showHidden(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(hidden, (char, at: number) => {
    const code = char.codePointAt(0)!;
    if (code === 0x200d && /\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?$/u.test(text.slice(Math.max(0, at - 6), at))) return char;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** Returns a value as JSON for the user to judge: complete, and with nothing invisible. */
export function exactJSON(value: unknown): string {
  return showHidden(JSON.stringify(value, null, 2) ?? 'null');
}
