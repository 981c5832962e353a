// The journey with the TypeScript SDK, second generation, and its client for the skills extension,
// which verifies digests.
import { FACTS, check, fileOf, from, main, walk } from './journey.mjs';

const require = from('typescript');
const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
const { SkillsClient } = require('@modelcontextprotocol/client/ext/skills');

async function everySkill(skills) {
  const all = [];
  let cursor;
  do {
    const page = await skills.list(cursor === undefined ? {} : { cursor });
    check('entries that are not lawful', page.invalid, []);
    all.push(...page.skills);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return all;
}

async function walkSkills(client) {
  const skills = new SkillsClient(client);
  check('the extension is there', [skills.supported, skills.directoryRead], [true, true]);
  const all = await everySkill(skills);
  const resources = (await client.listResources()).resources.map((resource) => resource.uri);
  check('skills and resources', all.map((skill) => skill.uri).sort(), resources.sort());
  for (const skill of all) {
    check('skills/get', (await skills.get(skill.uri)).skill, skill);
    for (const file of skill.resources) {
      // Throws where a size, a digest or the frontmatter is not what the manifest says.
      check(`${file.uri} is verified`, (await skills.read(skill, file.uri)).verified);
    }
  }
  const { skill } = await skills.get(FACTS.uri);
  check('bytes of a verified file', fileOf(FACTS.uri).equals((await skills.read(skill)).bytes));
  const children = (await skills.readDirectory(FACTS.directory)).resources.map((child) => child.uri);
  check('a directory', children, Object.keys(FACTS.files).filter((uri) => uri.startsWith(`${FACTS.directory}/`)));
}

await main(async (era, target) => {
  const mode = era === 'modern' ? 'auto' : 'legacy';
  const client = new Client({ name: 'journey', version: '0' }, { versionNegotiation: { mode } });
  const [command, ...args] = target;
  await client.connect(
    command.startsWith('http')
      ? new StreamableHTTPClientTransport(new URL(command))
      : new StdioClientTransport({ command, args, stderr: 'inherit' }),
  );
  await walk(client, era, client.getNegotiatedProtocolVersion());
  await walkSkills(client);
  await client.close();
});
