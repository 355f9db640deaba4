import {
  Activity,
  BadgeCheck,
  Bell,
  BellOff,
  BookOpen,
  BookUser,
  Braces,
  Building2,
  ChartColumn,
  CircleGauge,
  FileClock,
  House,
  KeyRound,
  type LucideIcon,
  MessageSquare,
  Radio,
  ReceiptText,
  Rocket,
  ScanSearch,
  ScrollText,
  Settings,
  ShieldCheck,
  SlidersHorizontal,
  Smartphone,
  Tag,
  UserCog,
  Users,
  Webhook,
  Zap,
} from 'lucide-react';

/** A page in the navigation menu. */
export interface NavItem {
  readonly path: string;
  readonly title: string;
  readonly group: string;
  /** True if the gateway serves the page outside of the console. `path` is then its whole path. */
  readonly isOutside?: boolean;
}

const ICONS: Readonly<Record<string, LucideIcon>> = {
  '/': House,
  '/start': Rocket,
  '/messages': MessageSquare,
  '/contacts': BookUser,
  '/suppressions': BellOff,
  '/devices': Smartphone,
  '/api-keys': KeyRound,
  '/webhooks': Webhook,
  '/events': Zap,
  '/requests': ScrollText,
  '/graphql': Braces,
  '/docs': BookOpen,
  '/usage': ChartColumn,
  '/ledger': ReceiptText,
  '/prices': Tag,
  '/alerts': Bell,
  '/account': Settings,
  '/members': Users,
  '/senders': BadgeCheck,
  '/security': ShieldCheck,
  '/audit': FileClock,
  '/accounts': Building2,
  '/plans': SlidersHorizontal,
  '/providers': Radio,
  '/key-limits': CircleGauge,
  '/traffic': Activity,
  '/look-up': ScanSearch,
  '/operators': UserCog,
};

/** The icon of a page in the navigation menu. */
export function NavIcon({ path }: { path: string }) {
  const Icon = ICONS[path] ?? House;
  return <Icon className="icon" aria-hidden="true" />;
}
