// Citations and claims in the text of an answer: where they are, and elements for them.

/** Evidence ids in brackets, such as [e1] or [e1, e2]. */
const citation = /\[(e\d+(?:\s*[,;]\s*e\d+)*)\]/gi;
/** The marks of verdicts that the log has in the text of a report. */
const mark = /[ \t]?\[(?:unverified|partly supported|supported|qualified|inference|contradicted(?: by e\d+(?:, ?e\d+)*)?)\]/gi;

export interface Part {
  text: string;
  ids: string[]; // of a citation
}

/** Splits text at its citations. */
export function splitCitations(text: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const found of text.matchAll(citation)) {
    if (found.index > end) parts.push({ text: text.slice(end, found.index), ids: [] });
    parts.push({ text: found[0], ids: found[1]!.toLowerCase().split(/\s*[,;]\s*/) });
    end = found.index + found[0].length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), ids: [] });
  return parts;
}

export const withoutMarks = (text: string) => text.replace(mark, '');

/** A range of a text that states a claim. */
export interface Place {
  claim: number;
  start: number;
  end: number;
}

/** Finds claims in the text of an answer by their letters and digits, in order. */
export function locateClaims(text: string, claims: string[]): Place[] {
  const bare = reduce(text);
  const places: Place[] = [];
  let from = 0;
  claims.forEach((claim, number) => {
    const wanted = reduce(claim).letters;
    if (!wanted) return;
    let at = bare.letters.indexOf(wanted, from);
    if (at < 0) at = bare.letters.indexOf(wanted);
    if (at < 0) return;
    const start = bare.at[at]!;
    let end = bare.at[at + wanted.length - 1]! + 1;
    // The claim includes its citations and its full stop; a citation after that begins the next one.
    end += /^[,;:%)"'”’»]*(?:[ \t]*\[e\d+(?:\s*[,;]\s*e\d+)*\])*[.!?"'”’»)。！？]*/i.exec(text.slice(end))![0].length;
    from = at + wanted.length;
    if (!places.some((p) => start < p.end && p.start < end)) places.push({ claim: number, start, end });
  });
  return places.sort((a, b) => a.start - b.start);
}

/** The letters and digits of a text without its citations, with their places. */
function reduce(text: string): { letters: string; at: number[] } {
  const skipped = new Set<number>();
  for (const pattern of [citation, mark]) {
    for (const found of text.matchAll(pattern)) for (let i = 0; i < found[0].length; i++) skipped.add(found.index + i);
  }
  let letters = '';
  const at: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (skipped.has(i) || !/[\p{L}\p{N}]/u.test(char)) continue;
    const low = char.toLowerCase();
    letters += low.length === 1 ? low : char;
    at.push(i);
  }
  return { letters, at };
}

/** Wraps the claims of a rendered answer in elements made by create. */
export function wrapClaims(root: Node, claims: string[], create: (claim: number) => HTMLElement) {
  const nodes = textNodes(root);
  let offset = 0;
  const starts = nodes.map((n) => (offset += n.data.length) - n.data.length);
  const text = nodes.map((n) => n.data).join('');
  for (const place of locateClaims(text, claims).reverse()) {
    for (let i = nodes.length - 1; i >= 0; i--) {
      const from = Math.max(0, place.start - starts[i]!);
      const to = Math.min(nodes[i]!.data.length, place.end - starts[i]!);
      if (from >= to) continue;
      const node = from > 0 ? nodes[i]!.splitText(from) : nodes[i]!;
      if (to - from < node.data.length) node.splitText(to - from);
      const box = create(place.claim);
      node.replaceWith(box);
      box.append(node);
    }
  }
}

/** Replaces citations of a rendered answer by elements made by create. */
export function wrapCitations(root: Node, create: (id: string) => HTMLElement) {
  for (const node of textNodes(root)) {
    const parts = splitCitations(withoutMarks(node.data));
    if (parts.length === 1 && parts[0]!.ids.length === 0 && parts[0]!.text === node.data) continue;
    const list: Node[] = [];
    for (const part of parts) {
      if (part.ids.length === 0) list.push(new Text(part.text));
      else for (const id of part.ids) list.push(create(id));
    }
    node.replaceWith(...list);
  }
}

function textNodes(root: Node): Text[] {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const list: Text[] = [];
  while (walker.nextNode()) if (!(walker.currentNode.parentElement?.closest('pre, code'))) list.push(walker.currentNode as Text);
  return list;
}
