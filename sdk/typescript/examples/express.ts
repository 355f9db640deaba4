/** A shop on Express. It tells customers by SMS that their order has left, and receives the outcome by webhook. */
import express from 'express';
import {
  BalanceError,
  Gateway,
  UncertainError,
  verifyWebhook,
  WebhookSignatureError,
} from 'messaging-gateway-client';

const { GATEWAY_API_KEY = '', GATEWAY_URL = '', WEBHOOK_SECRET = '', PORT = '4000' } = process.env;
const gateway = new Gateway({ apiKey: GATEWAY_API_KEY, baseUrl: GATEWAY_URL });
/** Delivery ids that were handled. A real shop stores them in its database. */
const seen = new Set<string>();
const app = express();

app.post('/orders', express.json(), async (request, response) => {
  const { id, phone } = request.body;
  try {
    // The order's number is in the idempotency key: however often this route is called, the customer gets one SMS.
    const sms = await gateway.sms.send(
      { to: phone, message: `Your order ${id} has left.` },
      { idempotencyKey: `order-${id}-left` },
    );
    response.json({ messageId: sms.id });
  } catch (error) {
    if (error instanceof UncertainError) response.status(503).json({ error: 'Try again.' });
    else if (error instanceof BalanceError) response.status(500).json({ error: 'Top up the account.' });
    else throw error;
  }
});

// The signature covers the raw bytes. A JSON parser before this route would discard them.
app.post('/hook', express.raw({ type: 'application/json' }), async (request, response) => {
  try {
    const event = await verifyWebhook(request.body, request.headers, WEBHOOK_SECRET);
    response.sendStatus(200);
    if (event.deliveryId === null || seen.has(event.deliveryId)) return;
    seen.add(event.deliveryId);
    console.log(event.event, event.messageId);
  } catch (error) {
    if (!(error instanceof WebhookSignatureError)) throw error;
    response.status(400).send(error.message);
  }
});

app.listen(Number(PORT), () => console.log('ready'));
