// The state of a session, folded from the events of its log. Pure: the same events give the same
// state. The cost of an event does not depend on the length of the session.
import { changeLimits, Clock, conflictsOf, Draft, evidenceOf, Fields, hasEnded, limitsOf, noLimits, oneLine, Steering, type Conflict, type Evidence, type Limits, type Status } from '../../lib/fold';
import type { LogEvent } from '../../lib/stream';

export const kinds = ['exploration', 'critique', 'connection', 'insight', 'question', 'synthesis'] as const;

export interface Thought {
  number: number;
  seq: number;
  text: string;
  kind: string;
  confidence: number;
  importance: number;
  question: string;
  focus: string;
  cites: string[];
  against: string[];
  repeats: number;
  assumed: boolean; // the model stated no confidence
  withoutModel: boolean;
  at: number;
}

export type QuestionState = 'open' | 'exploring' | 'explored' | 'dropped';

export interface Question {
  id: string;
  seq: number;
  parent: string;
  text: string;
  priority: number;
  why: string;
  insights: string;
  state: QuestionState;
  byUser: boolean;
  repeats: number;
  thoughts: number;
  at: number;
}

export interface Synthesis {
  number: number;
  seq: number;
  text: string;
  insights: string[];
  remaining: string[];
  cites: string[];
  confidence: number;
  assumed: boolean;
  trend: string;
  basis: { agreement: number; support: number; contradiction: number; stability: number } | null;
  conflicts: Conflict[];
  final: boolean;
  refused: boolean;
  withoutModel: boolean;
  at: number;
}

export interface Focus {
  text: string;
  question: string;
}

export interface Correction {
  id: string;
  text: string;
  withdrawn: boolean;
  against: number[];
}

/** A point of the timeline: the newest event at a thinking time. */
export interface Point {
  seq: number;
  at: number;
}

const defaultSeconds = 300;

export class SessionState {
  run = '';
  question = '';
  status: Status = 'created';
  reason = ''; // of the end, or of a pause by the session itself
  endReason = '';
  answer = '';
  limits: Limits = noLimits;
  reserve: Limits = noLimits;
  parallel = 1;
  thoughts: Thought[] = [];
  questions: Question[] = [];
  syntheses: Synthesis[] = [];
  evidence: Evidence[] = [];
  foci: Focus[] = [];
  steering = new Steering();
  corrections: Correction[] = [];
  notes: string[] = [];
  points: Point[] = [];
  forkedFrom: { thread: string; seq: number } | null = null;
  draft = new Draft();
  lastSeq = 0;
  /** Counts the changes of each part, so that the page draws only the parts that changed. */
  changes = { thoughts: 0, questions: 0, syntheses: 0, evidence: 0, steering: 0 };
  private clock = new Clock();
  private questionById = new Map<string, Question>();
  private questionByText = new Map<string, Question>();
  private evidenceById = new Map<string, Evidence>();
  private thoughtByNumber = new Map<number, Thought>();

  get elapsed(): number {
    return this.clock.seconds;
  }
  elapsedAt(wall: number): number {
    return this.status === 'thinking' ? this.clock.secondsAt(wall) : this.clock.seconds;
  }
  get newest(): Synthesis | null {
    return this.syntheses.at(-1) ?? null;
  }
  get trend(): string {
    return this.newest?.trend ?? '';
  }
  questionOf(id: string): Question | undefined {
    return this.questionById.get(id);
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
    this.clock.observe(event, event.run_id === this.run && (event.cause ?? '').startsWith('focus-1/'));
    const last = this.points.at(-1);
    if (last && last.at === this.elapsed) last.seq = event.seq;
    else this.points.push({ seq: event.seq, at: this.elapsed });
    switch (event.type) {
      case 'thought': return this.addThought(event);
      case 'sub_question': return this.addQuestion(event);
      case 'question_updated': return this.updateQuestion(event);
      case 'synthesis': return this.addSynthesis(event);
      case 'evidence': return this.addEvidence(event);
      case 'progress': return this.applyProgress(event);
      case 'steer':
        this.changes.steering++;
        return this.steering.add(event, this.elapsed);
      case 'system_note': return this.addNote(event);
      default: return this.applyLifecycle(event);
    }
  }

