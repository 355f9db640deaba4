/**
 * **SMS pumping**: a fraudster with a stolen key writes to many numbers of one range, because he earns from each SMS
 * there (R392). A **block** is a phone number without its last three digits: 1,000 numbers in a row. The **endings** are
 * those three digits.
 *
 * A block is judged together with the fuller one of its two neighbours, because numbers in sequence cross the border of
 * a block. A **network** is the numbers with the same five leading digits: a campaign spreads over its blocks, an attack
 * does not.
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
/** Operators use at least this part of the numbers that begin with a prefix. */
const USED_PART = 0.1;
const NETWORK_LENGTH = PREFIX_LENGTH + 1;
const NETWORK_DIGITS = NETWORK_LENGTH - '+'.length;
/** Numbers in fewer other blocks of the network than this are no campaign. An attack on a few blocks has none. */
const CAMPAIGN_BLOCKS_LEAST = 100;
/** A campaign adds at most this to the bound, so that an attack in the same hour cannot hide in it. */
const CAMPAIGN_MOST = 30;
/**
 * While a block has fewer numbers than this in one process, the process does not ask the database. So each further
 * process lets at most this many numbers pass, less one.
 */
const ASK_FROM_LEAST = 4;
const ASK_FROM_PART = 0.25;
/**
 * In a campaign, more numbers than that fall into nearly each block by chance. Without this, each message of a large
 * campaign would ask the database.
 */
const ASK_FROM_PART_IN_CAMPAIGN = 0.5;
/** Old numbers are forgotten in all blocks of an account at most this often, in ms. */
const FORGET_EVERY_MS = 10_000;

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
  return Math.floor(BOUND_LEAST + chanceBound(busiestDay, usedBlocks(address, PREFIX_LENGTH)));
}

/** Numbers of an account within the hour, in the other blocks of a network. */
export interface Spread {
  readonly numbers: number;
  readonly blocks: number;
}

/**
 * Returns the bound of an account that writes to many blocks of the network within this hour, as in its first campaign.
 */
export function campaignBoundOf(address: string, { numbers, blocks }: Spread): number {
  if (blocks < CAMPAIGN_BLOCKS_LEAST) return BOUND_LEAST;
  const perChance = chanceBound(numbers, Math.max(blocks, usedBlocks(address, NETWORK_LENGTH)));
  return Math.floor(BOUND_LEAST + Math.min(CAMPAIGN_MOST, perChance));
}

/** Returns what numbers that fall into `blocks` by chance add to the bound of one block and its neighbour. */
const chanceBound = (numbers: number, blocks: number): number =>
  BOUND_PER_EXPECTED * ((2 * numbers) / blocks);

/** Returns how many blocks operators use of those that have the same first `prefixLength` characters. */
function usedBlocks(address: string, prefixLength: number): number {
  const free = Math.max(0, address.length - prefixLength - ENDING_DIGITS);
  return Math.max(1, 10 ** free * USED_PART);
}

/**
 * Returns from how many numbers on a process asks the database about a block. `bound` is what the volume of the account
 * allows, `campaignBound` what its campaign of this hour allows.
 */
export function askFrom(bound: number, campaignBound: number): number {
  const isCampaign = campaignBound > bound;
  const least = isCampaign ? campaignBound * ASK_FROM_PART_IN_CAMPAIGN : bound * ASK_FROM_PART;
  return Math.min(MAX_NUMBERS_A_BLOCK, Math.max(ASK_FROM_LEAST, Math.floor(least)));
}

/** True if a process may have to ask, whatever the bound is. */
export const mayHaveToAsk = (count: number): boolean => count >= ASK_FROM_LEAST;

/** `local`: the database does not have it. `known`: it is not new, so it does not count. */
type Standing = 'local' | 'stored' | 'known';

interface SeenNumber {
  readonly ending: number;
  at: number;
  standing: Standing;
  /** The only message to it. Undefined after a second one. */
  messageId: string | undefined;
}

