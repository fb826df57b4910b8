// The state of a research, folded from the events of its log. Pure: the same events give the same
// state.
import { changeLimits, Clock, conflictsOf, Draft, evidenceOf, Fields, hasEnded, limitsOf, noLimits, oneLine, Steering, type Conflict, type Evidence, type Limits, type Status } from '../../lib/fold';
import type { LogEvent } from '../../lib/stream';

export interface Plan {
  text: string;
  round: number;
  effort: string;
  steps: string[];
  terms: string[];
  web: string[];
  memory: string[];
  withoutModel: boolean;
}

/** A use of a search or page-reading tool. */
export interface Query {
  key: string;
  tool: string;
  text: string;
  round: number;
  at: number;
  found: number;
  done: boolean;
  took: number;
  error: string;
}

export interface Claim {
  id: string;
  text: string;
  verdict: string;
  reason: string;
  cites: string[];
  quotes: string[];
  against: string[];
  score: number;
}

/** An entry of the course, such as 'Created a plan of 4 steps'. */
export interface Moment {
  seq: number;
  at: number;
  stage: string;
  label: string;
  text: string;
  step: number;
  total: number;
}

const defaultSeconds = 180;
export const verdicts = ['supported', 'qualified', 'contradicted', 'unverified', 'inference'] as const;

export class ResearchState {
  run = '';
  question = '';
  status: Status = 'created';
  reason = '';
  endReason = '';
  answer = '';
  confidence = 0;
  since = '';
  docs: string[] = [];
  web = false;
  memory = false;
  limits: Limits = noLimits;
  reserve: Limits = noLimits;
  plans: Plan[] = [];
  proposal: Plan | null = null;
  queries: Query[] = [];
  evidence: Evidence[] = [];
  claims: Claim[] = [];
  conflicts: Conflict[] = [];
  insights: string[] = [];
  remaining: string[] = [];
  moments: Moment[] = [];
  notes: string[] = [];
  round = 0;
  stage = '';
  steering = new Steering();
  forkedFrom: { thread: string; seq: number } | null = null;
  draft = new Draft();
  lastSeq = 0;
  /** Counts the changes of each part, so that the page draws only the parts that changed. */
  changes = { course: 0, evidence: 0, report: 0, steering: 0 };
  private clock = new Clock();
  private queryByKey = new Map<string, Query>();
  private evidenceById = new Map<string, Evidence>();

  get elapsed(): number {
    return this.clock.seconds;
  }
  elapsedAt(wall: number): number {
    return this.status === 'thinking' ? this.clock.secondsAt(wall) : this.clock.seconds;
  }
  /** The newest step of the plan that the log names; null before. */
  get step(): { step: number; total: number } | null {
    const named = this.moments.findLast((m) => m.step > 0 && m.total >= m.step);
    return named ? { step: named.step, total: named.total } : null;
  }
  evidenceOf(id: string): Evidence | undefined {
    return this.evidenceById.get(id.toLowerCase());
  }

  applyAll(events: LogEvent[]) {
    for (const event of events) this.apply(event);
  }

  apply(event: LogEvent) {
    this.lastSeq = event.seq;
    if (event.type === 'run_started') {
      this.startRun(event);
      return;
    }
    if (!this.isRelevant(event)) return;
    this.clock.observe(event, (event.run_id ?? '') === this.run && (event.cause ?? '') !== '' && !isInput(event));
    switch (event.type) {
      case 'plan': return this.addPlan(event);
      case 'tool_call': return this.addQuery(event);
      case 'tool_result': return this.finishQuery(event);
      case 'evidence': return this.addEvidence(event);
      case 'claim': return this.addClaim(event);
      case 'synthesis': return this.addSynthesis(event);
      case 'progress': return this.addProgress(event);
      case 'steer':
        this.changes.steering++;
        return this.steering.add(event, this.elapsed);
      case 'system_note': return this.addNote(event);
      default: return this.applyLifecycle(event);
    }
  }

  /** A delta of the report that a model writes now. */
  applyDelta(delta: { run_id?: string; key?: string; text?: string }) {
    if (hasEnded(this.status)) return;
    this.draft.add(delta.key ?? '', delta.text ?? '');
  }

