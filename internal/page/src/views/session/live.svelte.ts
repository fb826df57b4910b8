// Follows a thread and folds its events into a state. The page reads the state again a few times a
// second at most, however many events arrive.
import { api, Problem, take, type Schemas } from '../../lib/api';
import { hasEnded, type Status } from '../../lib/fold';
import { session } from '../../lib/session.svelte';
import { follow, type LogEvent } from '../../lib/stream';

interface Foldable {
  status: Status;
  applyAll(events: LogEvent[]): void;
  applyDelta(delta: { run_id?: string; key?: string; text?: string }): void;
  draft: { clear(): void };
}

interface Figures {
  title: string;
  interrupted: boolean;
  created_at: string;
  calibrated_confidence: number | null;
  usage: Schemas['Usage'];
}

const shownInterval = 150;
const figuresInterval = 2_500;

export class LiveThread<S extends Foldable> {
  /** Changes whenever the state does. */
  version = $state(0);
  connection = $state<'connecting' | 'live' | 'waiting' | 'ended'>('connecting');
  problem = $state<unknown>(null);
  /** True once the events that existed at the start are here. */
  caughtUp = $state(false);
  /** Figures that the log does not show: cost by model, calibrated confidence. */
  figures = $state.raw<Figures | null>(null);
  /** The wall clock of the server, once a second. */
  now = $state(session.now());
  private state: S;
  private frame = 0;
  private figuresAt = 0;
  private shown = 0;
  private stops: (() => void)[] = [];

  constructor(readonly id: string, private make: () => S, private kind: 'session' | 'research' = 'session') {
    this.state = make();
  }

  /** The state, which the reader sees again after each change. */
  get current(): S {
    void this.version;
    return this.state;
  }
  /** The state, without a wish to see it again. */
  peek(): S {
    return this.state;
  }
  get interrupted(): boolean {
    return this.figures?.interrupted === true && this.current.status === 'thinking';
  }
  get status(): Status {
    const { status } = this.current;
    if (this.interrupted) return 'paused';
    return status;
  }

  /** Follows the thread while a component is on the page: call it in an $effect. */
  start(): () => void {
    this.stops.push(
      follow(`/api/threads/${encodeURIComponent(this.id)}/events`, {
        events: (batch) => {
          this.state.applyAll(batch);
          this.changed();
          void this.loadFigures();
        },
        other: (message) => {
          if (message.name !== 'delta') return;
          this.state.applyDelta(JSON.parse(message.data));
          this.changed();
        },
        state: (connection, problem) => {
          this.connection = connection;
          if (problem || connection === 'live') this.problem = problem ?? null;
          // The attempt that wrote a draft may be lost with the server: another one starts over.
          if (connection === 'waiting') this.state.draft.clear();
          this.changed();
        },
        restart: () => {
          this.state = this.make();
          this.changed();
        },
      }),
    );
    const timer = setInterval(() => {
      this.now = session.now();
      if (!document.hidden && !hasEnded(this.state.status)) void this.loadFigures(4 * figuresInterval);
    }, 1000);
    void this.loadFigures();
    return () => {
      clearInterval(timer);
      cancelAnimationFrame(this.frame);
      for (const stop of this.stops) stop();
      this.stops = [];
    };
  }

  private changed() {
    if (this.frame) return;
    const show = () => {
      if (performance.now() - this.shown < shownInterval && !document.hidden) {
        this.frame = requestAnimationFrame(show);
        return;
      }
      this.frame = 0;
      this.shown = performance.now();
      this.caughtUp ||= this.state.status !== 'created';
      this.version++;
    };
    // A hidden tab has no frames.
    this.frame = document.hidden ? (setTimeout(show, 500) as unknown as number) : requestAnimationFrame(show);
  }

  private async readFigures(): Promise<Figures> {
    const params = { params: { path: { id: this.id } } };
    if (this.kind === 'session') {
      const { session: s } = await take(api.GET('/api/thinking/{id}', params));
      return { title: s.title ?? '', interrupted: s.interrupted === true, created_at: s.created_at ?? '', calibrated_confidence: s.calibrated_confidence ?? null, usage: s.usage };
    }
    const { research: r } = await take(api.GET('/api/research/{id}', params));
    return {
      title: r.title ?? '', interrupted: r.interrupted === true, created_at: r.started_at ?? '', calibrated_confidence: null,
      usage: { calls: r.calls, failed_calls: 0, input_tokens: 0, output_tokens: 0, total_tokens: r.tokens, cost_usd: r.cost_usd, unpriced_calls: 0, models: [] },
    };
  }

  /** Loads the figures, unless they are younger than interval. */
  async loadFigures(interval = figuresInterval) {
    const now = Date.now();
    if (now - this.figuresAt < interval) {
      this.figuresLater(interval - (now - this.figuresAt));
      return;
    }
    this.figuresAt = now;
    try {
      this.figures = await this.readFigures();
    } catch (error) {
      if (error instanceof Problem && error.status === 404) this.problem = error;
    }
  }
  private later: ReturnType<typeof setTimeout> | undefined;
  private figuresLater(time: number) {
    if (this.later) return;
    this.later = setTimeout(() => {
      this.later = undefined;
      void this.loadFigures(0);
    }, time);
    this.stops.push(() => clearTimeout(this.later));
  }
}
