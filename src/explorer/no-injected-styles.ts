/**
 * Replaces the package react-style-singleton. Dialogs use it to add a style to the page that stops scrolling. The
 * content security policy refuses such styles, and this page does not scroll.
 */
export const styleSingleton = () => () => null;
