// @vitest-environment jsdom
import { expect, it } from 'vitest';
import { renderFormula } from './formula';

it('renders formulas as MathML without styles, links and classes', () => {
  const math = renderFormula('\\frac{a}{b} \\color{red} x^2', true)!;
  expect(math.tagName.toLowerCase()).toBe('math');
  expect(math.getAttribute('display')).toBe('block');
  expect(math.querySelector('mfrac')).not.toBeNull();
  expect(math.textContent).not.toContain('\\frac');
});

it.each([
  '\\href{javascript:alert(1)}{a}', '\\url{https://evil.example}', '\\includegraphics{https://evil.example/a.png}', '\\htmlStyle{color:red}{a}', '\\htmlId{a}{b}',
  '\\htmlClass{x}{b}', '\\text{<img src=x onerror=alert(1)>}', '<script>alert(1)</script>', '\\def\\a{\\a\\a}\\a', '\\rule{999em}{999em}', '\\style{color:red}{a}', '\\colorbox{red" onload="a}{b}',
])('shows %s without harm', (tex) => {
  const math = renderFormula(tex, false);
  for (const node of [math, ...(math?.querySelectorAll('*') ?? [])]) {
    if (!node) continue;
    expect(node.tagName.toLowerCase()).toMatch(/^(math|m[a-z]+)$/);
    for (const { name } of node.attributes) expect(name).not.toMatch(/^(on|style|href|xlink|src|class|id)/);
  }
});
