// A markdown-it plugin for mathematics: $a$, $$a$$, \(a\) and \[a\]. It marks formulas and renders none.
import type { MarkdownIt, StateBlock, StateInline } from 'markdown-it';

/** A formula at a position of a text. */
export interface Formula {
  tex: string;
  display: boolean;
  /** Position after the closing mark. */
  end: number;
}

const marks = [['$$', '$$'], ['\\[', '\\]'], ['\\(', '\\)'], ['$', '$']] as const;
const maxFormula = 10_000;

// Texts with many opening marks and no closing one are searched once.
let searched = { text: '', missing: new Set<string>() };

/** Finds the formula that starts at pos, by the rules of Pandoc: no price such as $5 is a formula. */
export function formulaAt(text: string, pos: number, max = text.length): Formula | null {
  const found = marks.find(([open]) => text.startsWith(open, pos));
  if (!found) return null;
  const [open, close] = found;
  if (searched.text !== text) searched = { text, missing: new Set() };
  if (searched.missing.has(open)) return null;
  const start = pos + open.length;
  let at = text.indexOf(close, start);
  for (let n = 0; at >= 0 && isEscaped(text, at); n++) at = n < 20 ? text.indexOf(close, at + 1) : -1;
  if (at < 0) searched.missing.add(open);
  if (at < 0 || at + close.length > max || at - start > maxFormula) return null;
  const tex = text.slice(start, at);
  if (!tex.trim()) return null;
  if (open === '$' && (/^\s|\s$|\n\s*\n/.test(tex) || /\d/.test(text[at + 1] ?? ''))) return null;
  return { tex, display: open === '$$' || open === '\\[', end: at + close.length };
}

function isEscaped(text: string, at: number): boolean {
  let count = 0;
  while (count < 20 && text[at - 1 - count] === '\\') count++;
  return count % 2 === 1;
}

export function mathPlugin(parser: MarkdownIt) {
  parser.inline.ruler.before('escape', 'formula', (state: StateInline, silent: boolean) => {
    const formula = formulaAt(state.src, state.pos, state.posMax);
    if (!formula) return false;
    if (!silent) {
      const token = state.push(formula.display ? 'formula_display' : 'formula', 'code', 0);
      token.content = formula.tex;
    }
    state.pos = formula.end;
    return true;
  });
  parser.block.ruler.before('fence', 'formula_block', (state: StateBlock, line: number, endLine: number, silent: boolean) => {
    const start = state.bMarks[line]! + state.tShift[line]!;
    if (!/^(\$\$|\\\[)/.test(state.src.slice(start, start + 2))) return false;
    const formula = formulaAt(state.src, start, state.eMarks[endLine - 1]!);
    if (!formula) return false;
    let next = line;
    while (next < endLine && state.eMarks[next]! < formula.end) next++;
    if (state.src.slice(formula.end, state.eMarks[next]!).trim()) return false; // text follows on the line
    if (silent) return true;
    const token = state.push('formula_block', 'code', 0);
    token.content = formula.tex;
    token.map = [line, next + 1];
    state.line = next + 1;
    return true;
  }, { alt: ['paragraph', 'reference', 'blockquote', 'list'] });
  const escape = parser.utils.escapeHtml;
  parser.renderer.rules.formula = (tokens, i) => `<code class="math-inline">${escape(tokens[i]!.content)}</code>`;
  parser.renderer.rules.formula_display = (tokens, i) => `<code class="math-display">${escape(tokens[i]!.content)}</code>`;
  parser.renderer.rules.formula_block = (tokens, i) => `<p><code class="math-display">${escape(tokens[i]!.content)}</code></p>\n`;
}
