// The journey with the command line of the MCP Inspector, which checks schemas and digests itself.
// One process a question; it has no completion.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { FACTS, bodyOf, bytesOf, check, fileOf, main } from './journey.mjs';

const CLI = 'inspector/node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js';

function asker(era, target) {
  const where = target[0].startsWith('http') ? ['--transport', 'http', '--server-url', ...target] : ['--', ...target];
  return (method, ...words) => {
    const options = ['--method', method, ...words, '--protocol-era', era, '--format', 'json', '--quiet'];
    const asked = spawnSync(process.execPath, [join(process.env.CLIENTS, CLI), ...options, ...where], {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    return { status: asked.status, lines: asked.stdout.trim().split('\n'), said: asked.stderr };
  };
}

function result({ status, lines, said }) {
  if (status !== 0) throw new Error(`the Inspector ended with ${status}: ${said.slice(0, 300)}`);
  return JSON.parse(lines[0]).result;
}

await main(async (era, target) => {
  const ask = asker(era, target);
  const opened = result(ask('initialize'));
  check('negotiated version', opened.protocolVersion, FACTS.versions[era]);
  check('name of the server', opened.serverInfo.name, 'skillbundle');

  const strict = ask('tools/list', '--strict');
  check('schemas of tools are portable', [strict.status, strict.said], [0, '']);
  check('tools', result(strict).tools.map((tool) => tool.name), FACTS.tools);
  const call = (name, argument) => ask('tools/call', '--tool-name', name, '--tool-arg', argument);
  const loaded = result(call('skill', `name=${FACTS.skill}`));
  check('text of the skill', loaded.content[0].text.includes(bodyOf(FACTS.uri)));
  const routed = result(call('get_skill', `context=${FACTS.request}`));
  check('get_skill finds the skill', JSON.parse(routed.content[0].text).skill_path, FACTS.skill);
  const found = result(call('skills_search', `query=${FACTS.search}`)).structuredContent;
  check('what is searched for', found.results[0].meta.name, FACTS.skill);
  check('a wrong name is an error of the tool', call('skill', 'name=no-such-skill').status, 5);

  const resources = result(ask('resources/list')).resources.map((resource) => resource.uri);
  for (const uri of Object.keys(FACTS.files)) {
    const [contents] = result(ask('resources/read', '--uri', uri)).contents;
    check(`bytes of ${uri}`, bytesOf(contents).equals(fileOf(uri)));
  }
  check('an unknown resource', ask('resources/read', '--uri', 'skill://no/such/file').status, 1);
  const prompts = result(ask('prompts/list')).prompts.map((prompt) => prompt.name);
  check('a prompt for the skill', prompts.includes(FACTS.skill));
  const prompt = result(ask('prompts/get', '--prompt-name', FACTS.skill));
  check('text of the prompt', prompt.messages[0].content.text.includes(bodyOf(FACTS.uri)));

  const verified = ask('skills/list', '--verify', '--require-digests');
  check('every skill verifies', [verified.status, verified.said], [0, '']);
  const reports = verified.lines.map((line) => JSON.parse(line));
  check('skills and resources', reports.map((report) => report.uri).sort(), resources.sort());
  check('with every file', reports.every((report) => report.files.every((file) => file.status === 'verified')));
  check('skills/get', result(ask('skills/get', '--uri', FACTS.uri)).skill.uri, FACTS.uri);
  const children = result(ask('resources/directory/read', '--uri', FACTS.directory)).resources;
  check('a directory', children.map((child) => child.uri), [`${FACTS.directory}/skills.yml`]);
});
