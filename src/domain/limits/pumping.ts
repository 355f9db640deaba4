/**
 * **SMS pumping**: a fraudster with a stolen key writes to many numbers of one range, because he earns from each SMS
 * there (R392). A **block** is a phone number without its last three digits: 1,000 numbers in a row. The **endings** are
 * those three digits.
 *
 * A block is judged together with the fuller one of its two neighbours, because numbers in sequence cross the border of
 * a block.
 */
import { PREFIX_LENGTH } from '../messages/country.ts';

/** Number of digits that the numbers of a block differ in. */
const ENDING_DIGITS = 3;
const BLOCK_SIZE = 10 ** ENDING_DIGITS;
/** Numbers are counted for this long, in ms. */
export const WINDOW_MS = 3_600_000;
/** A block may have this many new numbers in an hour, whatever the account sends otherwise. */
const BOUND_LEAST = 12;
/** The bound grows by this many times the numbers that fall into a block by chance. */
const BOUND_PER_EXPECTED = 3;
/** Operators use about this part of the numbers that begin with a prefix. */
const USED_PART = 0.1;
/**
 * While a block has fewer numbers than this in one process, the process does not ask the database. So each further
 * process lets at most this many numbers pass, less one.
 */
const ASK_FROM_LEAST = 4;
const ASK_FROM_PART = 0.25;

/** Bounds of the memory of one process, in blocks and in numbers. */
const MAX_NUMBERS = 200_000;
const MAX_NUMBERS_A_BLOCK = 256;

/** Returns the block of a phone number, such as `+256770000` of `+256770000123`. */
export const blockOf = (address: string): string => address.slice(0, -ENDING_DIGITS);
export const endingOf = (address: string): string => address.slice(-ENDING_DIGITS);

/** Returns the blocks just before and after a block. */
export function neighboursOf(block: string): readonly string[] {
  // A block has at most 12 digits, so a number holds it exactly.
  const own = Number(block.slice(1));
  const shifted = (value: number) => `+${String(value).padStart(block.length - 1, '0')}`;
  return own === 0 ? [shifted(1)] : [shifted(own - 1), shifted(own + 1)];
}

/**
 * Returns how many new numbers an account may write to in a block and its neighbour within an hour. `busiestDay` is the
 * largest number of SMS that it sent on one day of the last four weeks to the numbers with the same prefix. They all
 * could be sent within an hour, over all blocks of the prefix.
 */
export function boundOf(address: string, busiestDay: number): number {
  const free = Math.max(0, address.length - PREFIX_LENGTH - ENDING_DIGITS);
  const blocks = Math.max(1, 10 ** free * USED_PART);
  return Math.floor(BOUND_LEAST + BOUND_PER_EXPECTED * ((2 * busiestDay) / blocks));
}

/** Returns from how many numbers on a process asks the database about a block with this bound. */
export function askFrom(bound: number): number {
  return Math.min(MAX_NUMBERS_A_BLOCK, Math.max(ASK_FROM_LEAST, Math.floor(bound * ASK_FROM_PART)));
}

/** True if a process may have to ask, whatever the bound is. */
export const mayHaveToAsk = (count: number): boolean => count >= ASK_FROM_LEAST;

/** `local`: the database does not have it yet. `known`: it is not new, so it does not count. */
type Standing = 'local' | 'stored' | 'known';

interface SeenNumber {
  readonly ending: number;
  at: number;
  standing: Standing;
}

/** The numbers of a block. There are few in nearly all blocks, so an array is faster than a map. */
class SeenBlock {
  numbers: SeenNumber[] = [];
  /** Number of numbers that are not known. */
  newNumbers = 0;

  add(ending: number, nowMs: number): void {
    const seen = this.#find(ending);
    if (seen) {
      seen.at = nowMs;
      return;
    }
    if (this.numbers.length >= MAX_NUMBERS_A_BLOCK) this.#keep(this.numbers.slice(1));
    this.numbers.push({ ending, at: nowMs, standing: 'local' });
    this.newNumbers += 1;
  }

