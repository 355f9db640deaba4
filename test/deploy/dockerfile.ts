/**
 * Runs the instructions of a Dockerfile without a container engine. Needs root. Each stage is a directory that
 * debootstrap fills, with this project's Node.js in it. Each RUN is a command in a chroot to this directory.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';

interface Instruction {
  readonly name: string;
  readonly value: string;
}

/** The root directory of an image, and the settings for its process. */
export interface Image {
  readonly root: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
  readonly user: string;
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
  readonly volumes: readonly string[];
}

export interface BuiltImage extends Image {
  remove(): void;
}

const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Returns the instructions in order. A line that ends with `\` continues on the next line. */
function instructionsOf(text: string): Instruction[] {
  return text
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', value = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
      return { name, value };
    });
}

/** Builds the last stage of the Dockerfile. Throws if an instruction is unknown or a command fails. */
export function buildImage(dockerfile: string, context: string): BuiltImage {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-image-'));
  const base = makeBase(join(directory, 'base'));
  const stages = new Map<string, string>();
  let image: Image | undefined;
  for (const instruction of instructionsOf(readFileSync(dockerfile, 'utf8'))) {
    if (instruction.name === 'FROM') {
      const [, name] = /^node:24-bookworm-slim(?: AS (\w+))?$/.exec(instruction.value) ?? [];
      const root = join(directory, `stage-${stages.size}`);
      cpSync(base, root, { recursive: true, verbatimSymlinks: true });
      stages.set(name ?? 'last', root);
      image = emptyImage(root);
    } else if (image === undefined) throw new Error(`${instruction.name} before FROM`);
    else image = apply(image, instruction, { stages, context });
  }
  if (image === undefined) throw new Error('no FROM');
  return { ...image, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

function emptyImage(root: string): Image {
  return {
    root,
    environment: { PATH, NODE_EXTRA_CA_CERTS: AUTHORITIES },
    workingDirectory: '/',
    user: 'root',
    command: [],
    healthCheck: [],
    volumes: [],
  };
}

/** Makes the same content as the official image: minimal Debian, Node.js, npm and a user `node`. */
function makeBase(root: string): string {
  execFileSync('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', root], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const prefix = dirname(dirname(execFileSync('which', ['npm'], { encoding: 'utf8' }).trim()));
  cpSync(process.execPath, join(root, 'usr/local/bin/node'));
  cpSync(join(prefix, 'lib/node_modules/npm'), join(root, 'usr/local/lib/node_modules/npm'), {
    recursive: true,
  });
  for (const program of ['npm', 'npx'])
    execFileSync('ln', [
      '-s',
      `../lib/node_modules/npm/bin/${program}-cli.js`,
      join(root, `usr/local/bin/${program}`),
    ]);
  // The build machine may reach the registry through a proxy with its own certificate authority, so its certificates
  // are copied.
  cpSync(AUTHORITIES, join(root, AUTHORITIES));
  runIn(emptyImage(root), ['useradd', '--uid', '1000', '--create-home', 'node']);
  return root;
}

function apply(
  image: Image,
  { name, value }: Instruction,
  { stages, context }: { stages: ReadonlyMap<string, string>; context: string },
): Image {
  const within = (path: string) => join(image.root, posix.resolve(image.workingDirectory, path));
  switch (name) {
    case 'WORKDIR':
      mkdirSync(join(image.root, value), { recursive: true });
      return { ...image, workingDirectory: value };
    case 'ENV': {
      const pairs = value.split(' ').map((pair) => pair.split('=') as [string, string]);
      return { ...image, environment: { ...image.environment, ...Object.fromEntries(pairs) } };
    }
    case 'COPY': {
      const words = value.split(' ');
      const from = /^--from=(\w+)$/.exec(words[0] ?? '')?.[1];
      const [target = '', ...sources] = words.slice(from === undefined ? 0 : 1).reverse();
      const origin = from === undefined ? context : stages.get(from);
      if (origin === undefined) throw new Error(`there is no stage ${from}`);
      copy(
        sources.map((source) => join(origin, source)),
        within(target),
        target,
        from === undefined ? ignored(context) : [],
      );
      return image;
    }
    case 'RUN':
      runIn(image, ['sh', '-c', value]);
      return image;
    case 'USER':
      return { ...image, user: value };
    case 'VOLUME':
      return { ...image, volumes: [...image.volumes, value] };
    case 'CMD':
      return { ...image, command: JSON.parse(value) };
    case 'HEALTHCHECK':
      return { ...image, healthCheck: JSON.parse(value.slice(value.indexOf('CMD ') + 'CMD '.length)) };
    case 'EXPOSE':
    case 'STOPSIGNAL':
      return image;
    default:
      throw new Error(`the instruction ${name} is not known here`);
  }
}

/** Returns the top-level names of the context that .dockerignore excludes. */
function ignored(context: string): string[] {
  const file = join(context, '.dockerignore');
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

function copy(sources: readonly string[], target: string, written: string, without: readonly string[]): void {
  const isInto = written.endsWith('/') || written === '.' || sources.length > 1;
  mkdirSync(isInto ? target : dirname(target), { recursive: true });
  for (const source of sources) {
    // For a directory, COPY copies its content and not the directory itself.
    const isDirectory = statSync(source).isDirectory();
    if (isDirectory) mkdirSync(target, { recursive: true });
    const args = isDirectory
      ? [
          '-c',
          `tar -C "$0" ${without.map((name) => `--exclude='./${name}'`).join(' ')} -cf - . | tar -C "$1" -xf -`,
        ]
      : ['-c', 'cp -a "$0" "$1"'];
    execFileSync('sh', [...args, source, target]);
  }
}

/** Runs a command in an image as the image's user. Throws if the command fails. */
function runIn(image: Image, command: readonly string[]): void {
  execFileSync('unshare', insideArguments(image, command), {
    env: image.environment,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/**
 * Returns the arguments of `unshare` that run a command in an image. It runs as the image's user, in its working
 * directory, with /proc and /dev.
 */
export function insideArguments(image: Image, command: readonly string[]): string[] {
  const [, id] = new RegExp(`^${image.user}:[^:]*:(\\d+):`, 'm').exec(
    readFileSync(join(image.root, 'etc/passwd'), 'utf8'),
  ) ?? [undefined, '0'];
  const enter = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$@"';
  return [
    ...['--mount', 'sh', '-c', enter, image.root],
    `--userspec=${id}:${id}`,
    image.root,
    '/bin/sh',
    '-c',
    'cd "$0" && exec "$@"',
    image.workingDirectory,
    ...command,
  ];
}
