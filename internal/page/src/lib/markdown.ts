// Markdown from models and users becomes safe HTML: parsed without raw HTML, then sanitised.
// No image and no link of it loads anything by itself.
import DOMPurify from 'dompurify';
import MarkdownIt, { type Env, type MarkdownIt as Parser, type Token } from 'markdown-it';
import { mathPlugin } from './math';
import { showHidden } from './visible';

const parser: Parser = new MarkdownIt({ html: false, linkify: true, breaks: false });
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
parser.use(mathPlugin);
const escape = parser.utils.escapeHtml;
parser.renderer.rules.image = (tokens, i) => {
  const token = tokens[i]!;
  return `<a href="${escape(String(token.attrGet('src') ?? ''))}">Image: ${escape(token.content || 'without description')}</a>`;
};
// The policy of the page forbids style attributes: columns take their side from a class.
parser.core.ruler.push('columns', (state) => {
  for (const token of state.tokens) {
    const side = /text-align:(\w+)/.exec(String(token.attrGet('style') ?? ''))?.[1];
    if (!side) continue;
    token.attrs = [['class', `column-${side}`]];
  }
});
parser.renderer.rules.code_block = (tokens, i) => `<pre><code>${escape(showHidden(tokens[i]!.content))}</code></pre>\n`;
parser.renderer.rules.code_inline = (tokens, i) => `<code>${escape(showHidden(tokens[i]!.content))}</code>`;
parser.renderer.rules.fence = (tokens, i) => {
  const language = /^[\w+#.-]{1,30}/.exec(tokens[i]!.info.trim())?.[0]?.toLowerCase() ?? '';
  return `<pre><code${language ? ` class="language-${language}"` : ''}>${escape(showHidden(tokens[i]!.content))}</code></pre>\n`;
};

const allowed = {
  ALLOWED_TAGS: ['p', 'br', 'strong', 'em', 's', 'code', 'pre', 'ul', 'ol', 'li', 'blockquote', 'hr', 'a',
    'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'sup', 'sub'],
  ALLOWED_ATTR: ['href', 'class', 'start'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};
const allowedClass = /^(language-[\w+#.-]{1,30}|math-(inline|display)|column-(left|right|center))$/;

/** Longer texts are shown as they are: no reader reads them, and no parser must. */
export const maxMarkdown = 300_000;

/** A paragraph, list, table, code or other block of a text. Blocks with the same key look the same. */
export interface Block {
  key: string;
  tokens: Token[];
  env: Env;
}

/** Splits a text into its top-level blocks. Pure. */
export function blocksOf(text: string): Block[] {
  if (text.length > maxMarkdown) text = '````\n' + text.slice(0, maxMarkdown) + '\n… (cut)\n````';
  const env: Env = {};
  const tokens = parser.parse(text, env);
  const references = env.references ? JSON.stringify(env.references) : '';
  const lines = text.split('\n');
  const blocks: Block[] = [];
  let first = 0;
  let depth = 0;
  tokens.forEach((token, i) => {
    depth += token.nesting;
    if (depth > 0) return;
    const [from, to] = tokens[first]!.map ?? [0, lines.length];
    blocks.push({ key: `${tokens[first]!.type}\n${lines.slice(from, to).join('\n')}\n${references}`, tokens: tokens.slice(first, i + 1), env });
    first = i + 1;
  });
  return blocks;
}

/** Renders a block as elements that are safe to show. Headings start at the level below. */
export function renderBlock(block: Block, below = 1): HTMLElement[] {
  const html = parser.renderer.render(block.tokens, parser.options, block.env);
  const fragment = DOMPurify.sanitize(html, allowed) as unknown as DocumentFragment;
  for (const node of fragment.querySelectorAll('[class]')) if (!allowedClass.test(node.className)) node.removeAttribute('class');
  for (const link of fragment.querySelectorAll('a')) secureLink(link);
  for (const box of fragment.querySelectorAll('li')) checkBox(box);
  if (below > 1) for (const heading of fragment.querySelectorAll('h1,h2,h3,h4,h5,h6')) lowerHeading(heading, below - 1);
  const list = [...fragment.children] as HTMLElement[];
  for (const element of list) element.dir = 'auto';
  return list;
}

/** Renders Markdown as a fragment that is safe to show. */
export function renderMarkdown(text: string, below = 1): DocumentFragment {
  const fragment = document.createDocumentFragment();
  for (const block of blocksOf(text)) fragment.append(...renderBlock(block, below));
  return fragment;
}

// A link opens by a click only, and shows where it leads, also if its text names another place.
function secureLink(link: HTMLAnchorElement) {
  const address = link.getAttribute('href');
  if (!address) return;
  link.rel = 'noopener noreferrer nofollow';
  link.target = '_blank';
  link.title = showHidden(address).slice(0, 500);
  const host = /^https?:\/\/([^/?#]*)/i.exec(address)?.[1] ?? '';
  const named = /^\s*(?:https?:\/\/)?((?:[\w-]+\.)+[a-z]{2,})(?=[/?#:\s]|$)/i.exec(link.textContent ?? '')?.[1];
  if (host && named && !sameHost(named, host)) link.append(` (${showHidden(host)})`);
}

const sameHost = (a: string, b: string) => {
  const plain = (host: string) => host.toLowerCase().replace(/^www\./, '');
  return plain(a) === plain(b);
};

function checkBox(item: Element) {
  const text = item.firstChild?.nodeType === 3 ? item.firstChild : item.firstElementChild?.tagName === 'P' ? item.firstElementChild.firstChild : null;
  const mark = /^\[([ xX])\] /.exec(text?.nodeValue ?? '');
  if (text && mark) text.nodeValue = (mark[1] === ' ' ? '☐ ' : '☑ ') + text.nodeValue!.slice(4);
}

function lowerHeading(heading: Element, by: number) {
  const lower = document.createElement(`h${Math.min(6, Number(heading.tagName[1]) + by)}`);
  lower.append(...heading.childNodes);
  heading.replaceWith(lower);
}
