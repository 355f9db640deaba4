import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Contact } from '../../domain/contacts/contact.ts';
import { defineRoute, type Route } from '../define-route.ts';
import {
  envelope,
  environment,
  environmentQuery,
  idParams,
  isoTime,
  pageQuery,
  paginated,
} from '../schemas.ts';

const contact = z
  .object({
    id: z.string(),
    environment,
    name: z.string().nullable(),
    phone: z.string().nullable().describe('In E.164.'),
    email: z.string().nullable(),
    externalId: z.string().nullable().describe("The contact's id in your own system."),
    tags: z.array(z.string()),
    attributes: z.record(z.string(), z.unknown()).describe('Your own data.'),
    createdAt: isoTime,
    updatedAt: isoTime,
  })
  .meta({ id: 'Contact' });

const contactToWrite = z.object({
  name: z.string().nullish(),
  phone: z
    .string()
    .nullish()
    .describe('In any form that a send accepts; stored in E.164. Unique in the environment.'),
  email: z.string().nullish(),
  externalId: z.string().nullish().describe("The contact's id in your own system. Once in the environment."),
  tags: z.array(z.string()).nullish().describe('At most 50 of 1 to 50 characters.'),
  attributes: z.record(z.string(), z.unknown()).nullish().describe('At most 16 KiB as JSON.'),
});

function contactResource(found: Contact) {
  return {
    id: found.id,
    environment: found.environment,
    name: found.name,
    phone: found.phone,
    email: found.email,
    externalId: found.externalId,
    tags: [...found.tags],
    attributes: { ...found.attributes },
    createdAt: found.createdAt.toISOString(),
    updatedAt: found.updatedAt.toISOString(),
  };
}

const TAG = 'Contacts';
const WRITE_REFUSALS = ['invalid_phone_number', 'contact_exists'] as const;
/** The id of a new contact, for each example. A phone number or externalId can be used only once. */
const ofCreated = {
  id: {
    route: 'POST /developers/contacts',
    at: 'id',
    body: () => ({ name: 'Amina Nakato', externalId: `example-${randomUUID()}` }),
  },
};

export const contactRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/developers/contacts',
    summary: 'Contacts, the newest first',
    tag: TAG,
    operation: (operations) => operations.contacts.list,
    query: pageQuery.extend({
      search: z
        .string()
        .optional()
        .describe('Part of a name, phone, email or externalId, in any case; a whole number in any form.'),
      tag: z.string().optional().describe('A tag that the contact has.'),
      environment: environmentQuery,
    }),
    response: envelope(contact),
    async handle({ caller, operations, query: { page, limit, environment, ...filter } }) {
      const request = { page, limit };
      const found = await operations.contacts.list.run(caller, { environment, filter, page: request });
      return { body: paginated(found, request, contactResource) };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/developers/contacts',
    summary: 'Add a contact; at least one of phone, email and externalId is needed',
    tag: TAG,
    operation: (operations) => operations.contacts.create,
    successStatus: 201,
    errors: WRITE_REFUSALS,
    body: contactToWrite,
    examples: {
      customer: {
        body: {
          name: 'Amina Nakato',
          phone: '0772 123456',
          externalId: 'customer-4711',
          tags: ['customer'],
          attributes: { town: 'Gulu' },
        },
      },
    },
    response: contact,
    async handle({ caller, operations, body }) {
      return { body: contactResource(await operations.contacts.create.run(caller, body)) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/contacts/:id',
    summary: 'One contact',
    tag: TAG,
    operation: (operations) => operations.contacts.get,
    params: idParams,
    examples: { created: { params: ofCreated } },
    response: contact,
    async handle({ caller, operations, params }) {
      return { body: contactResource(await operations.contacts.get.run(caller, params)) };
    },
  }),
  defineRoute({
    method: 'put',
    path: '/developers/contacts/:id',
    summary: 'Change the given members; null clears one',
    tag: TAG,
    operation: (operations) => operations.contacts.update,
    errors: WRITE_REFUSALS,
    params: idParams,
    body: contactToWrite,
    examples: { tagged: { params: ofCreated, body: { tags: ['customer', 'north'] } } },
    response: contact,
    async handle({ caller, operations, params, body }) {
      const input = { id: params.id, changes: body };
      return { body: contactResource(await operations.contacts.update.run(caller, input)) };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/developers/contacts/:id',
    summary: 'Delete a contact',
    tag: TAG,
    operation: (operations) => operations.contacts.remove,
    params: idParams,
    examples: { created: { params: ofCreated } },
    response: z.object({ id: z.string(), deleted: z.literal(true) }),
    async handle({ caller, operations, params }) {
      await operations.contacts.remove.run(caller, params);
      return { body: { id: params.id, deleted: true as const } };
    },
  }),
];