  /** A delta of the text that a model writes now. */
  applyDelta(delta: { run_id?: string; key?: string; text?: string }) {
    if (hasEnded(this.status) || (delta.run_id && delta.run_id !== this.run)) return;
    this.draft.add(delta.key ?? '', delta.text ?? '');
  }

  private isRelevant(event: LogEvent): boolean {
    if (this.run === '') return false;
    const run = event.run_id ?? '';
    if (['run_paused', 'run_resumed', 'steer', 'resolved'].includes(event.type)) return run === '' || this.run === run || this.run.startsWith(run + '/');
    return run === this.run;
  }

  private startRun(event: LogEvent) {
    const data = Fields.of(event);
    if (data.text('mode') !== 'session' || (this.run !== '' && !hasEnded(this.status))) return;
    const fresh = new SessionState();
    fresh.lastSeq = event.seq;
    Object.assign(this, fresh);
    const options = data.object('options');
    const budget = data.object('budget');
    this.run = event.run_id ?? '';
    this.question = (event.content ?? '').trim();
    this.status = 'thinking';
    this.limits = limitsOf(budget);
    if (Object.values(this.limits).every((limit) => limit === 0)) this.limits = { ...noLimits, seconds: defaultSeconds };
    this.reserve = limitsOf(budget.object('reserve'));
    this.parallel = Math.max(1, options.number('parallel'));
  }

  private addThought(event: LogEvent) {
    const data = Fields.of(event);
    const thought: Thought = {
      number: data.number('sequence_number'), seq: event.seq, text: (event.content ?? '').trim(), kind: data.text('thought_type'),
      confidence: data.number('confidence'), importance: data.number('importance'), question: data.text('question_id'), focus: oneLine(data.text('focus')),
      cites: data.texts('cites'), against: data.texts('contradicts'), repeats: 0, assumed: data.flag('confidence_assumed'), withoutModel: data.flag('without_model'),
      at: data.number('time_offset_seconds'),
    };
    this.changes.thoughts++;
    this.thoughts.push(thought);
    this.thoughtByNumber.set(thought.number, thought);
    this.markCited(thought.cites);
    const question = this.questionById.get(thought.question);
    if (question) question.thoughts++;
    for (const id of thought.against) this.corrections.find((c) => c.id === id)?.against.push(thought.number);
    this.removeFocus(thought.question, thought.focus);
  }

  private addQuestion(event: LogEvent) {
    const data = Fields.of(event);
    const id = data.text('question_id');
    if (!id || this.questionById.has(id)) return;
    const parent = data.text('parent_id');
    const question: Question = {
      id, seq: event.seq, parent: this.questionById.has(parent) ? parent : '', text: oneLine(event.content ?? ''), priority: data.number('priority'),
      why: oneLine(data.text('why')), insights: '', state: 'open', byUser: data.text('by') === 'user', repeats: 0, thoughts: 0, at: data.number('time_offset_seconds') || this.elapsed,
    };
    this.changes.questions++;
    this.questions.push(question);
    this.questionById.set(id, question);
    this.questionByText.set(question.text, question);
  }

  private updateQuestion(event: LogEvent) {
    const data = Fields.of(event);
    const question = this.questionById.get(data.text('question_id'));
    if (!question) return;
    this.changes.questions++;
    question.priority = data.number('priority') || question.priority;
    question.insights = oneLine(data.text('insights_gained')) || question.insights;
    if ((event.reason ?? '').startsWith('asked again')) question.repeats++;
    if (data.flag('explored')) question.state = 'explored';
    if (data.flag('dropped') && question.state !== 'explored') question.state = 'dropped';
    if (data.flag('reopened') && question.state === 'dropped') question.state = 'open';
    if (data.flag('explored') || data.flag('dropped')) this.removeFocus(question.id, question.text);
  }