  private isRelevant(event: LogEvent): boolean {
    if (this.run === '') return false;
    const run = event.run_id ?? '';
    if (['run_paused', 'run_resumed', 'steer', 'resolved'].includes(event.type)) return run === '' || this.run === run || this.run.startsWith(run + '/');
    return run === this.run || (run === '' && event.type === 'system_note');
  }

  private startRun(event: LogEvent) {
    const data = Fields.of(event);
    if (data.text('mode') !== 'research' || (this.run !== '' && !hasEnded(this.status))) return;
    Object.assign(this, new ResearchState());
    this.lastSeq = event.seq;
    const options = data.object('options');
    const budget = data.object('budget');
    this.run = event.run_id ?? '';
    this.question = (event.content ?? '').trim();
    this.status = 'thinking';
    this.limits = limitsOf(budget);
    if (Object.values(this.limits).every((limit) => limit === 0)) this.limits = { ...noLimits, seconds: defaultSeconds };
    this.reserve = limitsOf(budget.object('reserve'));
    this.docs = options.texts('docs');
    this.web = options.flag('web');
    this.memory = options.flag('memory');
    this.since = options.object('since').text('thread');
  }

  private addPlan(event: LogEvent) {
    const data = Fields.of(event);
    const plan: Plan = {
      text: (event.content ?? '').trim(), round: data.number('round'), effort: data.text('effort'), steps: data.texts('steps').map(oneLine), terms: data.texts('terms'),
      web: data.texts('web_queries'), memory: data.texts('memory_queries').concat(data.texts('queries')), withoutModel: data.flag('without_model'),
    };
    this.changes.course++;
    if (data.flag('proposed')) {
      this.proposal = plan;
      return;
    }
    this.proposal = null;
    this.plans.push(plan);
    this.round = Math.max(this.round, plan.round);
  }

  private addQuery(event: LogEvent) {
    const key = (event.cause ?? '').split('#')[0]!;
    if (!key || this.queryByKey.has(key)) return;
    const args = new Fields(event.tool_args && typeof event.tool_args === 'object' ? event.tool_args : {});
    const query: Query = {
      key, tool: event.tool_name ?? '', text: oneLine(args.text('query') || args.text('url') || args.text('path')), round: this.round, at: this.elapsed,
      found: 0, done: false, took: 0, error: '',
    };
    this.queryByKey.set(key, query);
    this.queries.push(query);
    this.changes.course++;
  }

  private finishQuery(event: LogEvent) {
    const query = this.queryByKey.get((event.cause ?? '').split('#')[0]!);
    const data = Fields.of(event);
    if (!query || data.text('retry_at')) return;
    query.done = true;
    query.took = Math.max(0, this.elapsed - query.at);
    query.error = oneLine(data.text('error'));
    this.changes.course++;
  }

  private addEvidence(event: LogEvent) {
    const evidence = evidenceOf(event, this.elapsed);
    if (!evidence.id) return;
    this.changes.evidence++;
    const known = this.evidenceOf(evidence.id);
    if (known) {
      known.score = Math.max(known.score, evidence.score);
      return;
    }
    this.evidence.push(evidence);
    this.evidenceById.set(evidence.id.toLowerCase(), evidence);
    const query = this.queries.findLast((q) => q.text !== '' && q.text === evidence.query && (!evidence.tool || q.tool === evidence.tool));
    if (query) query.found++;
  }

  private addClaim(event: LogEvent) {
    const data = Fields.of(event);
    const ids = (name: string) => data.list(name).map((q) => q.text('evidence_id')).filter(Boolean);
    const claim: Claim = {
      id: data.text('claim_id'), text: event.content ?? '', verdict: data.text('verdict') || 'unverified', reason: oneLine(event.reason ?? ''),
      cites: data.texts('cites'), quotes: ids('quotes'), against: ids('against'), score: data.number('score'),
    };
    if (claim.quotes.length === 0) claim.quotes = claim.cites;
    this.claims.push(claim);
    this.markCited(claim.cites);
    this.changes.report++;
  }

