/**
 * Adds what is new in schema/schema.graphql to schema/released.graphql, so that the test against breaking changes
 * protects it from then on. Writes nothing if the schema lacks something that was released: the test then says what,
 * and whether its time has come. Then remove it from schema/released.graphql by hand.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { buildSchema, findBreakingChanges } from 'graphql';

const RELEASED = new URL('../../schema/released.graphql', import.meta.url);
const present = readFileSync(new URL('../../schema/schema.graphql', import.meta.url), 'utf8');
const missing = findBreakingChanges(buildSchema(readFileSync(RELEASED, 'utf8')), buildSchema(present));
if (missing.length === 0) writeFileSync(RELEASED, present);
for (const { description } of missing) console.log(`not in schema/released.graphql: ${description}`);
console.log('schema/released.graphql');
