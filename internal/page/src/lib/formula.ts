// Mathematics as MathML: no style, no font, no link. Loaded with the first formula.
import DOMPurify from 'dompurify';
import katex from 'katex';

const maxFormula = 10_000;

/** Returns a formula as elements, or null if the text is none. */
export function renderFormula(tex: string, display: boolean): Element | null {
  if (tex.length > maxFormula) return null;
  let html: string;
  try {
    html = katex.renderToString(tex, { output: 'mathml', displayMode: display, trust: false, strict: 'ignore', throwOnError: true, maxSize: 20, maxExpand: 500 });
  } catch {
    return null;
  }
  // The annotation repeats the text of the formula; the policy of the page forbids styles.
  const bare = html.replace(/<annotation[\s\S]*?<\/annotation>/g, '').replace(/ style="[^"]*"/g, '');
  const clean = DOMPurify.sanitize(bare, {
    USE_PROFILES: { mathMl: true }, FORBID_ATTR: ['style', 'class', 'id', 'href', 'xlink:href', 'src'], ALLOW_DATA_ATTR: false, RETURN_DOM_FRAGMENT: true,
  });
  const math = clean.querySelector('math');
  math?.setAttribute('dir', 'ltr');
  return math;
}