  forgetBefore(beforeMs: number): void {
    const isFresh = ({ at }: SeenNumber) => at > beforeMs;
    if (!this.numbers.every(isFresh)) this.#keep(this.numbers.filter(isFresh));
  }

  mark(ending: number, standing: Standing): void {
    const seen = this.#find(ending);
    if (!seen || seen.standing === 'known') return;
    if (standing === 'known') this.newNumbers -= 1;
    seen.standing = standing;
  }

  #find(ending: number): SeenNumber | undefined {
    return this.numbers.find((seen) => seen.ending === ending);
  }

  #keep(numbers: SeenNumber[]): void {
    this.numbers = numbers;
    this.newNumbers = numbers.filter(({ standing }) => standing !== 'known').length;
  }
}

/**
 * The numbers that one process has written to within the hour, by account and block. It is bounded: what was not used for
 * longest is forgotten first. Blocks and endings are numbers here, because this runs for each recipient of an SMS.
 */
export class SeenNumbers {
  /** Blocks by account, both in the order of the last use. */
  readonly #accounts = new Map<string, Map<number, SeenBlock>>();
  #size = 0;

  /** Adds a number. Returns how many new numbers its block and the fuller neighbour have. */
  add(accountId: string, address: string, nowMs: number): number {
    const [block, ending] = partsOf(address);
    const blocks = this.#accounts.get(accountId) ?? new Map<number, SeenBlock>();
    this.#accounts.delete(accountId);
    this.#accounts.set(accountId, blocks);
    const own = blocks.get(block) ?? new SeenBlock();
    blocks.delete(block);
    blocks.set(block, own);
    const before = own.numbers.length;
    own.forgetBefore(nowMs - WINDOW_MS);
    own.add(ending, nowMs);
    this.#size += own.numbers.length - before;
    if (this.#size > MAX_NUMBERS) this.#shrink();
    return (
      own.newNumbers +
      Math.max(this.#newIn(blocks.get(block - 1), nowMs), this.#newIn(blocks.get(block + 1), nowMs))
    );
  }

  /** Returns the numbers of a block and its neighbours that the database does not have yet. */
  local(accountId: string, block: string): readonly string[] {
    const own = Number(block.slice(1));
    return [own - 1, own, own + 1].flatMap((each) =>
      (this.#accounts.get(accountId)?.get(each)?.numbers ?? []).flatMap(({ ending, standing }) =>
        standing === 'local' ? [`+${each * BLOCK_SIZE + ending}`] : [],
      ),
    );
  }

  mark(accountId: string, addresses: Iterable<string>, standing: Standing): void {
    for (const address of addresses) {
      const [block, ending] = partsOf(address);
      this.#accounts.get(accountId)?.get(block)?.mark(ending, standing);
    }
  }

  #newIn(block: SeenBlock | undefined, nowMs: number): number {
    if (!block) return 0;
    const before = block.numbers.length;
    block.forgetBefore(nowMs - WINDOW_MS);
    this.#size += block.numbers.length - before;
    return block.newNumbers;
  }

  /** Forgets blocks, beginning with those of the account that has sent nothing for longest. */
  #shrink(): void {
    for (const [accountId, blocks] of this.#accounts) {
      for (const [block, { numbers }] of blocks) {
        if (this.#size <= MAX_NUMBERS) return;
        blocks.delete(block);
        this.#size -= numbers.length;
      }
      this.#accounts.delete(accountId);
    }
  }
}

/** Returns the block and the ending of a number. It has at most 15 digits, so a number holds it exactly. */
function partsOf(address: string): readonly [number, number] {
  const digits = Number(address.slice(1));
  const ending = digits % BLOCK_SIZE;
  return [(digits - ending) / BLOCK_SIZE, ending];
}
