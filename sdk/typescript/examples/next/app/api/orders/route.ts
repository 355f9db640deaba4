/** A route handler of Next.js: tells a customer by SMS that the order has left. */
import { Gateway } from 'messaging-gateway-client';

const { GATEWAY_API_KEY = '', GATEWAY_URL = '' } = process.env;
const gateway = new Gateway({ apiKey: GATEWAY_API_KEY, baseUrl: GATEWAY_URL });

export async function POST(request: Request): Promise<Response> {
  const { id, phone } = (await request.json()) as { id: string; phone: string };
  // The order's number is the idempotency key: the customer is told once, however often this is called.
  const sms = await gateway.sms.send(
    { to: phone, message: `Your order ${id} has left.` },
    { idempotencyKey: `order-${id}-left` },
  );
  return Response.json({ messageId: sms.id });
}
