import { describe, expect, it } from '@jest/globals';
import { createRedaction } from '../../src/channels/redact-operator.ts';

describe("a provider's text for customers (R256)", () => {
  it.each([
    ['smpp:esme7@smsc.example:2775', 'smpp:esme7@smsc.example:2775 is down', 'the provider is down'],
    ['smpp:esme7@smsc.example:2775', 'connect ECONNREFUSED 10.1.2.3:2775', 'connect ECONNREFUSED …'],
    ['smpp:esme7@smsc.example:2775', 'connect ECONNREFUSED ::1:2775', 'connect ECONNREFUSED …'],
    ['smpp:esme7@smsc.example:2775', 'getaddrinfo ENOTFOUND smsc.example', 'getaddrinfo ENOTFOUND …'],
    ['smpp:esme7@smsc.example:2775', 'ESME7 at SMSC.example:2775 is barred', '… at … is barred'],
    ['smpp:esme7@10.1.2.3:2775', 'no route to 10.1.2.3.', 'no route to ….'],
    [
      'smpp:esme7@smsc.example:3550',
      "Hostname/IP does not match certificate's altnames: Host: a.example. is not in the cert's altnames: DNS:b.example",
      'its certificate is for another host',
    ],
    ['smtp:me@corp.example@mail.corp.example:587', '550 me@corp.example may not send', '550 … may not send'],
    [
      'smtp:mail.corp.example:25',
      '451 [2001:db8::7] greylisted by mail.corp.example',
      '451 […] greylisted by …',
    ],
    ['fcm:project-7', 'denied on projects/project-7', 'denied on projects/…'],
  ])('of %s: %s becomes %s', (name, text, shown) => {
    expect(createRedaction(name)(text)).toBe(shown);
  });

  it.each([
    ['simulator', 'the simulator fails twice for numbers ending in 0003'],
    ['smpp:id@smsc.example:2775', 'ESME_RINVDSTADR (destination address is invalid), id 7, UNDELIV/011'],
    ['smtp:mail.example:25', '550 5.1.1 <bob@shop.example>: user unknown, at 12:30:45, version 1.2.3'],
    ['smpp:esme7@smsc.example:2775', 'esme77 of my-esme7-x'],
  ])('of %s keeps: %s', (name, text) => {
    expect(createRedaction(name)(text)).toBe(text);
  });
});
