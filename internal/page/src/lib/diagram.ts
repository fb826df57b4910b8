// Draws Mermaid diagrams as images. A frame without origin and network draws them, one after the other; an
// image runs no script, follows no link and loads nothing.
export interface Drawing {
  /** A blob: address of the image. */
  address: string;
  width: number;
  height: number;
}

const patience = 20_000;
const maxImage = 4 << 20;
let frame: HTMLIFrameElement | null = null;
let last: Promise<unknown> = Promise.resolve();
let next = 1;

/** Draws a diagram, or throws an error with the reason. */
export function drawDiagram(source: string): Promise<Drawing> {
  const drawn = last.then(() => draw(source));
  last = drawn.catch(() => {});
  return drawn;
}

async function draw(source: string): Promise<Drawing> {
  const id = next++;
  const target = await openFrame();
  const answer = waitFor<{ svg?: string; error?: string }>(target, (data) => data.id === id);
  target.contentWindow!.postMessage({ id, source, ...colours() }, '*');
  const { svg, error } = await answer;
  if (typeof svg !== 'string' || svg.length > maxImage) throw new Error(firstLine(error) || 'The diagram cannot be drawn.');
  const side = (name: string) => Math.min(8000, Math.max(1, Number(new RegExp(`^<svg[^>]*\\s${name}="(\\d+)"`).exec(svg)?.[1] ?? 600)));
  return { address: URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' })), width: side('width'), height: side('height') };
}

const firstLine = (error: unknown) => String(error ?? '').split('\n')[0]!.slice(0, 200);

async function openFrame(): Promise<HTMLIFrameElement> {
  if (frame?.isConnected) return frame;
  const made = document.createElement('iframe');
  made.setAttribute('sandbox', 'allow-scripts');
  made.className = 'drawing-frame';
  made.title = 'Drawing of diagrams';
  made.tabIndex = -1;
  made.setAttribute('aria-hidden', 'true');
  const ready = waitFor<{ ready?: boolean }>(made, (data) => data.ready === true);
  made.src = './assets/diagram.html';
  document.body.append(made);
  frame = made;
  await ready;
  return made;
}

function waitFor<T>(from: HTMLIFrameElement, wanted: (data: Record<string, unknown>) => boolean): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      removeEventListener('message', take);
    };
    const take = (event: MessageEvent) => {
      if (event.source !== from.contentWindow || typeof event.data !== 'object' || !event.data || !wanted(event.data)) return;
      stop();
      resolve(event.data as T);
    };
    const timer = setTimeout(() => {
      stop();
      from.remove(); // it may hang: the next diagram gets a new frame
      reject(new Error('Drawing takes too long.'));
    }, patience);
    addEventListener('message', take);
  });
}

/** The colours of the page for Mermaid's theme. */
function colours() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const [ink, line, card, paper, accent] = [colour('--ink'), colour('--soft'), colour('--card'), colour('--paper'), colour('--accent')];
  return {
    dark: isDark(),
    colours: {
      background: paper, primaryColor: card, primaryTextColor: ink, primaryBorderColor: accent, secondaryColor: card, tertiaryColor: paper,
      lineColor: line, textColor: ink, mainBkg: card, nodeBorder: accent, clusterBkg: paper, clusterBorder: line, edgeLabelBackground: paper,
      noteBkgColor: card, noteTextColor: ink, noteBorderColor: line, fontSize: '15px',
    },
  };
}

const darkSystem = matchMedia('(prefers-color-scheme: dark)');

function isDark(): boolean {
  const chosen = document.documentElement.dataset['theme'];
  return chosen ? chosen === 'dark' : darkSystem.matches;
}

/** Calls run when the theme changes: diagrams must be drawn again. Returns a function that ends it. */
export function watchTheme(run: () => void): () => void {
  const observer = new MutationObserver(run);
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  darkSystem.addEventListener('change', run);
  return () => {
    observer.disconnect();
    darkSystem.removeEventListener('change', run);
  };
}