/** The numbers of a block. There are few in nearly all blocks, so an array is faster than a map. */
class SeenBlock {
  numbers: SeenNumber[] = [];
  /** Number of numbers that are not known. */
  newNumbers = 0;

  add(ending: number, nowMs: number, messageId: string): void {
    const seen = this.#find(ending);
    if (seen) {
      seen.at = nowMs;
      if (seen.messageId !== messageId) seen.messageId = undefined;
      return;
    }
    if (this.numbers.length >= MAX_NUMBERS_A_BLOCK) this.#keep(this.numbers.slice(1));
    this.numbers.push({ ending, at: nowMs, standing: 'local', messageId });
    this.newNumbers += 1;
  }

  takeBack(ending: number, messageId: string): void {
    const isAlone = (seen: SeenNumber) => seen.ending === ending && seen.messageId === messageId;
    if (this.numbers.some(isAlone)) this.#keep(this.numbers.filter((seen) => !isAlone(seen)));
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

/** The numbers of one account. */
class SeenAccount {
  /** In the order of the last use. */
  readonly blocks = new Map<number, SeenBlock>();
  /** The new numbers of the blocks by network, kept up to date with each change of a block. */
  readonly networks = new Map<number, { numbers: number; blocks: number }>();
  #forgottenAt: number;

  constructor(nowMs: number) {
    this.#forgottenAt = nowMs;
  }

  /**
   * Changes a block, and forgets it if it has no number any more: refused sends would fill the memory with empty blocks,
   * because only numbers are counted. Returns by how much the account has more numbers then.
   */
  change(block: number, seen: SeenBlock, change: (seen: SeenBlock) => void): number {
    const { newNumbers: before, numbers } = seen;
    const length = numbers.length;
    change(seen);
    if (seen.newNumbers !== before) {
      const network = networkOf(block);
      const total = this.networks.get(network) ?? { numbers: 0, blocks: 0 };
      total.numbers += seen.newNumbers - before;
      total.blocks += Math.sign(seen.newNumbers) - Math.sign(before);
      if (total.blocks > 0) this.networks.set(network, total);
      else this.networks.delete(network);
    }
    if (seen.numbers.length === 0) this.blocks.delete(block);
    return seen.numbers.length - length;
  }

  /** Forgets the old numbers of all blocks, if that was not done lately. Returns how many more numbers there are then. */
  forgetOld(nowMs: number): number {
    if (nowMs - this.#forgottenAt < FORGET_EVERY_MS) return 0;
    this.#forgottenAt = nowMs;
    let more = 0;
    for (const [block, seen] of this.blocks) {
      more += this.change(block, seen, () => seen.forgetBefore(nowMs - WINDOW_MS));
    }
    return more;
  }
}

/**
 * The numbers that one process has written to within the hour, by account and block. It is bounded: what was not used for
 * longest is forgotten first. Blocks and endings are numbers here, because this runs for each recipient of an SMS.
 */
export class SeenNumbers {
  /** In the order of the last use. */
  readonly #accounts = new Map<string, SeenAccount>();
  #size = 0;

  /** Number of blocks of all accounts. Each has at least one number. */
  get blocks(): number {
    return [...this.#accounts.values()].reduce((all, { blocks }) => all + blocks.size, 0);
  }

  /** Adds a number of a message. Returns how many new numbers its block and the fuller neighbour have. */
  add(accountId: string, address: string, nowMs: number, messageId: string): number {
    const [block, ending] = partsOf(address);
    const account = this.#accounts.get(accountId) ?? new SeenAccount(nowMs);
    this.#accounts.delete(accountId);
    this.#accounts.set(accountId, account);
    const { blocks } = account;
    const own = blocks.get(block) ?? new SeenBlock();
    blocks.delete(block);
    blocks.set(block, own);
    this.#size += account.change(block, own, () => {
      own.forgetBefore(nowMs - WINDOW_MS);
      own.add(ending, nowMs, messageId);
    });
    if (this.#size > MAX_NUMBERS) this.#shrink();
    return (
      own.newNumbers +
      Math.max(this.#newIn(account, block - 1, nowMs), this.#newIn(account, block + 1, nowMs))
    );
  }

  /** Takes back the numbers to which there was no other message. */
  takeBack(accountId: string, addresses: Iterable<string>, messageId: string): void {
    const account = this.#accounts.get(accountId);
    if (!account) return;
    for (const address of addresses) {
      const [block, ending] = partsOf(address);
      const own = account.blocks.get(block);
      if (own) this.#size += account.change(block, own, () => own.takeBack(ending, messageId));
    }
    if (account.blocks.size === 0) this.#accounts.delete(accountId);
  }

  /** Returns the numbers of blocks and their neighbours that the database does not have. */
  local(accountId: string, blocks: Iterable<string>): readonly string[] {
    const near = new Set(
      [...blocks].map((block) => Number(block.slice(1))).flatMap((own) => [own - 1, own, own + 1]),
    );
    return [...near].flatMap((each) =>
      (this.#accounts.get(accountId)?.blocks.get(each)?.numbers ?? []).flatMap(({ ending, standing }) =>
        standing === 'local' ? [`+${each * BLOCK_SIZE + ending}`] : [],
      ),
    );
  }

  /** Counts the new numbers of the account within the hour that are in the network of an address, but not near it. */
  spread(accountId: string, address: string, nowMs: number): Spread {
    const account = this.#accounts.get(accountId);
    if (!account) return NO_SPREAD;
    this.#size += account.forgetOld(nowMs);
    const [near] = partsOf(address);
    const network = networkOf(near);
    let { numbers, blocks } = account.networks.get(network) ?? NO_SPREAD;
    for (const each of [near - 1, near, near + 1]) {
      const fresh = networkOf(each) === network ? (account.blocks.get(each)?.newNumbers ?? 0) : 0;
      numbers -= fresh;
      blocks -= Math.sign(fresh);
    }
    return { numbers, blocks };
  }

  mark(accountId: string, addresses: Iterable<string>, standing: Standing): void {
    const account = this.#accounts.get(accountId);
    for (const address of addresses) {
      const [block, ending] = partsOf(address);
      const own = account?.blocks.get(block);
      if (account && own) account.change(block, own, () => own.mark(ending, standing));
    }
  }

  #newIn(account: SeenAccount, block: number, nowMs: number): number {
    const seen = account.blocks.get(block);
    if (!seen) return 0;
    this.#size += account.change(block, seen, () => seen.forgetBefore(nowMs - WINDOW_MS));
    return seen.newNumbers;
  }

  /** Forgets blocks, beginning with those of the account that has sent nothing for longest. */
  #shrink(): void {
    for (const [accountId, account] of this.#accounts) {
      for (const [block, seen] of account.blocks) {
        if (this.#size <= MAX_NUMBERS) return;
        this.#size += account.change(block, seen, () => seen.forgetBefore(Number.POSITIVE_INFINITY));
      }
      this.#accounts.delete(accountId);
    }
  }
}

const NO_SPREAD: Spread = { numbers: 0, blocks: 0 };

/** Returns the network of a block. Blocks of numbers of another length are in other networks. */
function networkOf(block: number): number {
  const digits = String(block).length;
  return digits * 10 ** NETWORK_DIGITS + Math.floor(block / 10 ** Math.max(0, digits - NETWORK_DIGITS));
}

/** Returns the block and the ending of a number. It has at most 15 digits, so a number holds it exactly. */
function partsOf(address: string): readonly [number, number] {
  const digits = Number(address.slice(1));
  const ending = digits % BLOCK_SIZE;
  return [(digits - ending) / BLOCK_SIZE, ending];
}
