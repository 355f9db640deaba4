/** A shop on Fastify. It tells customers by SMS that their order has left, and receives the outcome by webhook. */
import fastify from 'fastify';
import { Gateway, verifyWebhook, WebhookSignatureError } from 'messaging-gateway-client';

const { GATEWAY_API_KEY = '', GATEWAY_URL = '', WEBHOOK_SECRET = '', PORT = '4000' } = process.env;
const gateway = new Gateway({ apiKey: GATEWAY_API_KEY, baseUrl: GATEWAY_URL });
/** Delivery ids that were handled. A real shop stores them in its database. */
const seen = new Set<string>();
const app = fastify();

app.post<{ Body: { id: string; phone: string } }>('/orders', async (request) => {
  const { id, phone } = request.body;
  // The order's number is in the idempotency key: however often this route is called, the customer gets one SMS.
  const sms = await gateway.sms.send(
    { to: phone, message: `Your order ${id} has left.` },
    { idempotencyKey: `order-${id}-left` },
  );
  return { messageId: sms.id };
});

app.register(async (hooks) => {
  // The signature covers the raw bytes, so routes of this plugin get the body as a buffer instead of parsed JSON.
  hooks.removeContentTypeParser('application/json');
  hooks.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  hooks.post<{ Body: Buffer }>('/hook', async (request, reply) => {
    try {
      const event = await verifyWebhook(request.body, request.headers, WEBHOOK_SECRET);
      if (event.deliveryId !== null && !seen.has(event.deliveryId)) {
        seen.add(event.deliveryId);
        console.log(event.event, event.messageId);
      }
      return reply.code(200).send();
    } catch (error) {
      if (!(error instanceof WebhookSignatureError)) throw error;
      return reply.code(400).send(error.message);
    }
  });
});

await app.listen({ port: Number(PORT), host: '127.0.0.1' });
console.log('ready');
