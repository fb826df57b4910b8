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
  const parsed = new DOMParser().parseFromString(html, 'text/html');
  for (const node of parsed.querySelectorAll('annotation')) node.remove(); // the text of the formula again
  const clean = DOMPurify.sanitize(parsed.body, {
    USE_PROFILES: { mathMl: true }, FORBID_ATTR: ['style', 'class', 'id', 'href', 'xlink:href', 'src'], ALLOW_DATA_ATTR: false, RETURN_DOM_FRAGMENT: true,
  }) as unknown as DocumentFragment;
  const math = clean.querySelector('math');
  math?.setAttribute('dir', 'ltr');
  return math;
}
