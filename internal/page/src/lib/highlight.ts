// Colours of code as classes: the Content-Security-Policy allows no style of its own. A language loads when
// a text has it.
import { createHighlighterCore, type HighlighterCore, type LanguageInput } from 'shiki/core';
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript';

const languages: Record<string, () => Promise<unknown>> = {
  bash: () => import('shiki/langs/shellscript.mjs'), c: () => import('shiki/langs/c.mjs'), cpp: () => import('shiki/langs/cpp.mjs'),
  csharp: () => import('shiki/langs/csharp.mjs'), css: () => import('shiki/langs/css.mjs'), diff: () => import('shiki/langs/diff.mjs'),
  docker: () => import('shiki/langs/docker.mjs'), go: () => import('shiki/langs/go.mjs'), html: () => import('shiki/langs/html.mjs'),
  ini: () => import('shiki/langs/ini.mjs'), java: () => import('shiki/langs/java.mjs'), javascript: () => import('shiki/langs/javascript.mjs'),
  json: () => import('shiki/langs/json.mjs'), kotlin: () => import('shiki/langs/kotlin.mjs'), lua: () => import('shiki/langs/lua.mjs'),
  make: () => import('shiki/langs/make.mjs'), php: () => import('shiki/langs/php.mjs'), powershell: () => import('shiki/langs/powershell.mjs'),
  python: () => import('shiki/langs/python.mjs'), r: () => import('shiki/langs/r.mjs'), ruby: () => import('shiki/langs/ruby.mjs'),
  rust: () => import('shiki/langs/rust.mjs'), sql: () => import('shiki/langs/sql.mjs'), swift: () => import('shiki/langs/swift.mjs'),
  toml: () => import('shiki/langs/toml.mjs'), tsx: () => import('shiki/langs/tsx.mjs'), typescript: () => import('shiki/langs/typescript.mjs'),
  xml: () => import('shiki/langs/xml.mjs'), yaml: () => import('shiki/langs/yaml.mjs'),
};
const otherNames: Record<string, string> = {
  sh: 'bash', shell: 'bash', zsh: 'bash', console: 'bash', shellscript: 'bash', 'c++': 'cpp', h: 'c', hpp: 'cpp', cs: 'csharp', 'c#': 'csharp', patch: 'diff',
  dockerfile: 'docker', golang: 'go', htm: 'html', svelte: 'html', vue: 'html', js: 'javascript', mjs: 'javascript', jsx: 'tsx', jsonc: 'json', json5: 'json', jsonl: 'json',
  kt: 'kotlin', makefile: 'make', ps1: 'powershell', py: 'python', python3: 'python', rb: 'ruby', rs: 'rust', ts: 'typescript', svg: 'xml', yml: 'yaml',
};
const maxCode = 60_000;

// The colours of the theme are names, which become classes.
const kinds = ['comment', 'keyword', 'string', 'number', 'function', 'type', 'parameter', 'punctuation', 'inserted', 'deleted'] as const;
const scopes: Record<(typeof kinds)[number], string[]> = {
  comment: ['comment', 'punctuation.definition.comment'],
  keyword: ['keyword', 'storage', 'variable.language', 'entity.name.tag', 'keyword.operator.new', 'keyword.control'],
  string: ['string', 'punctuation.definition.string', 'markup.inline.raw', 'constant.other.symbol'],
  number: ['constant.numeric', 'constant.language', 'constant.character', 'support.constant', 'constant.other'],
  function: ['entity.name.function', 'support.function', 'meta.function-call entity', 'entity.other.attribute-name'],
  type: ['entity.name.type', 'entity.name.class', 'support.type', 'support.class', 'entity.other.inherited-class', 'support.type.property-name'],
  parameter: ['variable.parameter', 'meta.preprocessor'],
  punctuation: ['punctuation', 'keyword.operator', 'meta.brace'],
  inserted: ['markup.inserted', 'punctuation.definition.inserted'],
  deleted: ['markup.deleted', 'punctuation.definition.deleted'],
};
const colourOf = (kind: number) => `#0000${(kind + 16).toString(16)}`;
const theme = {
  name: 'ponder',
  type: 'light' as const,
  fg: '#000000',
  bg: '#ffffff',
  settings: [
    { settings: { foreground: '#000000', background: '#ffffff' } },
    ...kinds.map((kind, i) => ({ scope: scopes[kind], settings: { foreground: colourOf(i) } })),
  ],
};
const classOf = new Map(kinds.map((kind, i) => [colourOf(i), `code-${kind}`]));

let highlighter: Promise<HighlighterCore> | null = null;

/** Returns code as text and spans with classes, or null for an unknown language. */
export async function highlight(code: string, language: string): Promise<DocumentFragment | null> {
  const name = otherNames[language] ?? language;
  const load = Object.hasOwn(languages, name) ? languages[name] : undefined;
  if (!load || code.length > maxCode) return null;
  highlighter ??= createHighlighterCore({ themes: [theme], engine: createJavaScriptRegexEngine({ forgiving: true }) });
  const core = await highlighter;
  const module = (await load()) as { default: LanguageInput & { name: string }[] };
  await core.loadLanguage(module.default);
  const id = module.default.at(-1)!.name;
  const fragment = document.createDocumentFragment();
  core.codeToTokensBase(code, { lang: id, theme: 'ponder', tokenizeMaxLineLength: 2000, tokenizeTimeLimit: 500 }).forEach((line, i) => {
    if (i > 0) fragment.append('\n');
    for (const token of line) {
      const kind = classOf.get(token.color?.toLowerCase() ?? '');
      if (!kind) {
        fragment.append(token.content);
        continue;
      }
      const span = document.createElement('span');
      span.className = kind;
      span.textContent = token.content;
      fragment.append(span);
    }
  });
  return fragment;
}