  private addSynthesis(event: LogEvent) {
    const data = Fields.of(event);
    this.insights = data.texts('key_insights');
    this.remaining = data.texts('remaining_questions');
    this.markCited(data.texts('cites'));
    this.changes.report++;
    if (!data.flag('final')) return;
    this.answer = (event.content ?? '').trim();
    this.confidence = data.number('confidence_level');
    this.conflicts = conflictsOf(data);
    this.draft.clear();
  }

  private markCited(ids: string[]) {
    if (ids.length > 0) this.changes.evidence++;
    for (const id of ids) {
      const evidence = this.evidenceOf(id);
      if (evidence) evidence.cited = true;
    }
  }

  private addProgress(event: LogEvent) {
    const data = Fields.of(event);
    const stage = oneLine(data.text('stage'));
    this.changes.course++;
    if (stage === 'steered') {
      this.changes.steering++;
      this.changes.evidence++;
      const change = this.steering.acknowledge(event, (name) => this.evidenceOf(name)?.source ?? name);
      if (change?.order === 'budget') this.limits = changeLimits(this.limits, change.limits);
      if (change?.order === 'answer_now') this.proposal = null;
    } else if (stage) this.stage = stage;
    this.addMoment(event, stage, (event.content ?? '').trim());
  }

  private addMoment(event: LogEvent, stage: string, text: string) {
    const data = Fields.of(event);
    this.moments.push({ seq: event.seq, at: this.elapsed, stage, label: oneLine(data.text('label')), text, step: data.number('plan_step'), total: data.number('total_steps') });
  }

  private addNote(event: LogEvent) {
    const data = Fields.of(event);
    if (data.text('from_thread')) this.forkedFrom = { thread: data.text('from_thread'), seq: data.number('from_seq') };
    this.notes.push(oneLine(event.content ?? ''));
  }

  private applyLifecycle(event: LogEvent) {
    const data = Fields.of(event);
    const reason = oneLine(event.reason ?? '');
    switch (event.type) {
      case 'run_paused':
        if (this.status !== 'thinking') return;
        this.status = 'paused';
        this.reason = reason;
        this.draft.clear();
        break;
      case 'run_resumed':
        if (this.status !== 'paused') return;
        this.status = 'thinking';
        this.reason = '';
        break;
      case 'run_finished':
        this.status = (data.text('status') || 'completed') as Status;
        this.reason = reason;
        this.endReason = data.text('end_reason');
        this.proposal = null;
        this.draft.clear();
        if (this.status === 'completed') {
          this.answer = (event.content ?? '').trim() || this.answer;
          this.confidence = data.number('confidence') || this.confidence;
        }
        this.changes.report++;
        break;
      default:
        return;
    }
    this.changes.course++;
    this.addMoment(event, event.type === 'run_finished' ? 'finished' : event.type === 'run_paused' ? 'paused' : 'resumed', reason);
  }
}

function isInput(event: LogEvent): boolean {
  return ['user_message', 'attachment_added', 'observation', 'resolved', 'steer', 'run_paused', 'run_resumed', 'run_started'].includes(event.type);
}

/** The sections of a report as a rewrite numbers them: its headings with their text, or its paragraphs. */
export function sectionsOf(answer: string): { number: number; title: string }[] {
  const lines = answer.split('\n');
  const isHeading = (line: string) => /^#{1,6} /.test(line.trim());
  let fenced = false;
  const kinds = lines.map((line) => {
    if (/^(```|~~~)/.test(line.trim())) fenced = !fenced;
    return fenced ? 'text' : isHeading(line) ? 'heading' : line.trim() === '' ? 'blank' : 'text';
  });
  const headings = kinds.includes('heading');
  const titles: string[] = [];
  let open = false;
  lines.forEach((line, i) => {
    const starts = kinds[i] === 'heading' || (!open && kinds[i] === 'text');
    if (starts) {
      titles.push(oneLine(line.trim().replace(/^#+/, '')));
      open = true;
    } else if (!headings && kinds[i] === 'blank') open = false;
  });
  return titles.map((title, i) => ({ number: i + 1, title }));
}
