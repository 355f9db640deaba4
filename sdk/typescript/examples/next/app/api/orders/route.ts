/** A Next.js route handler that tells a customer by SMS that their order has left. */
import { Gateway } from 'messaging-gateway-client';

const { GATEWAY_API_KEY = '', GATEWAY_URL = '' } = process.env;
const gateway = new Gateway({ apiKey: GATEWAY_API_KEY, baseUrl: GATEWAY_URL });

export async function POST(request: Request): Promise<Response> {
  const { id, phone } = (await request.json()) as { id: string; phone: string };
  // The order's number is in the idempotency key: however often this route is called, the customer gets one SMS.
  const sms = await gateway.sms.send(
    { to: phone, message: `Your order ${id} has left.` },
    { idempotencyKey: `order-${id}-left` },
  );
  return Response.json({ messageId: sms.id });
}
