import { GraphQLJSONObject } from 'graphql-scalars';
import { Field, ID, InputType, Int } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { WhatsAppContentInput } from '../domain/messages/whatsapp-content.ts';
import { EnvironmentEnum, PushPriorityEnum, WhatsAppTypeEnum } from './enums.ts';
import { DateTime } from './scalars.ts';

/** What every send takes. */
@InputType({ description: 'What every send takes.' })
export abstract class SendInput {
  @Field(() => DateTime, {
    nullable: true,
    description: 'When to send it, at most 30 days ahead; now when absent.',
  })
  scheduledFor?: Date | null;

  @Field(() => String, {
    nullable: true,
    description: 'Names the request: the same again within 24 hours sends nothing more.',
  })
  idempotencyKey?: string | null;

  @Field(() => EnvironmentEnum, { nullable: true, description: 'Where to send; PRODUCTION when absent.' })
  environment?: Environment | null;
}

@InputType({ description: 'An SMS to one or more recipients.' })
export class SendSmsInput extends SendInput {
  @Field(() => String, { description: 'One number, or several separated by commas.' })
  to!: string;

  @Field(() => String, { description: 'Text, at most 1000 characters.' })
  message!: string;

  @Field(() => String, { nullable: true, description: 'Sender ID, at most 11 letters or digits.' })
  from?: string | null;
}

@InputType({ description: 'A file that goes with an email.' })
class AttachmentInput {
  @Field(() => String, { description: 'Name of the file.' })
  filename!: string;

  @Field(() => String, { description: 'The file in base64.' })
  content!: string;

  @Field(() => String, { nullable: true, description: 'Media type; `application/octet-stream` when absent.' })
  contentType?: string | null;
}

@InputType({ description: 'An email; each recipient gets one of their own.' })
export class SendEmailInput extends SendInput {
  @Field(() => String, { description: 'One address, or several separated by commas, at most 50.' })
  to!: string;

  @Field(() => String, { description: 'Subject, one line.' })
  subject!: string;

  @Field(() => String, { nullable: true, description: 'The text; it or `html` is needed.' })
  text?: string | null;

  @Field(() => String, { nullable: true, description: 'The HTML.' })
  html?: string | null;

  @Field(() => String, { nullable: true, description: "Sender; the gateway's own when absent." })
  from?: string | null;

  @Field(() => String, { nullable: true, description: 'Where answers go.' })
  replyTo?: string | null;

  @Field(() => String, { nullable: true, description: 'Addresses that get a copy of the first mail.' })
  cc?: string | null;

  @Field(() => String, { nullable: true, description: 'As `cc`, unseen by the others.' })
  bcc?: string | null;

  @Field(() => GraphQLJSONObject, { nullable: true, description: 'Further headers, such as `X-…`.' })
  headers?: Readonly<Record<string, unknown>> | null;

  @Field(() => [AttachmentInput], { nullable: true, description: 'Files, 7 MiB together.' })
  attachments?: AttachmentInput[] | null;
}

@InputType({ description: 'A push notification to users or devices.' })
export class SendPushInput extends SendInput {
  @Field(() => String, { nullable: true, description: 'One user id, or several separated by commas.' })
  to?: string | null;

  @Field(() => [ID], { nullable: true, description: 'Devices.' })
  deviceIds?: string[] | null;

  @Field(() => String, { description: 'Title.' })
  title!: string;

  @Field(() => String, { description: 'Text.' })
  body!: string;

  @Field(() => GraphQLJSONObject, { nullable: true, description: 'Data for the app.' })
  data?: Readonly<Record<string, unknown>> | null;

  @Field(() => String, { nullable: true, description: 'Address of a picture.' })
  imageUrl?: string | null;

  @Field(() => String, { nullable: true, description: 'Address that a click opens.' })
  clickUrl?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'A later notification with this key replaces this one.',
  })
  collapseKey?: string | null;

  @Field(() => Int, {
    nullable: true,
    description: 'How long the platform may keep it for a device out of reach.',
  })
  ttlSeconds?: number | null;

  @Field(() => PushPriorityEnum, { nullable: true, description: 'How urgent it is.' })
  priority?: 'high' | 'normal' | null;
}

@InputType({ description: 'Free text.' })
class WhatsAppTextInput {
  @Field(() => String, { description: 'The text.' })
  body!: string;

  @Field(() => Boolean, { nullable: true, description: 'Whether a preview of its first link is shown.' })
  previewUrl?: boolean | null;
}

@InputType({ description: 'A template with what fills it.' })
class WhatsAppTemplateInput {
  @Field(() => String, { description: 'Name of the template.' })
  name!: string;

  @Field(() => String, { description: 'Language, such as `en_US`.' })
  language!: string;

  @Field(() => [GraphQLJSONObject], {
    nullable: true,
    description: 'What fills it, as the platform documents.',
  })
  components?: Readonly<Record<string, unknown>>[] | null;
}

@InputType({ description: 'A file at an address.' })
class WhatsAppMediaInput {
  @Field(() => String, { description: 'Address of the file.' })
  url!: string;

  @Field(() => String, { nullable: true, description: 'Text under it.' })
  caption?: string | null;
}

@InputType({ description: 'A WhatsApp message to one number.' })
export class SendWhatsAppInput extends SendInput {
  @Field(() => String, { description: 'One number.' })
  to!: string;

  @Field(() => WhatsAppTypeEnum, { description: 'Which of the members below it is.' })
  type!: WhatsAppContentInput['type'];

  @Field(() => WhatsAppTextInput, { nullable: true, description: 'Free text.' })
  text?: WhatsAppTextInput | null;

  @Field(() => WhatsAppTemplateInput, { nullable: true, description: 'A template.' })
  template?: WhatsAppTemplateInput | null;

  @Field(() => WhatsAppMediaInput, { nullable: true, description: 'A file.' })
  media?: WhatsAppMediaInput | null;
}
