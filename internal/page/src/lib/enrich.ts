// Adds to rendered Markdown what loads when needed: colours of code, formulas, diagrams, buttons.
import { drawDiagram, watchTheme } from './diagram';

/** Enriches the elements of a block. They keep their text if a part cannot be loaded. */
export function enrich(element: HTMLElement) {
  const all = (selector: string) => [...(element.matches(selector) ? [element] : []), ...element.querySelectorAll<HTMLElement>(selector)];
  for (const formula of element.querySelectorAll<HTMLElement>('code.math-inline, code.math-display')) void showFormula(formula);
  for (const table of all('table')) frameTable(table);
  for (const pre of all('pre')) {
    const code = pre.querySelector('code');
    const language = /language-(\S+)/.exec(code?.className ?? '')?.[1] ?? '';
    if (!code) continue;
    if (language === 'mermaid') void showDiagram(pre, code.textContent ?? '');
    else frameCode(pre, code, language);
  }
}

async function showFormula(code: HTMLElement) {
  try {
    const { renderFormula } = await import('./formula');
    const display = code.classList.contains('math-display');
    const math = renderFormula(code.textContent ?? '', display);
    if (!math) return;
    code.replaceWith(math);
    if (!display) return;
    const box = document.createElement('span');
    box.className = 'wide formula';
    scrollable(box, 'Formula');
    math.replaceWith(box);
    box.append(math);
  } catch {
    // the formula stays as text
  }
}

function scrollable(box: HTMLElement, label: string) {
  box.tabIndex = 0;
  box.setAttribute('role', 'group');
  box.setAttribute('aria-label', label);
}

function frameTable(table: HTMLElement) {
  const box = document.createElement('div');
  box.className = 'wide';
  scrollable(box, 'Table');
  table.replaceWith(box);
  box.append(table);
}

function frameCode(pre: HTMLElement, code: HTMLElement, language: string) {
  const box = document.createElement('div');
  box.className = 'code-box';
  box.dir = 'ltr';
  const bar = document.createElement('div');
  bar.className = 'code-bar';
  const name = document.createElement('span');
  name.textContent = language || 'text';
  bar.append(name, copyButton(() => code.textContent ?? ''));
  pre.replaceWith(box);
  box.append(bar, pre);
  scrollable(pre, language ? `Code, ${language}` : 'Code');
  if (!language) return;
  void import('./highlight')
    .then(({ highlight }) => highlight(code.textContent ?? '', language))
    .then((coloured) => coloured && code.replaceChildren(coloured))
    .catch(() => {}); // the code stays without colours
}

function button(label: string, run: (button: HTMLButtonElement) => void): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.className = 'quiet';
  made.textContent = label;
  made.addEventListener('click', () => run(made));
  return made;
}

/** A button that copies a text, and says so. */
function copyButton(text: () => string): HTMLButtonElement {
  return button('Copy', (made) => {
    const say = (words: string) => {
      made.textContent = words;
      setTimeout(() => (made.textContent = 'Copy'), 2000);
    };
    if (!navigator.clipboard) say('Not allowed here');
    else navigator.clipboard.writeText(text()).then(() => say('Copied'), () => say('Not allowed here'));
  });
}

/** Replaces the source of a diagram by its picture, with the source below. */
async function showDiagram(pre: HTMLElement, source: string) {
  const figure = document.createElement('figure');
  figure.className = 'diagram';
  const picture = document.createElement('div');
  picture.className = 'picture';
  const caption = document.createElement('figcaption');
  const details = document.createElement('details');
  const summary = document.createElement('summary');
  summary.textContent = 'Source of the diagram';
  pre.replaceWith(figure);
  details.append(summary, pre);
  const state = document.createElement('p');
  state.className = 'soft';
  state.textContent = 'Drawing…';
  caption.append(state, details);
  figure.append(picture, caption);
  scrollable(picture, 'Diagram');

  let address = '';
  const paint = async () => {
    try {
      const drawing = await drawDiagram(source);
      const image = document.createElement('img');
      image.width = drawing.width;
      image.height = drawing.height;
      image.alt = describe(source);
      image.src = drawing.address;
      picture.replaceChildren(image);
      if (address) URL.revokeObjectURL(address);
      address = drawing.address;
      state.replaceChildren(...(drawing.width > 600 ? [button('Real size', (made) => {
        made.textContent = figure.classList.toggle('large') ? 'Fit the width' : 'Real size';
      })] : []));
    } catch (error) {
      picture.remove();
      state.textContent = `This diagram cannot be drawn: ${error instanceof Error ? error.message : String(error)}`;
      details.open = true;
    }
  };
  const stop = watchTheme(() => {
    if (figure.isConnected) void paint();
    else stop();
  });
  await paint();
}

/** A text alternative: the kind of the diagram and its labels. Pure. */
export function describe(source: string): string {
  const kind = /^\s*(\w+)/.exec(source)?.[1] ?? 'diagram';
  const labels = [...source.matchAll(/[[({|"]([^[\](){}|"\n]{2,60})[\])}|"]/g)].map((m) => m[1]!.trim());
  return `Diagram (${kind})${labels.length > 0 ? ': ' + [...new Set(labels)].slice(0, 12).join(', ') : ''}`;
}
