// The journey with the first generation of the TypeScript SDK, which most hosts are built on. It
// knows the older era only, and no skills extension.
import { from, main, walk } from './journey.mjs';

const require = from('typescript');
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');

// It tells the version to its transport and to nobody else.
function noting(transport, note) {
  const tell = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    note(version);
    tell?.(version);
  };
  return transport;
}

await main(async (era, target) => {
  const client = new Client({ name: 'journey', version: '0' });
  const [command, ...args] = target;
  let version;
  const transport = command.startsWith('http')
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args, stderr: 'inherit' });
  await client.connect(noting(transport, (it) => (version = it)));
  await walk(client, era, version);
  await client.close();
});
