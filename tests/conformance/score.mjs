// Counts what the conformance suite left in a folder, one line a scenario.
//
//   node score.mjs [--clean] TITLE FOLDER [REQUIREMENTS]
//
// With --clean it ends with 1 where a check failed, warned, or where there is none. REQUIREMENTS is
// the suite's file for a revision: what does not count towards that is marked.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const words = process.argv.slice(2);
const clean = words[0] === '--clean';
const [title, folder, requirements] = words.slice(clean ? 1 : 0);

const COLUMNS = ['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED'];

function uncounted() {
  const text = requirements ? readFileSync(requirements, 'utf8') : '';
  const entries = text.matchAll(/^  - scenario: (\S+)\n    leg: server\n    reason: (\S+)/gm);
  return new Map([...entries].map(([, scenario, reason]) => [scenario, reason]));
}

function count(entry) {
  const checks = JSON.parse(readFileSync(join(folder, entry, 'checks.json'), 'utf8'));
  return COLUMNS.map((status) => checks.filter((check) => check.status === status).length);
}

function line(name, cells, remark = '') {
  const padded = cells.map((cell) => String(cell || '').padStart(9));
  console.log(`${name.padEnd(46)}${padded.join('')}  ${remark}`.trimEnd());
}

function sum(rows) {
  return COLUMNS.map((_, column) => rows.reduce((total, [, counts]) => total + counts[column], 0));
}

// server-SCENARIO-TIME
const entries = readdirSync(folder).map((entry) => [entry, entry.replace(/^server-|-\d{4}-\d\d-\d\dT.*$/g, '')]);
const rows = entries.map(([entry, scenario]) => [scenario, count(entry)]);
const aside = uncounted();
const counted = rows.filter(([scenario]) => !aside.has(scenario));
const sums = sum(counted);

console.log();
line(title, ['passed', 'failed', 'warned', 'skipped']);
for (const [scenario, counts] of rows) {
  line(scenario, counts, aside.has(scenario) ? `not scored: ${aside.get(scenario)}` : '');
}
line(`${counted.length} scenarios that count`, sums);

const spotless = sums[0] > 0 && sums[1] === 0 && sums[2] === 0;
process.exit(clean && !spotless ? 1 : 0);
