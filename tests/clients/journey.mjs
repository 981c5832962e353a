// What every Node client must see, whatever its own shape: journey.py in JavaScript.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const FACTS = JSON.parse(readFileSync(new URL('journey.json', import.meta.url), 'utf8'));
const SKILLS = process.env.SKILLS ?? 'skills';

// Packages are installed elsewhere: CLIENTS names the folder that tests/clients/install filled.
export const from = (part) => createRequire(join(process.env.CLIENTS, part, 'package.json'));

let checks = 0;

// Counts a fact, or ends the journey where it is none.
export function check(what, found, expected = true) {
  checks += 1;
  const [one, other] = [found, expected].map((value) => JSON.stringify(value) ?? 'nothing');
  if (one !== other) throw new Error(`${what}: expected ${other.slice(0, 300)}, found ${one.slice(0, 300)}`);
}

export const fileOf = (uri) => readFileSync(join(SKILLS, FACTS.files[uri]));

// A skill's text below its frontmatter.
export const bodyOf = (uri) => fileOf(uri).toString().split('\n---\n').slice(1).join('\n---\n').trim();

export const bytesOf = (contents) =>
  contents.text === undefined ? Buffer.from(contents.blob, 'base64') : Buffer.from(contents.text);

async function refusal(promise) {
  try {
    return await promise;
  } catch (error) {
    return error.code ?? error.message;
  }
}

// Asks for everything that every client can ask for.
export async function walk(client, era, version) {
  check('negotiated version', version, FACTS.versions[era]);
  check('name of the server', client.getServerVersion()?.name, 'skillbundle');
  await tools(client, era);
  await resources(client);
  await prompts(client);
}

async function tools(client, era) {
  const listed = await client.listTools();
  check('tools', listed.tools.map((tool) => tool.name), FACTS.tools);
  check('schemas of tools', listed.tools.every((tool) => tool.inputSchema));
  check('ttlMs only in the modern era', 'ttlMs' in listed, era === 'modern');

  const call = (name, args) => client.callTool({ name, arguments: args });
  const loaded = await call('skill', { name: FACTS.skill });
  check('text of the skill', loaded.content[0].text.includes(bodyOf(FACTS.uri)));
  check('name of the skill', loaded._meta['skillbundle/about'].name, FACTS.skill);
  check('its text is sent once', loaded.structuredContent === undefined);
  const routed = await call('get_skill', { context: FACTS.request });
  check('get_skill is no error', routed.isError ?? false, false);
  const route = JSON.parse(routed.content[0].text);
  check('get_skill finds the skill', route.skill_path, FACTS.skill);
  check('its text', route.content.includes(bodyOf(FACTS.uri)));
  check('its text is sent once', routed.structuredContent === undefined);
  const found = (await call('skills_search', { query: FACTS.search })).structuredContent;
  check('what is searched for', found.results[0].meta.name, FACTS.skill);

  const missed = await call('skill', { name: 'no-such-skill' });
  check('a wrong name is an error of the tool', missed.isError);
  check('its code', missed._meta['skillbundle/about'].code, 'skill_not_found');
  check('an unknown tool', await refusal(call('no_such_tool', {})), -32602);
}

async function resources(client) {
  const listed = (await client.listResources()).resources;
  const size = listed.find((resource) => resource.uri === FACTS.uri)?.size;
  check('size of a resource', size, fileOf(FACTS.uri).length);
  for (const uri of Object.keys(FACTS.files)) {
    const [contents] = (await client.readResource({ uri })).contents;
    check(`bytes of ${uri}`, bytesOf(contents).equals(fileOf(uri)));
  }
  const missed = await refusal(client.readResource({ uri: 'skill://no/such/file' }));
  check('an unknown resource', missed, -32602);
  const completed = await client.complete({
    ref: { type: 'ref/resource', uri: FACTS.template },
    argument: { name: 'path', value: FACTS.completion.typed },
  });
  check('completion', completed.completion.values, FACTS.completion.values);
}

async function prompts(client) {
  const { prompts } = await client.listPrompts();
  check('a prompt for the skill', prompts.some((prompt) => prompt.name === FACTS.skill));
  const got = await client.getPrompt({ name: FACTS.skill });
  check('text of the prompt', got.messages[0].content.text.includes(bodyOf(FACTS.uri)));
}

// Runs journey(era, target), of which the target is a URL or a command with its words.
// Usage: node CLIENT.mjs modern|legacy URL | COMMAND...
export async function main(journey) {
  const [era, ...target] = process.argv.slice(2);
  const late = setTimeout(() => {
    console.log('no answer within 60 seconds');
    process.exit(1);
  }, 60_000);
  try {
    await journey(era, target);
  } catch (error) {
    console.log(error.stack?.split('\n', 2).join(' ') ?? String(error));
    process.exit(1);
  }
  clearTimeout(late);
  console.log(`ok, ${checks} checks`);
}
