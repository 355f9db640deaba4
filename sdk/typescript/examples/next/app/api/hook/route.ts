/** A Next.js route handler that receives webhooks. */
import { verifyWebhook, WebhookSignatureError } from 'messaging-gateway-client';

const { WEBHOOK_SECRET = '' } = process.env;
/** Delivery ids that were handled. A real application stores them in its database. */
const seen = new Set<string>();

export async function POST(request: Request): Promise<Response> {
  try {
    // The signature covers the raw bytes, so no JSON parser may read the body first.
    const event = await verifyWebhook(await request.arrayBuffer(), request.headers, WEBHOOK_SECRET);
    if (event.deliveryId !== null && !seen.has(event.deliveryId)) {
      seen.add(event.deliveryId);
      console.log(event.event, event.messageId);
    }
    return new Response(null, { status: 200 });
  } catch (error) {
    if (!(error instanceof WebhookSignatureError)) throw error;
    return new Response(error.message, { status: 400 });
  }
}
