#!/usr/bin/env node
import { runInProcess } from './commands.ts';

void runInProcess(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
