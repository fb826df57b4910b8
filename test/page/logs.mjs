// Writes logs of threads for ponder thread import: see docs/log-format.md.
const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const begin = Date.UTC(2026, 0, 2, 9, 0, 0);

/** A ULID that depends on its number alone. */
function ulid(n) {
  let text = '';
  for (let rest = n, i = 0; i < 12; i++, rest = Math.floor(rest / 32)) text = digits[rest % 32] + text;
  return '01KDYP2W00JXT4'.padEnd(14, '0') + text;
}

let numbers = 0;
const types = ['exploration', 'critique', 'connection', 'insight', 'question'];

/** A log of a thread that grows by add. */
class Log {
  constructor(kind, title, at = begin) {
    this.number = ++numbers;
    this.at = at;
    this.id = `thr_${ulid(this.number * 1e6)}`;
    this.run = `run_${ulid(this.number * 1e6)}`;
    this.lines = [{ thread_id: this.id, kind, title, owner: 'local', created_at: new Date(at).toISOString(), model: 'openai/slow' }];
  }

  add(type, rest, seconds = 1) {
    this.at += seconds * 1000;
    const seq = this.lines.length;
    const { run = this.run, ...event } = rest;
    this.lines.push({
      event_id: `evt_${ulid(this.number * 1e6 + seq)}`, thread_id: this.id, seq, ts: new Date(this.at).toISOString().replace('Z', '000Z'), type,
      ...(run ? { run_id: run } : {}), ...(run && type !== 'run_started' && type !== 'run_finished' ? { cause: `note-${seq}/1.1` } : {}),
      elapsed_ms: this.at - begin, ...event,
    });
  }
}

/** A finished session with count thoughts. text returns the text of a field by its name and number. */
export function sessionLog(count, text, { title = text('title', 0), finished = true, questions = Math.min(40, Math.ceil(count / 8)), evidence = Math.min(60, Math.max(3, Math.ceil(count / 20))) } = {}) {
  const log = new Log('session', title);
  log.add('run_started', { content: text('question', 0), data: { mode: 'session', version: 2, budget: { time_ns: 3600e9 }, options: { zone: 'Etc/UTC', parallel: 1 } } });
  for (let i = 1; i <= evidence; i++) {
    log.add('evidence', {
      content: text('quote', i), tool_name: i % 2 ? 'web_search' : 'knowledge_search',
      data: { evidence_id: `e${i}`, source: text('source', i), title: text('source title', i), ...(i % 2 ? { url: text('url', i) } : {}), section: text('section', i), author: text('author', i),
        start: 0, end: 9, hash: '00ff', score: 0.9 - i / 100, cluster: `c${Math.ceil(i / 2)}`, voices: 1 + (i % 3),
        quality: [{ name: 'date', value: 0.7, says: text('reason', i) }], found: { tool: 'web_search', query: text('query', i), provider: 'searxng' }, published: '2025-03-01T00:00:00Z' },
    }, 0.1);
  }
  let asked = 0;
  for (let i = 0; i < count; i++) {
    if (asked < questions && i >= (asked * count) / questions) {
      asked++;
      log.add('sub_question', { content: text('sub-question', asked), data: { question_id: `q${asked}`, ...(asked > 4 ? { parent_id: `q${Math.ceil(asked / 4)}` } : {}), priority: 1 + (asked % 10), why: text('why', asked), time_offset_seconds: i } });
      log.add('progress', { content: text('sub-question', asked), data: { stage: 'focus', iteration: asked, ref: `q${asked}` } }, 0);
    }
    log.add('thought', {
      content: text('thought', i), model: 'openai/slow',
      data: { sequence_number: i, thought_type: types[i % 5], confidence: 0.4 + 0.4 * (i / count) + 0.1 * Math.sin(i / 3), importance: 0.3 + (i % 7) / 10,
        focus: text('focus', i), ...(asked ? { question_id: `q${1 + (i % asked)}` } : {}), cites: [`e${1 + (i % evidence)}`], time_offset_seconds: i },
    });
    if (i % Math.max(10, Math.floor(count / 12)) === 9) {
      log.add('synthesis', { content: text('synthesis', i), model: 'openai/slow', data: { sequence_number: Math.floor(i / 10), key_insights: [text('insight', i), text('insight', i + 1)], confidence_level: 0.5 + 0.3 * (i / count),
        remaining_questions: [text('remaining question', i)], cites: ['e1', 'e2'], trend: 'converging', basis: { agreement: 0.6, support: 0.7, contradiction: 0.1, stability: 0.5 },
        conflicts: [{ subject: text('subject', i), attribute: text('attribute', i), unit: text('unit', i), sides: [{ value: text('value', i), quotes: [{ evidence_id: 'e1', start: 0, end: 4 }], voices: 2 }, { value: text('value', i + 1), quotes: [{ evidence_id: 'e2', start: 0, end: 4 }], voices: 1 }] }] , time_offset_seconds: i } });
      if (asked > 1) log.add('question_updated', { reason: text('reason', i), data: { question_id: `q${asked - 1}`, explored: true, insights_gained: text('findings', i) } });
    }
  }
  log.add('steer', { role: 'user', content: text('correction', 0), cause: 'steer-1', data: { do: 'correct' } });
  if (finished) {
    log.add('synthesis', { content: text('answer', 0), model: 'openai/slow', data: { sequence_number: count, key_insights: [text('insight', count)], confidence_level: 0.83, cites: ['e1'], final: true, time_offset_seconds: count } });
    log.add('run_finished', { content: text('answer', 0), reason: text('end', 0), data: { status: 'completed', end_reason: 'complete', confidence: 0.83, spent: { calls: count, tokens: count * 900, micro_usd: count * 400 } } });
  }
  return log.lines;
}

