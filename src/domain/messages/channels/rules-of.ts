import type { Channel } from '../message.ts';
import type { ChannelRules } from './channel-rules.ts';
import { emailRules } from './email.ts';
import { pushRules } from './push.ts';
import { smsRules } from './sms.ts';
import { whatsAppRules } from './whatsapp.ts';

const RULES: Readonly<Record<Channel, ChannelRules>> = {
  sms: smsRules,
  email: emailRules,
  push: pushRules,
  whatsapp: whatsAppRules,
};

export function rulesOf(channel: Channel): ChannelRules {
  return RULES[channel];
}
