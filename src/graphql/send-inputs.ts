import { ID, InputType, Int } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { Purpose } from '../domain/messages/message.ts';
import type { WhatsAppContentInput } from '../domain/messages/whatsapp-content.ts';
import { EnvironmentEnum, MessageTypeEnum, PurposeEnum, PushPriorityEnum } from './enums.ts';
import { DateTime, JsonObject } from './scalars.ts';
import { InputField } from './typed.ts';

/** Fields that the inputs of all sends have. */
@InputType({ description: 'The fields that every send takes.' })
export abstract class SendInput {
  @InputField(() => DateTime, {
    nullable: true,
    description: 'When to send it, at most 30 days ahead. Default: now.',
  })
  scheduledFor?: Date | null;

  @InputField(() => String, {
    nullable: true,
    description: 'Idempotency key. Repeating a send with the same key within 24 hours sends nothing more.',
  })
  idempotencyKey?: string | null;

  @InputField(() => EnvironmentEnum, {
    nullable: true,
    description: 'Environment. Default: PRODUCTION.',
  })
  environment?: Environment | null;

  @InputField(() => PurposeEnum, { nullable: true, description: 'What it is for. Default: TRANSACTIONAL.' })
  purpose?: Purpose | null;
}

@InputType({ description: 'An SMS to one or more recipients.' })
export class SendSmsInput extends SendInput {
  @InputField(() => String, { description: 'One number, or several separated by commas.' })
  to!: string;

  @InputField(() => String, {
    description:
      'Text, at most 1000 characters. In MARKETING, `{{optOut}}` is the link of each recipient; without it, the text gets a last line with it.',
  })
  message!: string;

  @InputField(() => String, {
    nullable: true,
    description: 'Sender ID, at most 11 letters or digits. Default: the sender ID of the gateway.',
  })
  from?: string | null;
}

@InputType({ description: 'A file attached to an email.' })
class AttachmentInput {
  @InputField(() => String, { description: 'Name of the file.' })
  filename!: string;

  @InputField(() => String, { description: 'The file in base64.' })
  content!: string;

  @InputField(() => String, {
    nullable: true,
    description: 'Media type. Default: `application/octet-stream`.',
  })
  contentType?: string | null;
}

@InputType({ description: 'An email. Each recipient gets their own mail.' })
export class SendEmailInput extends SendInput {
  @InputField(() => String, { description: 'One address, or several separated by commas, at most 50.' })
  to!: string;

  @InputField(() => String, { description: 'Subject, one line.' })
  subject!: string;

  @InputField(() => String, {
    nullable: true,
    description: 'Plain text. At least one of `text` and `html` is required.',
  })
  text?: string | null;

  @InputField(() => String, { nullable: true, description: 'HTML.' })
  html?: string | null;

  @InputField(() => String, { nullable: true, description: 'Sender. Default: the sender of the gateway.' })
  from?: string | null;

  @InputField(() => String, { nullable: true, description: 'Address for replies.' })
  replyTo?: string | null;

  @InputField(() => String, { nullable: true, description: 'Addresses that get a copy of the first mail.' })
  cc?: string | null;

  @InputField(() => String, { nullable: true, description: 'As `cc`, hidden from the other recipients.' })
  bcc?: string | null;

  @InputField(() => JsonObject, { nullable: true, description: 'Additional headers, such as `X-…`.' })
  headers?: Readonly<Record<string, unknown>> | null;

  @InputField(() => [AttachmentInput], {
    nullable: true,
    description: 'Attached files, at most 7 MiB together.',
  })
  attachments?: readonly AttachmentInput[] | null;
}

@InputType({ description: 'A push notification to users or devices.' })
export class SendPushInput extends SendInput {
  @InputField(() => String, { nullable: true, description: 'One user id, or several separated by commas.' })
  to?: string | null;

  @InputField(() => [ID], { nullable: true, description: 'Devices.' })
  deviceIds?: readonly string[] | null;

  @InputField(() => String, { description: 'Title.' })
  title!: string;

  @InputField(() => String, { description: 'Text.' })
  body!: string;

  @InputField(() => JsonObject, { nullable: true, description: 'Data for the app.' })
  data?: Readonly<Record<string, unknown>> | null;

  @InputField(() => String, { nullable: true, description: 'URL of a picture.' })
  imageUrl?: string | null;

  @InputField(() => String, { nullable: true, description: 'URL that a click opens.' })
  clickUrl?: string | null;

  @InputField(() => String, {
    nullable: true,
    description: 'A later notification with the same key replaces this one.',
  })
  collapseKey?: string | null;

  @InputField(() => Int, {
    nullable: true,
    description: 'Seconds for which the platform keeps it for an unreachable device.',
  })
  ttlSeconds?: number | null;

  @InputField(() => PushPriorityEnum, { nullable: true, description: 'Urgency of the notification.' })
  priority?: 'high' | 'normal' | null;
}

@InputType({ description: 'Free text.' })
class WhatsAppTextInput {
  @InputField(() => String, { description: 'The text.' })
  body!: string;

  @InputField(() => Boolean, { nullable: true, description: 'Whether to show a preview of the first link.' })
  previewUrl?: boolean | null;
}

@InputType({ description: 'A template and its values.' })
class WhatsAppTemplateInput {
  @InputField(() => String, { description: 'Name of the template.' })
  name!: string;

  @InputField(() => String, { description: 'Language, such as `en_US`.' })
  language!: string;

  @InputField(() => [JsonObject], {
    nullable: true,
    description: 'Values of the template, as the WhatsApp Cloud API documents them.',
  })
  components?: readonly Readonly<Record<string, unknown>>[] | null;
}

@InputType({ description: 'A file at a URL.' })
class WhatsAppMediaInput {
  @InputField(() => String, { description: 'URL of the file.' })
  url!: string;

  @InputField(() => String, { nullable: true, description: 'Text below the file.' })
  caption?: string | null;
}

@InputType({ description: 'A WhatsApp message to one number.' })
export class SendWhatsAppInput extends SendInput {
  @InputField(() => String, { description: 'One number.' })
  to!: string;

  @InputField(() => MessageTypeEnum, {
    description: 'Type of the message: which of the fields below is given.',
  })
  type!: WhatsAppContentInput['type'];

  @InputField(() => WhatsAppTextInput, { nullable: true, description: 'The free text, for TEXT.' })
  text?: WhatsAppTextInput | null;

  @InputField(() => WhatsAppTemplateInput, { nullable: true, description: 'The template, for TEMPLATE.' })
  template?: WhatsAppTemplateInput | null;

  @InputField(() => WhatsAppMediaInput, { nullable: true, description: 'The file, for MEDIA.' })
  media?: WhatsAppMediaInput | null;
}