  private addSynthesis(event: LogEvent) {
    const data = Fields.of(event);
    this.changes.syntheses++;
    const basis = data.object('basis');
    const cites = data.texts('cites');
    this.syntheses.push({
      number: data.number('sequence_number'), seq: event.seq, text: (event.content ?? '').trim(), insights: data.texts('key_insights'), remaining: data.texts('remaining_questions'),
      cites, confidence: data.number('confidence_level'), assumed: data.flag('confidence_assumed'), trend: oneLine(data.text('trend')),
      basis: event.data?.['basis'] ? { agreement: basis.number('agreement'), support: basis.number('support'), contradiction: basis.number('contradiction'), stability: basis.number('stability') } : null,
      conflicts: conflictsOf(data), final: data.flag('final'), refused: data.flag('refused'), withoutModel: data.flag('without_model'), at: data.number('time_offset_seconds'),
    });
    this.markCited(cites);
    this.draft.clear();
  }

  private addEvidence(event: LogEvent) {
    const evidence = evidenceOf(event, this.elapsed);
    if (!evidence.id) return;
    this.changes.evidence++;
    this.evidence.push(evidence);
    this.evidenceById.set(evidence.id.toLowerCase(), evidence);
  }

  private markCited(ids: string[]) {
    if (ids.length > 0) this.changes.evidence++;
    for (const id of ids) {
      const evidence = this.evidenceOf(id);
      if (evidence) evidence.cited = true;
    }
  }

  private applyProgress(event: LogEvent) {
    const data = Fields.of(event);
    switch (data.text('stage')) {
      case 'focus': {
        this.changes.questions++;
        const text = oneLine(event.content ?? '');
        const question = this.questionById.get(data.text('ref')) ?? this.questionByText.get(text);
        if (question?.state === 'open') question.state = 'exploring';
        this.foci.push({ text, question: question?.id ?? '' });
        while (this.foci.length > this.parallel) this.removeFocus(this.foci[0]!.question, this.foci[0]!.text);
        break;
      }
      case 'merged':
        this.changes.thoughts++;
        for (const number of data.numbers('thoughts')) {
          const thought = this.thoughtByNumber.get(number);
          if (thought) thought.repeats++;
        }
        if (data.text('ref')) this.removeFocus(data.text('ref'), '');
        break;
      case 'steered':
        this.applyOutcome(event);
    }
  }

  private applyOutcome(event: LogEvent) {
    this.changes.steering++;
    this.changes.evidence++;
    const change = this.steering.acknowledge(event, (name) => this.evidenceOf(name)?.source ?? name);
    if (!change) return;
    if (change.order === 'budget') this.limits = changeLimits(this.limits, change.limits);
    if (change.order === 'correct') this.corrections.push({ id: `c${this.corrections.length + 1}`, text: change.content, withdrawn: false, against: [] });
    if (change.order === 'withdraw') for (const c of this.corrections) if (c.id === change.question.toLowerCase()) c.withdrawn = true;
  }

  private removeFocus(id: string, text: string) {
    const at = this.foci.findIndex((f) => f.question === id && (id !== '' || f.text === text));
    if (at < 0) return;
    this.changes.questions++;
    this.foci.splice(at, 1);
    const question = this.questionById.get(id);
    if (question?.state === 'exploring') question.state = 'open';
  }

  private addNote(event: LogEvent) {
    const data = Fields.of(event);
    if (event.reason === 'fork') this.forkedFrom = { thread: data.text('from_thread'), seq: data.number('from_seq') };
    this.notes.push(oneLine(event.content ?? ''));
  }

  private clearFoci() {
    this.changes.questions++;
    for (const focus of [...this.foci]) this.removeFocus(focus.question, focus.text);
  }

  private applyLifecycle(event: LogEvent) {
    const data = Fields.of(event);
    switch (event.type) {
      case 'run_paused':
        if (this.status !== 'thinking') return;
        this.status = 'paused';
        this.reason = oneLine(event.reason ?? '');
        this.draft.clear();
        break;
      case 'run_resumed':
        if (this.status !== 'paused') return;
        this.status = 'thinking';
        this.reason = '';
        break;
      case 'budget_spent':
        this.clearFoci();
        break;
      case 'run_finished':
        this.clearFoci();
        this.draft.clear();
        this.status = (data.text('status') || 'completed') as Status;
        this.reason = oneLine(event.reason ?? '');
        this.endReason = data.text('end_reason');
        if (this.status === 'completed') this.answer = (event.content ?? '').trim();
    }
  }
}
