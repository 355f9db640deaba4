import { expect, it } from '@jest/globals';
import { countryName, parseCountry } from '../../src/domain/people/country.ts';

it('countries are two letters; the codes for unknown countries are none (R487)', () => {
  expect(['KE', 'ug', 'Rw'].map(parseCountry)).toEqual(['KE', 'UG', 'RW']);
  for (const text of [
    undefined,
    '',
    'K',
    'KEN',
    'T1',
    'XX',
    'zz',
    'K E',
    ' KE',
    'KE\n',
    'ÜG',
    'ＫＥ',
    'KE,UG',
  ])
    expect(parseCountry(text)).toBeUndefined();
});

it('countries have English names, and a code without a name stays as it is (R488)', () => {
  expect(['KE', 'CI', 'QX'].map(countryName)).toEqual(['Kenya', 'Côte d’Ivoire', 'QX']);
});
