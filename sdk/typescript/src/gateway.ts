import { EventFeed } from './event-feed.ts';
import {
  AccountResource,
  AlertsResource,
  ContactsResource,
  EmailResource,
  ErasuresResource,
  KeysResource,
  MessagesResource,
  PushDevicesResource,
  PushResource,
  RecipientsResource,
  SendersResource,
  SmsResource,
  SuppressionsResource,
  WhatsappResource,
} from './resources.generated.ts';
import { Testing } from './sandbox.ts';
import { type GatewayOptions, Transport } from './transport.ts';
import { Webhooks } from './webhooks.ts';

/** Sends push notifications. `devices` manages the devices that receive them. */
class Push extends PushResource {
  readonly devices: PushDevicesResource;

  constructor(transport: Transport) {
    super(transport);
    this.devices = new PushDevicesResource(transport);
  }
}

/**
 * A client for the REST API of a messaging gateway, with one API key. Each send gets an idempotency key, and is retried
 * with this key after network errors, 5xx and 429. So no message is sent or charged twice. A request that does not
 * succeed throws a `GatewayError`.
 */
export class Gateway {
  readonly account: AccountResource;
  readonly sms: SmsResource;
  readonly email: EmailResource;
  readonly push: Push;
  readonly whatsapp: WhatsappResource;
  /** Messages of all channels, by id. */
  readonly messages: MessagesResource;
  readonly contacts: ContactsResource;
  readonly suppressions: SuppressionsResource;
  readonly recipients: RecipientsResource;
  readonly erasures: ErasuresResource;
  readonly senders: SendersResource;
  readonly alerts: AlertsResource;
  readonly keys: KeysResource;
  readonly webhooks: Webhooks;
  readonly events: EventFeed;
  /** Simulated phone numbers and helpers for tests. */
  readonly testing: Testing;

  /** Throws a `TypeError` if an option is missing or invalid. */
  constructor(options: GatewayOptions = {}) {
    const transport = new Transport(options);
    this.account = new AccountResource(transport);
    this.sms = new SmsResource(transport);
    this.email = new EmailResource(transport);
    this.push = new Push(transport);
    this.whatsapp = new WhatsappResource(transport);
    this.messages = new MessagesResource(transport);
    this.contacts = new ContactsResource(transport);
    this.suppressions = new SuppressionsResource(transport);
    this.recipients = new RecipientsResource(transport);
    this.erasures = new ErasuresResource(transport);
    this.senders = new SendersResource(transport);
    this.alerts = new AlertsResource(transport);
    this.keys = new KeysResource(transport);
    this.webhooks = new Webhooks(transport);
    this.events = new EventFeed(transport);
    this.testing = new Testing(this.messages, transport.origin);
  }
}
