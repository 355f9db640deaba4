/** What `listen` stores for an API key between runs: its cursor, and where in the feed the forwarded events are. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The position of a forwarded event in the feed. The event itself is not stored, so no message text is on disk. */
export interface ForwardedEvent {
  readonly id: string;
  /** The cursor with which the event's slice was requested. */
  readonly after: string;
  /** Index of the event in the slice. */
  readonly index: number;
}

export interface ListenState {
  readonly cursor?: string;
  readonly forwardTo?: string;
  /** The forwarded events, newest last, at most `FORWARDED_MAX`. */
  readonly forwarded: readonly ForwardedEvent[];
}

const FORWARDED_MAX = 1_000;

export class StateFile {
  readonly #path: string;

  /** Each pair of API key and gateway has its own file. The file name is a hash, so it does not reveal the key. */
  constructor(apiKey: string, baseUrl: string, environment: NodeJS.ProcessEnv = process.env) {
    const folder = environment.XDG_STATE_HOME || environment.LOCALAPPDATA || join(homedir(), '.local/state');
    const name = createHash('sha256').update(`${apiKey} ${baseUrl}`).digest('hex').slice(0, 16);
    this.#path = join(folder, 'messaging-gateway-client', `${name}.json`);
  }

  async read(): Promise<ListenState> {
    try {
      return { forwarded: [], ...JSON.parse(await readFile(this.#path, 'utf8')) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { forwarded: [] };
      throw new Error(`${this.#path} cannot be read: ${(error as Error).message}. Delete it to begin anew.`);
    }
  }

  /** Writes a new file and renames it, so that a killed process never leaves a half-written file. */
  async write(state: ListenState): Promise<void> {
    await mkdir(join(this.#path, '..'), { recursive: true, mode: 0o700 });
    const kept = { ...state, forwarded: state.forwarded.slice(-FORWARDED_MAX) };
    await writeFile(`${this.#path}.new`, JSON.stringify(kept), { mode: 0o600 });
    await rename(`${this.#path}.new`, this.#path);
  }
}
