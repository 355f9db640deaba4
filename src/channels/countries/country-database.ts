import { readFileSync, type Stats, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { type CountryResponse, Reader } from 'mmdb-lib';
import { shownClient } from '../../domain/ip-network.ts';
import { parseCountry } from '../../domain/people/country.ts';
import type { Countries } from '../../domain/ports/countries.ts';
import type { Logger } from '../../domain/ports/logger.ts';

/** Databases whose records have the country of an address. Others, such as those of networks, would never find one. */
const WITH_COUNTRY = /country|city|enterprise/i;

type CountryReader = Reader<CountryResponse>;

/** A version of the file. A file that is replaced or written again gets another one. */
const versionOf = ({ ino, size, mtimeMs }: Stats) => `${ino} ${size} ${mtimeMs}`;

/**
 * Finds the country of an address in an MMDB file (R487). It looks at the file before each search, because sign-ins are
 * rare: so a replaced file is used from the next sign-in on.
 */
export class CountryDatabase implements Countries {
  readonly isConfigured = true;
  readonly #path: string;
  readonly #logger: Logger;
  #reader: CountryReader;
  /** The version that was read last, or that could not be read. Undefined: there was no file. */
  #version: string | undefined;
  #reading: Promise<void> | undefined;

  /** Reads the file. Throws an error that says why the file cannot be used. */
  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    this.#version = versionOf(statSync(path));
    this.#reader = parse(readFileSync(path));
  }

  async find(client: string): Promise<string | undefined> {
    this.#reading ??= this.#readAgain().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
    const address = shownClient(client).replace(/\/64$/, '');
    if (address === 'unknown') return undefined;
    // A file of IPv4 alone would take the first 32 bits of an IPv6 address for an IPv4 address.
    if (address.includes(':') && this.#reader.metadata.ipVersion === 4) return undefined;
    return parseCountry(this.#search(address)?.country?.iso_code);
  }

  #search(address: string): CountryResponse | null {
    try {
      return this.#reader.get(address);
    } catch (error) {
      // A damaged record must not keep a person from signing in.
      this.#logger.warn({ err: error, path: this.#path }, 'the country of an address cannot be read');
      return null;
    }
  }

  async #readAgain(): Promise<void> {
    let version: string | undefined;
    try {
      version = versionOf(await stat(this.#path));
      if (version === this.#version) return;
      this.#reader = parse(await readFile(this.#path));
    } catch (error) {
      if (version === this.#version) return;
      this.#logger.warn(
        { err: error, path: this.#path },
        'COUNTRY_DATABASE cannot be read again; the countries of before are used',
      );
    }
    this.#version = version;
  }
}

function parse(bytes: Buffer): CountryReader {
  const reader = readerOf(bytes);
  const { databaseType } = reader.metadata;
  if (WITH_COUNTRY.test(databaseType)) return reader;
  throw new Error(`it is ${databaseType}, and must be a database of countries or cities`);
}

function readerOf(bytes: Buffer): CountryReader {
  try {
    return new Reader(bytes);
  } catch (error) {
    // The error of the library names a place in the file, which tells an operator nothing.
    throw new Error('it is no file in the MMDB format, or a part of one', { cause: error });
  }
}
