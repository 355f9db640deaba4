import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventStream, MULTIPART_PARTS, SERVER_SENT_EVENTS } from '../../src/graphql/event-stream.ts';

/** A response to a client that reads everything, or nothing. */
class FakeResponse extends EventEmitter {
  text = '';
  isRead = true;
  headersSent = false;
  destroyed = false;
  isEnded = false;

  get writableNeedDrain() {
    return !this.isRead;
  }
  writeHead() {
    this.headersSent = true;
  }
  write(text: string) {
    this.text += text;
    return this.isRead;
  }
  end(text: string) {
    this.text += text;
    this.isEnded = true;
    this.emit('close');
  }
  destroy() {
    this.destroyed = true;
    this.emit('close');
  }
}

describe('an event stream', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  function openStream() {
    const response = new FakeResponse();
    const stream = new EventStream(response as unknown as ServerResponse, SERVER_SENT_EVENTS);
    stream.open();
    return { response, stream };
  }

  it('sends a keep-alive every 15 seconds, except to a reader that does not read', async () => {
    const { response, stream } = openStream();
    jest.advanceTimersByTime(31_000);
    expect(response.text).toBe(':\n\n'.repeat(3));
    response.isRead = false;
    jest.advanceTimersByTime(30_000);
    expect(response.text).toBe(':\n\n'.repeat(3));
    stream.breakOff();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('waits for a slow reader, and closes when nothing was read for a minute', async () => {
    const { response, stream } = openStream();
    await stream.next({ data: { n: 1 } });
    expect(response.text).toBe(':\n\nevent: next\ndata: {"data":{"n":1}}\n\n');
    response.isRead = false;
    const slow = stream.next({ data: { n: 2 } });
    jest.advanceTimersByTime(59_000);
    expect(response.destroyed).toBe(false);
    response.emit('drain');
    await slow;
    const stalled = stream.next({ data: { n: 3 } });
    jest.advanceTimersByTime(60_000);
    expect(response.destroyed).toBe(true);
    await stalled;
    expect(stream.closed.aborted).toBe(true);
    expect(jest.getTimerCount()).toBe(0);
    await stream.next({ data: { n: 4 } });
    expect(response.text).not.toContain('"n":4');
  });

  it('ends with a last result, or is cut off without one, and writes nothing to a reader that does not read', () => {
    const whole = openStream();
    whole.stream.complete({ data: null });
    expect(whole.response.text).toBe(':\n\nevent: next\ndata: {"data":null}\n\nevent: complete\ndata:\n\n');
    whole.stream.complete();
    whole.stream.breakOff();
    expect(whole.response.text.match(/complete/g)).toHaveLength(1);

    const broken = openStream();
    broken.stream.breakOff();
    expect([broken.response.text, broken.response.isEnded]).toEqual([':\n\n', true]);

    const unread = openStream();
    unread.response.isRead = false;
    unread.stream.complete({ data: null });
    expect([unread.response.text, unread.response.isEnded, unread.response.destroyed]).toEqual([
      ':\n\n',
      false,
      true,
    ]);
  });

  it('as multipart, follows each part with the delimiter that Apollo waits for, and ends with the closing one', async () => {
    const response = new FakeResponse();
    const stream = new EventStream(response as unknown as ServerResponse, MULTIPART_PARTS);
    stream.open();
    await stream.next({ data: { n: 1 } });
    stream.complete();
    const part = (json: string) => `\r\nContent-Type: application/json\r\n\r\n${json}\r\n--graphql`;
    expect(response.text).toBe(`\r\n--graphql${part('{}')}${part('{"payload":{"data":{"n":1}}}')}--\r\n`);

    const refused = new FakeResponse();
    new EventStream(refused as unknown as ServerResponse, MULTIPART_PARTS).complete({ data: null });
    expect(refused.text).toBe(`\r\n--graphql${part('{"payload":{"data":null}}')}--\r\n`);
  });
});
