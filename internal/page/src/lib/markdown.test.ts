// @vitest-environment jsdom
import { describe as group, expect, it } from 'vitest';
import { blocksOf, maxMarkdown, renderMarkdown } from './markdown';
import { exactJSON, showHidden } from './visible';

const html = (text: string, below = 1) => {
  const box = document.createElement('div');
  box.append(renderMarkdown(text, below));
  return box;
};

/** Texts of an attacker, over all kinds of content. */
const hostile = [
  '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '<svg onload=alert(1)>', '<svg><script>alert(1)</script></svg>',
  '<iframe src="javascript:alert(1)"></iframe>', '<a href="javascript:alert(1)">a</a>', '<body onload=alert(1)>', '<input autofocus onfocus=alert(1)>',
  '<details open ontoggle=alert(1)>', '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>',
  '<style>@import url(https://evil.example)</style>', '<link rel=stylesheet href=https://evil.example>', '<meta http-equiv=refresh content="0;url=https://evil.example">',
  '<base href=https://evil.example>', '<object data=https://evil.example></object>', '<embed src=https://evil.example>', '<video src=https://evil.example autoplay>',
  '<form action=https://evil.example><button>a</button></form>', '<template><img src=x onerror=alert(1)></template>', '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '[a](javascript:alert(1))', '[a](JaVaScRiPt:alert(1))', '[a](java\tscript:alert(1))', '[a](&#106;avascript:alert(1))', '[a](data:text/html,<script>alert(1)</script>)',
  '[a](data:text/html;base64,PHNjcmlwdD4=)', '[a](vbscript:msgbox(1))', '[a](blob:https://a/b)', '[a](file:///etc/passwd)', '[a](\u0001javascript:alert(1))',
  '[a]( javascript:alert(1) )', '[a](<javascript:alert(1)>)', '[a]: javascript:alert(1)\n\n[a]', '<javascript:alert(1)>', '![a](https://evil.example/a.png)',
  '![a](javascript:alert(1))', '![a](data:image/svg+xml,<svg onload=alert(1)>)', '![<img src=x onerror=alert(1)>](x)', '[![a](https://evil.example/a.png)](https://evil.example)',
  '![a][b]\n\n[b]: https://evil.example/a.png', '[a](https://evil.example "\\" onmouseover=alert(1) \\"")', '[a](https://evil.example/\' onclick=alert(1) \')',
  '```html" onload="alert(1)\na\n```', '```"><script>alert(1)</script>\na\n```', '```mermaid\ngraph TD\nA["<img src=x onerror=alert(1)>"]\n```',
  '```mermaid\n%%{init: {"securityLevel":"loose"}}%%\ngraph TD\nclick A "javascript:alert(1)"\n```', '`<img src=x onerror=alert(1)>`', '    <script>alert(1)</script>',
  '$<img src=x onerror=alert(1)>$', '$$\\href{javascript:alert(1)}{a}$$', '$\\htmlData{a=b}{c}$', '\\(\\includegraphics{https://evil.example}\\)', '\\[<svg onload=alert(1)>\\]',
  '| a | b |\n|---|---|\n| <img src=x onerror=alert(1)> | b |', '| <script>alert(1)</script> |\n|---|\n| a |', '# <img src=x onerror=alert(1)>', '> <script>alert(1)</script>',
  '- <img src=x onerror=alert(1)>', '**<img src=x onerror=alert(1)>**', '&lt;script&gt;alert(1)&lt;/script&gt;', '&#60;script&#62;alert(1)&#60;/script&#62;', '<!-- --><script>alert(1)</script>',
  '<![CDATA[<script>alert(1)</script>]]>', '<?php echo 1 ?><script>alert(1)</script>', '<x onclick=alert(1)>a</x>', '<p style="background:url(https://evil.example)">', '<div id=main name=api>a</div>',
  'https://evil.example/<script>', '<https://evil.example/"onclick="alert(1)>', '[a](//evil.example)', '[a](\\\\evil.example)', '[a](#/sign-in/CODE)', '[a](/api/threads)', '[a](?x)',
  '[https://bank.example](https://evil.example)', '[bank.example](https://evil.example)', '<a href="https://evil.example" ping="https://evil.example">a</a>', '<audio src=x onerror=alert(1)>',
  '<svg><use href="data:image/svg+xml,..."></use></svg>', '<svg><a xlink:href="javascript:alert(1)"><text>a</text></a></svg>', '<marquee onstart=alert(1)>', '<portal src=https://evil.example>',
  '<select><option><img src=x onerror=alert(1)></select>', '"><img src=x onerror=alert(1)>', "'-alert(1)-'", '${alert(1)}', '{{constructor.constructor("alert(1)")()}}',
  '\u202ehttps://evil.example', '<svg><animate onbegin=alert(1) attributeName=x>', '[a](javascript&colon;alert(1))', '[x](ftp://evil.example)', '[x](intent://evil)', '<s\u0000cript>alert(1)</script>',
];

group('hostile text', () => {
  it('has enough vectors', () => expect(hostile.length).toBeGreaterThanOrEqual(90));

  it.each(hostile)('%s shows text only', (text) => {
    const box = html(text);
    for (const node of box.querySelectorAll('*')) {
      expect(['SCRIPT', 'IMG', 'SVG', 'IFRAME', 'STYLE', 'LINK', 'META', 'BASE', 'OBJECT', 'EMBED', 'VIDEO', 'AUDIO', 'FORM', 'INPUT', 'MATH', 'TEMPLATE']).not.toContain(node.tagName.toUpperCase());
      for (const { name, value } of node.attributes) {
        expect(['href', 'class', 'start', 'dir', 'rel', 'target', 'title']).toContain(name);
        if (name === 'href') expect(value).toMatch(/^(https?:|mailto:)/i);
        if (name === 'class') expect(value).toMatch(/^(language-[\w+#.-]+|math-(inline|display)|column-\w+)$/);
      }
    }
    for (const link of box.querySelectorAll('a[href]')) {
      expect(link.getAttribute('rel')).toContain('noopener');
      expect(link.getAttribute('target')).toBe('_blank');
    }
  });

  it('names the true host of a link whose text names another', () => {
    expect(html('[https://bank.example/login](https://evil.example/x)').textContent).toContain('(evil.example)');
    expect(html('[bank.example](https://evil.example/x)').textContent).toContain('(evil.example)');
    expect(html('[bank.example](https://www.bank.example/x)').textContent).not.toContain('(');
    expect(html('[the bank](https://bank.example)').textContent).not.toContain('(');
  });

  it('shows invisible characters of code and arguments', () => {
    expect(html('`a\u202eb`').textContent).toBe('a⟨U+202E⟩b');
    expect(html('```\na\u200bb\n```').textContent).toContain('a⟨U+200B⟩b');
    expect(showHidden('invoice\u202efdp.exe')).toBe('invoice⟨U+202E⟩fdp.exe');
    expect(showHidden('👩\u200d🔬 a\u200db')).toBe('👩\u200d🔬 a⟨U+200D⟩b');
    expect(showHidden('tag\u{e0041}')).toBe('tag⟨U+E0041⟩');
    expect(showHidden('Grüße, שלום\n\tجميل')).toBe('Grüße, שלום\n\tجميل');
    expect(exactJSON({ to: 'a\u2066b', n: 1 })).toBe('{\n  "to": "a⟨U+2066⟩b",\n  "n": 1\n}');
  });

  it('reads long and deep texts', () => {
    for (const text of ['['.repeat(2_000), '>'.repeat(2_000), '*a'.repeat(2_000), '$a '.repeat(2_000), '`'.repeat(2_000), '- '.repeat(2_000), '![a]('.repeat(2_000), '|a'.repeat(2_000), '\\( '.repeat(2_000), '\\[x '.repeat(2_000)]) {
      expect(html(text).textContent!.length).toBeLessThan(30_000);
    }
    expect(html('a'.repeat(maxMarkdown + 10)).querySelector('pre')).not.toBeNull();
  }, 60_000);
});

group('Markdown', () => {
  it('has tables, tasks, links and lower headings', () => {
    expect(html('| a |\n|:-:|\n| b |').querySelector('td')!.textContent).toBe('b');
    expect(html('- [x] done\n- [ ] open').textContent).toContain('☑ done');
    expect(html('see https://example.com/a.').querySelector('a')!.href).toBe('https://example.com/a');
    expect(html('# a', 3).querySelector('h3')!.textContent).toBe('a');
    expect(html('![alt](https://example.com/a.png)').querySelector('a')!.textContent).toContain('Image: alt');
  });

  it('marks formulas, and no prices', () => {
    const formulas = (text: string) => [...html(text).querySelectorAll('code[class^=math]')].map((node) => `${node.className}:${node.textContent}`);
    expect(formulas('Let $a_1 * b$ and $c * d$ be.')).toEqual(['math-inline:a_1 * b', 'math-inline:c * d']);
    expect(formulas('\\(x^2\\) and \\[y\\]')).toEqual(['math-inline:x^2', 'math-display:y']);
    expect(formulas('$$\na\n\nb\n$$')).toEqual(['math-display:\na\n\nb\n']);
    expect(formulas('- point\n\n  $$\n  a\n  $$')).toHaveLength(1);
    expect(formulas('It costs $5 or $6, not \\$7.')).toEqual([]);
    expect(formulas('`$a$` and $ a$')).toEqual([]);
    expect(formulas('$$ never closed')).toEqual([]);
  });

  it('keeps the keys of blocks while a text grows', () => {
    const text = '# A\n\nOne *two*.\n\n- a\n- b\n\n```js\nlet a\n```\n\nEnd';
    for (let n = 1; n < text.length; n++) {
      const [before, after] = [blocksOf(text.slice(0, n)), blocksOf(text.slice(0, n + 1))];
      before.slice(0, -1).forEach((block, i) => expect(after[i]!.key).toBe(block.key));
    }
  });
});
