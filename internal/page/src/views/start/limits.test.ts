import { expect, test } from 'vitest';
import { largestFile, readAmount, readLimits, size } from './limits';

test.each([
  ['5', 5], ['0.50', 0.5], ['0,5', 0.5], ['$2', 2], ['2 $', 2], ['20k', 20_000], ['1.5M', 1_500_000], ['1,5m', 1_500_000],
  ['200,000', 200_000], ['1,234,567', 1_234_567], ['1 000', 1000], [".5", 0.5], ["1'000", 1000], ['1,234.5', 1234.5],
])('%s is %d', (text, amount) => expect(readAmount(text)).toBe(amount));

test.each(['', '$', 'k', 'five', '1e9', '-3', '1.2.3', 'Infinity', '٣'])('%j is no amount', (text) => expect(readAmount(text)).toBeNaN());

test('empty texts are no limits, and wrong ones have a problem with a remedy', () => {
  const { limits, problems } = readLimits({ minutes: '5', money: '', tokens: 'many', calls: '2.5' });
  expect(limits).toEqual({ duration_minutes: 5 });
  expect(problems).toEqual({ tokens: 'Tokens: write a number above 0, such as 50k, or nothing.', calls: 'Model calls: write a whole number.' });
  expect(readLimits({ minutes: '0', money: '0', tokens: '', calls: '' }).problems).toHaveProperty('money');
});

test('a file of the largest size fits into a request', () => {
  const bytes = largestFile(6 << 20);
  expect(Math.ceil(bytes / 3) * 4 + 200).toBeLessThanOrEqual(6 << 20);
  expect(bytes).toBeGreaterThan(4e6);
});

test('sizes', () => expect([820, 12_345, 3_400_000].map(size)).toEqual(['820 B', '12 KB', '3.4 MB']));
