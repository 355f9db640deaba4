import { EventFeed } from './event-feed.ts';
import {
  AccountResource,
  ContactsResource,
  EmailResource,
  KeysResource,
  MessagesResource,
  PushDevicesResource,
  PushResource,
  SmsResource,
  WhatsappResource,
} from './resources.generated.ts';
import { Testing } from './sandbox.ts';
import { type GatewayOptions, Transport } from './transport.ts';
import { Webhooks } from './webhooks.ts';

/** Push messages, and the devices that they go to. */
class Push extends PushResource {
  readonly devices: PushDevicesResource;

  constructor(transport: Transport) {
    super(transport);
    this.devices = new PushDevicesResource(transport);
  }
}

/**
 * The REST API of a messaging gateway, with one API key. Sends get an idempotency key each and are repeated with it after
 * network errors, 5xx and 429, so that none is sent or charged twice. What does not succeed is a `GatewayError`.
 */
export class Gateway {
  readonly account: AccountResource;
  readonly sms: SmsResource;
  readonly email: EmailResource;
  readonly push: Push;
  readonly whatsapp: WhatsappResource;
  /** Messages of any channel, by id. */
  readonly messages: MessagesResource;
  readonly contacts: ContactsResource;
  readonly keys: KeysResource;
  readonly webhooks: Webhooks;
  readonly events: EventFeed;
  /** Numbers and addresses that are simulated. */
  readonly testing: Testing;

  /** Throws a `TypeError` that says which option is missing or wrong. */
  constructor(options: GatewayOptions) {
    const transport = new Transport(options);
    this.account = new AccountResource(transport);
    this.sms = new SmsResource(transport);
    this.email = new EmailResource(transport);
    this.push = new Push(transport);
    this.whatsapp = new WhatsappResource(transport);
    this.messages = new MessagesResource(transport);
    this.contacts = new ContactsResource(transport);
    this.keys = new KeysResource(transport);
    this.webhooks = new Webhooks(transport);
    this.events = new EventFeed(transport);
    this.testing = new Testing(this.messages, transport.origin);
  }
}