const verdicts = ['supported', 'qualified', 'contradicted', 'unverified'];

/** A finished research. Its report has a claim of each verdict. */
export function researchLog(text, { title = text('title', 0), claims = 8, evidence = 6 } = {}) {
  const log = new Log('research', title);
  log.add('run_started', { content: text('question', 0), data: { mode: 'research', version: 1, budget: { time_ns: 180e9 }, options: { zone: 'Etc/UTC' } } });
  log.add('plan', { content: text('plan', 0), model: 'openai/fast', data: { steps: [text('step', 1), text('step', 2), text('step', 3)], terms: [text('term', 1)], web_queries: [text('query', 1), text('query', 2)], memory_queries: [text('query', 3)], round: 1, effort: 'normal' } });
  for (let i = 1; i <= evidence; i++) {
    log.add('progress', { content: text('progress', i), data: { stage: 'research', label: text('label', i), plan_step: 1 + i, total_steps: evidence + 2, iteration: 1 } });
    log.add('evidence', { content: text('quote', i), tool_name: 'web_search', data: { evidence_id: `e${i}`, source: text('source', i), url: text('url', i), title: text('source title', i), author: text('author', i), section: text('section', i), start: 0, end: 9, hash: '00ff', score: 0.9, cluster: `c${Math.ceil(i / 2)}`, voices: 1, found: { tool: 'web_search', query: text('query', i), provider: 'searxng' }, untrusted: true } });
  }
  const parts = [`# ${text('heading', 0)}\n\n`];
  for (let i = 0; i < claims; i++) {
    const start = Buffer.byteLength(parts.join(''));
    const sentence = text('claim', i);
    parts.push(`${sentence} [e${1 + (i % 6)}]\n\n`);
    log.add('claim', { content: sentence, reason: text('reason', i), data: { claim_id: `c${i + 1}`, start, end: start + Buffer.byteLength(sentence), cites: [`e${1 + (i % 6)}`], verdict: verdicts[i % 4], score: 0.7, quotes: [{ evidence_id: `e${1 + (i % 6)}`, start: 0, end: 6 }], ...(i % 4 === 2 ? { against: [{ evidence_id: 'e2', start: 0, end: 6 }] } : {}), judge: 'openai/fast' } }, 0.1);
  }
  const report = parts.join('');
  log.add('synthesis', { content: report, model: 'openai/slow', data: { sequence_number: 0, key_insights: [text('insight', 1)], confidence_level: 0.7, remaining_questions: [text('remaining question', 1)], cites: ['e1', 'e2'], final: true,
    conflicts: [{ subject: text('subject', 1), attribute: text('attribute', 1), sides: [{ value: text('value', 1), quotes: [{ evidence_id: 'e1', start: 0, end: 4 }], voices: 2 }, { value: text('value', 2), quotes: [{ evidence_id: 'e2', start: 0, end: 4 }], voices: 1 }] }] } });
  log.add('run_finished', { content: report, reason: text('end', 0), data: { status: 'completed', end_reason: 'complete', confidence: 0.7, spent: { calls: 4, tokens: 9000, micro_usd: 3100 } } });
  return log.lines;
}

/** A conversation. Messages alternate between the user and Ponder. */
export function chatLog(messages, { title = messages[0], files = [], thoughts = [] } = {}) {
  const log = new Log('conversation', title);
  log.run = 'run_chat.1';
  messages.forEach((content, i) => {
    if (i === 1) log.add('run_started', { data: { mode: 'chat', version: 1 } });
    if (i % 2 === 0) {
      for (const name of i === 0 ? files : []) log.add('attachment_added', { run: '', role: 'user', content: 'text of a file', data: { name, media_type: 'text/plain', hash: '00ff', bytes: 14 } });
      log.add('user_message', { run: '', role: 'user', content });
    } else {
      log.add('assistant_message', { role: 'assistant', content, model: 'openai/fast', usage: { input: 20, output: 30 } });
    }
  });
  for (const content of thoughts) log.add('inner_monologue', { role: 'system', content, internal: true, tool_name: 'deep_think', reason: 'after 5 turns', model: 'openai/fast', data: { read_to: 2 } });
  log.add('run_finished', { content: messages.at(-1), data: { status: 'completed' } });
  return log.lines;
}
