const { builtinModules } = require('node:module');

/** The direction of imports: edges → domain ← adapters; compose.ts and main.ts see everything. */
const only = (name, pattern, allowedFrom) => ({
  name,
  severity: 'error',
  from: { path: '^src/', pathNot: allowedFrom },
  to: { path: pattern },
});
const layer = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: '^src/', pathNot: allowed },
});
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'sdk-is-its-own',
      severity: 'error',
      from: { path: '^sdk/typescript/src/' },
      to: { path: '^(src|test|node_modules)/' },
    },
    {
      name: 'sdk-runs-everywhere',
      severity: 'error',
      from: { path: '^sdk/typescript/src/', pathNot: '^sdk/typescript/src/(testing\\.ts|cli/)' },
      to: { path: `^(node:)?(${builtinModules.join('|')})$` },
    },
    { name: 'src-never-imports-test', severity: 'error', from: { path: '^src/' }, to: { path: '^test/' } },
    layer('domain-is-pure', '^src/domain/', ['^src/domain/']),
    layer('runtime-knows-nobody', '^src/runtime/', ['^src/runtime/']),
    {
      name: 'domain-imports-no-package',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { dependencyTypesNot: ['local', 'type-only'], pathNot: ['^(node:)?crypto$', 'libphonenumber-js'] },
    },
    layer('rest-edge', '^src/rest/', ['^src/rest/', '^src/(domain|runtime)/']),
    layer('graphql-edge', '^src/graphql/', ['^src/graphql/', '^src/(domain|runtime)/']),
    layer('console-edge', '^src/console/', ['^src/console/', '^src/domain/']),
    {
      name: 'console-runs-in-a-browser',
      severity: 'error',
      from: { path: '^src/console/' },
      to: { path: `^(node:)?(${builtinModules.join('|')})$`, reachable: true },
    },
    only(
      'ui-packages-only-in-the-console',
      'node_modules/(react|react-dom|wouter|graphiql|@graphiql|@tanstack)/',
      ['^src/(console|explorer)/'],
    ),
    layer('explorer-edge', '^src/explorer/', ['^src/explorer/']),
    layer('workers-edge', '^src/workers/', ['^src/workers/', '^src/(domain|runtime)/']),
    layer('cli-edge', '^src/cli/(?!(main|run-cli)\\.ts)', ['^src/cli/', '^src/(domain|runtime)/']),
    layer('storage-adapter', '^src/storage/', ['^src/storage/', '^src/(domain|runtime)/']),
    layer('queue-adapter', '^src/queue/', ['^src/queue/', '^src/(domain|runtime)/']),
    layer('channels-adapter', '^src/channels/', ['^src/channels/', '^src/(domain|runtime)/']),
    layer('tracing-adapter', '^src/tracing/', ['^src/tracing/', '^src/(domain|runtime)/']),
    layer('csv-adapter', '^src/csv/', ['^src/csv/', '^src/(domain|runtime)/']),
    layer('crypto-adapter', '^src/crypto/', ['^src/crypto/', '^src/(domain|runtime)/']),
    ...['intake', 'message-index', 'rate-limit'].map((engine) => ({
      name: `${engine}-only-through-its-index`,
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/storage/${engine}/` },
      to: { path: `^src/storage/${engine}/`, pathNot: `^src/storage/${engine}/index\\.ts$` },
    })),
    only('sdk-only-in-the-command-line', '^sdk/', ['^src/cli/run-cli\\.ts$']),
    only('knex-and-pg-only-in-storage', 'node_modules/(knex|pg)/', ['^src/storage/']),
    only('pg-boss-only-in-queue', 'node_modules/pg-boss/', ['^src/queue/']),
    only('opentelemetry-only-in-tracing', 'node_modules/@opentelemetry/', ['^src/tracing/']),
    only('csv-parse-only-in-csv', 'node_modules/csv-parse/', ['^src/csv/']),
    only('express-only-in-http', 'node_modules/express/', ['^src/(rest|http)/']),
    only(
      'graphql-packages-only-in-graphql',
      'node_modules/(graphql|type-graphql|@apollo|@graphql-tools|graphql-scalars|dataloader)/',
      ['^src/(graphql|explorer)/'],
    ),
    only('mcp-only-at-its-edges', 'node_modules/@modelcontextprotocol/', ['^src/(rest/mcp/|cli/mcp\\.ts$)']),
    only('openid-client-only-in-single-sign-on', 'node_modules/openid-client/', [
      '^src/channels/single-sign-on/',
    ]),
    only('zod-only-at-the-edges', 'node_modules/(zod|zod-openapi)/', [
      '^src/(rest|graphql|workers|cli|config)/',
    ]),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // No TypeScript settings: 18 knows no TypeScript 7 and would say that it misses files. Its own parser sees all
    // imports, of types too, but `export type … from`, which lint/no-type-reexport.grit forbids.
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
