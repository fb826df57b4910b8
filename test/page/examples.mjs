// Logs with plausible texts, for the checks and pictures of all views.
const facts = [
  'Planned durations follow the best past case, not the typical one [e1].',
  'Most of the delay comes from work that the plan did not contain [e2].',
  'Teams that measure their earlier estimates miss fewer deadlines [e3].',
  'A late project gains little from more people, because each needs time to learn [e1].',
  'Public projects report their first cost lower, since approval depends on it [e2].',
];
const questions = [
  'Which part of the delay is known at the start?', 'Do people or the method cause wrong estimates?', 'What does it cost to be late?',
  'How do comparable projects end?', 'Which projects end in time?', 'Does more staff shorten the rest?',
];
const titles = ['The planning fallacy, thirty years later', 'Cost overruns in infrastructure', 'Reference class forecasting', 'The mythical man-month'];
const words = {
  title: () => 'Why do large projects run late?', question: () => 'Why do large projects run late?',
  'sub-question': (n) => questions[n % questions.length], why: () => 'The answer depends on it.', focus: (n) => questions[n % questions.length],
  'source title': (n) => titles[n % titles.length], source: (n) => `https://example.org/papers/${n % 4}`, url: (n) => `https://example.org/papers/${n % 4}`,
  section: () => 'Results', author: () => 'A. Author', quote: (n) => facts[n % facts.length].replace(/ \[e\d\]/, ''), reason: () => 'cited by three independent sources',
  query: (n) => ['project delay causes', 'estimate accuracy study', 'cost overrun statistics'][n % 3], subject: () => 'Large projects', attribute: () => 'share that ends late', unit: () => '%', value: (n) => ['86', '70'][n % 2],
  plan: () => 'Search studies of estimates, then figures of overruns', step: (n) => ['Find reviews', 'Compare figures', 'Look for contradictions'][n % 3], term: () => 'overrun',
  heading: () => 'Why large projects run late', label: (n) => questions[n % questions.length], end: () => 'the work is done',
};

export function exampleText(field, n) {
  return words[field]?.(n) ?? (field === 'answer' || field === 'synthesis' ? facts.slice(0, 3).join(' ') + '\n\n' + facts.slice(3).join(' ') : facts[n % facts.length]);
}

export function exampleLogs({ sessionLog, researchLog, chatLog }) {
  return {
    session: sessionLog(60, exampleText),
    running: sessionLog(24, exampleText, { title: 'Which batteries last longest?', finished: false }),
    research: researchLog(exampleText, { title: 'What delays public construction?' }),
    chat: chatLog(['Why do large projects run late?', 'Plans follow the best case. Three causes stand out:\n\n1. **Unknown work** is missing in the plan.\n2. *Optimism* of those who estimate.\n3. Late changes.\n\n| cause | share |\n|---|---|\n| unknown work | 45 % |\n| changes | 30 % |\n\n```python\ndelay = actual - planned\n```',
      'How large is the delay?', 'The median overrun is about $\\tfrac{1}{3}$ of the planned time.'], { title: 'Delays of projects' }),
  };
}
