import { loadConfig } from '../config/config.ts';
import { runCli } from './run-cli.ts';

const { argv, stdout, stderr } = process;
process.exit(await runCli(argv.slice(2), { loadConfig, stdout, stderr }));
