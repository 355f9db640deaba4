import { useParams } from 'wouter';
import { MessageView } from './message-view.tsx';

/** The page of one message. */
export default function MessagePage() {
  const { id } = useParams<{ id: string }>();
  return <MessageView key={id} id={id} />;
}
