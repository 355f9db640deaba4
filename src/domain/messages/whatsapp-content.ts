/** The content of a WhatsApp message. `checkWhatsAppContent` checks it before the message is accepted (R25). */
import { type FieldFault, validationError } from '../errors.ts';
import type { WhatsAppContent } from '../ports/provider.ts';
import type { Message } from './message.ts';

export const WHATSAPP_TYPES = ['text', 'template', 'media'] as const;
export const MEDIA_KINDS = ['image', 'video', 'audio', 'document'] as const;
export type MediaKind = (typeof MEDIA_KINDS)[number];

export interface WhatsAppContentInput {
  readonly type: (typeof WHATSAPP_TYPES)[number];
  readonly text?: { readonly body: string; readonly previewUrl?: boolean | undefined } | undefined;
  readonly template?:
    | {
        readonly name: string;
        readonly language: string;
        readonly components?: readonly unknown[] | undefined;
      }
    | undefined;
  readonly media?:
    | { readonly url: string; readonly caption?: string | undefined; readonly kind?: MediaKind | undefined }
    | undefined;
}

/** Longest text and longest caption that the platform allows, in UTF-16 code units. */
export const WHATSAPP_TEXT_MAX_LENGTH = 4096;
export const WHATSAPP_CAPTION_MAX_LENGTH = 1024;
const TEMPLATE_NAME = /^[a-z0-9_]{1,512}$/;
const LANGUAGE = /^[a-z]{2,3}(_[A-Za-z]{2,4})?$/;

/** The kind of a media file by the ending of its name. Any other file is a document. */
const KIND_OF: readonly (readonly [MediaKind, RegExp])[] = [
  ['image', /\.(jpe?g|png|webp)$/i],
  ['video', /\.(mp4|3gpp?)$/i],
  ['audio', /\.(aac|amr|mp3|m4a|ogg|opus)$/i],
];

/** Checks and normalizes the content of a WhatsApp message. Throws `validation_error` with all faults. */
export function checkWhatsAppContent(input: WhatsAppContentInput): WhatsAppContent {
  const faults: FieldFault[] = [];
  const expect = (path: string, isRight: boolean, message: string) => {
    if (!isRight) faults.push({ path, message });
  };
  const content = contentOf(input);
  if (content === undefined) {
    throw validationError([{ path: input.type, message: `is required when type is ${input.type}` }]);
  }
  if (content.type === 'text') {
    const { length } = content.body;
    expect(
      'text.body',
      length > 0 && length <= WHATSAPP_TEXT_MAX_LENGTH,
      `must have 1 to ${WHATSAPP_TEXT_MAX_LENGTH} characters`,
    );
  }
  if (content.type === 'template') {
    expect('template.name', TEMPLATE_NAME.test(content.name), 'must be 1 to 512 of a-z, 0-9 and _');
    expect('template.language', LANGUAGE.test(content.language), 'must be a language such as en or en_US');
  }
  if (content.type === 'media' && content.caption !== null) {
    const { length } = content.caption;
    expect(
      'media.caption',
      length <= WHATSAPP_CAPTION_MAX_LENGTH,
      `must have at most ${WHATSAPP_CAPTION_MAX_LENGTH} characters`,
    );
    expect('media.caption', content.kind !== 'audio', 'is not possible with audio');
  }
  if (faults.length > 0) throw validationError(faults);
  return content;
}

function contentOf({ type, text, template, media }: WhatsAppContentInput): WhatsAppContent | undefined {
  switch (type) {
    case 'text':
      return text && { type, body: text.body, previewUrl: text.previewUrl ?? false };
    case 'template':
      return template && { type, ...template, components: template.components ?? [] };
    case 'media':
      return (
        media && {
          type,
          kind: media.kind ?? kindOf(media.url),
          url: media.url,
          caption: media.caption ?? null,
        }
      );
  }
}

function kindOf(url: string): MediaKind {
  const path = URL.canParse(url) ? new URL(url).pathname : url;
  return KIND_OF.find(([, name]) => name.test(path))?.[0] ?? 'document';
}

/** Returns the content that the message history shows. */
export function whatsAppPreview(content: WhatsAppContent): string {
  switch (content.type) {
    case 'text':
      return content.body;
    case 'template':
      return content.name;
    case 'media':
      return content.caption ?? content.url;
  }
}

export function whatsAppContent(message: Pick<Message, 'payload'>): WhatsAppContent {
  return message.payload as unknown as WhatsAppContent;
}
